import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { ConfigError, isOutsideFailure, type OutsideFailure } from '../errors.js'
import { isRefusal, refusalResponse } from '../schemes/scheme.js'
import type { ReservingFacilitator } from '../facilitator/facilitator.js'
import type { Refusal, Reservation } from '../schemes/scheme.js'
import type { Price } from '../money/price.js'
import type { AppliedRate } from '../money/rates.js'
import { paymentFor, type Payment } from '../protocol/decoded-payment.js'
import type { PaymentPayload, PaymentRequirements, SettleResponse } from '../protocol/payment.js'
import { answerOptions } from './answer-options.js'
import {
  answerPaymentRequired,
  answerProblem,
  answerUnavailable,
  NOT_PAID,
  paymentRequired,
  paymentResponse,
  setPaymentResponse,
} from './answers.js'
import { keepPrivate, keepPrivateOnHead } from './cache-control.js'
import { isConditionalStatus, removeConditions } from './conditional-requests.js'
import { HeldBudget } from './held-budget.js'
import { holdResponse, type HeldEnd, type HeldResponse } from './held-response.js'
import { matchOffer, type MatchContext } from './match-offer.js'
import { offerOf, pricedMethod, type Offer } from './offer.js'
import type { PaidRequest } from './paid-request.js'
import { claimPayment, type ClaimContext, type PaymentClaim } from './payment-claim.js'
import { createPaymentRateLimit } from './payment-rate-limit.js'
import type { AnswerLimited, CountRequest, PaymentRateLimitContext } from './payment-rate-limit.js'
import { bringsPayment, readPayment } from './read-payment.js'
import { declareRoute } from './route.js'
import type { PaidRoute, PriceFunction, ProtectOptions, RouteContext } from './route.js'
import { recordAnswer } from './stored-answer.js'

/** Declares that a route costs money; see {@link createX402Protect}. */
export type X402Protect = (price: Price | PriceFunction, options?: ProtectOptions) => RequestHandler

/** What charging takes of its gateway. */
export interface ProtectContext
  extends RouteContext, ClaimContext, MatchContext, PaymentRateLimitContext {
  readonly facilitator: ReservingFacilitator
}

/** What the routes of a gateway share. */
interface SharedContext extends ProtectContext {
  /** The memory of all answers that wait for their payments. */
  readonly heldBudget: HeldBudget
  /** Counts requests that bring a payment; `undefined` where they are not limited. */
  readonly countRequest: CountRequest | undefined
}

/** One request on its way through a paid route. */
interface Exchange {
  readonly req: Request
  readonly res: Response
  readonly next: NextFunction
}

/** A payment that has been read from a request and fits what its route asks. */
interface MatchedPayment {
  readonly decoded: Payment
  readonly payload: PaymentPayload
  /** The entry of `accepts` that is paid. */
  readonly requirements: PaymentRequirements
  /** How its amount came about, where a rate had a part in it. */
  readonly appliedRate: AppliedRate | undefined
  /** Whether its quote has expired: it is good for what is open already. */
  readonly redeemOnly: boolean
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

/** A payment that belongs to this request. */
interface ReservedSale extends Sale {
  readonly reservation: Reservation
}

/** Makes the `x402Protect` of a gateway. */
export function createX402Protect(gateway: ProtectContext): X402Protect {
  const context = {
    ...gateway,
    heldBudget: new HeldBudget(gateway.maxHeldBytesTotal),
    countRequest: createPaymentRateLimit(gateway),
  }
  return function x402Protect(price, options) {
    const route = declareRoute(context, price, options)
    return function x402Middleware(req, res, next) {
      sell(context, route, { req, res, next }).catch(next)
    }
  }
}

/** The story of a request: free or paid, and if paid, by whom. */
async function sell(context: SharedContext, route: PaidRoute, exchange: Exchange): Promise<void> {
  const { req, res, next } = exchange
  if (await route.skip(req)) return next()
  if (req.method === 'OPTIONS') return answerOptions(req, res)
  try {
    if (route.answerUnpaid !== undefined && !bringsPayment(req)) return route.answerUnpaid(req, res)
    const offer = await route.offer(req)
    if (offer === undefined) return next()
    const payment = await readMatchingPayment(context, { route, offer }, exchange)
    if (payment === undefined) return
    const answerLimited = await context.countRequest?.({ req, res })
    if (answerLimited !== undefined) return answerLimited()

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
    answerFailure(context, res, error)
  }
}

/** Answers that something outside failed, so that the payment could not be taken. */
function answerFailure({ logger }: ProtectContext, res: Response, error: OutsideFailure): void {
  logger.error('A payment could not be taken.', { code: error.code, error })
  answerUnavailable(res, { code: error.code, detail: error.message })
}

/** The story of a payment, which nobody else is working on. */
async function sellOnce(context: SharedContext, route: PaidRoute, sale: Sale): Promise<void> {
  const { decoded, appliedRate } = sale.payment
  const { req } = sale.exchange
  const purchase = {
    method: pricedMethod(req),
    url: sale.offer.resource.url,
    client: req.ip ?? '',
    redeemOnly: sale.payment.redeemOnly,
  }
  const { redeemWithoutProof, minValiditySeconds } = route
  const terms = {
    ...{ ...route.merchant, appliedRate, purchase },
    ...{ redeemWithoutProof, minValiditySeconds },
  }
  if (route.paymentFlow === 'authorization' && context.heldBudget.isFull)
    return answerBusy(sale.exchange.res)
  const reserved = await context.facilitator.reserve(decoded, terms)
  if (isRefusal(reserved)) return answerRefusal(sale, reserved)
  const reservedSale = { ...sale, reservation: reserved }
  // Not before: a stranger who names a payer would use up that payer's allowance.
  const answerLimited = await countForPayer(context, reservedSale)
  if (answerLimited !== undefined) return answerLimited()
  if (route.paymentFlow === 'upfront') await settleThenRun(reservedSale)
  else await runThenSettle(context, route, reservedSale)
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
      const { decoded, accepted, paymentId } = presented
      const quote = await matchOffer(context, asked, { req, decoded, accepted })
      if (typeof quote !== 'string') {
        const { entry, applied, redeemOnly = false } = quote
        const payment = paymentFor(decoded, entry)
        const { payload, requirements } = payment
        return {
          decoded: payment,
          payload,
          requirements,
          appliedRate: applied,
          redeemOnly,
          paymentId,
        }
      }
      if (offer.failure !== undefined) throw offer.failure
      answerPaymentRequired(res, paymentRequired(offer, quote))
      return undefined
    }
  }
}

/** The `authorization` flow: the money moves once the handler has given a good answer. */
async function runThenSettle(
  context: SharedContext,
  route: PaidRoute,
  sale: ReservedSale,
): Promise<void> {
  const { exchange, payment, reservation } = sale
  const { req, res, next } = exchange
  const { maxHeldBytes } = route
  const { payer } = reservation
  const lease = context.heldBudget.open({ payer, maxHeldBytes })
  if (lease === undefined) {
    await releaseUnpaid(context, sale)
    return answerBusy(res)
  }
  let held: HeldResponse
  try {
    attachPayment(exchange, payment, { payer })
    removeConditions(req)
    held = holdResponse(res, { maxHeldBytes, lease })
  } catch (error) {
    lease.release()
    await releaseUnpaid(context, sale)
    throw error
  }
  try {
    next()
    const end = await held.finished
    if (end.how === 'ended' && !held.clientGone && !isUnpaidStatus(end.status))
      return await settleThenSend(sale, held)
    await releaseUnpaid(context, sale)
    await answerUnpaid(sale, held, { end, maxHeldBytes })
  } catch (error) {
    if (isOutsideFailure(error)) return held.replace(() => answerFailure(context, res, error))
    held.discard()
    throw error
  } finally {
    lease.release()
  }
}

/** Counts a request for its payer. Where it is one too many, the payment is given back. */
async function countForPayer(
  context: SharedContext,
  sale: ReservedSale,
): Promise<AnswerLimited | undefined> {
  const { req, res } = sale.exchange
  const { payer } = sale.reservation
  const answerLimited = await context.countRequest?.({ req, res, payer })
  if (answerLimited !== undefined) await releaseUnpaid(context, sale)
  return answerLimited
}

/** Gives a payment back: its payer may use it for another try. */
async function releaseUnpaid(
  { logger }: ProtectContext,
  { reservation, claim }: ReservedSale,
): Promise<void> {
  await reservation.release().catch((error: unknown) => {
    logger.error('A payment could not be released.', { error })
  })
  await claim.abandon()
}

/** Ends an answer that is not charged for. */
async function answerUnpaid(
  { exchange: { res } }: Sale,
  held: HeldResponse,
  { end, maxHeldBytes }: { readonly end: HeldEnd; readonly maxHeldBytes: number },
): Promise<void> {
  switch (end.how) {
    case 'ended':
      if (!isConditionalStatus(end.status)) return held.send()
      // Its headers tell of what is for sale.
      return held.replace(() => void res.status(end.status).set('Cache-Control', 'no-store').end())
    case 'aborted':
      return
    case 'no_room':
      return held.replace(() => answerBusy(res))
    case 'too_large': {
      if (held.clientGone) return
      const detail = `The answer is larger than ${maxHeldBytes} bytes and was not charged for: raise maxHeldBytes, or stream with paymentFlow: 'upfront'.`
      const sent = isClosed(res)
      held.replace(() => {
        // Whatever the handler still reads or writes ends with the connection.
        res.set('Connection', 'close')
        answerProblem(res, { status: 500, code: 'answer_too_large', detail })
      })
      await sent
      // For the app's error handlers to note; the client has been answered.
      throw new ConfigError('maxHeldBytes', detail)
    }
  }
}

/** Moves the money, and then lets the answer out. */
async function settleThenSend(sale: ReservedSale, held: HeldResponse): Promise<void> {
  const { exchange, claim, reservation } = sale
  const { res } = exchange
  const settlement = await reservation.settle()
  if (!settlement.success) return answerUnsettled(sale, settlement, held)
  setPaymentResponse(res, settlement)
  keepPrivate(res)
  const answer = claim.hasId ? held.answer() : undefined
  // Nobody has had the answer: the payer may ask for it once more, by his id or by his payment.
  if (held.clientGone && answer?.body === undefined) return reservation.reopen()
  await claim.keep(answer)
  await grant(sale)
  await claim.finish(answer)
  if (!held.clientGone) held.send()
}

/** Writes down that a payment was used. */
async function grant({ reservation, claim }: ReservedSale): Promise<void> {
  await reservation.markDelivered().catch(async (error: unknown) => {
    await claim.abandon()
    throw error
  })
}

/** The `upfront` flow: the money has moved before the handler runs, which then may stream. */
async function settleThenRun(sale: ReservedSale): Promise<void> {
  const { exchange, payment, claim, reservation } = sale
  const { req, res, next } = exchange
  const settlement = await reservation.settle()
  if (!settlement.success) return answerUnsettled(sale, settlement)
  if (res.destroyed) return reservation.reopen()
  await claim.keep({ status: 200, headers: paymentResponse(settlement), body: undefined })
  await grant(sale)
  const { transaction } = settlement
  attachPayment(exchange, payment, { payer: reservation.payer, transaction })
  removeConditions(req)
  const recorded = claim.hasId ? recordAnswer(res) : undefined
  setPaymentResponse(res, settlement)
  keepPrivateOnHead(res)
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
async function answerRefusal(sale: Sale, refusal: Refusal): Promise<void> {
  const { refused, transaction, settledBy } = refusal
  const { exchange, offer, payment, claim } = sale
  const { res } = exchange
  if (refused === 'invalid_exact_evm_nonce_already_used' && (await claim.answerKept(res))) return
  const { network } = payment.requirements
  // What may have been sent is no reason to sign another payment, though nobody can name its transaction.
  const isUnsent = transaction === undefined && settledBy === undefined
  if (isUnsent && refused !== 'settlement_pending') {
    await claim.abandon()
    return answerPaymentRequired(res, paymentRequired(offer, refused))
  }
  await answerUnsettled(sale, refusalResponse(refusal, network))
}

/**
 * Answers a payment that did not come to its end: final, or not known yet.
 *
 * @param held - What its handler answered, which is dropped.
 */
async function answerUnsettled(
  { exchange: { res }, offer, claim }: Sale,
  settlement: Extract<SettleResponse, { success: false }>,
  held?: HeldResponse,
): Promise<void> {
  const isPending = settlement.errorReason === 'settlement_pending'
  await (isPending ? claim.pause() : claim.abandon())
  const respond = (): void => {
    setPaymentResponse(res, settlement)
    if (!isPending)
      return answerPaymentRequired(res, paymentRequired(offer, settlement.errorReason))
    answerUnavailable(res, {
      code: 'settlement_pending',
      detail:
        'The payment was sent, but is not known to be mined yet. Present the same payment again; do not sign another.',
    })
  }
  if (held === undefined) respond()
  else held.replace(respond)
}

/** Answers that too much waits for its payment already. */
function answerBusy(res: Response): void {
  answerUnavailable(res, {
    code: 'server_busy',
    detail:
      'Too many answers wait for their payments at this moment; nothing was charged. Present the same payment again later.',
  })
}

/** Resolves once a response has been sent, or cannot be. */
async function isClosed(res: Response): Promise<void> {
  await new Promise<void>((resolve) => {
    res.once('finish', resolve)
    res.once('close', resolve)
  })
}

/** Answers that nobody pays for. */
function isUnpaidStatus(status: number): boolean {
  return status >= 400 || status === 304
}
