import { LRUCache } from 'lru-cache'
import type { Chain } from '../../../chain/chain.js'
import type { PaymentKey } from '../../../ledger/index.js'
import type { Hex } from '../../../protocol/payment.js'
import { authorizationStateCall, balanceCall, toIsUsed, wordOf } from '../erc3009.js'
import type { SignedTransfer } from '../erc3009.js'
import type { CheckedTransfer } from './gas-limits.js'

/** How long a payment is counted after `validBefore` if its end was never reported (s). */
const LAPSE_SECONDS = 60n

/** How many payers' last ended payments are remembered, and how long (ms). */
const ENDED = { max: 10_000, ttl: 60_000 }

/** Pending payments of one payer that the chain is asked about. */
const MOST_ASKED = 200

/** Ended payments of one payer that are remembered. */
const MOST_ENDED = 200

/** A payment that spends its payer's balance. */
export interface Spend {
  readonly key: PaymentKey
  readonly transfer: Pick<SignedTransfer, 'authorization'>
  /** Absent where its transaction is out already. */
  readonly checked: CheckedTransfer | undefined
}

/** A payment that is counted. */
interface Pending {
  readonly nonce: Hex
  readonly value: bigint
  readonly validBefore: bigint
  /** Requests that have taken it and not dropped it. */
  takers: number
  /** When it ended, by `performance.now()`: it counts against balances that are older. */
  endedAt: number
}

/** A payer's balance, at one block. */
interface Balance {
  /** Unknown where the token does not say. */
  readonly balance: bigint | undefined
  /** By `performance.now()`: the balance is at least as new as this. */
  readonly at: number
  /** Nonces of pending payments whose money has left it already. */
  readonly used: ReadonlySet<Hex>
}

/**
 * Counts what payers have pending: what is reserved or sent here, and not known to be mined.
 *
 * The chain knows only what was mined. Without this, a payer could have many payments verified at once
 * that its balance covers only once: all others would fail on chain at our cost.
 *
 * Payments of other processes are not counted; they are seen once they are mined.
 */
export class PendingSpend {
  readonly #chain: Chain
  /** By payer, then by nonce. */
  readonly #byPayer = new Map<string, Map<Hex, Pending>>()
  /** By payer: payments that ended lately, in the order of their ends. */
  readonly #ended = new LRUCache<string, Pending[]>(ENDED)
  /** By payer: the request for its balance that is under way. */
  readonly #asking = new Map<string, Promise<Balance>>()

  constructor(chain: Chain) {
    this.#chain = chain
  }

  /**
   * Counts a payment if its payer's balance covers it on top of all that is pending.
   *
   * @returns Whether it does, and the payment is counted.
   * @throws {@link ChainError}
   */
  take(spend: Spend): Promise<boolean> {
    return this.#whenCovered(spend, () => this.#count(spend))
  }

  /** Whether {@link take} would count it. @throws {@link ChainError} */
  covers(spend: Spend): Promise<boolean> {
    return this.#whenCovered(spend)
  }

  /** Undoes one {@link take}: nothing will be sent, or another request has the payment. */
  drop(key: PaymentKey): void {
    const own = this.#pendingOf(payerId(key)).get(key.nonce)
    if (own !== undefined && --own.takers <= 0) this.#remove(payerId(key), key.nonce)
  }

  /** The chain has decided: the payment is mined, or can no longer be. */
  end(key: PaymentKey): void {
    const payer = payerId(key)
    const own = this.#pendingOf(payer).get(key.nonce)
    if (own === undefined) return
    this.#remove(payer, key.nonce)
    own.endedAt = performance.now()
    const ended = this.#ended.get(payer) ?? []
    if (ended.push(own) > MOST_ENDED) ended.shift()
    this.#ended.set(payer, ended)
  }

  /** Calls `use` in the turn in which the payment was found covered: no other is counted in between. */
  async #whenCovered(spend: Spend, use?: () => void): Promise<boolean> {
    const { checked, key } = spend
    if (checked === undefined) return true
    const { balance, at } = checked.simulation
    const isFirst = this.#isCovered({ balance, at, used: new Set() }, spend)
    const isGood = isFirst || this.#isCovered(await this.#askOnce(key), spend)
    if (isGood) use?.()
    return isGood
  }

  #isCovered({ balance, used, at }: Balance, { key, transfer }: Spend): boolean {
    if (balance === undefined) return true
    const payer = payerId(key)
    const lapsed = BigInt(Math.floor(Date.now() / 1000)) - LAPSE_SECONDS
    let sum = transfer.authorization.value
    for (const { nonce, value, validBefore } of this.#pendingOf(payer).values()) {
      if (validBefore < lapsed) this.#remove(payer, nonce)
      else if (nonce !== key.nonce && !used.has(nonce)) sum += value
    }
    for (const { nonce, value, endedAt } of this.#ended.get(payer) ?? [])
      if (endedAt >= at && !used.has(nonce)) sum += value
    return balance >= sum
  }

  #count({ key, transfer }: Spend): void {
    const { nonce, value, validBefore } = transfer.authorization
    const pending = this.#byPayer.get(payerId(key)) ?? new Map<Hex, Pending>()
    const own = pending.get(nonce)
    if (own === undefined)
      pending.set(nonce, { nonce, value, validBefore, takers: 1, endedAt: Infinity })
    else own.takers++
    this.#byPayer.set(payerId(key), pending)
  }

  #askOnce(key: PaymentKey): Promise<Balance> {
    const payer = payerId(key)
    const asked =
      this.#asking.get(payer) ?? this.#ask(key).finally(() => this.#asking.delete(payer))
    this.#asking.set(payer, asked)
    return asked
  }

  /** Asks for the payer's balance, and which of its payments are mined already. */
  async #ask({ from, contract }: PaymentKey): Promise<Balance> {
    const at = performance.now()
    const nonces = [...this.#pendingOf(payerId({ contract, from })).keys()].slice(0, MOST_ASKED)
    const [balance, ...states] = await this.#chain.callMany([
      balanceCall(contract, from),
      ...nonces.map((nonce) => authorizationStateCall({ contract, from, nonce })),
    ])
    const used = new Set(nonces.filter((_nonce, index) => toIsUsed(states[index]) === true))
    return { balance: wordOf(balance), at, used }
  }

  #pendingOf(payer: string): ReadonlyMap<Hex, Pending> {
    return this.#byPayer.get(payer) ?? new Map<Hex, Pending>()
  }

  #remove(payer: string, nonce: Hex): void {
    const pending = this.#byPayer.get(payer)
    pending?.delete(nonce)
    if (pending?.size === 0) this.#byPayer.delete(payer)
  }
}

/** Names a payer of one token. */
function payerId({ contract, from }: Pick<PaymentKey, 'contract' | 'from'>): string {
  return `${contract}:${from}`.toLowerCase()
}
