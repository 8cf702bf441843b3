import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { ConfigError, isOutsideFailure } from '../errors.js'
import { isRefusal } from '../facilitator/facilitator.js'
import type { Refusal, Reservation, ReservingFacilitator } from '../facilitator/facilitator.js'
import type { Price } from '../money/price.js'
import type { AppliedRate } from '../money/rates.js'
import type { PaymentPayload, PaymentRequirements, SettleResponse } from '../protocol/payment.js'
import {
  answerPaymentRequired,
  answerUnavailable,
  keepPrivate,
  NOT_PAID,
  paymentRequired,
  paymentResponse,
  setPaymentResponse,
} from './answers.js'
import { holdResponse } from './held-response.js'
import { matchOffer, type MatchContext } from './match-offer.js'
import { offerOf, type Offer } from './offer.js'
import type { PaidRequest } from './paid-request.js'
import { claimPayment, type ClaimContext, type PaymentClaim } from './payment-claim.js'
import { bringsPayment, readPayment } from './read-payment.js'
import { declareRoute } from './route.js'
import type { PaidRoute, PriceFunction, ProtectOptions, RouteContext } from './route.js'
import { recordAnswer } from './stored-answer.js'

/** Declares that a route costs money; see {@link createX402Protect}. */
export type X402Protect = (price: Price | PriceFunction, options?: ProtectOptions) => RequestHandler

/** What charging takes of its gateway. */
export interface ProtectContext extends RouteContext, ClaimContext, MatchContext {
  readonly facilitator: ReservingFacilitator
}

/** One request on its way through a paid route. */
interface Exchange {
  readonly req: Request
  readonly res: Response
  readonly next: NextFunction
}

/** A payment that has been read from a request and fits what its route asks. */
interface MatchedPayment {
  readonly payload: PaymentPayload
  /** The entry of `accepts` that is paid. */
  readonly requirements: PaymentRequirements
  /** How its amount came about, where a rate had a part in it. */
  readonly quote: AppliedRate | undefined
  readonly paymentId: string | undefined
}

/** A payment on its way to what it buys. */
interface Sale {
  readonly exchange: Exchange
  readonly offer: Offer
  readonly payment: MatchedPayment
  /** By which the payer may ask for the answer again. */
  readonly claim: PaymentClaim
}

/** Makes the `x402Protect` of a gateway. */
export function createX402Protect(context: ProtectContext): X402Protect {
  return function x402Protect(price, options) {
    const route = declareRoute(context, price, options)
    return function x402Middleware(req, res, next) {
      sell(context, route, { req, res, next }).catch(next)
    }
  }
}

/** The story of a request: free or paid, and if paid, by whom. */
async function sell(context: ProtectContext, route: PaidRoute, exchange: Exchange): Promise<void> {
  const { req, res, next } = exchange
  if (req.method === 'OPTIONS' || (await route.skip(req))) return next()
  try {
    if (route.answerUnpaid !== undefined && !bringsPayment(req)) return route.answerUnpaid(req, res)
    const offer = await route.offer(req)
    if (offer === undefined) return next()
    const payment = await readMatchingPayment(context, { route, offer }, exchange)
    if (payment === undefined) return

    const { project } = route.merchant
    const resourceUrl = offer.resource.url
    // What cannot be quoted anew is asked for as it was quoted before.
    const asked =
      offer.failure === undefined
        ? offer
        : offerOf(offer.resource, [{ entry: payment.requirements }])
    const claim = await claimPayment(context, { ...payment, req, res, project, resourceUrl })
    if (claim === undefined) return
    try {
      await sellOnce(context, route, { exchange, offer: asked, payment, claim })
    } finally {
      await claim.pause()
    }
  } catch (error) {
    if (!isOutsideFailure(error)) throw error
    context.logger.error('A payment could not be taken.', { code: error.code, error })
    answerUnavailable(res, { code: error.code, detail: error.message })
  }
}

/** The story of a payment, which nobody else is working on. */
async function sellOnce(context: ProtectContext, route: PaidRoute, sale: Sale): Promise<void> {
  const { payload, requirements, quote } = sale.payment
  const { minValiditySeconds } = route
  const terms = { ...route.merchant, quote, minValiditySeconds }
  const reserved = await context.facilitator.reserve(payload, requirements, terms)
  if (isRefusal(reserved)) return answerRefusal(sale, reserved)
  if (route.paymentFlow === 'upfront') await settleThenRun(sale, reserved)
  else await runThenSettle(context, route, { ...sale, reservation: reserved })
}

/** Reads the payment; when there is none that fits, answers so and returns nothing. */
async function readMatchingPayment(
  context: ProtectContext,
  asked: { readonly route: PaidRoute; readonly offer: Offer },
  { req, res }: Exchange,
): Promise<MatchedPayment | undefined> {
  const { offer } = asked
  const presented = readPayment(req)
  // There is nothing to ask for.
  if (presented.kind !== 'payment' && offer.failure !== undefined) throw offer.failure
  switch (presented.kind) {
    case 'none':
      answerPaymentRequired(res, paymentRequired(offer, NOT_PAID))
      return undefined
    case 'unreadable':
      answerPaymentRequired(res, paymentRequired(offer, presented.problem), 400)
      return undefined
    case 'other_version':
      answerPaymentRequired(res, paymentRequired(offer, 'invalid_x402_version'))
      return undefined
    case 'payment': {
      const { payload, accepted, paymentId } = presented
      const quote = await matchOffer(context, asked, { req, payload, accepted })
      if (typeof quote !== 'string')
        return { payload, requirements: quote.entry, quote: quote.applied, paymentId }
      if (offer.failure !== undefined) throw offer.failure
      answerPaymentRequired(res, paymentRequired(offer, quote))
      return undefined
    }
  }
}

/** The `authorization` flow: the money moves once the handler has given a good answer. */
async function runThenSettle(
  context: ProtectContext,
  route: PaidRoute,
  sale: Sale & { reservation: Reservation },
): Promise<void> {
  const { exchange, payment, claim, reservation } = sale
  const { res, next } = exchange
  attachPayment(exchange, payment, { payer: reservation.payer })
  const held = holdResponse(res, route.maxHeldBytes)
  next()
  const end = await held.finished

  if (end.how !== 'ended' || held.clientGone || isUnpaidStatus(end.status)) {
    await reservation.release().catch((error: unknown) => {
      context.logger.error('A payment could not be released.', { error })
    })
    await claim.abandon()
    if (end.how === 'ended') return held.send()
    if (end.how === 'aborted') return
    held.discard()
    throw new ConfigError(
      'maxHeldBytes',
      `The answer is larger than ${route.maxHeldBytes} bytes and was not charged for: raise maxHeldBytes, or stream with paymentFlow: 'upfront'.`,
    )
  }

  const orDiscard = (error: unknown): never => {
    held.discard()
    throw error
  }
  const settlement = await reservation.settle().catch(orDiscard)
  if (!settlement.success) {
    held.discard()
    return answerUnsettled(sale, settlement)
  }
  setPaymentResponse(res, settlement)
  keepPrivate(res)
  const answer = claim.hasId ? held.answer() : undefined
  // Nobody has had the answer: the payer may ask for it once more, by his id or by his payment.
  if (held.clientGone && answer?.body === undefined) return reservation.reopen()
  await claim.keep(answer)
  await reservation.grant().catch(async (error: unknown) => {
    await claim.abandon()
    return orDiscard(error)
  })
  await claim.finish(answer)
  if (!held.clientGone) held.send()
}

/** The `upfront` flow: the money has moved before the handler runs, which then may stream. */
async function settleThenRun(sale: Sale, reservation: Reservation): Promise<void> {
  const { exchange, payment, claim } = sale
  const { res, next } = exchange
  const settlement = await reservation.settle()
  if (!settlement.success) return answerUnsettled(sale, settlement)
  if (res.destroyed) return reservation.reopen()
  await claim.keep({ status: 200, headers: paymentResponse(settlement), body: undefined })
  await reservation.grant().catch(async (error: unknown) => {
    await claim.abandon()
    throw error
  })
  const { transaction } = settlement
  attachPayment(exchange, payment, { payer: reservation.payer, transaction })
  const recorded = claim.hasId ? recordAnswer(res) : undefined
  setPaymentResponse(res, settlement)
  keepPrivate(res)
  next()
  if (recorded !== undefined) await claim.finish(await recorded)
}

function attachPayment(
  { req, res }: Exchange,
  { payload, requirements }: MatchedPayment,
  parties: { payer: string; transaction?: string },
): void {
  const { amount, asset, network } = requirements
  const paid: PaidRequest = { ...parties, amount, asset, network, requirements, payload }
  req.x402 = paid
  res.locals['x402'] = paid
}

/** Answers a payment that was refused before anything was sent for it by this request. */
async function answerRefusal(sale: Sale, { refused, payer, transaction }: Refusal): Promise<void> {
  const { exchange, offer, payment, claim } = sale
  const { res } = exchange
  if (refused === 'invalid_exact_evm_nonce_already_used' && (await claim.answerKept(res))) return
  const { network } = payment.requirements
  if (transaction === undefined) {
    await claim.abandon()
    return answerPaymentRequired(res, paymentRequired(offer, refused))
  }
  await answerUnsettled(sale, { success: false, errorReason: refused, transaction, network, payer })
}

/** Answers a payment that did not come to its end: final, or not known yet. */
async function answerUnsettled(
  { exchange: { res }, offer, claim }: Sale,
  settlement: Extract<SettleResponse, { success: false }>,
): Promise<void> {
  const isPending = settlement.errorReason === 'settlement_pending'
  await (isPending ? claim.pause() : claim.abandon())
  setPaymentResponse(res, settlement)
  if (!isPending) return answerPaymentRequired(res, paymentRequired(offer, settlement.errorReason))
  answerUnavailable(res, {
    code: 'settlement_pending',
    detail:
      'The payment was sent, but is not known to be mined yet. Present the same payment again; do not sign another.',
  })
}

/** Answers that nobody pays for. */
function isUnpaidStatus(status: number): boolean {
  return status >= 400 || status === 304
}
