import type { Declaration } from '../../core/catalogue/declaration.js'
import { readInput } from '../discovery/read-input.js'
import { holdAnswer, type AuthorizationFlowContext } from './authorization-flow.js'
import { chargeCall } from './charge-call.js'
import { callerOf, type Exchange } from './exchange.js'
import type { ProtectOptions } from '../route/options.js'
import { requireOnce } from './paid-request.js'
import type { CountRequest } from './payment-rate-limit.js'
import { nameSeller, type ProblemPage } from '../paywall/problem-page.js'
import { bringsPayment } from '../route/version-2.js'
import { respondExit } from './respond-exit.js'
import { respondOptions } from '../respond/respond-options.js'
import { respondInvalidInput } from '../respond/respond.js'
import { offerToCaller } from '../sign-in/meet-caller.js'
import type { PaidRoute } from '../route/route.js'
import type { FindRoute } from '../route/route-finder.js'
import type { PaidCallContext } from './take-payment.js'
import { streamAnswer } from './upfront-flow.js'

/** Shared by the paid routes of a gateway. */
export interface PaidRequestContext extends PaidCallContext, AuthorizationFlowContext {
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
  const { req, view, res, next } = exchange
  if ((await skip?.(req)) === true) return next()
  if (res.headersSent) return cutOff(await find(view), exchange)
  if (req.method === 'OPTIONS') return respondOptions(req, res)
  requireOnce(req)
  problemPage?.meet(req, res)
  // What strangers send may take long to check.
  const isCounted = declaration?.input.body !== undefined
  const exceeded = isCounted ? await context.countRequest?.({ req, res }) : undefined
  if (exceeded !== undefined) return respondExit(res, exceeded)
  const input = declaration && (await readInput(declaration, req))
  if (input?.ok === false) return respondInvalidInput(res, input.errors)
  const route = await find(view)
  if (route === undefined) return respondExit(res, { kind: 'nobody_paid' })
  nameSeller(res, route.merchant)
  // Most requests. They are answered at once, so closing need not wait for them: counting them took a tenth of the CPU of
  // a 402 (Node 24).
  const { merchant, offers } = route
  const { requests } = context
  if (offers.respondUnpaid && !bringsPayment(view) && !requests.stopping.aborted) {
    if (merchant.paused) return respondExit(res, { kind: 'merchant_paused' })
    context.counters.count(merchant.project, 'asked')
    return offers.respondUnpaid(view, res)
  }
  if (!requests.add(res)) return respondExit(res, { kind: 'shutting_down' })
  return requests.during(charge(context, route, { ...exchange, isCounted, input: input?.value }))
}

/** Reports a response that somebody began before its payment was asked for. Where it goes on, its connection ends. */
function cutOff(route: PaidRoute | undefined, { view, res }: Exchange): void {
  route?.warnings.reportAnswered(view)
  if (!res.writableEnded) res.destroy()
}

/** How a route makes and gives its answers, by its `paymentFlow`. */
const DELIVERIES = { authorization: holdAnswer, upfront: streamAnswer }

/** Charges for a request that is not free by `skip`. */
async function charge(
  context: PaidRequestContext,
  route: PaidRoute,
  exchange: Exchange,
): Promise<void> {
  const { req, res, next } = exchange
  const caller = callerOf(exchange, context.countRequest)
  const charged = await chargeCall(context, {
    route,
    res,
    caller,
    offer: () => offerToCaller(route, exchange, caller),
    delivery: DELIVERIES[route.paymentFlow](context, exchange),
    end(exit) {
      // A handler that waits for this middleware has the payment before it answers.
      if (res.headersSent && req.x402?.payer === undefined) cutOff(route, exchange)
      else respondExit(res, exit)
    },
  })
  if (charged === 'free') next()
}
