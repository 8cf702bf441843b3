import type { LedgerRecord, LedgerStore } from '../../ledger/index.js'
import type { Alert } from '../../ledger/webhooks/alerts.js'
import { DAY_MS } from '../../ledger/time-zone.js'
import type { FailingWebhook } from '../../ledger/webhooks.js'
import type { Logger } from '../../shared/logger.js'
import type { OwnNetwork } from './check-gateway.js'
import { checkNetwork } from './check-network.js'
import { findings, type Finding } from './finding.js'
import { world } from '../../shared/world.js'

/** How often it looks (ms), and how many rounds pass between two looks at webhooks. */
const LOOK_MS = 30_000
const ROUNDS_PER_WEBHOOKS = 20

/** How long a payment may be pending, and how long its buyer may take to redeem what was paid (s). */
const LONG_PENDING_SECONDS = 600
const LONG_UNDELIVERED_SECONDS = 3600

/** Errors, and their part of all payments, from which on there are many. */
const MANY_ERRORS = { count: 5, part: 0.2 }

export interface GatewayWatchOptions {
  /** None with a remote facilitator. */
  readonly cores: readonly OwnNetwork[]
  readonly ledger: Pick<LedgerStore, 'payments' | 'webhooks'>
  /** Payments of the last ten minutes. */
  readonly recent: { read(): { readonly errors: number; readonly settled: number } }
  /** Whether somebody reads {@link GatewayWatch.readings}: without, it looks only for an operator's webhooks. */
  readonly isRead: boolean
  readonly wakeWebhooks: () => void
  readonly logger: Logger
  readonly stopping: AbortSignal
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** @defaultValue 30000 */
  readonly lookMs?: number | undefined
}

export interface NodeReading {
  readonly isUp: boolean
  /** Age of the latest block, if the node answers. */
  readonly blockAgeSeconds?: number
}

export interface Readings {
  /** By CAIP-2 id. */
  readonly nodes: ReadonlyMap<string, NodeReading>
  /** Age of the oldest payment whose transaction is not decided (s); 0 for none. */
  readonly oldestPendingSeconds: number
  readonly failingWebhooks: number
}

interface Due {
  readonly alert: Alert
  readonly isOn: boolean
  readonly data: object
  /** For the log, when it begins. */
  readonly message: string
}

/**
 * Looks after the gateway, so that its operator is told before buyers are: nodes, payments that stay pending,
 * webhooks that fail, and errors. Every process looks; the ledger lets one of them tell.
 */
export class GatewayWatch {
  readings: Readings = { nodes: new Map(), oldestPendingSeconds: 0, failingWebhooks: 0 }
  readonly #options: GatewayWatchOptions
  readonly #timer: NodeJS.Timeout
  /** Whether each alert was on at the last look, by type and subject. */
  readonly #was = new Map<string, boolean>()
  /** Networks whose last look found a failure: one failure alone may be a hiccup. */
  #suspects: ReadonlySet<string> = new Set()
  #failing: readonly FailingWebhook[] = []
  #round = 0
  #looking: Promise<void> | undefined

  constructor(options: GatewayWatchOptions) {
    this.#options = options
    this.#timer = world.setInterval(() => void this.look(), options.lookMs ?? LOOK_MS).unref()
    const end = (): void => world.clearInterval(this.#timer)
    options.stopping.addEventListener('abort', end, { once: true })
    if (options.stopping.aborted) end()
  }

  /** Looks once, unless it is looking. Never rejects: requests report a ledger that does not answer. */
  look(): Promise<void> {
    this.#looking ??= this.#look()
      .catch(() => undefined)
      .finally(() => (this.#looking = undefined))
    return this.#looking
  }

  async #look(): Promise<void> {
    const { ledger, isRead, stopping, wakeWebhooks } = this.#options
    if (stopping.aborted) return
    if (!isRead && !(await ledger.webhooks.alerts.hasEndpoints())) return
    const found = [...(await this.#nodes()), ...(await this.#pending()), ...this.#errors()]
    const webhooks = await this.#webhooks()
    let isTold = false
    for (const due of [...found, ...webhooks]) isTold = (await this.#tell(due)) || isTold
    if (isTold) wakeWebhooks()
  }

  /** @returns Whether there is something to deliver. */
  async #tell({ alert, isOn, data, message }: Due): Promise<boolean> {
    const { ledger, logger } = this.#options
    const { type, about } = alert
    const name = `${type} ${about}`
    const was = this.#was.get(name)
    if (!isOn) {
      // At the first look, the process before may have told. Errors are each process's own.
      if (was ?? type !== 'errors.high') await ledger.webhooks.alerts.end({ type, about })
      // Only now: an end that could not be written is written at the next look.
      this.#was.set(name, false)
      return false
    }
    this.#was.set(name, true)
    if (was !== true) logger.warn(message, { alert: type, ...data })
    return ledger.webhooks.alerts.tell(alert, data)
  }

  async #nodes(): Promise<readonly Due[]> {
    const { cores, now } = this.#options
    const checked = await Promise.all(
      cores.map(async ({ chain }) => {
        const { caip2 } = chain.network
        const place = { subject: 'network', network: caip2 } as const
        const [found] = await findings(place, () => checkNetwork(chain, now()))
        return [caip2, found] as const
      }),
    )
    const failing = checked.filter(([, found]) => found?.status === 'error')
    const nodes = checked.map(([caip2, found]) => [caip2, readingOf(found)] as const)
    this.readings = { ...this.readings, nodes: new Map(nodes) }
    const suspects = this.#suspects
    this.#suspects = new Set(failing.map(([caip2]) => caip2))
    return checked.flatMap(([network, found]) => {
      if (found === undefined) return []
      const { code, message, block, blockAgeSeconds } = found
      const isOn = found.status === 'error' && (suspects.has(network) || code === 'chain_mismatch')
      // Neither on nor over.
      if (found.status === 'error' && !isOn) return []
      const data = { network, code, message, block, blockAgeSeconds }
      return [
        {
          alert: { type: 'network.failing', about: network } as const,
          isOn,
          data,
          message: 'A network cannot be used: payments there fail.',
        },
      ]
    })
  }

  async #pending(): Promise<readonly Due[]> {
    const { ledger, now } = this.#options
    const [oldest] = await ledger.payments.listSubmitted({ limit: 1 })
    const seconds = oldest === undefined ? 0 : Math.floor((now() - oldest.createdAt) / 1000)
    this.readings = { ...this.readings, oldestPendingSeconds: Math.max(0, seconds) }
    const undelivered = await ledger.payments.findUndelivered()
    return [
      {
        alert: { type: 'payments.pending', about: 'oldest' },
        ...this.#since(oldest, LONG_PENDING_SECONDS),
        message: 'A payment has been pending for ten minutes: look at the relayers and the node.',
      },
      {
        alert: { type: 'payments.undelivered', about: 'oldest', pauseMs: DAY_MS },
        ...this.#since(undelivered, LONG_UNDELIVERED_SECONDS),
        message: 'A payment is paid, not delivered: refund it or list its price in earlierPrices.',
      },
    ]
  }

  #since(record: LedgerRecord | undefined, longSeconds: number): Pick<Due, 'isOn' | 'data'> {
    if (record === undefined) return { isOn: false, data: {} }
    const { id: payment, chainId, project, createdAt } = record
    const pendingSeconds = Math.floor((this.#options.now() - createdAt) / 1000)
    const data = { payment, network: `eip155:${chainId}`, project, pendingSeconds }
    return { isOn: pendingSeconds >= longSeconds, data }
  }

  #errors(): readonly Due[] {
    const { errors, settled } = this.#options.recent.read()
    const { count, part } = MANY_ERRORS
    return [
      {
        alert: { type: 'errors.high', about: 'payments' },
        isOn: errors >= count && errors >= part * (errors + settled),
        data: { errors, settled, minutes: 10 },
        message: 'Many payments fail for reasons that are not the buyers’.',
      },
    ]
  }

  async #webhooks(): Promise<readonly Due[]> {
    if (this.#round % ROUNDS_PER_WEBHOOKS !== 0) {
      this.#round++
      return []
    }
    const before = this.#failing
    const failing = await this.#options.ledger.webhooks.deliveries.listFailing(DAY_MS)
    // Only now: a look that failed is made again.
    this.#round++
    this.#failing = failing
    this.readings = { ...this.readings, failingWebhooks: failing.length }
    const isFailing = new Set(failing.map(({ endpoint }) => endpoint))
    const over = before.filter(({ endpoint }) => !isFailing.has(endpoint))
    return [...failing, ...over].map(({ endpoint, project, since }) => ({
      alert: { type: 'webhook.failing', about: endpoint, pauseMs: DAY_MS },
      isOn: isFailing.has(endpoint),
      data: {
        webhook: endpoint,
        ...(project !== '' && { project }),
        since: new Date(since).toISOString(),
      },
      message: 'Nothing could be delivered to a webhook for a day: correct its URL or receiver.',
    }))
  }
}

function readingOf(found: Finding | undefined) {
  const { status = 'error', blockAgeSeconds } = found ?? {}
  return { isUp: status !== 'error', ...(blockAgeSeconds !== undefined && { blockAgeSeconds }) }
}
