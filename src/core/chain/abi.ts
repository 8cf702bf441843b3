/** The contract functions and events we speak to, as calldata and topics. */
import { encodeFunctionData, parseAbi } from 'viem/utils'
import { lowerHex, sameHex } from '../../shared/protocol/hex.js'
import { MULTICALL3 } from '../../shared/protocol/contracts.js'
import type { Hex } from '../../shared/protocol/payment.js'
import type { Call } from './types.js'

/** ERC-3009 with both signature forms (Circle's FiatToken v2.2 has both), and the token's views. */
export const tokenAbi = parseAbi([
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function balanceOf(address account) view returns (uint256)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function decimals() view returns (uint8)',
])

/** Multicall3, deployed at the same address nearly everywhere. */
export const multicall3Abi = parseAbi([
  'struct Call3 { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call3[] calls) payable returns (Result[] returnData)',
  'function getCurrentBlockTimestamp() view returns (uint256 timestamp)',
])

/** The executor (contracts/executor.yul). */
const executorAbi = parseAbi([
  'struct Call { address to; uint256 gas; bytes data; }',
  'function execute(Call[] calls)',
])

export { MULTICALL3 }

/** Selector of `aggregate3((address,bool,bytes)[])`. */
const AGGREGATE3 = '0x82ad56cb'

/** Selector of `execute((address,uint256,bytes)[])`. */
const EXECUTE = '0x3f707e6b'

export const WORD_DIGITS = 64

/** Encodes a Multicall3 `aggregate3` of several calls, each of which may fail by itself. */
export const aggregate = (calls: readonly Call[]): Hex => aggregate3(calls, true)

/** A call of Multicall3 that makes all of several calls, in their order, or none. */
export const allOrNothing = (calls: readonly Call[]): Call => ({
  to: MULTICALL3,
  data: aggregate3(calls, false),
})

function aggregate3(calls: readonly Call[], allowFailure: boolean): Hex {
  const all = calls.map(({ to, data }) => {
    // viem refuses a mistaken checksum, which is the app's business.
    return { target: lowerHex(to), allowFailure, callData: data }
  })
  return encodeFunctionData({ abi: multicall3Abi, functionName: 'aggregate3', args: [all] })
}

/** Encodes a list of calls for an executor. Each may fail by itself, and takes at most its own gas. */
export function execute(
  calls: readonly { readonly to: Hex; readonly data: Hex; readonly gas: bigint }[],
): Hex {
  const all = calls.map(({ to, data, gas }) => ({ to: lowerHex(to), gas, data }))
  return encodeFunctionData({ abi: executorAbi, functionName: 'execute', args: [all] })
}

/**
 * The calls of a transaction: of an {@link aggregate}, or of an {@link execute} by one of these executors. A list that we
 * cannot have written is one call: strangers write some.
 *
 * @param executors - Any other contract may do what it likes with such bytes.
 * @returns Each with the address that makes it, if that is an executor; else the transaction's own call.
 */
export function callsIn({ to, data }: Call, executors: readonly Hex[]): readonly Call[] {
  const isAggregate = sameHex(to, MULTICALL3) && data.startsWith(AGGREGATE3)
  const isExecute = data.startsWith(EXECUTE) && executors.some((one) => sameHex(one, to))
  const listed = isAggregate || isExecute ? listIn(data) : undefined
  if (listed === undefined) return [{ to, data }]
  return listed.map((one) => ({ to: one.to, data: one.data, ...(isExecute && { from: to }) }))
}

export function isAllOrNothing({ to, data }: Call): boolean {
  if (!sameHex(to, MULTICALL3) || !data.startsWith(AGGREGATE3)) return false
  return listIn(data)?.every(({ mayFail }) => !mayFail) === true
}

/** More calls than one of our transactions has. */
const MOST_LISTED = 200

/** A call in a list, with the word between its address and its data: whether it may fail, or its gas. */
interface Listed extends Pick<Call, 'to' | 'data'> {
  readonly mayFail: boolean
}

/**
 * Reads the argument of `aggregate3` or `execute`: a list of an address, a word, and bytes.
 *
 * By hand, because strangers' data may name the same bytes a thousand times, which takes a decoder seconds.
 */
function listIn(data: Hex): readonly Listed[] | undefined {
  const digits = data.slice(10)
  /** The number in the word at a byte; not a number beyond the data. */
  const numberAt = (byte: number): number => {
    const text = digits.slice(2 * byte, 2 * byte + WORD_DIGITS)
    return text.length === WORD_DIGITS ? Number(`0x${text}`) : NaN
  }
  const list = numberAt(0)
  const count = numberAt(list)
  if (!(count <= MOST_LISTED)) return undefined
  const found: Listed[] = []
  let bytes = 0
  for (let index = 0; index < count; index++) {
    const first = list + 32
    const tuple = first + numberAt(first + 32 * index)
    const start = tuple + numberAt(tuple + 64)
    const length = numberAt(start)
    bytes += length
    const content = digits.slice(2 * (start + 32), 2 * (start + 32 + length))
    if (content.length !== 2 * length || 2 * bytes > digits.length) return undefined
    const to: Hex = `0x${digits.slice(2 * tuple + 24, 2 * tuple + WORD_DIGITS)}`
    found.push({ to, data: `0x${content}`, mayFail: numberAt(tuple + 32) !== 0 })
  }
  return found
}

/** A number as 32 bytes, in hexadecimal digits. */
export function word(value: number | bigint): string {
  return value.toString(16).padStart(WORD_DIGITS, '0')
}

/** An address as 32 bytes, in hexadecimal digits. */
export function addressWord(address: Hex): string {
  return address.slice(2).toLowerCase().padStart(WORD_DIGITS, '0')
}

/** `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)` (ERC-3009). */
export const AUTHORIZATION_USED: Hex =
  '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5'

/** `AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)` (ERC-3009). */
export const AUTHORIZATION_CANCELED: Hex =
  '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81'

/** `Transfer(address indexed from, address indexed to, uint256 value)` (ERC-20). */
export const TRANSFER: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
