import { bytesToHex, hexToBytes, serializeTransaction } from 'viem/utils'
import { sign as signByViem } from 'viem/accounts'
import type { Call, FeeValues } from '../chain/chain.js'
import type { Hex } from '../protocol/payment.js'
import { keccakHex } from '../crypto/keccak.js'
import { nativeSigning, type KeySigning } from '../crypto/native-secp256k1.js'

/** A transaction to be signed (EIP-1559). */
export interface UnsignedTransaction {
  readonly chainId: number
  readonly accountNonce: number
  readonly call: Call
  readonly gas: bigint
  readonly fees: FeeValues
}

/** Signs transactions of one account. */
export type TransactionSigner = (
  transaction: UnsignedTransaction,
) => Promise<{ readonly transaction: Hex; readonly raw: Hex }>

let native: { readonly sign: KeySigning | undefined } | undefined

/** Makes a signer for a private key, native where the optional package `secp256k1` is installed. */
export function createTransactionSigner(
  privateKey: Hex,
  signNatively: KeySigning | undefined = (native ??= { sign: nativeSigning() }).sign,
): TransactionSigner {
  const key = hexToBytes(privateKey)

  const signatureOf = async (digest: Hex) => {
    if (signNatively === undefined) return signByViem({ hash: digest, privateKey })
    const { rs, yParity } = signNatively(hexToBytes(digest), key)
    return { r: bytesToHex(rs.subarray(0, 32)), s: bytesToHex(rs.subarray(32)), yParity }
  }

  return async ({ chainId, accountNonce, call, gas, fees }) => {
    const { to, data } = call
    const unsigned = { chainId, nonce: accountNonce, to, data, gas, ...fees }
    const digest = keccakHex(serializeTransaction(unsigned))
    const raw = serializeTransaction(unsigned, await signatureOf(digest))
    return { transaction: keccakHex(raw), raw }
  }
}
