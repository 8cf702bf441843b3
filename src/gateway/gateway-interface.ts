import type { Application, Router } from 'express'
import type { OpenApiDocument } from '../sell/discovery/openapi.js'
import type { Facilitator } from '../core/facilitator/facilitator.js'
import type { Finding } from '../operate/health/finding.js'
import type { X402Protect } from '../sell/flow/x402-protect.js'
import type { PaidTool } from '../sell/mcp/tool-options.js'
import type { GatewayRouterOptions } from '../api/gateway-router.js'
import type { GatewayEvents, GatewayListener } from '../core/schemes/events.js'
import type { UcpHandler } from '../api/checkouts/ucp/business-profile.js'
import type { UcpCompletionOptions, UcpCompletion } from '../api/checkouts/ucp/completion.js'

/**
 * Options of `gateway.close`.
 *
 * @example
 * ```ts
 * import type { CloseOptions, Gateway } from 'express-x402-gateway'
 *
 * const options: CloseOptions = { timeoutMs: 30_000 }
 * const close = (gateway: Gateway): Promise<void> => gateway.close(options)
 * ```
 */
export interface CloseOptions {
  /** How long requests under way may take (ms). @defaultValue 10000 */
  readonly timeoutMs?: number | undefined
}

/**
 * A gateway: its middleware, its API and its core, on one ledger.
 *
 * @example
 * ```ts
 * import type { Gateway } from 'express-x402-gateway'
 *
 * function countSettlements(gateway: Gateway): () => void {
 *   let count = 0
 *   return gateway.on('settled', ({ transaction }) => {
 *     count += 1
 *     console.info(`${count}: ${transaction}`)
 *   })
 * }
 * ```
 */
export interface Gateway {
  /** Declares that a route costs money: `gateway.x402Protect('$0.01')`. See {@link X402Protect}. */
  readonly x402Protect: X402Protect
  /** Registers a tool of an MCP server that costs money. See {@link PaidTool}. */
  readonly paidTool: PaidTool
  /**
   * Creates the API of the payment gateway.
   *
   * @param options - `{ docs: false }` leaves out the API's description. @defaultValue everything
   * @returns An Express router, mountable under any prefix.
   */
  readonly gatewayRouter: (options?: GatewayRouterOptions) => Router
  /**
   * Creates the router by which programs find what the app sells: `/openapi.json`, `/llms.txt` and
   * `/.well-known/x402` list its paid routes, and `/discovery/resources` and `/discovery/search` what was
   * sold. Paths that it does not have are left to the app.
   *
   * @returns An Express router: mount it at the root, before or after the routes.
   *
   * @example
   * ```ts
   * import express from 'express'
   * import { defaultGateway, x402Protect } from 'express-x402-gateway'
   *
   * const app = express()
   * app.get('/weather', x402Protect('$0.01'), (_req, res) => void res.json({ forecast: 'sunny' }))
   * app.use(defaultGateway().discovery())
   * ```
   */
  readonly discovery: () => Router
  /**
   * Describes the paid routes of an app in OpenAPI 3.1, as `discovery` serves it.
   *
   * @param app - The app, or a router. @defaultValue the app in which `discovery` was asked first
   * @returns The document; without paths if nothing is paid for.
   * @throws `ConfigError` (`config_invalid`) if no app is given, and none is known yet.
   */
  readonly openapi: (app?: Application | Router) => Promise<OpenApiDocument>
  /** Verifies and settles payments without HTTP. */
  readonly facilitator: Facilitator
  /** Its UCP payment handler; `ucpProfile` writes it into the profile of a business. */
  readonly ucpHandler: UcpHandler
  /**
   * Completes a UCP checkout with an instrument of this gateway's payment handler: reserves the payment, has the
   * shop place its order, settles the payment, and says what to answer.
   *
   * A checkout is paid once, whatever is presented for it at the same time and later: the outcome is repeated for
   * as long as answers are kept (24 hours). While it is `complete_in_progress`, call it again, with the same
   * instrument, when the platform asks for the checkout.
   *
   * @param instrument - The selected instrument of the request, as it came.
   * @param options - What the checkout costs, and how its order is placed.
   * @returns `status` and `messages` of the checkout, and the HTTP status of the response.
   * @throws `ConfigError` (`config_invalid`) for a `config` that is none of `checkout-prepare`, and a project
   * that has no merchant. What `placeOrder` and `cancelOrder` throw.
   *
   * @example
   * ```ts
   * import express from 'express'
   * import { defaultGateway } from 'express-x402-gateway'
   *
   * declare const checkouts: Map<string, { id: string; status: string; config: never }>
   * declare const stock: { reserve(id: string): Promise<void>; release(id: string): Promise<void> }
   *
   * const app = express()
   * app.post('/checkout-sessions/:id/complete', express.json(), async (req, res) => {
   *   const checkout = checkouts.get(req.params.id)!
   *   const [instrument] = req.body.payment.instruments
   *   const { status, messages, httpStatus } = await defaultGateway().completeWithX402(instrument, {
   *     config: checkout.config,
   *     placeOrder: () => stock.reserve(checkout.id),
   *     cancelOrder: () => stock.release(checkout.id),
   *   })
   *   checkout.status = status
   *   res.status(httpStatus).json({ ...checkout, messages })
   * })
   * ```
   */
  readonly completeWithX402: (
    instrument: unknown,
    options: UcpCompletionOptions,
  ) => Promise<UcpCompletion>
  /**
   * Listens to what happens to payments.
   *
   * @param name - The event, for example `'settled'`; {@link GatewayEvents} lists them.
   * @param listener - Called for each event. What it throws, or its promise rejects with, is logged.
   * @returns A function that removes the listener.
   * @throws `ConfigError` (`unknown_event`) for a name that is none.
   */
  readonly on: <Name extends keyof GatewayEvents>(
    name: Name,
    listener: GatewayListener<Name>,
  ) => () => void
  /**
   * Checks what the gateway needs outside itself: the ledger, each network and its node, each relayer's
   * gas money and transactions, each token's contract, the rates of each project, and the remote
   * facilitator.
   *
   * @returns What was found, good and bad; it rejects for no failure outside.
   */
  readonly check: () => Promise<readonly Finding[]>
  /**
   * Creates the probes of load balancers and orchestrators: `GET /livez` and `GET /readyz`. `serve` has
   * them at its root; an app mounts them where its operator wants them.
   *
   * However often they are asked, the gateway's surroundings are checked every 3 s at most.
   *
   * @returns An Express router.
   */
  readonly healthRouter: () => Router
  /**
   * Creates the router of `GET /metrics`, for Prometheus. It is as public as the place where the app
   * mounts it, unless `metrics.token` is set.
   *
   * @returns An Express router.
   * @throws `ConfigError` (`config_invalid`) unless the option `metrics` is set.
   */
  readonly metricsRouter: () => Router
  /**
   * Closes the gateway: refuses new paid requests with 503, lets those under way finish, ends background
   * work, and then closes the ledger.
   *
   * A request that is not finished in time is cut off. A payment that was sent is answered as
   * `settlement_pending` with its transaction; if the handler still runs, its response is dropped and
   * nothing is charged. Clients that are gone are not waited for.
   *
   * @param options - How long requests under way may take.
   * @returns The same promise each time. Never rejects.
   *
   * @example
   * ```ts
   * import express from 'express'
   * import { defaultGateway, x402Protect } from 'express-x402-gateway'
   *
   * const app = express()
   * app.get('/weather', x402Protect('$0.01'), (_req, res) => void res.json({ forecast: 'sunny' }))
   * const server = app.listen(3000)
   * for (const signal of ['SIGINT', 'SIGTERM'])
   *   process.once(signal, () => {
   *     server.close()
   *     void defaultGateway().close({ timeoutMs: 20_000 })
   *   })
   * ```
   */
  readonly close: (options?: CloseOptions) => Promise<void>
}
