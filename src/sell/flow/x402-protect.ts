import type { NextFunction, Request, Response } from 'express'
import type { RouteInput } from '../../core/catalogue/declaration.js'
import { requireCall } from '../../shared/http/require-call.js'
import { handlePaidRequest, type PaidRequestContext } from './handle-paid-request.js'
import { HeldBudget } from '../hold/held-budget.js'
import type { ProtectOptions } from '../route/options.js'
import type { InputOf, X402Locals } from './paid-request.js'
import { openProblemPage } from '../paywall/problem-page.js'
import { createPaymentRateLimit, type PaymentRateLimitContext } from './payment-rate-limit.js'
import { viewOf } from '../route/request-view.js'
import { declareRoute } from '../route/route-finder.js'
import type { MerchantRoutesContext } from '../route/merchant-routes.js'
import type { DeclaredPrice } from '../route/up-to-price.js'
import { WaivedCounter } from './waiver.js'

/**
 * Declares that a route costs money, and makes the middleware that charges for it.
 *
 * A request without a payment gets a 402 that says what to pay (x402 v2). With a payment, the handler
 * runs, and its response is held until the payment is settled; a response with a status of 400 or more
 * is sent without being charged for, and so is one that `chargeIf` or `waive()` gives away. With
 * `paymentFlow: 'upfront'`, the payment is settled before the handler runs. If it cannot be taken now,
 * because a chain, a rate or the ledger failed, the response is a 503, and the same payment may be
 * presented again.
 *
 * @param price - What a request costs: an amount with its currency, a number in the merchant's currency,
 * token units, or a function of the request; or `{ upTo }`, the most that it may cost.
 * @param options - When the payment is settled, what the 402 says, and who may pass unpaid.
 * @returns Middleware for `app.get`, `app.use` or a router. Behind it, `req.x402` is the payment.
 * @throws `ConfigError` (`config_invalid`), naming the option, for a price or an option that cannot
 * work. Thrown when the route is declared. A price function, a `quoteFor` or a response that breaks
 * its contract makes the request fail with one.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { x402Protect } from 'express-x402-gateway'
 *
 * const app = express()
 * app.get('/weather', x402Protect('$0.01', { description: 'The weather today' }), (req, res) => {
 *   res.json({ weather: 'sunny', paidBy: req.x402?.payer })
 * })
 * ```
 */
export type X402Protect = <const Input extends RouteInput | undefined = undefined>(
  price: DeclaredPrice,
  options?: ProtectOptions<Input>,
) => X402Middleware<Input>

/**
 * Express middleware that charges for a route.
 *
 * It is generic, so that the handlers behind it keep the types that Express gives them: in
 * `app.get('/report/:id', x402Protect('$0.25'), handler)`, `req.params.id` is a string. That of a route
 * with `input` tells them what `req.x402.input` is, by the type of `res.locals`.
 *
 * @example
 * ```ts
 * import { x402Protect, type X402Middleware } from 'express-x402-gateway'
 *
 * const paid: X402Middleware = x402Protect('$0.25', { description: 'A report' })
 * ```
 */
export type X402Middleware<Input extends RouteInput | undefined = undefined> = [Input] extends [
  RouteInput,
]
  ? (
      // oxlint-disable-next-line typescript/no-explicit-any -- as Express's own types have it
      req: Request<Request['params'], any, any, Request['query'], X402Locals<InputOf<Input>>>,
      // oxlint-disable-next-line typescript/no-explicit-any -- as Express's own types have it
      res: Response<any, X402Locals<InputOf<Input>>>,
      next: NextFunction,
    ) => void
  : <
      Params,
      ResBody,
      ReqBody,
      Query,
      // oxlint-disable-next-line typescript/no-explicit-any -- the constraint of Express's own types
      Locals extends Record<string, any>,
    >(
      req: Request<Params, ResBody, ReqBody, Query, Locals>,
      res: Response<ResBody, Locals>,
      next: NextFunction,
    ) => void

/** Dependencies of {@link openPaidRoutes}. @internal */
export type ProtectContext = Omit<PaidRequestContext, 'heldBudget' | 'countRequest' | 'waived'> &
  MerchantRoutesContext &
  PaymentRateLimitContext

/** Shared by all paid routes of a gateway, its own among them. @internal */
export type PaidRoutesContext = PaidRequestContext & MerchantRoutesContext

/** Makes what the paid routes of a gateway share. @internal */
export function openPaidRoutes<Gateway extends ProtectContext>(
  gateway: Gateway,
): Gateway & PaidRoutesContext {
  return {
    ...gateway,
    heldBudget: new HeldBudget(),
    countRequest: createPaymentRateLimit(gateway),
    waived: new WaivedCounter(gateway.counters),
  }
}

/** Makes the `x402Protect` of a gateway. @internal */
export function createX402Protect(gateway: PaidRoutesContext): X402Protect {
  const protect = (price: DeclaredPrice, options?: ProtectOptions): X402Middleware => {
    requireCall(price)
    const route = declareRoute(gateway, price, options)
    const problemPage = openProblemPage(options?.paywall, gateway.paywall)
    const paid = { skip: options?.skip, problemPage, ...route }
    // The types of a route's parameters and body matter to its handlers only. The promise resolves once the request has
    // been passed on or answered: code that awaits it must not answer earlier, for free.
    const x402Middleware = ((req: Request, res: Response, next: NextFunction) =>
      new Promise<void>((decided) => {
        const goOn = (error?: unknown): void => {
          decided()
          next(error)
        }
        handlePaidRequest(gateway, paid, { req, view: viewOf(req), res, next: goOn }).then(
          decided,
          goOn,
        )
      })) as X402Middleware
    gateway.declaredRoutes.add(x402Middleware, route)
    return x402Middleware
  }
  // What a route with `input` adds to the types of its handlers, the middleware does at run time.
  return protect as X402Protect
}
