/** Reads what nodes answer, strictly: anything unexpected is a `ChainError`, nothing is guessed. */
import { hexToBigInt } from 'viem/utils'
import type { Hex } from '../../shared/protocol/payment.js'
import type { CallResult, Log, Receipt } from './types.js'
import { classifyNodeError, refusedByNode, unusable, type RpcFailure } from './node-errors.js'
import type { RpcAnswer } from './rpc.js'

/** At most 256 bits. */
const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/

/** A billion ether per gas: a higher price does not even fit into a transaction. */
const MAX_GAS_PRICE = 10n ** 27n

/** The result of an answer. @throws {@link ChainError} when the node refused. */
export function unwrap(answer: RpcAnswer): unknown {
  if (answer.ok) return answer.result
  throw refusedByNode(answer.error)
}

/** Reads a contract's answer. @throws {@link ChainError} when the node itself failed. */
export function callResult(answer: RpcAnswer): CallResult {
  return answer.ok ? { ok: true, data: hexFrom(answer.result) } : revertFrom(answer.error)
}

/** The revert of a contract. @throws {@link ChainError} when the node itself failed. */
export function revertFrom(error: RpcFailure): CallResult {
  if (classifyNodeError(error, 'read') !== 'reverted') throw refusedByNode(error)
  return { ok: false, data: isHex(error.data) ? error.data : '0x' }
}

export function receiptFrom(value: unknown): Receipt | undefined {
  if (value === null) return undefined
  const members = membersOf(value)
  const { transactionHash, from, to, status, blockNumber, blockHash, logs } = members
  if (!Array.isArray(logs)) throw unusable('a receipt without logs')
  return {
    transaction: bytesFrom(transactionHash, 32),
    sender: bytesFrom(from, 20),
    to: hexFrom(to ?? '0x'),
    succeeded: quantityFrom(status) === 1n,
    blockNumber: quantityFrom(blockNumber),
    blockHash: hexFrom(blockHash ?? '0x'),
    logs: logs.map(logFrom),
    gasUsed: quantityFrom(members['gasUsed'] ?? '0x0'),
    gasPrice: gasPriceFrom(members['effectiveGasPrice'] ?? '0x0'),
    l1Fee: l1FeeFrom(members['l1Fee']),
  }
}

function logFrom(value: unknown): Log {
  const { address, topics, data } = membersOf(value)
  if (!Array.isArray(topics)) throw unusable('a log without topics')
  return {
    address: bytesFrom(address, 20),
    topics: topics.map((topic) => bytesFrom(topic, 32)),
    data: hexFrom(data),
  }
}

/** Hex-encoded bytes of any length. */
export function hexFrom(value: unknown): Hex {
  if (isHex(value)) return value
  throw unusable('something that is not hexadecimal')
}

/** Hex-encoded bytes of a fixed length: a hash, an address. */
export function bytesFrom(value: unknown, bytes: 20 | 32): Hex {
  const hex = hexFrom(value)
  if (hex.length === 2 + 2 * bytes) return hex
  throw unusable(`something that is not ${bytes} bytes`)
}

/** A JSON-RPC quantity: at least one digit. Some nodes write leading zeros. */
export function quantityFrom(value: unknown): bigint {
  if (typeof value === 'string' && QUANTITY.test(value)) return hexToBigInt(value as Hex)
  throw unusable('something that is not a number')
}

export function nonceFrom(value: unknown): number {
  const nonce = Number(quantityFrom(value))
  if (Number.isSafeInteger(nonce)) return nonce
  throw unusable('a number beyond all counting')
}

/** A gas price, in wei. */
export function gasPriceFrom(value: unknown): bigint {
  const price = quantityFrom(value)
  if (price < MAX_GAS_PRICE) return price
  throw unusable('a price of gas beyond all prices')
}

/** No payment needs it: what cannot be read is 0. */
function l1FeeFrom(value: unknown): bigint {
  const fee = typeof value === 'string' && QUANTITY.test(value) ? hexToBigInt(value as Hex) : 0n
  return fee < MAX_GAS_PRICE ? fee : 0n
}

export function membersOf(value: unknown): { readonly [member: string]: unknown } {
  if (typeof value === 'object' && value !== null) return { ...value }
  throw unusable('something that is not an object')
}

function isHex(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x([0-9a-fA-F]{2})*$/.test(value)
}
