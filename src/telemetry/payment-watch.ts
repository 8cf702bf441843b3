/** Watches payments on their way, for the view of latency, metrics and traces. */
import type { SettleResponse } from '../protocol/payment.js'
import { isRefusal } from '../schemes/scheme.js'
import type { PresentedPayment, Refusal, Reservation } from '../schemes/scheme.js'

/**
 * The phases of a payment: `verify` asks the chain, `reserve` writes the record, `handler` makes the
 * response, `settle` moves the money, `confirm` is the part of it after the transaction was sent, and
 * `deliver` writes down that the response goes out. A remote facilitator verifies within `reserve`.
 */
export type Phase = 'verify' | 'reserve' | 'handler' | 'settle' | 'confirm' | 'deliver'

/** How a payment has ended, as far as one request knows. */
export type PaymentEnd =
  /** `released`: nothing was to be charged. `undelivered`: it is paid, and may be presented again. */
  | { readonly kind: 'verified' | 'settled' | 'released' | 'undelivered' }
  | { readonly kind: 'not_settled'; readonly reason: string; readonly transaction?: string }
  | { readonly kind: 'error'; readonly error: unknown }

/** Watches one payment. */
export interface PaymentWatch {
  /** A phase begins. @returns Ends it; called once. */
  phase(name: Phase): () => void
  /** A transaction was sent for it. */
  submitted(transaction: string): void
  /** Called once, at the end. */
  end(how: PaymentEnd): void
}

/** Watches payments. What it does must not throw. */
export interface PaymentWatcher {
  begin(presented: PresentedPayment): PaymentWatch
}

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
    watch.end({ kind: 'error', error })
    throw error
  }
}

/** Ends the watch of a payment that was refused before anything was sent. */
export function endRefused(watch: PaymentWatch, { refused, transaction }: Refusal): void {
  watch.end({ kind: 'not_settled', reason: refused, ...(transaction && { transaction }) })
}

/** Goes on watching a payment that was reserved, or ends where it was refused. */
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
  // With `upfront` the handler runs once all is over.
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

  async settle(): Promise<SettleResponse> {
    this.#leaveHandler()
    const response = await during(this.#watch, 'settle', () => this.#reservation.settle())
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
