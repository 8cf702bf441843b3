import { LRUCache } from 'lru-cache'
import type { Chain } from '../../chain/chain.js'
import type { AuthorizationKey } from '../../ledger/ledger.js'
import type { Hex } from '../../protocol/payment.js'
import type { VerifiedPayment } from './verify/verify.js'
import { authorizationStateCall, toIsUsed, wordOf } from './confirm/outcome.js'
import { balanceCall } from './erc3009.js'

/** Seconds after `validBefore` for which a payment is counted whose end nobody has told. */
const LAPSE_SECONDS = 60n

/** Payers of whom it is remembered when their last payment ended, and for how many milliseconds. */
const ENDED = { max: 10_000, ttl: 60_000 }

/** Pending payments of one payer of which the chain is asked whether they were mined. */
const MOST_ASKED = 200

/** What payers have pending: what is reserved or sent here, and not known to be mined. */
export interface PendingSpend {
  /**
   * Counts a payment, if its payer has enough for it beside all that he has pending.
   *
   * @returns Whether he has, and it is counted.
   * @throws {@link ChainError}
   */
  take(payment: VerifiedPayment): Promise<boolean>
  /** Whether {@link take} would count it. @throws {@link ChainError} */
  covers(payment: VerifiedPayment): Promise<boolean>
  /** Takes back one {@link take}: nothing will be sent, or another request has the payment. */
  drop(key: AuthorizationKey): void
  /** The chain has decided: the payment is mined, or can no longer be. */
  end(key: AuthorizationKey): void
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

/** What a payer has, at one block. */
interface Balance {
  /** Unknown where the token does not say. */
  readonly balance: bigint | undefined
  /** By `performance.now()`: it is at least as new as this. */
  readonly at: number
  /** Nonces of pending payments whose money has left it already. */
  readonly used: ReadonlySet<Hex>
}

/**
 * Counts what payers have pending.
 *
 * The chain tells what was mined. Without this, a payer could have many payments found good at once
 * that his balance is good for once: all others would fail on chain at our cost.
 *
 * Other processes' payments are not counted; they are seen once they are mined.
 */
export function createPendingSpend(chain: Chain): PendingSpend {
  const byPayer = new Map<string, Map<Hex, Pending>>()
  const ended = new LRUCache<string, readonly Pending[]>(ENDED)
  const asking = new Map<string, Promise<Balance>>()

  const pendingOf = (payer: string): ReadonlyMap<Hex, Pending> => byPayer.get(payer) ?? new Map()

  const remove = (payer: string, nonce: Hex): void => {
    const pending = byPayer.get(payer)
    pending?.delete(nonce)
    if (pending?.size === 0) byPayer.delete(payer)
  }

  const isCovered = (known: Balance, { key, transfer }: VerifiedPayment): boolean => {
    const { balance, used, at } = known
    if (balance === undefined) return true
    const payer = nameOf(key)
    const lapsed = BigInt(Math.floor(Date.now() / 1000)) - LAPSE_SECONDS
    let sum = transfer.authorization.value
    for (const { nonce, value, validBefore } of pendingOf(payer).values()) {
      if (validBefore < lapsed) remove(payer, nonce)
      else if (nonce !== key.nonce && !used.has(nonce)) sum += value
    }
    for (const { nonce, value, endedAt } of ended.get(payer) ?? [])
      if (endedAt >= at && !used.has(nonce)) sum += value
    return balance >= sum
  }

  /** Asks what the payer has now, and which of his payments are mined already. */
  const ask = async ({ from, asset, chainId }: AuthorizationKey): Promise<Balance> => {
    const at = performance.now()
    const nonces = [...pendingOf(nameOf({ asset, from })).keys()].slice(0, MOST_ASKED)
    const [balance, ...states] = await chain.callMany([
      balanceCall(asset, from),
      ...nonces.map((nonce) => authorizationStateCall({ chainId, asset, from, nonce })),
    ])
    const used = new Set(nonces.filter((_nonce, index) => toIsUsed(states[index]) === true))
    return { balance: wordOf(balance), at, used }
  }
  const askOnce = (key: AuthorizationKey): Promise<Balance> => {
    const payer = nameOf(key)
    const asked = asking.get(payer) ?? ask(key).finally(() => asking.delete(payer))
    asking.set(payer, asked)
    return asked
  }

  /** Calls `use` in the turn in which the payment was found covered: no other is counted in between. */
  const whenCovered = async (payment: VerifiedPayment, use?: () => void): Promise<boolean> => {
    const { checked, key } = payment
    if (checked === undefined) return true
    const { balance, at } = checked.simulation
    const isFirst = isCovered({ balance, at, used: new Set() }, payment)
    const isGood = isFirst || isCovered(await askOnce(key), payment)
    if (isGood) use?.()
    return isGood
  }

  return {
    covers: (payment) => whenCovered(payment),
    take: (payment) =>
      whenCovered(payment, () => {
        const { key, transfer } = payment
        const { nonce, value, validBefore } = transfer.authorization
        const pending = byPayer.get(nameOf(key)) ?? new Map<Hex, Pending>()
        const own = pending.get(nonce)
        if (own === undefined)
          pending.set(nonce, { nonce, value, validBefore, takers: 1, endedAt: Infinity })
        else own.takers++
        byPayer.set(nameOf(key), pending)
      }),
    drop(key) {
      const own = pendingOf(nameOf(key)).get(key.nonce)
      if (own !== undefined && --own.takers <= 0) remove(nameOf(key), key.nonce)
    },
    end(key) {
      const payer = nameOf(key)
      const own = pendingOf(payer).get(key.nonce)
      if (own === undefined) return
      remove(payer, key.nonce)
      const now = performance.now()
      const recent = (ended.get(payer) ?? []).filter(({ endedAt }) => now - endedAt < ENDED.ttl)
      ended.set(payer, [...recent.slice(-MOST_ASKED), { ...own, endedAt: now }])
    },
  }
}

function nameOf({ asset, from }: Pick<AuthorizationKey, 'asset' | 'from'>): string {
  return `${asset}:${from}`.toLowerCase()
}
