import { ConfigError, type ConfigIssue } from '../errors.js'
import type { Facilitator } from '../facilitator/facilitator.js'
import type { LedgerStore } from '../ledger/ledger.js'
import { processWarnings, type Logger } from '../logger.js'
import type { Project } from '../merchants/project.js'
import type { RateSource } from '../money/rates.js'
import { hasShape, isObject, type Report } from './report.js'
import { optionsSchema } from './schemas.js'
import type { GatewayOptions, RateLimitOptions } from './options.js'
import type { NetworkNameStyle } from '../protocol/networks.js'
import { resolveNetworks, type ResolvedNetwork } from './networks.js'
import { resolveProjects } from './projects.js'
import { resolveRates } from './rates.js'

/** Options after defaults and checks. */
export interface ResolvedOptions {
  readonly publicUrl: string | undefined
  readonly docsUrl: string | undefined
  readonly handlerId: string
  readonly networkNames: NetworkNameStyle
  readonly networks: readonly ResolvedNetwork[]
  readonly projects: readonly Project[]
  readonly rates: RateSource
  readonly quoteSecret: string | undefined
  readonly rateLimit: RateLimitOptions | false
  readonly paymentRateLimit: RateLimitOptions | false
  readonly facilitator: Facilitator | undefined
  readonly ledger: LedgerStore | undefined
  readonly logger: Logger
  readonly maxHeldBytesTotal: number
  readonly settleTimeoutMs: number
  readonly now: () => number
}

const DEFAULT_HANDLER_ID = 'xyz.vendor.gateway_payment'
const DEFAULT_SETTLE_TIMEOUT_MS = 25_000
const DEFAULT_MAX_HELD_BYTES_TOTAL = 256 * 1024 * 1024

/**
 * Checks options and fills in what was left out.
 *
 * @throws {@link ConfigError} with everything that is wrong, each by its path.
 */
export function resolveOptions(options: GatewayOptions): ResolvedOptions {
  const issues: ConfigIssue[] = []
  const report: Report = (option, message) => void issues.push({ option, message })
  if (!isObject(options)) throw new ConfigError('options', 'must be an object')
  hasShape(optionsSchema, options, report)
  const networks = resolveNetworks(options, report)
  const projects = resolveProjects(options, networks, report)
  const rates = resolveRates(
    options,
    networks.flatMap(({ assets }) => assets),
    report,
  )
  if (issues.length > 0) throw new ConfigError(issues)

  return {
    publicUrl: options.publicUrl?.replace(/\/+$/, ''),
    docsUrl: options.ucp?.docsUrl?.replace(/\/+$/, ''),
    handlerId: options.handlerId ?? DEFAULT_HANDLER_ID,
    networkNames: options.networkNames ?? 'caip2',
    networks,
    projects,
    rates,
    quoteSecret: options.quoteSecret,
    rateLimit: options.rateLimit ?? {},
    paymentRateLimit: options.paymentRateLimit ?? false,
    facilitator: options.facilitator,
    // The schema has told that it is one.
    ledger: options.ledger as LedgerStore | undefined,
    logger: options.logger ?? processWarnings,
    maxHeldBytesTotal: options.maxHeldBytesTotal ?? DEFAULT_MAX_HELD_BYTES_TOTAL,
    settleTimeoutMs: options.settleTimeoutMs ?? DEFAULT_SETTLE_TIMEOUT_MS,
    now: options.now ?? Date.now,
  }
}
