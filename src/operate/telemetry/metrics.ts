import type * as PromClient from 'prom-client'
import type { EndedRequest } from '../../core/chain/rpc.js'
import { isOutsideFailure } from '../../shared/errors.js'
import type { LedgerStore } from '../../ledger/index.js'
import { requirePeers } from '../../ledger/engine/require-peers.js'
import { findNetwork, type Network } from '../../shared/protocol/networks.js'
import { EXACT, UPTO } from '../../shared/protocol/payment.js'
import { reasons } from '../../shared/protocol/reasons.js'
import type { RelayerPool } from '../../core/relayer/pool.js'
import type { EventBus } from '../../core/schemes/events.js'
import type { PaymentWatch, PaymentWatcher, Phase } from './payment-watch.js'
import { timed } from './timed.js'
import { world } from '../../shared/world.js'

/** Upper bounds in seconds: from a warm `verify` to a slow block. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25]

const OUTCOMES = ['verified', 'refused', 'submitted', 'settled', 'failed', 'pending'] as const

const REFUND_OUTCOMES = [
  ['refundSettled', 'settled'],
  ['refundFailed', 'failed'],
  ['refundPending', 'pending'],
] as const

const WEI = 1e18

const PHASES: readonly Phase[] = ['verify', 'reserve', 'handler', 'settle', 'confirm', 'deliver']

/** Projects that have a label of their own; the payments of further ones are counted together. */
const MOST_PROJECTS = 200

const SCHEMES: ReadonlySet<string> = new Set([EXACT, UPTO])

const knownReasons: ReadonlySet<string> = new Set(reasons)

interface SettledNetwork {
  readonly chain: { readonly network: Network }
  readonly relayers: Pick<RelayerPool, 'accounts'>
}

type Account = RelayerPool['accounts'][number]

export interface MetricsParts {
  readonly events: EventBus
  /** CAIP-2 ids of the gateway's networks, the only ones in labels. */
  readonly networks: readonly string[]
}

export interface ReadGauge {
  readonly name: string
  readonly help: string
  readonly labels?: readonly string[]
  read(): readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[]
}

/**
 * The metrics of one gateway, in its own registry. Labels come from a closed set of this package or from
 * the configuration, never from a client.
 */
export class Metrics implements PaymentWatcher {
  /** MIME type of {@link Metrics.text}. */
  readonly contentType: string
  readonly #client: typeof PromClient
  readonly #registry: PromClient.Registry
  readonly #networks: ReadonlySet<string>
  readonly #projects = new Set<string>()
  readonly #phases: ReadonlyMap<Phase, PromClient.Histogram.Internal<'phase'>>
  readonly #errors: PromClient.Counter<'code'>
  readonly #rpc: PromClient.Histogram<'network' | 'method' | 'outcome'>
  readonly #ledger: PromClient.Histogram<'operation' | 'outcome'>
  readonly #deliveries: PromClient.Counter<'outcome'>

  /** @throws `ConfigError` if the package `prom-client` is missing. */
  constructor({ events, networks }: MetricsParts) {
    const [peer] = requirePeers(['prom-client'], undefined, 'metrics')
    const client = peer as typeof PromClient
    const registers = [new client.Registry()] as [PromClient.Registry]
    this.#client = client
    this.#registry = registers[0]
    this.#networks = new Set(networks)
    this.contentType = this.#registry.contentType
    const histogram = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
      new client.Histogram({ name, help, labelNames, registers, buckets: BUCKETS })
    const phases = histogram('x402_payment_phase_seconds', 'Phases of payments.', ['phase'])
    this.#phases = new Map(PHASES.map((phase) => [phase, phases.labels(phase)]))
    this.#rpc = histogram('x402_rpc_seconds', 'Requests to nodes.', [
      ...(['network', 'method', 'outcome'] as const),
    ])
    this.#ledger = histogram('x402_ledger_seconds', 'Operations of the ledger.', [
      ...(['operation', 'outcome'] as const),
    ])
    const errors = 'Payments that could not be taken because of an outside failure or a bug.'
    const name = 'x402_payment_errors_total'
    this.#errors = new client.Counter({ name, help: errors, labelNames: ['code'], registers })
    this.#deliveries = new client.Counter({
      name: 'x402_webhook_attempts_total',
      help: 'Attempts to deliver a webhook: delivered, retry (tried again later), failed (given up).',
      labelNames: ['outcome'],
      registers,
    })
    client.collectDefaultMetrics({ register: this.#registry })
    this.#count(events)
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }

  begin(): PaymentWatch {
    const phases = this.#phases
    return {
      phase(name) {
        const startedAt = world.elapsed()
        return () => phases.get(name)?.observe((world.elapsed() - startedAt) / 1000)
      },
      submitted: () => undefined,
      end: (how) => {
        if (how.kind === 'error') this.countError(how.error)
      },
    }
  }

  countError(error: unknown): void {
    this.#errors.inc({ code: isOutsideFailure(error) ? error.code : 'internal_error' })
  }

  countDelivery(outcome: string): void {
    if (outcome !== 'returned') this.#deliveries.inc({ outcome })
  }

  onRequest(network: string): (request: EndedRequest) => void {
    return ({ method, outcome, seconds }) =>
      this.#rpc.observe({ network, method, outcome }, seconds)
  }

  timedLedger(store: LedgerStore): LedgerStore {
    const time = <Part extends object>(part: Part): Part =>
      timed(part, (operation, outcome, seconds) =>
        this.#ledger.observe({ operation, outcome }, seconds),
      )
    return {
      isInMemory: store.isInMemory,
      payments: time(store.payments),
      relayers: time(store.relayers),
      refunds: time(store.refunds),
      checkouts: time(store.checkouts),
      idempotency: store.idempotency,
      projects: store.projects,
      sessions: store.sessions,
      webhooks: store.webhooks,
      counts: time(store.counts),
      resources: time(store.resources),
      secrets: time(store.secrets),
      signIns: time(store.signIns),
      turns: time(store.turns),
      close: () => store.close(),
    }
  }

  /** Adds gauges of the relayers' last known funds and pending transactions. */
  watchRelayers(cores: readonly SettledNetwork[]) {
    const accounts = cores.flatMap(({ chain: { network }, relayers }) =>
      relayers.accounts.map((account) => ({ network: network.caip2, account })),
    )
    const each = (value: (account: Account) => number | undefined) => () =>
      accounts.flatMap((one) => {
        const labels = { network: one.network, relayer: one.account.address }
        const read = value(one.account)
        return read === undefined ? [] : [{ labels, value: read }]
      })
    const labels = ['network', 'relayer']
    this.gauge({
      name: 'x402_relayer_balance',
      help: 'Balance of relayers in native currency.',
      labels,
      read: each(({ funds }) => {
        // Refreshes for the next scrape, at most once in ten seconds.
        if (funds.suffice === undefined) void funds.check().catch(() => undefined)
        return funds.known && Number(funds.known.balance) / WEI
      }),
    })
    this.gauge({
      name: 'x402_relayer_settlements_left',
      help: 'Settlements that the balance pays for.',
      labels,
      read: each(({ funds }) => funds.known && Number(funds.known.settlements)),
    })
    const help = 'Transactions of this process that are being sent or pending.'
    this.gauge({
      name: 'x402_relayer_pending_transactions',
      help,
      labels,
      read: each(({ load }) => load),
    })
  }

  gauge({ name, help, labels: labelNames = [], read }: ReadGauge): void {
    const gauge = new this.#client.Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.#registry],
      collect() {
        gauge.reset()
        for (const { labels, value } of read()) gauge.set(labels, value)
      },
    })
  }

  #count(events: EventBus): void {
    const payments = new this.#client.Counter({
      name: 'x402_payments_total',
      help: 'Payments by outcome.',
      labelNames: ['network', 'scheme', 'outcome', 'reason'],
      registers: [this.#registry],
    })
    const ofProjects = new this.#client.Counter({
      name: 'x402_project_payments_total',
      help: 'Payments by project and outcome.',
      labelNames: ['project', 'outcome'],
      registers: [this.#registry],
    })
    for (const outcome of OUTCOMES)
      events.on(outcome, (event) => {
        const reason = 'reason' in event ? event.reason : ''
        ofProjects.inc({ outcome, project: this.#projectOf(event.project) })
        payments.inc({
          outcome,
          network: this.#networkOf(event.network),
          scheme: SCHEMES.has(event.scheme) ? event.scheme : 'other',
          reason: reason === '' || knownReasons.has(reason) ? reason : 'other',
        })
      })
    const refunds = new this.#client.Counter({
      name: 'x402_refunds_total',
      help: 'Refunds by outcome.',
      labelNames: ['network', 'outcome'],
      registers: [this.#registry],
    })
    for (const [event, outcome] of REFUND_OUTCOMES)
      events.on(event, ({ network }) => refunds.inc({ outcome, network: this.#networkOf(network) }))
  }

  /** The first projects that are seen; a label takes memory for as long as the process lives. */
  #projectOf(id: string | undefined): string {
    if (id === undefined) return 'none'
    if (this.#projects.size < MOST_PROJECTS) this.#projects.add(id)
    return this.#projects.has(id) ? id : 'other'
  }

  /** Clients may write anything. */
  #networkOf(written: string): string {
    const caip2 = findNetwork(written)?.caip2 ?? ''
    return this.#networks.has(caip2) ? caip2 : 'other'
  }
}
