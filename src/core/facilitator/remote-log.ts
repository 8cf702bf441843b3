import { LRUCache } from 'lru-cache'
import type { Logger } from '../../shared/logger.js'
import type { SettleResponse } from '../../shared/protocol/payment.js'
import { isFailedTransaction, type Reason } from '../../shared/protocol/reasons.js'
import type { Refusal } from '../schemes/scheme.js'
import { ownWords } from './http/results.js'

/** Time before the same reason is logged again (ms). */
const SILENCE_MS = 60_000

/** Most reasons that are logged within that time: a facilitator may make them up. */
const MAX_REASONS = 100

/** Reasons that are about what this gateway offers, not about what the buyer did. */
const UNSUPPORTED: readonly Reason[] = [
  'invalid_x402_version',
  'unsupported_scheme',
  'invalid_network',
  'invalid_payment_requirements',
  'unsupported_asset',
]

/** Our words for a reason whose usual words say more than is known here. */
export function wordsOf(reason: Reason): string | undefined {
  return isFailedTransaction(reason)
    ? 'The facilitator says that the transaction failed on chain.'
    : undefined
}

interface LoggedAnswer {
  readonly path: 'verify' | 'settle'
  readonly reason: Reason
  readonly facilitatorMessage: string | undefined
}

/** Logs what a remote facilitator says, once a minute and reason. */
export class RemoteLog {
  readonly #logger: Logger
  readonly #logged = new LRUCache<string, true>({ max: MAX_REASONS, ttl: SILENCE_MS })

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /**
   * Logs a refusal.
   *
   * @param said - The facilitator's own words: for the operator, not for the buyer.
   * @returns The refusal, in our words.
   */
  refusalOf(path: 'verify' | 'settle', reason: Reason, said: unknown): Refusal {
    const facilitatorMessage = ownWords(said)
    // The offer was checked here, so it is the facilitator that does not take it.
    const isUnsupported = UNSUPPORTED.includes(reason)
    this.#warn(
      isUnsupported
        ? 'The facilitator does not settle what this gateway offers.'
        : 'The facilitator refused a payment.',
      { path, reason, facilitatorMessage },
    )
    return {
      refused: reason,
      message: isUnsupported
        ? 'The seller’s facilitator does not take this payment, though it was offered.'
        : wordsOf(reason),
      facilitatorMessage,
    }
  }

  /** Logs an answer that does not decide what became of a payment. */
  undecided(reason: Reason, said: unknown): void {
    const facilitatorMessage = ownWords(said)
    this.#warn('The facilitator did not say for certain what became of a payment.', {
      path: 'settle',
      reason,
      facilitatorMessage,
    })
  }

  /** Logs an answer by which another amount was taken than was charged. */
  otherAmount(
    charged: string,
    { amount, transaction }: Extract<SettleResponse, { success: true }>,
  ) {
    const fields = { charged, facilitatorAmount: amount, transaction }
    this.#logger.error(
      'The facilitator says that it has taken another amount than was charged. Look the transaction up on chain.',
      fields,
    )
  }

  #warn(message: string, fields: LoggedAnswer): void {
    const { path, reason } = fields
    this.#logged.purgeStale()
    const key = `${path} ${reason}`
    if (this.#logged.has(key) || this.#logged.size >= MAX_REASONS) return
    this.#logged.set(key, true)
    this.#logger.warn(message, fields)
  }
}
