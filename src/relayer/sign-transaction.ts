import { hexToBytes, toRlp } from 'viem/utils'
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

  const signatureOf = async (digest: Hex): Promise<Signature> => {
    if (signNatively === undefined) {
      const { r, s, yParity } = await signByViem({ hash: digest, privateKey })
      return { r: BigInt(r), s: BigInt(s), yParity: yParity ?? 0 }
    }
    const { rs, yParity } = signNatively(hexToBytes(digest), key)
    return { r: BigInt(hexOf(rs.subarray(0, 32))), s: BigInt(hexOf(rs.subarray(32))), yParity }
  }

  return async (unsigned) => {
    const fields = fieldsOf(unsigned)
    const { r, s, yParity } = await signatureOf(keccakHex(serialize(fields)))
    const raw = serialize([...fields, integer(yParity), integer(r), integer(s)])
    return { transaction: keccakHex(raw), raw: hexOf(raw) }
  }
}

interface Signature {
  readonly r: bigint
  readonly s: bigint
  readonly yParity: number
}

/** The fields of a transaction before its signature (EIP-1559). */
function fieldsOf({ chainId, accountNonce, call, gas, fees }: UnsignedTransaction): Fields {
  const { maxPriorityFeePerGas, maxFeePerGas } = fees
  const numbers = [chainId, accountNonce, maxPriorityFeePerGas, maxFeePerGas, gas]
  const value = 0
  return [...numbers.map(integer), bytesOf(call.to), integer(value), bytesOf(call.data), []]
}

/** Bytes, and the access list, which is empty. */
type Fields = readonly (Uint8Array | readonly never[])[]

/**
 * A transaction's bytes: its type, and its fields in RLP. `serializeTransaction` of viem makes the same,
 * five times as slowly: of a batch, it is the calldata's hexadecimal digits that cost.
 */
function serialize(fields: Fields): Uint8Array {
  return Buffer.concat([EIP_1559, toRlp(fields, 'bytes')])
}

const EIP_1559 = Uint8Array.of(2)

/** An integer as RLP wants it: without leading zeros, and zero as nothing. */
function integer(value: bigint | number): Uint8Array {
  const digits = value === 0 || value === 0n ? '' : value.toString(16)
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
}

function bytesOf(hex: Hex): Uint8Array {
  return Buffer.from(hex.slice(2), 'hex')
}

function hexOf(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes).toString('hex')}`
}
