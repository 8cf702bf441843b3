/** What nodes answer, read strictly: everything else is a node that could not be asked. */
import { hexToBigInt, numberToHex } from 'viem/utils'
import { ChainError } from '../errors.js'
import type { Hex } from '../protocol/payment.js'
import type { CallResult, Log, Receipt } from './chain.js'
import type { RpcAnswer, RpcFailure } from './rpc.js'

/** How nodes word that a contract failed, where they do not say so by code 3. */
const CONTRACT_FAILURE =
  /revert|vm execution|out ?of ?gas|gas required exceeds|invalid ?(fe)?opcode|opcode ?not ?found|invalid ?jump|stack ?(under|over)flow|stack limit|write protection/i

/** The result of an answer. @throws {@link ChainError} where the node refused. */
export function unwrap(answer: RpcAnswer): unknown {
  if (answer.ok) return answer.result
  throw refused(answer.error)
}

/** What a contract answered. @throws {@link ChainError} where the node itself failed. */
export function callResult(answer: RpcAnswer): CallResult {
  return answer.ok ? { ok: true, data: hexFrom(answer.result) } : revertFrom(answer.error)
}

/** Tells a contract's refusal from a node's failure. @throws {@link ChainError} for the latter. */
export function revertFrom(error: RpcFailure): CallResult {
  const reverted = error.code === 3 || CONTRACT_FAILURE.test(error.message)
  if (!reverted) throw refused(error)
  return { ok: false, data: isHex(error.data) ? error.data : '0x' }
}

/** A receipt, once there is one. */
export function receiptFrom(value: unknown): Receipt | undefined {
  if (value === null) return undefined
  const members = membersOf(value)
  const { transactionHash, from, status, blockNumber, logs } = members
  if (!Array.isArray(logs)) throw unusable('a receipt without logs')
  return {
    transaction: hexFrom(transactionHash),
    sender: hexFrom(from),
    to: hexFrom(members['to'] ?? '0x'),
    succeeded: hexFrom(status) === '0x1',
    blockNumber: quantityFrom(blockNumber),
    blockHash: hexFrom(members['blockHash'] ?? '0x'),
    logs: logs.map(logFrom),
    gasUsed: quantityFrom(members['gasUsed'] ?? '0x0'),
    gasPrice: quantityFrom(members['effectiveGasPrice'] ?? '0x0'),
  }
}

function logFrom(value: unknown): Log {
  const { address, topics, data } = membersOf(value)
  if (!Array.isArray(topics)) throw unusable('a log without topics')
  return { address: hexFrom(address), topics: topics.map(hexFrom), data: hexFrom(data) }
}

/** Bytes in hexadecimal digits. */
export function hexFrom(value: unknown): Hex {
  if (isHex(value)) return value
  throw unusable('something that is not hexadecimal')
}

/** A number. */
export function quantityFrom(value: unknown): bigint {
  const hex = hexFrom(value)
  return hexToBigInt(hex === '0x' ? numberToHex(0) : hex)
}

/** The members of an object. */
export function membersOf(value: unknown): { readonly [member: string]: unknown } {
  if (typeof value === 'object' && value !== null) return { ...value }
  throw unusable('something that is not an object')
}

/** The node answered what nobody can use. */
export function unusable(what: string): ChainError {
  return new ChainError('chain_unreachable', `The node answered ${what}.`)
}

function refused({ code, message }: RpcFailure): ChainError {
  return new ChainError('chain_unreachable', 'The node refused a request.', {
    cause: new Error(`${message} (${code})`),
  })
}

function isHex(value: unknown): value is Hex {
  return typeof value === 'string' && /^0x[0-9a-fA-F]*$/.test(value)
}
