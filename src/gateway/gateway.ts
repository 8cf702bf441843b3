import { setTimeout as sleep } from 'node:timers/promises'
import type { Application, Router } from 'express'
import { resolveFromAnywhere, rpcUrlName } from './config/read/from-environment.js'
import type { GatewayOptions } from './config/options.js'
import { merchantReader } from './config/resolve/projects.js'
import { closeSharedCounts } from './config/resolve/redis-counts.js'
import type { ResolvedOptions } from './config/resolve/resolve-options.js'
import { warnOfRisks } from './config/risk-warnings.js'
import { Catalogue } from '../core/catalogue/catalogue.js'
import { DeclaredRoutes } from '../sell/discovery/declared-routes.js'
import { createDiscovery } from '../sell/discovery/discovery-router.js'
import type { OpenApiDocument } from '../sell/discovery/openapi.js'
import { ConfigError, type OutsideFailure } from '../shared/errors.js'
import { countEvents } from '../core/facilitator/count-events.js'
import { decodingFacilitator } from '../core/facilitator/decoding-facilitator.js'
import type { Facilitator, ReservingFacilitator } from '../core/facilitator/facilitator.js'
import { RemoteCallers } from '../core/facilitator/remote-callers.js'
import { PermitDomains } from '../shared/money/permit-domains.js'
import { evmFormats } from '../core/schemes/evm/formats.js'
import type { Finding } from '../operate/health/finding.js'
import { createHealthRouter } from '../operate/health/health-router.js'
import { Lazy, lazyRouter } from '../shared/http/lazy.js'
import { routerMaker } from '../shared/http/require-call.js'
import { OpenRequests } from '../shared/http/open-requests.js'
import { Counters } from '../ledger/counters.js'
import { createMemoryLedger } from '../ledger/memory-ledger.js'
import type { Logger } from '../shared/logger.js'
import { merchantsOf, type Merchant } from '../core/merchants/project.js'
import { ProjectDirectory } from '../core/merchants/project-directory.js'
import { quoteSecret } from '../core/quotes/quote-secret.js'
import { QuoteSigner } from '../core/quotes/signed-quote.js'
import type { Asset } from '../shared/money/assets.js'
import { HeaderSizes } from '../sell/route/header-size.js'
import { createX402Protect, openPaidRoutes, type X402Protect } from '../sell/flow/x402-protect.js'
import type { Network } from '../shared/protocol/networks.js'
import type { GatewayRouterOptions } from '../api/gateway-router.js'
import { createEventBus, type GatewayEvents, type GatewayListener } from '../core/schemes/events.js'
import { isRefusal } from '../core/schemes/scheme.js'
import type { Refusal, Reservation, SchemeFormats } from '../core/schemes/scheme.js'
import { createMetricsRouter } from '../operate/telemetry/metrics-router.js'
import { wasWatched } from '../operate/telemetry/payment-watch.js'
import { RecentOutcomes } from '../operate/telemetry/recent-outcomes.js'
import { openTelemetry } from '../operate/telemetry/telemetry.js'
import type { completeCheckout } from '../api/checkouts/complete-checkout.js'
import type { UcpHandler } from '../api/checkouts/ucp/business-profile.js'
import type { UcpCompletionOptions, UcpCompletion } from '../api/checkouts/ucp/completion.js'

/** Time that requests under way get when the gateway closes (ms). */
const CLOSE_TIMEOUT_MS = 10_000

/** How long a closing gateway waits for the database to take the last counts (ms). */
const LAST_COUNTS_MS = 1000

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
   * @throws {@link ConfigError} (`config_invalid`) if no app is given, and none is known yet.
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
   * @throws {@link ConfigError} (`config_invalid`) for a `config` that is none of `checkout-prepare`, and a project
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
   * @throws {@link ConfigError} (`unknown_event`) for a name that is none.
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
   * @throws {@link ConfigError} (`config_invalid`) unless the option `metrics` is set.
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

/**
 * Creates a gateway.
 *
 * @param options - Checked at once; nothing is asked of nodes and databases yet, except that with
 * `admin` the ledger is opened to read its projects. A second later, each node that was not used by then
 * is asked which chain it is on; the logger gets an error if it is another one, and a warning if the node
 * does not answer.
 * @returns The middleware, the API and the core, bound to these options.
 * @throws {@link ConfigError} (`config_invalid`) with everything that is wrong in `issues`, each by
 * the path of its option.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { createGateway } from 'express-x402-gateway'
 *
 * const gateway = createGateway({
 *   networks: {
 *     base: { rpcUrl: 'https://base.example', relayerKeys: [process.env['RELAYER_KEY'] ?? ''] },
 *   },
 *   projects: [
 *     { id: 'shop', merchant: { payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C' } },
 *   ],
 * })
 * const app = express()
 * app.get('/report', gateway.x402Protect('$0.25'), (_req, res) => void res.json({ paid: true }))
 * app.use(gateway.gatewayRouter())
 * ```
 */
export function createGateway(options: GatewayOptions): Gateway {
  return openGateway(resolveFromAnywhere(options), {
    nameUrl: (network) => rpcUrlName(options, network),
  })
}

interface Opening {
  /** As `nameUrl` of `CoreParts`. */
  readonly nameUrl?: (network: Network) => string
}

/** Creates a gateway from options that were resolved before. @internal */
export function openGateway(resolved: ResolvedOptions, opening: Opening = {}): Gateway {
  const base = openBase(resolved)
  const { requests, events, directory } = base
  const parts = lazyParts(resolved, base, opening)
  const { core, declared, dispatcher, watch, readiness, checked } = parts
  const facilitator = lazyFacilitator(parts, base.formats, requests)
  const probes = { isServed: false }
  const { wakeWebhooks } = parts
  const selling = sellingContext(resolved, base)
  const context = { ...selling, facilitator, wakeWebhooks, hasProbes: () => probes.isServed }
  const paidRoutes = openPaidRoutes(context)
  const api = new Lazy(async () => {
    const { openRouter } = await import('./parts/router.js')
    return openRouter({ ...context, paidRoutes }, await parts.openCores())
  })
  const describer = new Lazy(async () => {
    const { AppDescriber } = await import('../sell/discovery/app-documents.js')
    return new AppDescriber(context)
  })
  const gatewayRouter = routerMaker('gatewayRouter', (options?: GatewayRouterOptions) =>
    lazyRouter(async () => (await api.get())(options)),
  )
  const { metrics } = base.telemetry
  const isWatched = resolved.adminTokens.length > 0 || metrics !== undefined
  startSoon([core, declared, dispatcher, ...(isWatched ? [watch] : [])], {
    logger: resolved.logger,
    stopping: requests.stopping,
  })

  return {
    x402Protect: createX402Protect(paidRoutes),
    gatewayRouter,
    discovery: routerMaker('discovery', () =>
      createDiscovery({ ...resolved, describer, api: () => gatewayRouter({ docs: false }) }),
    ),
    openapi: async (app) => (await describer.get()).openapi(app, resolved.publicUrl),
    facilitator: countCalls(facilitator, requests),
    ucpHandler: { id: resolved.handlerId, docsUrl: resolved.docsUrl ?? resolved.publicUrl },
    completeWithX402: (...given) => requests.addCall(completeLazily(context, ...given)),
    on: (name, listener) => events.on(name, listener),
    async check() {
      await directory.whenLoaded()
      const { checkGateway } = await import('../operate/health/check-gateway.js')
      const headerBytesOf = (merchant: Merchant) => context.headerSizes.of(merchant, context)
      return checkGateway({ ...(await checked()), projects: directory.all, headerBytesOf })
    },
    healthRouter: routerMaker('healthRouter', () => {
      probes.isServed = true
      return createHealthRouter(async () => (await readiness.get()).read())
    }),
    metricsRouter: routerMaker('metricsRouter', () => openMetricsRouter(resolved, metrics)),
    close: closeOnce(requests, async () => {
      await base.warned
      await closeParts(resolved, { ...base, ...parts })
    }),
  }
}

/** Completes a UCP checkout, by code that the first one loads. */
async function completeLazily(...given: Parameters<typeof completeCheckout>) {
  const { completeCheckout: complete } = await import('../api/checkouts/complete-checkout.js')
  return complete(...given)
}

/** What everything else stands on: ledger, events, projects. Nothing of it asks a node or a database. */
function openBase(resolved: ResolvedOptions) {
  const { logger, projects, now } = resolved
  const requests = new OpenRequests()
  const store = resolved.ledger ?? createMemoryLedger({ now })
  const warned = warnOfRisks({ ...resolved, ledger: store, stopping: requests.stopping })
  const events = createEventBus((error, event) =>
    logger.error(`A listener of '${event}' threw.`, { event, error }),
  )
  const telemetry = openTelemetry(resolved, events)
  const ledger = telemetry.metrics?.timedLedger(store) ?? store
  const counters = new Counters({ store: ledger.counts, logger, now })
  countEvents(events, counters)
  const permits = new PermitDomains()
  const callers = resolved.facilitator && new RemoteCallers(resolved.facilitator, now)
  const readMerchant = merchantReader(resolved.networks, resolved)
  return {
    requests,
    warned,
    events,
    telemetry,
    ledger,
    counters,
    permits,
    callers,
    readMerchant,
    recent: new RecentOutcomes(now),
    catalogue: new Catalogue({ store: ledger.resources, logger }),
    formats: evmFormats({ ...resolved, callers, permits }),
    directory: new ProjectDirectory({
      projects,
      readMerchant,
      logger,
      now,
      store: resolved.adminTokens.length > 0 ? ledger.projects : undefined,
    }),
  }
}

type Base = ReturnType<typeof openBase>

function lazyParts(resolved: ResolvedOptions, base: Base, { nameUrl }: Opening) {
  const { requests, events, telemetry, ledger, recent, directory } = base
  const { cutOff, stopping } = requests
  const core = new Lazy(async () => {
    // Opened now, it would have nobody to close it.
    cutOff.throwIfAborted()
    const parts = { ...base, closed: cutOff, stopping, nameUrl }
    if (resolved.facilitator === undefined)
      return (await import('./parts/core.js')).openCore(resolved, parts)
    const { openRemoteCore } = await import('./parts/remote-core.js')
    return openRemoteCore(resolved, resolved.facilitator, parts)
  })
  /** None once the gateway is closed: it refuses every request then. */
  const openCores = () =>
    core.get().then(
      ({ cores }) => cores,
      (error: unknown) => {
        if (cutOff.aborted) return []
        throw error
      },
    )
  /** What health looks at. */
  const checked = async () => {
    const { cores } = await core.get()
    return { ...resolved, ledger, cores, remote: resolved.facilitator }
  }
  const dispatcher = new Lazy(async () => {
    const { openWebhooks } = await import('./parts/webhooks.js')
    return openWebhooks(resolved, { ledger, events, directory, telemetry })
  })
  const declared = new Lazy(async () => {
    const { declareWebhooks } = await import('./parts/webhooks.js')
    await declareWebhooks(resolved, ledger)
  })
  const wakeWebhooks = (endpoint?: string): void =>
    // If it cannot be loaded, that was logged; this tries again.
    void dispatcher.get().then(
      (one) => one.wake(endpoint),
      () => undefined,
    )
  const readiness = new Lazy(async () => {
    const { ReadinessWatch } = await import('../operate/health/readiness.js')
    return new ReadinessWatch({ ...(await checked()), closed: stopping })
  })
  const watch = new Lazy(async () => {
    const { openWatch } = await import('./parts/watch.js')
    const { cores } = await core.get()
    return openWatch(resolved, { ledger, cores, recent, telemetry, wakeWebhooks, stopping })
  })
  return { core, openCores, checked, declared, dispatcher, wakeWebhooks, readiness, watch }
}

/** What paid routes and the API have in common, apart from what settles. */
function sellingContext(resolved: ResolvedOptions, base: Base) {
  const { requests, ledger, telemetry, recent } = base
  return {
    ...resolved,
    ...base,
    declaredRoutes: new DeclaredRoutes(),
    headerSizes: new HeaderSizes(),
    closed: requests.cutOff,
    idempotency: ledger.idempotency,
    quotes: new QuoteSigner(quoteSecret(resolved.quoteSecret, ledger)),
    noteFailure(error: OutsideFailure) {
      if (wasWatched(error)) return
      telemetry.metrics?.countError(error)
      recent.note({ kind: 'error', error })
    },
    merchants: merchantsOf(resolved.projects),
    settledAssets: settledAssetsOf(resolved),
  }
}

/** The tokens that this process settles itself. */
function settledAssetsOf({ networks, facilitator }: ResolvedOptions): readonly Asset[] {
  if (facilitator !== undefined) return []
  return networks.flatMap(({ core, assets }) => (core?.relayerKeys.length ? assets : []))
}

/**
 * A facilitator whose core is loaded by the first payment, if it was not before. A payment waits until the ledger has
 * the declared webhooks: they are told of it.
 */
function lazyFacilitator(
  { core, declared }: Pick<ReturnType<typeof lazyParts>, 'core' | 'declared'>,
  formats: SchemeFormats,
  requests: OpenRequests,
): ReservingFacilitator {
  const { verifyPayment, reserve }: Pick<ReservingFacilitator, 'verifyPayment' | 'reserve'> = {
    verifyPayment: async (...given) => (await core.get()).facilitator.verifyPayment(...given),
    async reserve(...given) {
      await declared.get()
      return (await core.get()).facilitator.reserve(...given)
    },
  }
  // Its request has been answered. If it cannot be released, its lock ends with this process.
  const release = (late: Reservation | Refusal): void =>
    void (isRefusal(late) || late.release().catch(() => undefined))
  return decodingFacilitator({
    formats,
    verifyPayment: (...given) => requests.ask(verifyPayment(...given)),
    reserve: (...given) => requests.ask(reserve(...given), release),
    supported: async () => (await core.get()).facilitator.supported(),
  })
}

/**
 * Loads parts once the app has declared its routes: they recover payments, deliver webhooks and watch
 * relayers without a request.
 */
function startSoon(
  parts: readonly Lazy<unknown>[],
  { logger, stopping }: { readonly logger: Logger; readonly stopping: AbortSignal },
): void {
  const start = async (): Promise<void> => {
    if (stopping.aborted) return
    await Promise.all(parts.map((part) => part.get()))
  }
  setImmediate(() => {
    start().catch((error: unknown) => logger.error('The gateway could not be loaded.', { error }))
  }).unref()
}

/** @throws `ConfigError` if no metrics are collected. */
function openMetricsRouter(
  resolved: ResolvedOptions,
  metrics: ReturnType<typeof openTelemetry>['metrics'],
): Router {
  if (metrics !== undefined) return createMetricsRouter(metrics, resolved.metrics?.token)
  const message = 'is not set, so that no metrics are collected: set metrics: true'
  throw new ConfigError('metrics', message, 'missing_option')
}

/** Counts what an app verifies and settles without HTTP: it is waited for as requests are. */
function countCalls(facilitator: Facilitator, requests: OpenRequests): Facilitator {
  return {
    verify: (...payment) => requests.addCall(facilitator.verify(...payment)),
    settle: (...payment) => requests.addCall(facilitator.settle(...payment)),
    supported: () => facilitator.supported(),
  }
}

function closeOnce(requests: OpenRequests, close: () => Promise<void>): Gateway['close'] {
  let closed: Promise<void> | undefined
  return ({ timeoutMs = CLOSE_TIMEOUT_MS } = {}) =>
    (closed ??= requests.close(timeoutMs).then(close))
}

/** Closes what a gateway consists of, the ledger last. */
async function closeParts(
  resolved: ResolvedOptions,
  parts: Base & ReturnType<typeof lazyParts>,
): Promise<void> {
  const { counters, catalogue, directory, core, declared, dispatcher, ledger } = parts
  const last = Promise.all([counters.close(), catalogue.flush()])
  await Promise.race([last, sleep(LAST_COUNTS_MS, undefined, { ref: false })])
  await directory.close()
  await closeSharedCounts(resolved)
  // A part that could not be loaded has been reported.
  await Promise.allSettled([core.loaded, declared.loaded])
  await dispatcher.loaded?.then((loaded) => loaded.close()).catch(() => undefined)
  await ledger.close()
}
