import { setTimeout as sleep } from 'node:timers/promises'
import type { Hex } from '../../shared/protocol/payment.js'
import { sendBatch } from './send-batch.js'

export interface Mint {
  readonly rpcUrl: string
  /** The token, or Multicall3 for several. */
  readonly to: Hex
}

/** Impersonated sender of mint transactions: relayers keep their account nonce of 0. */
export const MINTER = '0x000000000000000000000000000000000000dEaD'

/** `mint(address,uint256)` */
const MINT_SELECTOR = '0x40c10f19'
/** `mintEach(address[],uint256)` */
const MINT_EACH_SELECTOR = '0xdb807e26'
/** `aggregate((address,bytes)[])` of Multicall3 */
const AGGREGATE_SELECTOR = '0x252dba42'
const GAS_LIMIT = 3_000_000
const RECEIPT_POLL_MS = 5

/** Calldata to mint `amount` for one address. */
export function encodeMint(address: Hex, amount: bigint): Hex {
  return `${MINT_SELECTOR}${word(address)}${word(amount)}`
}

/** Calldata to mint `amount` for each address. */
export function encodeMintEach(addresses: readonly Hex[], amount: bigint): Hex {
  const offset = word(64n)
  const list = word(BigInt(addresses.length)) + addresses.map(word).join('')
  return `${MINT_EACH_SELECTOR}${offset}${word(amount)}${list}`
}

/** Calldata for Multicall3 to make calls that must all succeed. */
export function encodeAggregate(calls: readonly { readonly to: Hex; readonly data: Hex }[]): Hex {
  const tuples = calls.map(({ to, data }) => {
    const bytes = data.slice(2)
    const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0')
    return word(to) + word(64n) + word(BigInt(bytes.length / 2)) + padded
  })
  let offset = BigInt(calls.length) * 32n
  const offsets = tuples.map((tuple) => {
    const start = word(offset)
    offset += BigInt(tuple.length / 2)
    return start
  })
  const list = word(BigInt(calls.length)) + offsets.join('') + tuples.join('')
  return `${AGGREGATE_SELECTOR}${word(32n)}${list}`
}

/** Sends a mint transaction without waiting for a block. @returns Its hash. */
export async function sendMint({ rpcUrl, to }: Mint, data: Hex): Promise<unknown> {
  const transaction = { from: MINTER, to, gas: `0x${GAS_LIMIT.toString(16)}`, data }
  const [hash] = await sendBatch(rpcUrl, [['eth_sendTransaction', transaction]])
  return hash
}

/** Waits until a transaction of a token is in a block. @throws Error if the token refused it. */
export async function waitUntilMined(rpcUrl: string, hash: unknown): Promise<void> {
  for (;;) {
    const [receipt] = await sendBatch(rpcUrl, [['eth_getTransactionReceipt', hash]])
    if (isReceipt(receipt)) {
      if (receipt.status === '0x1') return
      throw new Error('devnet: the token refused a transaction')
    }
    await sleep(RECEIPT_POLL_MS)
  }
}

function isReceipt(value: unknown): value is { status: Hex } {
  return typeof value === 'object' && value !== null && 'status' in value
}

/** One 32-byte word of ABI-encoded arguments. */
export function word(argument: Hex | bigint): string {
  const value = BigInt(argument)
  if (value < 0n || value >> 256n) throw new RangeError('devnet: not a 256-bit unsigned integer')
  return value.toString(16).padStart(64, '0')
}
