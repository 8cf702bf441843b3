/** Recent outcomes of payments in this process. */
import type { PresentedPayment } from '../../core/schemes/scheme.js'
import type { PaymentEnd, PaymentWatch, PaymentWatcher } from './payment-watch.js'

const MINUTE_MS = 60_000

/** Time that counts as lately (minutes). */
const RECENT_MINUTES = 10

interface Outcomes {
  readonly errors: number
  readonly settled: number
}

const nothing = (): void => undefined
const UNWATCHED: PaymentWatch = { phase: () => nothing, submitted: nothing, end: nothing }

/** Counts the payments of the last minutes that were settled, and those that failed through no fault of the buyer. */
export class RecentOutcomes implements PaymentWatcher {
  readonly #now: () => number
  readonly #minutes = new Map<number, Outcomes>()
  readonly #watch: PaymentWatch = { ...UNWATCHED, end: (how) => this.note(how) }

  /** @param now - Milliseconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now
  }

  begin({ refundOf, purpose }: PresentedPayment): PaymentWatch {
    return refundOf !== undefined || purpose === 'verify' ? UNWATCHED : this.#watch
  }

  note({ kind }: PaymentEnd): void {
    if (kind !== 'error' && kind !== 'settled') return
    const minute = this.#minute()
    const { errors, settled } = this.#minutes.get(minute) ?? { errors: 0, settled: 0 }
    const isError = kind === 'error'
    this.#minutes.set(minute, {
      errors: errors + Number(isError),
      settled: settled + Number(!isError),
    })
    // One minute begins at a time: what is old is dropped as soon.
    for (const old of this.#minutes.keys())
      if (old <= minute - RECENT_MINUTES) this.#minutes.delete(old)
  }

  read(): Outcomes {
    const since = this.#minute() - RECENT_MINUTES
    let [errors, settled] = [0, 0]
    for (const [minute, one] of this.#minutes)
      if (minute > since) {
        errors += one.errors
        settled += one.settled
      }
    return { errors, settled }
  }

  #minute(): number {
    return Math.floor(this.#now() / MINUTE_MS)
  }
}
