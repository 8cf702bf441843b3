import type { Counters } from '../../ledger/counters.js'
import type { PresentedPayment } from '../../core/schemes/scheme.js'
import type { PaymentEnd, PaymentWatch, PaymentWatcher, Phase } from './payment-watch.js'
import type { RecentOutcomes } from './recent-outcomes.js'

const nothing = (): void => undefined
const UNWATCHED: PaymentWatch = { phase: () => nothing, submitted: nothing, end: nothing }

/** Times payments for the latency view, except refused payments and refunds, and notes how they end. */
export function latencyWatcher(counters: Counters, recent: RecentOutcomes): PaymentWatcher {
  return {
    begin: (presented) =>
      presented.refundOf !== undefined || presented.purpose === 'verify'
        ? UNWATCHED
        : new LatencyWatch(counters, presented, recent),
  }
}

/** Times of one payment, by `performance.now()`. Every payment has one, so it is small. */
class LatencyWatch implements PaymentWatch {
  readonly #counters: Counters
  readonly #recent: RecentOutcomes
  readonly #terms: PresentedPayment['terms']
  readonly #startedAt = performance.now()
  /** Set until `verify` has been counted. */
  #reservedAt: number | undefined
  /** Duration of `settle`, until it is known to have succeeded. */
  #settleMs: number | undefined

  constructor(counters: Counters, { terms }: PresentedPayment, recent: RecentOutcomes) {
    this.#counters = counters
    this.#recent = recent
    this.#terms = terms
  }

  phase(name: Phase): () => void {
    switch (name) {
      case 'reserve':
        return () => void (this.#reservedAt = performance.now())
      case 'handler': {
        const from = this.#countVerified()
        // Only the middleware sets a method: elsewhere no handler runs in between.
        if (this.#terms?.purchase?.method === undefined) return nothing
        return () => this.#time('handler', performance.now() - from)
      }
      case 'settle': {
        this.#countVerified()
        const from = performance.now()
        return () => void (this.#settleMs = performance.now() - from)
      }
      case 'deliver':
        this.#countSettled()
        return nothing
      case 'verify':
      case 'confirm':
        return nothing
    }
  }

  submitted(): void {}

  end(how: PaymentEnd): void {
    const { kind } = how
    this.#recent.note(how)
    if (kind === 'released') this.#countVerified()
    if (kind === 'undelivered') this.#countSettled()
    if (kind === 'settled') this.#time('total', performance.now() - this.#startedAt)
  }

  /** Counts `verify` once the payment proceeds. @returns When it was reserved. */
  #countVerified(): number {
    const reservedAt = this.#reservedAt
    if (reservedAt === undefined) return performance.now()
    this.#reservedAt = undefined
    this.#time('verify', reservedAt - this.#startedAt)
    return reservedAt
  }

  /** Counts `settle` once the payment is delivered. */
  #countSettled(): void {
    if (this.#settleMs !== undefined) this.#time('settle', this.#settleMs)
    this.#settleMs = undefined
  }

  #time(phase: 'verify' | 'handler' | 'settle' | 'total', ms: number): void {
    this.#counters.time(this.#terms?.project, phase, ms)
  }
}
