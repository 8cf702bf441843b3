import type { NextFunction, Request, Response } from 'express'
import type { ReadInput } from '../discovery/read-input.js'
import type { MatchedPayment } from '../route/matched-payment.js'
import type { Offer } from '../route/offer.js'
import type { RequestedPurchase } from '../route/route.js'

/** A request on its way through Express. */
export interface Exchange {
  readonly req: Request
  readonly res: Response
  readonly next: NextFunction
  /** Whether the rate limit has counted it for its address. @defaultValue false */
  readonly isCounted?: boolean
  /** The request's input, as the route's schemas read it. */
  readonly input?: ReadInput | undefined
}

/** A payment that is presented for an offer. */
export interface PresentedAttempt extends Exchange {
  /** Id of the project that is paid. */
  readonly project: string
  readonly offer: Offer
  readonly payment: MatchedPayment
  /** The purchase that the request asks for. */
  readonly bought: RequestedPurchase
}
