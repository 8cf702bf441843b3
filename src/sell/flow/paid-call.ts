import type { MatchedPayment } from '../route/matched-payment.js'
import type { Offer } from '../route/offer.js'
import type { RequestView } from '../route/request-view.js'
import type { PaidRoute } from '../route/route.js'
import type { RequestedPurchase } from '../route/route-records.js'
import type { ExceededLimit } from './payment-rate-limit.js'

/** Who calls a paid route, whatever carries the call. */
export interface Caller {
  readonly view: RequestView
  /** Whether nobody is there any more to receive an answer. It changes while the call runs. */
  readonly isGone: boolean
  readonly requestId: string | undefined
  /**
   * Counts its request, unless that was counted.
   *
   * @param payer - Once the payment is verified. @defaultValue counts for its address
   * @returns The limit that it exceeds, if any.
   */
  count(payer?: string): Promise<ExceededLimit | undefined>
}

export interface PaidCall {
  readonly route: PaidRoute
  readonly caller: Caller
}

export interface PresentedAttempt extends PaidCall {
  readonly project: string
  readonly offer: Offer
  readonly payment: MatchedPayment
  readonly bought: RequestedPurchase
}
