import type { Declaration } from '../../core/catalogue/declaration.js'
import { readInput } from '../discovery/read-input.js'
import { isOutsideFailure } from '../../shared/errors.js'
import { countRefusal } from '../../core/facilitator/count-events.js'
import type { ReservingFacilitator } from '../../core/facilitator/facilitator.js'
import { isClosed } from '../../shared/http/once-closed.js'
import type { OnceContext } from '../../ledger/once/once.js'
import type { OpenRequests } from '../../shared/http/open-requests.js'
import type { Counters } from '../../ledger/counters.js'
import { isRefusal } from '../../core/schemes/scheme.js'
import { claimAnswerKeys } from './answer-keys.js'
import { runThenSettle } from './authorization-flow.js'
import { outsideFailure, respondExit, type Exit } from './exits.js'
import type { HeldBudget } from '../hold/held-budget.js'
import type { LoggedRequest } from '../respond/log-fields.js'
import type { MatchContext } from '../route/match-offer.js'
import { countUnmatched, readMatchingPayment } from '../route/matched-payment.js'
import { offerAgain } from '../route/offer.js'
import type { ProtectOptions } from '../route/options.js'
import { requireOnce } from './paid-request.js'
import { endRefused, releaseUnpaid, type PaymentAttempt } from './payment-attempt.js'
import type { Exchange } from './presented-attempt.js'
import type { CountRequest } from './payment-rate-limit.js'
import type { ProblemPage } from '../paywall/problem-page.js'
import { bringsPayment } from '../route/read-payment.js'
import { redeemStored, refuseUnstored } from './redeem-stored.js'
import { respondOptions } from '../respond/respond-options.js'
import { respondInvalidInput, respondNobodyPaid } from '../respond/respond.js'
import type { PaidRoute } from '../route/route.js'
import type { FindRoute } from '../route/route-finder.js'
import { settleThenRun } from './upfront-flow.js'
import type { RedirectContext } from '../respond/undelivered.js'
import type { WaivedCounter } from './waiver.js'

/** Shared by the paid routes of a gateway. */
export interface PaidRequestContext extends OnceContext, MatchContext, RedirectContext {
  readonly facilitator: ReservingFacilitator
  /** The memory of all responses that are held. */
  readonly heldBudget: HeldBudget
  /** Counts by day and project. */
  readonly counters: Counters
  /** Counts payments that the app waives. */
  readonly waived: WaivedCounter
  /** The requests that are waited for when the gateway closes. */
  readonly requests: OpenRequests
  /** Counts requests that present a payment; `undefined` if they are not limited. */
  readonly countRequest: CountRequest | undefined
}

/** A route, as requests to it are handled. */
export interface HandledRoute {
  readonly skip: ProtectOptions['skip']
  /** What it says about itself; `undefined` if it declares nothing. */
  readonly declaration: Declaration | undefined
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
  { skip, declaration, find, problemPage }: HandledRoute,
  exchange: Exchange,
): Promise<void> {
  const { req, res, next } = exchange
  if ((await skip?.(req)) === true) return next()
  if (req.method === 'OPTIONS') return respondOptions(req, res)
  requireOnce(req)
  problemPage?.meet(req, res)
  // What strangers send may take long to check.
  const isCounted = declaration?.input.body !== undefined
  const exceeded = isCounted ? await context.countRequest?.({ req, res }) : undefined
  if (exceeded !== undefined) return respondExit(res, exceeded)
  const input = declaration && (await readInput(declaration, req))
  if (input?.ok === false) return respondInvalidInput(res, input.errors)
  const route = await find(req)
  if (route === undefined) return respondNobodyPaid(res)
  if (!context.requests.add(res)) return respondExit(res, { kind: 'shutting_down' })
  return context.requests.during(
    charge(context, route, { ...exchange, isCounted, input: input?.value }),
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
      if (route.merchant.paused) return respondExit(res, { kind: 'merchant_paused' })
      context.counters.count(route.merchant.project, 'asked')
      return route.respondUnpaid(req, res)
    }
    const offer = await route.offer(req)
    if (offer === undefined) return next()
    const read = await readMatchingPayment(context, { route, offer }, req)
    if (read.kind !== 'matched') {
      if (route.merchant.paused) return respondExit(res, { kind: 'merchant_paused' })
      countUnmatched(context.counters, route, read)
      return respondExit(res, read)
    }
    const exceeded = exchange.isCounted ? undefined : await context.countRequest?.({ req, res })
    if (exceeded !== undefined) return respondExit(res, exceeded)

    const { payment } = read
    const { project } = route.merchant
    const offered = offerAgain(offer, payment.requirements)
    const asked = { url: offered.resource.url, price: payment.price }
    const bought = route.purchaseOf(req, asked, payment)
    const attempt = { project, payment, offer: offered, bought, ...exchange }
    logged = attempt
    const keys = await claimAnswerKeys(context, attempt)
    if ('kind' in keys) return respondExit(res, keys)
    try {
      respondExit(res, await takePayment(context, route, { keys, ...attempt }))
    } finally {
      await keys.end()
    }
  } catch (error) {
    if (!isOutsideFailure(error)) throw error
    if (logged.payment !== undefined) context.noteFailure?.(error)
    respondExit(res, outsideFailure(context, error, logged))
  }
}

/** Reserves the payment for this request, and runs the route's payment flow with it. */
async function takePayment(
  context: PaidRequestContext,
  route: PaidRoute,
  attempt: PaymentAttempt,
): Promise<Exit> {
  const { req, res, payment, project, keys } = attempt
  const holdsResponse = route.paymentFlow === 'authorization'
  // The client may have disconnected while its request waited for a price, a limit or a key.
  if (isClosed(res)) {
    await keys.release()
    return { kind: 'over' }
  }
  context.counters.count(project, 'presented')
  if (holdsResponse && context.heldBudget.isFull) {
    await keys.release()
    return { kind: 'server_busy' }
  }
  if (payment.storedOnly && keys.kept === undefined) {
    const refusal = await refuseUnstored(context, attempt)
    countRefusal(context.counters, { ...refusal, project, reason: refusal.refused })
    return endRefused(context, attempt, refusal)
  }
  const terms = route.termsOf(req, attempt.bought, payment)
  const reservation = await context.facilitator.reserve(payment, terms)
  if (isRefusal(reservation)) return endRefused(context, attempt, reservation)
  const reserved = { reservation, ...attempt }
  // Nobody is there to receive what the handler would make.
  if (isClosed(res)) {
    await releaseUnpaid(context, reserved)
    return { kind: 'over' }
  }
  const hasId = await keys.claimVerified().catch(async (error: unknown) => {
    await releaseUnpaid(context, reserved)
    throw error
  })
  if (!hasId) {
    await releaseUnpaid(context, reserved)
    return { kind: 'conflict' }
  }
  // Only now that the payer is verified: else anyone could use up the payer's allowance.
  const exceeded = await context.countRequest?.({ req, res, payer: reservation.payer })
  if (exceeded !== undefined) {
    await releaseUnpaid(context, reserved)
    return exceeded
  }
  const { kept } = keys
  if ((payment.storedOnly || keys.isCharged) && kept) return redeemStored(reserved, kept)
  return holdsResponse ? runThenSettle(context, route, reserved) : settleThenRun(context, reserved)
}
