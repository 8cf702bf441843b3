import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { ChainError } from '../errors.js'
import type { Hex } from '../protocol/payment.js'
import type { Patience, Receipt } from './chain.js'
import { unusable } from './node-errors.js'
import type { Rpc } from './rpc.js'
import { hexFrom, membersOf, quantityFrom, receiptFrom, unwrap } from './rpc-values.js'

/** First and longest wait between two looks at the latest block, in milliseconds. */
const LOOK_MS = { first: 20, longest: 250 }

/** Milliseconds after which a transaction is asked for by itself again, whatever blocks said. */
const ASK_AGAIN_MS = 2000

/** Receipts kept for those who begin to wait for them just now. */
const ARRIVED = { max: 2000, ttl: 10_000 }

/** Waits for transactions to be mined: once for all who wait. */
export interface ReceiptWatch {
  /** The receipt of a transaction, once it is mined. @throws {@link ChainError} */
  get(transaction: Hex): Promise<Receipt | undefined>
  /** As {@link Chain.waitForReceipt}. */
  wait(transactions: () => readonly Hex[], patience: Patience): Promise<Receipt | undefined>
  /** Hands over a receipt that came by another way. */
  note(receipt: Receipt): void
  /** Does not ask for a transaction while something else is under way that will tell. */
  expect<T>(transaction: Hex, telling: Promise<T>): Promise<T>
}

/** Watches one network's blocks for as long as anybody waits for a receipt. */
export function createReceiptWatch(rpc: Rpc): ReceiptWatch {
  const waiters = new Set<Waiter>()
  const expected = new Set<string>()
  const arrived = new LRUCache<string, Receipt>(ARRIVED)
  const askedAt = new LRUCache<string, number>({ max: ARRIVED.max })
  let lastBlock: bigint | undefined
  let pauseMs = LOOK_MS.first
  let isWatching = false
  let wake = new AbortController()

  const get: ReceiptWatch['get'] = async (transaction) => {
    const receipt = receiptFrom(unwrap(await rpc.read('eth_getTransactionReceipt', [transaction])))
    if (receipt && receipt.transaction.toLowerCase() !== transaction.toLowerCase())
      throw unusable('the receipt of another transaction')
    return receipt
  }

  const note = (receipt: Receipt): void => {
    const transaction = receipt.transaction.toLowerCase() as Hex
    arrived.set(transaction, receipt)
    for (const waiter of waiters) if (waiter.wants().includes(transaction)) waiter.end(receipt)
  }

  const ask = async (transaction: Hex): Promise<void> => {
    askedAt.set(transaction, performance.now())
    const receipt = await get(transaction)
    if (receipt !== undefined) note(receipt)
  }

  const wanted = (): readonly Hex[] => {
    const all = new Set([...waiters].flatMap((waiter) => waiter.wants()))
    return [...all].filter((transaction) => !expected.has(transaction))
  }

  /** Those that a new block holds; all, where blocks were missed. */
  const minedNow = async (transactions: readonly Hex[]): Promise<readonly Hex[]> => {
    const block = membersOf(unwrap(await rpc.read('eth_getBlockByNumber', ['latest', false])))
    const number = quantityFrom(block['number'])
    const previous = lastBlock
    lastBlock = number
    if (previous === number) return []
    if (previous === undefined || number !== previous + 1n) return transactions
    const { transactions: list } = block
    const mined = new Set(Array.isArray(list) ? list.map((one) => hexFrom(one).toLowerCase()) : [])
    return transactions.filter((transaction) => mined.has(transaction))
  }

  const look = async (): Promise<void> => {
    const before = performance.now() - ASK_AGAIN_MS
    const due = wanted().filter((transaction) => (askedAt.get(transaction) ?? -Infinity) < before)
    await Promise.all(due.map(ask))
    const others = wanted().filter((transaction) => !due.includes(transaction))
    if (others.length > 0) await Promise.all((await minedNow(others)).map(ask))
  }

  const watch = async (): Promise<void> => {
    isWatching = true
    while (waiters.size > 0) {
      await look().catch(ignoreChainError)
      if (waiters.size === 0) break
      await sleep(pauseMs, undefined, { signal: wake.signal }).catch(() => undefined)
      if (wake.signal.aborted) wake = new AbortController()
      else pauseMs = Math.min(pauseMs * 2, LOOK_MS.longest)
    }
    isWatching = false
    lastBlock = undefined
  }

  const lookSoon = (): void => {
    pauseMs = LOOK_MS.first
    wake.abort()
    if (!isWatching) void watch()
  }

  return {
    get,
    note,
    async wait(transactions, { timeoutMs, signal }) {
      const wants = (): readonly Hex[] => transactions().map((one) => one.toLowerCase() as Hex)
      const early = wants().map((transaction) => arrived.get(transaction))
      const known = early.find((receipt) => receipt !== undefined)
      if (known !== undefined || signal.aborted) return known
      return new Promise((resolve) => {
        const end = (receipt?: Receipt): void => {
          waiters.delete(waiter)
          clearTimeout(timer)
          signal.removeEventListener('abort', onAbort)
          resolve(receipt)
        }
        const waiter: Waiter = { wants, end }
        const onAbort = (): void => end()
        const timer = setTimeout(onAbort, timeoutMs)
        signal.addEventListener('abort', onAbort)
        waiters.add(waiter)
        lookSoon()
      })
    },
    async expect(transaction, telling) {
      expected.add(transaction)
      return telling.finally(() => {
        expected.delete(transaction)
        if (waiters.size > 0) lookSoon()
      })
    },
  }
}

interface Waiter {
  /** Hashes in lower case. */
  readonly wants: () => readonly Hex[]
  readonly end: (receipt?: Receipt) => void
}

function ignoreChainError(error: unknown): undefined {
  if (!(error instanceof ChainError)) throw error
}
