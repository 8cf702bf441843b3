/** Express, as it carries the calls to paid routes. */
import type { NextFunction, Request, Response } from 'express'
import { isClosed } from '../../shared/http/once-closed.js'
import { knownRequestId } from '../../shared/http/request-id.js'
import type { ReadInput } from '../discovery/read-input.js'
import { hidePayment } from '../respond/hide-payment.js'
import type { RequestView } from '../route/request-view.js'
import type { PaidRequest } from './paid-request.js'
import type { CountRequest } from './payment-rate-limit.js'
import type { Caller, PresentedAttempt } from './paid-call.js'

export interface Exchange {
  readonly req: Request
  readonly view: RequestView
  readonly res: Response
  readonly next: NextFunction
  /** Whether the rate limit has counted it for its address. @defaultValue false */
  readonly isCounted?: boolean
  /** The request's input, as the route's schemas read it. */
  readonly input?: ReadInput | undefined
}

export function callerOf(
  { req, view, res, isCounted = false }: Omit<Exchange, 'next'>,
  countRequest?: CountRequest,
): Caller {
  return {
    view,
    get isGone() {
      return isClosed(res)
    },
    get requestId() {
      return knownRequestId(req, res)
    },
    async count(payer) {
      if (payer === undefined && isCounted) return undefined
      return countRequest?.({ req, res, payer })
    },
  }
}

/** The members of a payment that every handler sees. */
export function shownOf({ payload, requirements }: PresentedAttempt['payment']) {
  const { amount, asset, network } = requirements
  return { amount, asset, network, requirements, payload }
}

/** Shows the handler what was paid, as `req.x402` and `res.locals.x402`, and not the payment itself. */
export function attachPayment(
  { req, res, input }: Exchange,
  { payment }: Pick<PresentedAttempt, 'payment'>,
  parties: Pick<PaidRequest, 'payer' | 'transaction' | 'waive' | 'charge'>,
): void {
  const { signedIn } = req.x402 ?? {}
  const paid: PaidRequest = { ...shownOf(payment), input, signedIn, ...parties }
  req.x402 = paid
  res.locals['x402'] = paid
  hidePayment(req)
}
