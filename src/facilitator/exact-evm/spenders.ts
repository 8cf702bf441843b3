import { LRUCache } from 'lru-cache'
import type { Address } from '../../protocol/payment.js'

/** Payers remembered, and for how many milliseconds: a payment found good is sent within seconds. */
const REMEMBERED = { max: 10_000, ttl: 60_000 }

/** Payers of whose money some was just sent on its way. */
export interface Spenders {
  note(payer: Address): void
  /** @param moment - By `performance.now()`. */
  hasSpentSince(payer: Address, moment: number): boolean
}

/**
 * Remembers who has just paid: what his balance was good for before, it may no longer be good for.
 *
 * Without it a payer could have many payments found good that his balance holds once.
 */
export function createSpenders(): Spenders {
  const spentAt = new LRUCache<Address, number>(REMEMBERED)
  return {
    note: (payer) => void spentAt.set(payer, performance.now()),
    hasSpentSince: (payer, moment) => (spentAt.get(payer) ?? -Infinity) >= moment,
  }
}
