import { z } from 'zod'
import { resolveAdmin, type ResolvedAdmin } from './admin.js'
import { ConfigError, type ConfigIssue } from '../../../shared/errors.js'
import { isLedgerStore, type LedgerStore } from '../../../ledger/index.js'
import {
  adaptLogger,
  processWarnings,
  type FieldsFirstLogger,
  type Logger,
} from '../../../shared/logger.js'
import type { Share } from '../../../core/facilitator/facilitator-share.js'
import type { PaymentHook, PaymentHooks } from '../../../core/schemes/payment-hooks.js'
import type { Project } from '../../../core/merchants/project.js'
import type { RateSource } from '../../../shared/money/rates.js'
import {
  callback,
  instanceWith,
  mistake,
  omitUndefined,
  privateKey,
  rootUrl,
  type FieldsOf,
} from './fields.js'
import { facilitatorSchema, resolveFacilitators, type ResolvedFacilitator } from './facilitators.js'
import { metricsSchema, type ResolvedMetrics } from './metrics.js'
import { resolveNetworks, type ResolvedNetwork } from './networks.js'
import type { GatewayOptions, RateLimitOptions, ReceiptOptions } from '../options.js'
import type { NetworkNameStyle } from '../../../shared/protocol/networks.js'
import { paywallSchema, type CheckedPaywall } from '../../../sell/paywall/options.js'
import { resolveProjects } from './projects.js'
import { resolveRates } from './rates.js'
import { RedisCounts } from './redis-counts.js'
import { publicKeyOf } from '../../../shared/crypto/address-of-key.js'
import { isObject } from '../../../shared/protocol/document.js'
import { sameHex } from '../../../shared/protocol/hex.js'
import { readOption, type Report } from './report.js'
import { trustProxySchema, type TrustedProxies } from './trust-proxy.js'
import { resolveWebhooks, webhooksSchema, type ResolvedWebhooks } from './webhooks.js'
import { world } from '../../../shared/world.js'

const DEFAULT_HANDLER_ID = 'xyz.vendor.gateway_payment'
const DEFAULT_SETTLE_TIMEOUT_MS = 25_000

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
      redisUrl: z
        .string()
        .refine(
          (url) => /^rediss?:\/\//.test(url) && URL.canParse(url),
          mistake('invalid_url', 'must be a URL like redis://user:password@host:6379/0'),
        )
        .optional(),
    } satisfies FieldsOf<RateLimitOptions>),
  ])
  .refine((limits) => !limits || limits.store === undefined || limits.redisUrl === undefined, {
    path: ['redisUrl'],
    ...mistake('conflicting_options', 'is another place for counts than `store`: give one of them'),
  })
  .transform((limits) => limits && omitUndefined(limits))

const receiptsSchema = z
  .strictObject({ privateKey } satisfies FieldsOf<ReceiptOptions>)
  .transform((receipts) => ({ ...receipts, publicKey: publicKeyOf(receipts.privateKey) }))

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
  v1: z.boolean().default(false),
  networks: z
    .record(z.string(), z.unknown(), 'must be an object, like { base: { rpcUrl, relayerKeys } }')
    .optional(),
  projects: z.array(z.unknown()).optional(),
  admin: z.unknown().optional(),
  console: z.boolean().optional(),
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
  receipts: receiptsSchema.optional(),
  rateLimit: rateLimit.default({}),
  paymentRateLimit: rateLimit.optional(),
  beforeVerify: callback<PaymentHook>().optional(),
  beforeSettle: callback<PaymentHook>().optional(),
  paywall: paywallSchema.default({}),
  ucp: z.strictObject({ docsUrl: rootUrl.optional() }).optional(),
  webhooks: webhooksSchema,
  facilitator: facilitatorSchema,
  ledger: z
    .custom<LedgerStore>(isLedgerStore, {
      error: 'must come from memoryLedger(), sqliteLedger(file) or postgresLedger(url)',
    })
    .optional(),
  logger: instanceWith<Logger | FieldsFirstLogger>('debug', 'info', 'warn', 'error')
    .default(() => processWarnings)
    .transform(adaptLogger),
  metrics: metricsSchema,
  traces: z.boolean().default(false),
  trustProxy: trustProxySchema,
  settleTimeoutMs: z.int().positive().default(DEFAULT_SETTLE_TIMEOUT_MS),
  now: callback<() => number>().default(() => world.now),
} satisfies { readonly [Name in keyof GatewayOptions]-?: z.ZodType })

/** Paths of all options but those of networks, projects and people: `metrics.host`. */
export const OPTION_PATHS: readonly string[] = pathsOf(optionsSchema)

/** Paths of the members that a schema takes, without those in lists and records. */
function pathsOf(schema: z.ZodType): readonly string[] {
  const { innerType, in: input, options = [], shape = {} } = schema.def as SchemaDefinition
  const inner = [innerType, input, ...options].filter((one) => one !== undefined)
  const below = (name: string, member: z.ZodType) =>
    pathsOf(member).map((path) => `${name}.${path}`)
  return [
    ...inner.flatMap(pathsOf),
    ...Object.entries(shape).flatMap(([name, member]) => [name, ...below(name, member)]),
  ]
}

/** What zod's schemas are made of: optional ones, transforms, unions and objects. */
interface SchemaDefinition extends z.core.$ZodTypeDef {
  readonly innerType?: z.ZodType
  readonly in?: z.ZodType
  readonly options?: readonly z.ZodType[]
  readonly shape?: Readonly<Record<string, z.ZodType>>
}

/** Options after checks, defaults and conversions. URLs have no slash at their end. */
export interface ResolvedOptions extends ResolvedAdmin, PaymentHooks {
  readonly publicUrl?: string | undefined
  readonly docsUrl?: string | undefined
  readonly handlerId: string
  readonly networkNames: NetworkNameStyle
  /** Whether x402 version 1 is spoken, too, where a merchant does not say. */
  readonly v1: boolean
  readonly networks: readonly ResolvedNetwork[]
  readonly projects: readonly Project[]
  readonly console: boolean
  readonly rates: RateSource
  readonly hasRates: boolean
  readonly quoteSecret?: string | undefined
  readonly receipts?: z.output<typeof receiptsSchema> | undefined
  readonly rateLimit: RateLimitOptions | false
  readonly paymentRateLimit: RateLimitOptions | false
  /** The page of paid routes; `false` for JSON to all. */
  readonly paywall: CheckedPaywall
  readonly webhooks: ResolvedWebhooks
  readonly facilitators: readonly ResolvedFacilitator[]
  /** Shares of this process's payments that facilitators elsewhere settle. */
  readonly shares: readonly Share[]
  readonly ledger?: LedgerStore | undefined
  readonly logger: Logger
  readonly metrics: ResolvedMetrics | undefined
  readonly traces: boolean
  readonly trustProxy: TrustedProxies
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
  // Also those with mistakes, which are reported already.
  const named = Object.keys(options.networks ?? {})
  const all = [...named, ...networks.map(({ network }) => network.caip2)]
  const elsewhere = resolveFacilitators(settings?.facilitator, all, report)
  const receipts = settings?.receipts
  const projects = resolveProjects({ ...options, receipts }, networks, report)
  const relayerKeys = networks.flatMap(({ core }) => core?.relayerKeys ?? [])
  if (receipts && relayerKeys.some((key) => sameHex(key, receipts.privateKey)))
    report('receipts.privateKey', 'duplicate_key', 'is the key of a relayer: make one of its own')
  const resolvedAdmin = resolveAdmin(options, projects, report)
  if (settings?.console === true && options.admin === undefined)
    report('console', 'missing_option', 'needs the option admin, whose tokens open the console')
  const assets = networks.flatMap((network) => network.assets)
  const rates = resolveRates(options, assets, report)
  const webhooks = settings && resolveWebhooks(settings.webhooks, projects, report)
  if (settings === undefined || webhooks === undefined || issues.length > 0)
    throw new ConfigError(issues)
  const { ucp, admin: _admin, facilitator: _facilitator, ...others } = settings
  return {
    ...others,
    docsUrl: ucp?.docsUrl,
    networks,
    ...elsewhere,
    projects,
    ...resolvedAdmin,
    rates,
    hasRates: options.rates !== undefined,
    webhooks,
    console: settings.console ?? resolvedAdmin.adminTokens.length > 0,
    rateLimit: withCounts(settings.rateLimit, 'rateLimit'),
    paymentRateLimit: withCounts(
      settings.paymentRateLimit ??
        (elsewhere.facilitators.length > 0 && { limit: REMOTE_PAYMENT_LIMIT }),
      'paymentRateLimit',
    ),
  }
}

/**
 * Payments in a minute that a gateway takes from one address or payer where it asks a facilitator
 * elsewhere: a third of the 600 requests that a gateway of ours takes, so that nobody uses them up alone.
 */
const REMOTE_PAYMENT_LIMIT = 200

function withCounts(
  limits: RateLimitOptions | false,
  name: 'rateLimit' | 'paymentRateLimit',
): RateLimitOptions | false {
  if (limits === false || limits.redisUrl === undefined) return limits
  return { ...limits, store: new RedisCounts(limits.redisUrl, `${name}.redisUrl`) }
}
