import { assertTransactionEIP1559, hexToBytes, toRlp, trim } from 'viem/utils'
import type { Call, FeeValues } from '../chain/types.js'
import { bytesOf, hexOf } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { keccak, keccakHex } from '../../shared/crypto/keccak.js'
import { signDigest } from '../../shared/crypto/native-secp256k1.js'

export interface UnsignedTransaction {
  readonly chainId: number
  readonly accountNonce: number
  readonly call: Call
  readonly gas: bigint
  readonly fees: FeeValues
}

export type TransactionSigner = (
  transaction: UnsignedTransaction,
) => Promise<{ readonly transaction: Hex; readonly raw: Hex }>

/** Makes a signer for a private key, native where the optional package `secp256k1` is installed. */
export function createTransactionSigner(privateKey: Hex, sign = signDigest): TransactionSigner {
  const key = hexToBytes(privateKey)

  return async (unsigned) => {
    const fields = fieldsOf(unsigned)
    const { rs, yParity } = sign(keccak(serialize(fields)), key)
    const [r, s] = [trim(rs.subarray(0, 32)), trim(rs.subarray(32))]
    const raw = serialize([...fields, integer(yParity), r, s])
    return { transaction: keccakHex(raw), raw: hexOf(raw) }
  }
}

/** Bytes, and the access list, which is empty. */
type Fields = readonly (Uint8Array | readonly never[])[]

function fieldsOf({ chainId, accountNonce, call, gas, fees }: UnsignedTransaction): Fields {
  const { to, data } = call
  const { maxPriorityFeePerGas, maxFeePerGas } = fees
  assertTransactionEIP1559({ chainId, to, maxPriorityFeePerGas, maxFeePerGas })
  const numbers = [chainId, accountNonce, maxPriorityFeePerGas, maxFeePerGas, gas]
  const value = 0
  return [...numbers.map(integer), bytesOf(to), integer(value), bytesOf(data), []]
}

/**
 * A transaction's bytes: its type, and its fields in RLP. With viem's `serializeTransaction`, signing a batch of
 * twenty takes 126 µs a payment in place of 90.
 */
function serialize(fields: Fields): Uint8Array {
  return Buffer.concat([EIP_1559, toRlp(fields, 'bytes')])
}

const EIP_1559 = Uint8Array.of(2)

/** An integer as RLP wants it: without leading zeros, and zero as nothing. */
function integer(value: bigint | number): Uint8Array {
  const digits = value === 0 || value === 0n ? '' : value.toString(16)
  return bytesOf(`0x${digits.length % 2 === 0 ? digits : `0${digits}`}`)
}
