import { z } from 'zod'
import { ConfigError, type ConfigIssue } from '../errors.js'
import type { Facilitator } from '../facilitator/facilitator.js'
import { isLedgerStore, type LedgerStore } from '../ledger/ledger.js'
import { processWarnings, type Logger } from '../logger.js'
import type { Project } from '../merchants/project.js'
import type { RateSource } from '../money/rates.js'
import { callback, instanceWith, omitUndefined, rootUrl, type FieldsOf } from './fields.js'
import { resolveNetworks, type ResolvedNetwork } from './networks.js'
import type { GatewayOptions, RateLimitOptions } from './options.js'
import type { NetworkNameStyle } from '../protocol/networks.js'
import { resolveProjects } from './projects.js'
import { resolveRates } from './rates.js'
import { isObject, readOption, type Report } from './report.js'

const DEFAULT_HANDLER_ID = 'xyz.vendor.gateway_payment'
const DEFAULT_SETTLE_TIMEOUT_MS = 25_000
const DEFAULT_MAX_HELD_BYTES_TOTAL = 256 * 1024 * 1024

/** Fewest characters of `quoteSecret`. */
const MIN_SECRET_LENGTH = 32

const rateLimit = z
  .union([
    z.literal(false),
    z.strictObject({
      windowMs: z.int().positive().optional(),
      limit: z.int().positive().optional(),
      store: instanceWith<NonNullable<RateLimitOptions['store']>>(
        'increment',
        'decrement',
        'resetKey',
      ).optional(),
    } satisfies FieldsOf<RateLimitOptions>),
  ])
  .transform((limits) => limits && omitUndefined(limits))

/** The outermost options. Networks, projects and rates are checked one by one. */
const optionsSchema = z.strictObject({
  publicUrl: rootUrl.optional(),
  handlerId: z
    .string()
    .regex(
      /^[a-z][a-z0-9-]*(\.[a-z0-9_-]+)+$/,
      "must be a reverse domain name, like 'com.example.payment'",
    )
    .default(DEFAULT_HANDLER_ID),
  networkNames: z.enum(['caip2', 'short']).default('caip2'),
  networks: z.record(z.string(), z.unknown()).optional(),
  projects: z.array(z.unknown()).optional(),
  rates: z
    .union([
      z.array(z.unknown()).min(1),
      z.record(z.string(), z.unknown()),
      instanceWith<RateSource>('getRate'),
    ])
    .optional(),
  quoteSecret: z
    .string()
    .min(MIN_SECRET_LENGTH, `must have at least ${MIN_SECRET_LENGTH} characters`)
    .optional(),
  rateLimit: rateLimit.default({}),
  paymentRateLimit: rateLimit.default(false),
  ucp: z.strictObject({ docsUrl: rootUrl.optional() }).optional(),
  facilitator: instanceWith<Facilitator>('verify', 'settle', 'supported').optional(),
  ledger: z
    .custom<LedgerStore>(isLedgerStore, {
      error: 'must come from memoryLedger(), sqliteLedger(file) or postgresLedger(url)',
    })
    .optional(),
  logger: instanceWith<Logger>('debug', 'info', 'warn', 'error').default(() => processWarnings),
  maxHeldBytesTotal: z.int().positive().default(DEFAULT_MAX_HELD_BYTES_TOTAL),
  settleTimeoutMs: z.int().positive().default(DEFAULT_SETTLE_TIMEOUT_MS),
  now: callback<() => number>().default(() => Date.now),
} satisfies { readonly [Name in keyof GatewayOptions]-?: z.ZodType })

/** Options after checks, defaults and conversions. */
export interface ResolvedOptions {
  /** Without a slash at its end. */
  readonly publicUrl: string | undefined
  /** Without a slash at its end. */
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
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/**
 * Checks options, fills in defaults and converts units.
 *
 * @throws {@link ConfigError} with everything that is wrong, each mistake by its path.
 */
export function resolveOptions(options: GatewayOptions): ResolvedOptions {
  if (!isObject(options)) throw new ConfigError('options', 'must be an object', 'invalid_type')
  const issues: ConfigIssue[] = []
  const report: Report = (option, code, message) => void issues.push({ option, code, message })
  const settings = readOption(optionsSchema, options, report)
  const networks = resolveNetworks(options, report)
  const projects = resolveProjects(options, networks, report)
  const assets = networks.flatMap((network) => network.assets)
  const rates = resolveRates(options, assets, report)
  if (settings === undefined || issues.length > 0) throw new ConfigError(issues)
  const { publicUrl, quoteSecret, facilitator, ledger, ucp, ...others } = settings
  return {
    ...others,
    ...{ publicUrl, quoteSecret, facilitator, ledger, docsUrl: ucp?.docsUrl },
    ...{ networks, projects, rates },
  }
}
