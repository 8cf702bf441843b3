import { LRUCache } from 'lru-cache'
import { growingTo } from '../../../../shared/growing-to.js'
import type { Chain } from '../../../chain/chain.js'
import type { LedgerEntry } from '../../../../ledger/index.js'
import type { PaymentFacts } from '../../../../shared/protocol/decoded-payment.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import { methodOf } from '../transfer-methods.js'
import { allowanceCall } from '../permit2/calls.js'
import { balanceCall, wordOf } from '../transfer/reads.js'
import type { CheckedTransfer } from './gas-limits.js'
import type { SettlementAsset } from '../transfer/settlement-asset.js'
import { world } from '../../../../shared/world.js'

/** How long a payment is counted after `validBefore` if its end was never reported (s). */
const LAPSE_SECONDS = 60n

/** How many payers' last ended payments are remembered, and how long (ms). */
const ENDED = { ...growingTo(10_000), ttl: 60_000 }

/** Pending payments of one payer that the chain is asked about. */
const MOST_ASKED = 200

const MOST_ENDED = 200

export interface Spend {
  readonly key: PaymentKey
  readonly asset: SettlementAsset
  readonly facts: PaymentFacts
  /** Absent where its transaction is out already. */
  readonly checked: CheckedTransfer | undefined
}

export type SpentPayment = PaymentKey & Pick<LedgerEntry, 'asset'>

interface Pending {
  readonly key: PaymentKey
  /** The highest of those that were signed with its nonce: one of them will be spent. */
  value: bigint
  readonly validBefore: bigint
  readonly allowed: Allowed
  /** Requests that have taken it and not dropped it. */
  takers: number
  /** When it ended, by `world.elapsed()`: it counts against balances that are older. */
  endedAt: number
}

/** Which allowance a payment takes: none, its payer's to Permit2, or one that it brings and that replaces that. */
type Allowed = 'unneeded' | 'shared' | 'own'

export type Shortage = 'balance' | 'allowance'

interface Balance {
  /** Unknown where the token does not say. */
  readonly balance: bigint | undefined
  /** Of Permit2; unknown where it is not needed, or the token does not say. */
  readonly allowance: bigint | undefined
  /** By `world.elapsed()`: the balance is at least as new as this. */
  readonly at: number
  /** Pending payments whose money has left it already. */
  readonly used: ReadonlySet<string>
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
  readonly #now: () => number
  /** By payer and token, then by nonce. */
  readonly #byPayer = new Map<string, Map<string, Pending>>()
  /** By payer: payments that ended lately, in the order of their ends. */
  readonly #ended = new LRUCache<string, Pending[]>(ENDED)
  /** By payer and contract: the request for its balance that is under way. */
  readonly #asking = new Map<string, Promise<Balance>>()

  /** @param now - Milliseconds since the epoch. */
  constructor(chain: Chain, now: () => number) {
    this.#chain = chain
    this.#now = now
  }

  /**
   * Counts a payment if its payer's balance covers it on top of all that is pending, and so does its allowance.
   *
   * @returns What does not; otherwise it is counted.
   */
  take(spend: Spend): Promise<Shortage | undefined> {
    return this.#whenCovered(spend, () => this.#count(spend))
  }

  /** What {@link take} would return. @throws {@link ChainError} */
  shortageOf(spend: Spend): Promise<Shortage | undefined> {
    return this.#whenCovered(spend)
  }

  /** Undoes one {@link take}: nothing will be sent, or another request has the payment. */
  drop(payment: SpentPayment): void {
    const [payer, nonce] = [payerId(payment), nonceId(payment)]
    const own = this.#pendingOf(payer).get(nonce)
    if (own !== undefined && --own.takers <= 0) this.#remove(payer, nonce)
  }

  /** The chain has decided: the payment is mined, or can no longer be. */
  end(payment: SpentPayment): void {
    const [payer, nonce] = [payerId(payment), nonceId(payment)]
    const own = this.#pendingOf(payer).get(nonce)
    if (own === undefined) return
    this.#remove(payer, nonce)
    own.endedAt = world.elapsed()
    const ended = this.#ended.get(payer) ?? []
    if (ended.push(own) > MOST_ENDED) ended.shift()
    this.#ended.set(payer, ended)
  }

  /** Calls `use` in the turn in which the payment was found covered: no other is counted in between. */
  async #whenCovered(spend: Spend, use?: () => void): Promise<Shortage | undefined> {
    const { checked } = spend
    if (checked === undefined) return undefined
    const { balance, allowance, at } = checked.simulation
    let shortage = this.#shortage({ balance, allowance, at, used: new Set() }, spend)
    if (shortage !== undefined) shortage = this.#shortage(await this.#askOnce(spent(spend)), spend)
    if (shortage === undefined) use?.()
    return shortage
  }

  #shortage({ balance, allowance, used, at }: Balance, spend: Spend): Shortage | undefined {
    const payer = payerId(spent(spend))
    const own = nonceId(spend.key)
    const lapsed = BigInt(Math.floor(this.#now() / 1000)) - LAPSE_SECONDS
    const others: Pending[] = []
    for (const [nonce, one] of this.#pendingOf(payer)) {
      if (one.validBefore < lapsed) this.#remove(payer, nonce)
      else if (nonce !== own && !used.has(nonce)) others.push(one)
    }
    for (const one of this.#ended.get(payer) ?? [])
      if (one.endedAt >= at && !used.has(nonceId(one.key))) others.push(one)
    const { amount } = spend.facts
    if (balance !== undefined && balance < sumOf(others, amount)) return 'balance'
    const allowed = allowedOf(spend.facts)
    const sharing = others.filter((one) => one.allowed !== 'unneeded')
    if (allowed === 'unneeded') return undefined
    // An approval sets the allowance, and does not add to it: other payments would find it changed.
    if (allowed === 'own' || sharing.some((one) => one.allowed === 'own'))
      return sharing.length === 0 ? undefined : 'allowance'
    return allowance === undefined || allowance >= sumOf(sharing, amount) ? undefined : 'allowance'
  }

  #count(spend: Spend): void {
    const { key, facts } = spend
    const { amount: value, validBefore } = facts
    const [payer, nonce] = [payerId(spent(spend)), nonceId(key)]
    const pending = this.#byPayer.get(payer) ?? new Map<string, Pending>()
    const own = pending.get(nonce)
    if (own === undefined)
      pending.set(nonce, {
        key,
        value,
        validBefore,
        allowed: allowedOf(facts),
        takers: 1,
        endedAt: Infinity,
      })
    else {
      own.takers++
      if (value > own.value) own.value = value
    }
    this.#byPayer.set(payer, pending)
  }

  #askOnce(payment: SpentPayment): Promise<Balance> {
    const id = `${payerId(payment)}:${payment.contract}`
    const asked = this.#asking.get(id) ?? this.#ask(payment).finally(() => this.#asking.delete(id))
    this.#asking.set(id, asked)
    return asked
  }

  /** Asks for the payer's balance, and which of its payments are mined already. */
  async #ask(payment: SpentPayment): Promise<Balance> {
    const at = world.elapsed()
    const pending = [...this.#pendingOf(payerId(payment)).values()].slice(0, MOST_ASKED)
    // Payments by Permit2 need an allowance; others are not asked about it.
    const isShared = methodOf(payment).bringsAllowance !== undefined
    const [balance, ...answers] = await this.#chain.callMany([
      balanceCall(payment.asset, payment.from),
      ...(isShared ? [allowanceCall(payment.asset, payment.from)] : []),
      ...pending.map(({ key }) => methodOf(key).stateCall(key)),
    ])
    const states = isShared ? answers.slice(1) : answers
    const allowance = isShared ? wordOf(answers[0]) : undefined
    const isUsed = ({ key }: Pending, index: number): boolean =>
      methodOf(key).isUsed(states[index], key) === true
    const used = new Set(pending.filter(isUsed).map(({ key }) => nonceId(key)))
    return { balance: wordOf(balance), allowance, at, used }
  }

  #pendingOf(payer: string): ReadonlyMap<string, Pending> {
    return this.#byPayer.get(payer) ?? new Map<string, Pending>()
  }

  #remove(payer: string, nonce: string): void {
    const pending = this.#byPayer.get(payer)
    pending?.delete(nonce)
    if (pending?.size === 0) this.#byPayer.delete(payer)
  }
}

function payerId({ asset, from }: SpentPayment): string {
  return `${asset}:${from}`.toLowerCase()
}

function nonceId({ contract, nonce }: PaymentKey): string {
  return `${contract}:${nonce}`
}

function allowedOf(facts: PaymentFacts): Allowed {
  const { bringsAllowance } = methodOf(facts)
  if (bringsAllowance === undefined) return 'unneeded'
  return bringsAllowance(facts) ? 'own' : 'shared'
}

function sumOf(payments: readonly Pick<Pending, 'value'>[], first: bigint): bigint {
  return payments.reduce((sum, { value }) => sum + value, first)
}

function spent({ key, asset }: Spend): SpentPayment {
  return { ...key, asset: asset.address }
}
