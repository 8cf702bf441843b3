import { LRUCache } from 'lru-cache'
import type { Receipt } from '../chain/types.js'
import type { Address, Hex } from '../protocol/payment.js'

/**
 * Transactions that are remembered, so that each is reported once: every payment of a batch reads its
 * receipt.
 */
const REMEMBERED = 10_000

/** What an account has paid for a transaction. */
export interface GasSpent {
  readonly relayer: Address
  /**
   * Gas used times its price. Some networks charge a further fee, in no common field of receipts.
   */
  readonly wei: bigint
}

/** Reports the cost of each transaction, once. */
export class GasSpending {
  readonly #told = new LRUCache<Hex, true>({ max: REMEMBERED })
  readonly #onSpent: ((spent: GasSpent) => void) | undefined

  constructor(onSpent: ((spent: GasSpent) => void) | undefined) {
    this.#onSpent = onSpent
  }

  /** Notes the receipt of a relayer's transaction. */
  note({ transaction, sender: relayer, gasUsed, gasPrice }: Receipt): void {
    if (this.#told.has(transaction)) return
    this.#told.set(transaction, true)
    this.#onSpent?.({ relayer, wei: gasUsed * gasPrice })
  }
}
