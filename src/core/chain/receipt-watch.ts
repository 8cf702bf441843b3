import { LRUCache } from 'lru-cache'
import { growingTo } from '../../shared/growing-to.js'
import { ChainError } from '../../shared/errors.js'
import type { Hex } from '../../shared/protocol/payment.js'
import type { Patience, Receipt } from './types.js'
import { unusable } from './node-errors.js'
import type { Rpc } from './rpc.js'
import { hexFrom, membersOf, quantityFrom, receiptFrom, unwrap } from './rpc-values.js'
import { world } from '../../shared/world.js'

/** First and longest pause between two polls of the latest block (ms). */
const POLL_MS = { first: 20, longest: 250 }

/** How often a receipt is requested, whatever the blocks list (ms). */
const ASK_AGAIN_MS = 2000

/** Receipts kept for callers that begin to wait right after they arrived. */
const ARRIVED = { max: 200, ttl: 10_000 }

/** How many transactions' last requests are remembered. */
const MOST_ASKED = 2000

interface Waiter {
  /** Hashes in lower case. */
  readonly wants: () => readonly Hex[]
  readonly end: (receipt?: Receipt) => void
}

/** Waits for transactions to be mined: polls one network's blocks once for all callers. */
export class ReceiptWatch {
  readonly #rpc: Rpc
  readonly #waiters = new Set<Waiter>()
  /** Hashes whose receipt is expected from elsewhere. */
  readonly #expected = new Set<string>()
  /** By lower-case hash. */
  readonly #arrived = new LRUCache<string, Receipt>(ARRIVED)
  /** When a receipt was last requested, by `world.elapsed()`. */
  readonly #askedAt = new LRUCache<string, number>(growingTo(MOST_ASKED))
  /** The block that was polled last; `undefined` when not polling. */
  #lastBlock: bigint | undefined
  #pauseMs = POLL_MS.first
  #isPolling = false
  /** Ends the current pause. */
  #wake = new AbortController()

  constructor(rpc: Rpc) {
    this.#rpc = rpc
  }

  /** The receipt of a transaction, once it is mined. @throws {@link ChainError} */
  async get(transaction: Hex): Promise<Receipt | undefined> {
    const answer = await this.#rpc.read('eth_getTransactionReceipt', [transaction])
    return receiptOf(transaction, unwrap(answer))
  }

  async wait(
    transactions: () => readonly Hex[],
    { timeoutMs, signal }: Patience,
  ): Promise<Receipt | undefined> {
    const wants = (): readonly Hex[] => transactions().map((one) => one.toLowerCase() as Hex)
    const early = wants().map((transaction) => this.#arrived.get(transaction))
    const known = early.find((receipt) => receipt !== undefined)
    if (known !== undefined || signal.aborted) return known
    return new Promise((resolve) => {
      const end = (receipt?: Receipt): void => {
        this.#waiters.delete(waiter)
        world.clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        resolve(receipt)
      }
      const waiter: Waiter = { wants, end }
      const onAbort = (): void => end()
      const timer = world.setTimeout(onAbort, timeoutMs)
      signal.addEventListener('abort', onAbort)
      this.#waiters.add(waiter)
      this.#pollSoon()
    })
  }

  /** Gives callers a receipt that came by another way. */
  deliver(receipt: Receipt): void {
    const transaction = receipt.transaction.toLowerCase() as Hex
    this.#arrived.set(transaction, receipt)
    for (const waiter of this.#waiters)
      if (waiter.wants().includes(transaction)) waiter.end(receipt)
  }

  /** Pauses polling for a transaction until a request that may bring its receipt has ended. */
  async expect<T>(transaction: Hex, request: Promise<T>): Promise<T> {
    this.#expected.add(transaction)
    return request.finally(() => {
      this.#expected.delete(transaction)
      if (this.#waiters.size > 0) this.#pollSoon()
    })
  }

  #pollSoon(): void {
    this.#pauseMs = POLL_MS.first
    this.#wake.abort()
    if (!this.#isPolling) void this.#pollWhileAwaited()
  }

  async #pollWhileAwaited(): Promise<void> {
    this.#isPolling = true
    while (this.#waiters.size > 0) {
      await this.#poll().catch(ignoreChainError)
      if (this.#waiters.size === 0) break
      await world
        .sleep(this.#pauseMs, undefined, { signal: this.#wake.signal })
        .catch(() => undefined)
      if (this.#wake.signal.aborted) this.#wake = new AbortController()
      else this.#pauseMs = Math.min(this.#pauseMs * 2, POLL_MS.longest)
    }
    this.#isPolling = false
    this.#lastBlock = undefined
  }

  async #poll(): Promise<void> {
    const before = world.elapsed() - ASK_AGAIN_MS
    const due = this.#wanted().filter(
      (transaction) => (this.#askedAt.get(transaction) ?? -Infinity) < before,
    )
    await Promise.all(due.map((transaction) => this.#ask(transaction)))
    const others = this.#wanted().filter((transaction) => !due.includes(transaction))
    if (others.length === 0) return
    const mined = await this.#minedNow(others)
    await Promise.all(mined.map((transaction) => this.#ask(transaction)))
  }

  #wanted(): readonly Hex[] {
    const all = new Set([...this.#waiters].flatMap((waiter) => waiter.wants()))
    return [...all].filter((transaction) => !this.#expected.has(transaction))
  }

  async #ask(transaction: Hex): Promise<void> {
    this.#askedAt.set(transaction, world.elapsed())
    const receipt = await this.get(transaction)
    if (receipt !== undefined) this.deliver(receipt)
  }

  /** The transactions that a new block lists; all, where blocks were missed. */
  async #minedNow(transactions: readonly Hex[]): Promise<readonly Hex[]> {
    const answer = await this.#rpc.read('eth_getBlockByNumber', ['latest', false])
    const block = membersOf(unwrap(answer))
    const number = quantityFrom(block['number'])
    const previous = this.#lastBlock
    this.#lastBlock = number
    if (previous === number) return []
    if (previous === undefined || number !== previous + 1n) return transactions
    const { transactions: list } = block
    const mined = new Set(Array.isArray(list) ? list.map((one) => hexFrom(one).toLowerCase()) : [])
    return transactions.filter((transaction) => mined.has(transaction))
  }
}

/**
 * Reads the receipt of a transaction, once there is one.
 *
 * @throws {@link ChainError} for the receipt of another transaction.
 */
export function receiptOf(transaction: Hex, value: unknown): Receipt | undefined {
  const receipt = receiptFrom(value)
  if (receipt && receipt.transaction.toLowerCase() !== transaction.toLowerCase())
    throw unusable('the receipt of another transaction')
  return receipt
}

function ignoreChainError(error: unknown): undefined {
  if (!(error instanceof ChainError)) throw error
}
