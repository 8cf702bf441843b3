import type { Router } from 'express'
import type { Gateway } from './gateway-interface.js'
import { lazyFacilitator } from './lazy-facilitator.js'
import { signInContext } from './sign-in-context.js'
import { merchantReader } from './config/resolve/projects.js'
import { closeSharedCounts } from './config/resolve/redis-counts.js'
import type { ResolvedOptions } from './config/resolve/resolve-options.js'
import { warnOfRisks } from './config/risk-warnings.js'
import { Catalogue } from '../core/catalogue/catalogue.js'
import { DeclaredRoutes } from '../sell/discovery/declared-routes.js'
import { createDiscovery } from '../sell/discovery/discovery-router.js'
import { ConfigError, type OutsideFailure } from '../shared/errors.js'
import { countEvents } from '../core/facilitator/count-events.js'
import type { Facilitator } from '../core/facilitator/facilitator.js'
import { NetworkCallers, RemoteCallers } from '../core/facilitator/remote-callers.js'
import { PermitDomains } from '../shared/money/permit-domains.js'
import { evmFormats } from '../core/schemes/evm/formats.js'
import { createHealthRouter } from '../operate/health/health-router.js'
import { Lazy, lazyRouter } from '../shared/http/lazy.js'
import { routerMaker } from '../shared/http/require-call.js'
import { OpenRequests } from '../shared/http/open-requests.js'
import { Counters } from '../ledger/counters.js'
import { createMemoryLedger } from '../ledger/memory-ledger.js'
import { ReceiptIssuer } from '../shared/crypto/offer-receipt.js'
import type { Logger } from '../shared/logger.js'
import { merchantsOf, type Merchant } from '../core/merchants/project.js'
import { ProjectDirectory } from '../core/merchants/project-directory.js'
import { quoteSecret } from '../core/quotes/quote-secret.js'
import { QuoteSigner } from '../core/quotes/signed-quote.js'
import type { Asset } from '../shared/money/assets.js'
import { HeaderSizes } from '../sell/route/header-size.js'
import { createX402Protect, openPaidRoutes } from '../sell/flow/x402-protect.js'
import { createPaidTool } from '../sell/mcp/paid-tool.js'
import type { Network } from '../shared/protocol/networks.js'
import type { GatewayRouterOptions } from '../api/gateway-router.js'
import { createEventBus } from '../core/schemes/events.js'
import { createMetricsRouter } from '../operate/telemetry/metrics-router.js'
import { wasWatched } from '../operate/telemetry/payment-watch.js'
import { RecentOutcomes } from '../operate/telemetry/recent-outcomes.js'
import { openTelemetry } from '../operate/telemetry/telemetry.js'
import type { completeCheckout } from '../api/checkouts/complete-checkout.js'
import { world } from '../shared/world.js'

/** Time that requests under way get when the gateway closes (ms). */
const CLOSE_TIMEOUT_MS = 10_000

/** How long a closing gateway waits for the database to take the last counts (ms). */
const LAST_COUNTS_MS = 1000

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
  const selling = sellingContext(resolved, base, parts)
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
    paidTool: createPaidTool(paidRoutes),
    gatewayRouter,
    discovery: routerMaker('discovery', () =>
      createDiscovery({ ...context, describer, api: () => gatewayRouter({ docs: false }) }),
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
  const elsewhere = resolved.facilitators.map((one) => {
    return { ...one, callers: new RemoteCallers(one.facilitator, now) }
  })
  const callers = elsewhere.length > 0 ? new NetworkCallers(elsewhere) : undefined
  const readMerchant = merchantReader(resolved.networks, resolved)
  return {
    requests,
    warned,
    events,
    telemetry,
    ledger,
    counters,
    permits,
    elsewhere,
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
    if (base.elsewhere.length === 0)
      return (await import('./parts/core.js')).openCore(resolved, parts)
    const { openRemoteCore } = await import('./parts/remote-core.js')
    return openRemoteCore(resolved, base.elsewhere, parts)
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
    return { ...resolved, ledger, cores }
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

type Parts = ReturnType<typeof lazyParts>

/** What paid routes and the API have in common, apart from what settles. */
function sellingContext(resolved: ResolvedOptions, base: Base, parts: Parts) {
  const { requests, ledger, telemetry, recent } = base
  return {
    ...resolved,
    ...base,
    declaredRoutes: new DeclaredRoutes(),
    headerSizes: new HeaderSizes(),
    issuer: resolved.receipts && new ReceiptIssuer(resolved.receipts, resolved.now),
    signIns: signInContext({ ...resolved, ...base, ...parts }),
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
function settledAssetsOf({ networks }: ResolvedOptions): readonly Asset[] {
  return networks.flatMap(({ core, assets }) => (core?.relayerKeys.length ? assets : []))
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
  world
    .setImmediate(() => {
      start().catch((error: unknown) => logger.error('The gateway could not be loaded.', { error }))
    })
    .unref()
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
async function closeParts(resolved: ResolvedOptions, parts: Base & Parts): Promise<void> {
  const { counters, catalogue, directory, core, declared, dispatcher, ledger } = parts
  const last = Promise.all([counters.close(), catalogue.flush()])
  await Promise.race([last, world.sleep(LAST_COUNTS_MS, undefined, { ref: false })])
  await directory.close()
  await closeSharedCounts(resolved)
  // A part that could not be loaded has been reported.
  await Promise.allSettled([core.loaded, declared.loaded])
  await dispatcher.loaded?.then((loaded) => loaded.close()).catch(() => undefined)
  await ledger.close()
}
