import type { Request } from 'express'
import { ConfigError, isOutsideFailure } from '../errors.js'
import type { ReservingFacilitator } from '../facilitator/facilitator.js'
import { isClosed } from '../http/once-closed.js'
import { fingerprintOf, idempotencyKey } from '../idempotency/fingerprint.js'
import { once, type OnceContext } from '../idempotency/once.js'
import type { WaitingRequest } from '../idempotency/wait.js'
import type { OpenRequests } from '../http/open-requests.js'
import type { Counters } from '../ledger/counters.js'
import { deliveredAnswer } from '../ledger/delivered-answer.js'
import { isReason } from '../protocol/reasons.js'
import { isRefusal, refusalResponse, type MerchantTerms, type Refusal } from '../schemes/scheme.js'
import { runThenSettle } from './authorization-flow.js'
import { outsideFailure, respondExit, type Exit } from './exits.js'
import type { HeldBudget } from './held-budget.js'
import type { LoggedRequest } from './log-fields.js'
import type { MatchContext } from './match-offer.js'
import { readMatchingPayment } from './matched-payment.js'
import type { MatchedPayment, ReadPayment } from './matched-payment.js'
import { offerOf, pricedMethod, type Offer } from './offer.js'
import { endUnsettled, releaseUnpaid } from './payment-attempt.js'
import type { Exchange, PaymentAttempt } from './payment-attempt.js'
import type { CountRequest } from './payment-rate-limit.js'
import { NOT_PAID } from './payment-required.js'
import type { ProblemPage } from './paywall/problem-page.js'
import { bringsPayment } from './read-payment.js'
import { respondOptions } from './respond-options.js'
import type { ProtectOptions } from './options.js'
import { redeemStored, refuseUnstored } from './redeem-stored.js'
import { respondNobodyPaid } from './respond.js'
import type { PaidRoute } from './route.js'
import type { FindRoute } from './route-finder.js'
import { shareHiddenClass } from './share-hidden-class.js'
import { settleThenRun } from './upfront-flow.js'
import type { WaivedCounter } from './waiver.js'

/** What the paid routes of a gateway share. */
export interface PaidRequestContext extends OnceContext, MatchContext {
  readonly facilitator: ReservingFacilitator
  /** The memory of all responses that are held. */
  readonly heldBudget: HeldBudget
  /** What happens, by day and project. */
  readonly counters: Counters
  /** Counts payments that the app waives. */
  readonly waived: WaivedCounter
  /** The requests that are waited for when the gateway closes. */
  readonly requests: OpenRequests
  /** Counts requests that present a payment; `undefined` if they are not limited. */
  readonly countRequest: CountRequest | undefined
}

/** A route as it was declared. */
export interface DeclaredRoute {
  readonly skip: ProtectOptions['skip']
  readonly find: FindRoute
  /** For people; `undefined` if they get JSON. */
  readonly problemPage: ProblemPage | undefined
}

/**
 * Handles a request to a paid route, from the first byte to the last.
 *
 * A request that is free goes to the next handler. Every other one ends with an {@link Exit}, or with
 * its handler's response.
 */
export async function handlePaidRequest(
  context: PaidRequestContext,
  { skip, find, problemPage }: DeclaredRoute,
  exchange: Exchange,
): Promise<void> {
  const { req, res, next } = exchange
  if ((await skip?.(req)) === true) return next()
  shareHiddenClass(res)
  if (req.method === 'OPTIONS') return respondOptions(req, res)
  requireFirst(req)
  problemPage?.meet(req, res)
  const route = await find(req)
  if (route === undefined) return respondNobodyPaid(res)
  if (!context.requests.add(res)) return respondExit(res, { kind: 'shutting_down' })
  return context.requests.during(charge(context, route, exchange))
}

/** @throws `ConfigError` for the second of two `x402Protect`: one payment cannot pay for both. */
function requireFirst(req: Request): void {
  if (req.x402 === undefined) return
  const { method, baseUrl, path } = req
  throw new ConfigError(
    'x402Protect',
    `two of them protect ${method} ${baseUrl}${path}: no request could be paid; remove one, or let it skip`,
    'conflicting_options',
  )
}

/** Charges for a request that is not free by `skip`. */
async function charge(
  context: PaidRequestContext,
  route: PaidRoute,
  exchange: Exchange,
): Promise<void> {
  const { req, res, next } = exchange
  let logged: LoggedRequest = { req, res, project: route.merchant.project }
  try {
    if (route.respondUnpaid !== undefined && !bringsPayment(req)) {
      context.counters.count(route.merchant.project, 'asked')
      return route.respondUnpaid(req, res)
    }
    const offer = await route.offer(req)
    if (offer === undefined) return next()
    const read = await readMatchingPayment(context, { route, offer }, req)
    if (read.kind !== 'matched') {
      countUnmatched(context, route, read)
      return respondExit(res, read)
    }
    const exceeded = await context.countRequest?.({ req, res })
    if (exceeded !== undefined) return respondExit(res, exceeded)

    const { payment } = read
    const { project } = route.merchant
    const attempt = { project, payment, offer: offerAgain(offer, payment), ...exchange }
    logged = attempt
    const byId = paymentIdKey(route, attempt)
    const result = await once(context, byId, async (claim) => {
      // The client may have disconnected while its request waited for a price, a limit or the key.
      if (isClosed(res)) return
      respondExit(res, await takePayment(context, route, { claim, ...attempt }))
    })
    if (result.kind !== 'produced') respondExit(res, result)
  } catch (error) {
    if (!isOutsideFailure(error)) throw error
    respondExit(res, outsideFailure(context, error, logged))
  }
}

/** Counts a request without a payment, or with one that is not for this route. */
function countUnmatched(
  { counters }: PaidRequestContext,
  { merchant: { project } }: PaidRoute,
  { error }: Extract<ReadPayment, { kind: 'payment_required' }>,
): void {
  if (error === NOT_PAID) return counters.count(project, 'asked')
  counters.count(project, 'presented')
  // Other texts tell a developer what is wrong with the header.
  counters.count(project, 'refused', isReason(error) ? error : 'invalid_payload')
}

/** Reserves the payment for this request, and runs the route's payment flow with it. */
async function takePayment(
  context: PaidRequestContext,
  route: PaidRoute,
  attempt: PaymentAttempt,
): Promise<Exit> {
  const { req, res, payment } = attempt
  const { kept } = attempt.claim
  const holdsResponse = route.paymentFlow === 'authorization'
  context.counters.count(route.merchant.project, 'presented')
  if (holdsResponse && context.heldBudget.isFull) return { kind: 'server_busy' }
  if (payment.storedOnly && kept === undefined) {
    const refusal = await refuseUnstored(context, attempt)
    context.counters.count(route.merchant.project, 'refused', refusal.refused)
    return endRefused(context, attempt, refusal)
  }
  const reservation = await context.facilitator.reserve(payment, termsOf(route, attempt))
  if (isRefusal(reservation)) return endRefused(context, attempt, reservation)
  const reserved = { reservation, ...attempt }
  // Nobody is there to receive what the handler would make.
  if (isClosed(res)) {
    await releaseUnpaid(context, reserved)
    return { kind: 'over' }
  }
  // Only now that the payer is verified: else anyone could use up the payer's allowance.
  const exceeded = await context.countRequest?.({ req, res, payer: reservation.payer })
  if (exceeded !== undefined) {
    await releaseUnpaid(context, reserved)
    return exceeded
  }
  if (payment.storedOnly && kept !== undefined) return redeemStored(reserved, kept.answer)
  return holdsResponse ? runThenSettle(context, route, reserved) : settleThenRun(context, reserved)
}

/** The merchant's terms, for this purchase. */
function termsOf(route: PaidRoute, { req, offer, payment }: PaymentAttempt): MerchantTerms {
  const { merchant, redeemWithoutProof, minValiditySeconds } = route
  const { appliedRate, redeemOnly } = payment
  const purchase = {
    method: pricedMethod(req),
    url: offer.resource.url,
    client: req.ip ?? '',
    redeemOnly,
  }
  const details = route.detailsOf(req, payment)
  return { appliedRate, details, purchase, ...merchant, redeemWithoutProof, minValiditySeconds }
}

/** Ends a payment that was refused before this request sent anything for it. */
async function endRefused(
  { ledger }: Pick<PaidRequestContext, 'ledger'>,
  attempt: PaymentAttempt,
  refusal: Refusal,
): Promise<Exit> {
  const { offer, payment, claim } = attempt
  const { refused, message, transaction, settledBy } = refusal
  if (refused === 'invalid_exact_evm_nonce_already_used') {
    const stored = await deliveredAnswer(ledger, claim.kept, payment.key)
    if (stored !== undefined) {
      await claim.finish(stored)
      return { kind: 'repeated', stored }
    }
  }
  const isUnsent = transaction === undefined && settledBy === undefined
  // `settlement_pending` without a hash: something was sent or waits to be, so the client must not sign anew.
  if (!isUnsent || refused === 'settlement_pending')
    return endUnsettled(attempt, refusalResponse(refusal, payment.requirements.network))
  await claim.abandon()
  return { kind: 'payment_required', offer, error: refused, message }
}

/** The offer of a 402 after this payment. What cannot be quoted now is offered as it was before. */
function offerAgain(offer: Offer, { requirements }: MatchedPayment): Offer {
  if (offer.failure === undefined) return offer
  return { ...offerOf(offer.resource, [{ entry: requirements }]), paywall: offer.paywall }
}

/**
 * The key under which the payment's response is stored: the payment's id, in the scope of project, payer,
 * method and resource. Ids may be guessed: nobody takes one from another payer. `originalUrl` counts
 * because a route's own `resourceUrl` may leave parts out.
 */
function paymentIdKey(
  { merchant }: PaidRoute,
  { req, res, offer, payment }: Omit<PaymentAttempt, 'claim'>,
): WaitingRequest | undefined {
  const { payload, paymentId } = payment
  if (!paymentId.ok || paymentId.value === undefined) return undefined
  const { extensions: _extensions, ...signed } = payload
  const payer = payment.key?.from ?? ''
  const resource = [req.method, offer.resource.url, req.originalUrl]
  return {
    key: idempotencyKey('resource', merchant.project, payer, ...resource, paymentId.value),
    fingerprint: fingerprintOf(signed),
    project: merchant.project,
    res,
  }
}
