/** Watches payments, for alerts, metrics and traces. */
import type { SettleResponse } from '../../shared/protocol/payment.js'
import { isRefusal } from '../../core/schemes/scheme.js'
import type { PresentedPayment, Refusal, Reservation } from '../../core/schemes/scheme.js'

/**
 * Phases of a payment: `verify` asks the chain, `reserve` writes the record, `handler` makes the
 * response, `settle` moves the money, `confirm` is its part after the transaction was sent, and `deliver`
 * records that the response goes out. A remote facilitator verifies within `reserve`.
 */
export type Phase = 'verify' | 'reserve' | 'handler' | 'settle' | 'confirm' | 'deliver'

export type PaymentEnd =
  /** `released`: nothing was charged. `undelivered`: it is paid and may be presented again. */
  | { readonly kind: 'verified' | 'settled' | 'released' | 'undelivered' }
  | { readonly kind: 'not_settled'; readonly reason: string; readonly transaction?: string }
  | { readonly kind: 'error'; readonly error: unknown }

export interface PaymentWatch {
  /** Begins a phase. @returns Ends it; called once. */
  phase(name: Phase): () => void
  submitted(transaction: string): void
  /** Called once. */
  end(how: PaymentEnd): void
}

/** Watches payments. Must not throw. */
export interface PaymentWatcher {
  begin(presented: PresentedPayment): PaymentWatch
}

/** Errors that have ended the watch of a payment. */
const watched = new WeakSet<object>()

/** Whether a payment's watch has ended with an error: others come before it begins, as when a key is claimed. */
export const wasWatched = (error: object): boolean => watched.has(error)

/** Runs a phase. An error ends the payment's watch. */
export async function during<T>(
  watch: PaymentWatch,
  name: Phase,
  work: () => Promise<T>,
): Promise<T> {
  const endPhase = watch.phase(name)
  try {
    const done = await work()
    endPhase()
    return done
  } catch (error) {
    endPhase()
    if (error instanceof Error) watched.add(error)
    watch.end({ kind: 'error', error })
    throw error
  }
}

export function endRefused(watch: PaymentWatch, { refused, transaction }: Refusal): void {
  watch.end({ kind: 'not_settled', reason: refused, ...(transaction && { transaction }) })
}

export function watchReserved(
  watch: PaymentWatch,
  reserved: Reservation | Refusal,
  { payment, purpose }: PresentedPayment,
): Reservation | Refusal {
  if (isRefusal(reserved)) {
    endRefused(watch, reserved)
    return reserved
  }
  const isUpfront = payment.requirements.extra?.['paymentFlow'] === 'upfront'
  // With `upfront`, the handler runs at the very end.
  const endHandler = purpose === 'settle' || isUpfront ? undefined : watch.phase('handler')
  return new WatchedReservation(reserved, watch, endHandler)
}

class WatchedReservation implements Reservation {
  readonly payer: Reservation['payer']
  readonly lock: Reservation['lock']
  readonly #reservation: Reservation
  readonly #watch: PaymentWatch
  #endHandler: (() => void) | undefined

  constructor(reservation: Reservation, watch: PaymentWatch, endHandler: (() => void) | undefined) {
    this.payer = reservation.payer
    this.lock = reservation.lock
    this.#reservation = reservation
    this.#watch = watch
    this.#endHandler = endHandler
  }

  async settle(...charge: Parameters<Reservation['settle']>): Promise<SettleResponse> {
    this.#leaveHandler()
    const response = await during(this.#watch, 'settle', () => this.#reservation.settle(...charge))
    if (!response.success) {
      const { errorReason: reason, transaction } = response
      this.#watch.end({ kind: 'not_settled', reason, transaction })
    }
    return response
  }

  async release(): Promise<void> {
    this.#leaveHandler()
    await this.#reservation.release()
    this.#watch.end({ kind: 'released' })
  }

  async markDelivered(): Promise<void> {
    await during(this.#watch, 'deliver', () => this.#reservation.markDelivered())
    this.#watch.end({ kind: 'settled' })
  }

  async reopen(): Promise<void> {
    this.#watch.end({ kind: 'undelivered' })
    await this.#reservation.reopen()
  }

  undeliver(): Promise<void> {
    return this.#reservation.undeliver()
  }

  #leaveHandler(): void {
    this.#endHandler?.()
    this.#endHandler = undefined
  }
}
