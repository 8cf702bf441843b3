/** The shapes of a gateway's options. Their errors never repeat what was given: it may be a secret. */
import { isAddress } from 'viem/utils'
import { z } from 'zod'
import { SECP256K1_ORDER } from '../crypto/native-secp256k1.js'
import { isLedgerStore, type LedgerStore } from '../ledger/ledger.js'
import { MIN_TOKEN_LENGTH } from '../merchants/project.js'
import { explainCurrency, isCurrency } from '../money/currency.js'
import { parseDecimal } from '../money/decimal.js'

export const TOKEN_FORMS = `must be 'sha256:' and 64 hexadecimal digits, or a token of at least ${MIN_TOKEN_LENGTH} characters; make one with \`npx express-x402-gateway token\``

/** Characters of a secret that nobody guesses. */
const MIN_SECRET_LENGTH = 32

/** What a required option is for, said where it is missing. */
const missing =
  (meaning: string) =>
  ({ input }: { input?: unknown }): string | undefined =>
    input === undefined ? `is missing: ${meaning}` : undefined

const addressOf = (meaning: string) =>
  z
    .string({ error: missing(meaning) })
    .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'must be 0x and 40 hexadecimal digits', abort: true })
    .refine((text) => BigInt(text) !== 0n, { error: 'must not be the zero address', abort: true })
    .refine((text) => isAddress(text), {
      error: 'has a wrong checksum (EIP-55): check it for typing errors, or write it in lower case',
    })
const httpUrl = (meaning: string) =>
  z
    .string({ error: missing(meaning) })
    .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
      error: 'must be an absolute http(s) URL',
    })
const rootUrl = httpUrl('a URL').refine((text) => !/[?#]/.test(text), {
  error: 'must have neither query nor fragment',
})
const currency = z
  .string()
  .refine((code) => isCurrency(code), { error: ({ input }) => explainCurrency(input) })
const privateKey = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, { error: 'must be 0x and 64 hexadecimal digits', abort: true })
  .refine((key) => BigInt(key) > 0n && BigInt(key) < SECP256K1_ORDER, {
    error: 'is outside the range of private keys',
  })
const instanceWith = (...methods: string[]) =>
  z.custom<object>((value) => methods.every((name) => hasMethod(value, name)), {
    error: `must be an object with the methods ${methods.join(', ')}`,
  })

const seconds = z.number().positive().max(31_536_000).optional()
const pricing = {
  rateSymbol: z
    .string()
    .regex(/^[A-Za-z0-9.]{1,20}$/, "must be what rates call the token, e.g. 'ETH'")
    .refine((symbol) => !isCurrency(symbol), {
      error: 'is a currency: a token pegged to it has it as its `currency`',
    })
    .optional(),
  depegGuardBps: z.int().min(1).max(10_000).optional(),
}
const assetSchema = z
  .strictObject({
    address: addressOf("the token's contract"),
    symbol: z.string().min(1, 'must not be empty'),
    decimals: z.int().min(0).max(36),
    currency: currency.optional(),
    ...pricing,
    eip712: z.strictObject({ name: z.string(), version: z.string() }),
  })
  .refine((asset) => asset.depegGuardBps === undefined || asset.currency !== undefined, {
    path: ['depegGuardBps'],
    error: 'is for tokens that are pegged: they have a `currency`',
  })
const knownAssetSchema = z.strictObject({ asset: z.string(), ...pricing })

export const localNetworkSchema = z.strictObject({
  rpcUrl: httpUrl('the URL of a JSON-RPC node'),
  relayerKeys: z
    .array(privateKey, { error: missing('private keys of accounts that pay the gas') })
    .min(1)
    .refine((keys) => new Set(keys.map((key) => key.toLowerCase())).size === keys.length, {
      error: 'holds the same key twice',
    }),
  maxFeePerGasGwei: z.number().min(1e-9).max(1e6).optional(),
  replaceAfterSeconds: z.number().min(1).max(3600).optional(),
  acceptContractPayers: z.boolean().optional(),
  assets: z
    .array(z.union([z.string(), assetSchema, knownAssetSchema]))
    .min(1)
    .optional(),
})

export const remoteNetworkSchema = localNetworkSchema.partial()

const limit = z.string().refine((text) => (parseDecimal(text)?.units ?? 0n) > 0n, {
  error: "must be a decimal string greater than zero, e.g. '0.50'",
})

export const merchantSchema = z.strictObject({
  name: z.string().optional(),
  payTo: addressOf('the address that is paid'),
  currency: currency.optional(),
  accepts: z
    .array(z.strictObject({ network: z.string(), asset: z.string() }))
    .min(1)
    .optional(),
  crossCurrency: z.boolean().optional(),
  fxBufferBps: z.int().min(0).max(10_000).optional(),
  minAmount: limit.optional(),
  maxAmount: limit.optional(),
  maxTimeoutSeconds: z.int().min(10).max(86_400).optional(),
  repeatSettlements: z.boolean().optional(),
  redeemWithoutProof: z.enum(['never', 'same-address']).optional(),
})

const cacheTimes = { maxAgeSeconds: seconds, freshSeconds: seconds, staleSeconds: seconds }

/** Sources of rates that a file can describe, by the one member that names them. */
export const chainlinkSchema = z.strictObject({
  chainlink: z.strictObject({
    network: z.string(),
    rpcUrl: httpUrl('the URL of a JSON-RPC node').optional(),
    feeds: z.record(z.string(), z.string()).optional(),
    timeoutMs: z.int().positive().optional(),
    ...cacheTimes,
  }),
})

export const httpRatesSchema = z.strictObject({
  http: z.strictObject({
    url: httpUrl('the root of an API like Frankfurter’s').or(
      z.custom<() => string>((value) => typeof value === 'function', 'must be a function'),
    ),
    read: z
      .custom<() => never>((value) => typeof value === 'function', 'must be a function')
      .optional(),
    name: z.string().min(1).optional(),
    headers: z.record(z.string(), z.string()).optional(),
    timeoutMs: z.int().positive().optional(),
    ...cacheTimes,
  }),
})

export const projectSchema = z.strictObject({
  id: z.string().min(1, 'must not be empty'),
  tokens: z.array(z.string()).optional(),
  merchant: z.unknown().optional(),
})

const rateLimit = z.union([
  z.literal(false),
  z.strictObject({
    windowMs: z.int().positive().optional(),
    limit: z.int().positive().optional(),
    store: instanceWith('increment', 'decrement', 'resetKey').optional(),
  }),
])

/** The outermost options; networks and projects are checked one by one. */
export const optionsSchema = z.strictObject({
  publicUrl: rootUrl.optional(),
  handlerId: z
    .string()
    .regex(
      /^[a-z][a-z0-9-]*(\.[a-z0-9_-]+)+$/,
      "must be a reverse domain name, like 'com.example.payment'",
    )
    .optional(),
  networkNames: z.enum(['caip2', 'short']).optional(),
  networks: z.record(z.string(), z.unknown()).optional(),
  projects: z.array(z.unknown()).optional(),
  rates: z
    .union([
      z.array(z.unknown()).min(1),
      z.record(z.string(), z.unknown()),
      instanceWith('getRate'),
    ])
    .optional(),
  quoteSecret: z
    .string()
    .min(MIN_SECRET_LENGTH, `must have at least ${MIN_SECRET_LENGTH} characters`)
    .optional(),
  rateLimit: rateLimit.optional(),
  paymentRateLimit: rateLimit.optional(),
  ucp: z.strictObject({ docsUrl: rootUrl.optional() }).optional(),
  facilitator: instanceWith('verify', 'settle', 'supported').optional(),
  ledger: z
    .custom<LedgerStore>(isLedgerStore, {
      error: 'must come from memoryLedger(), sqliteLedger(file) or postgresLedger(url)',
    })
    .optional(),
  logger: instanceWith('debug', 'info', 'warn', 'error').optional(),
  maxHeldBytesTotal: z.int().positive().optional(),
  settleTimeoutMs: z.int().positive().optional(),
  now: z
    .custom<() => number>((value) => typeof value === 'function', 'must be a function')
    .optional(),
})

/** Tells whether a value has a method of that name. */
export function hasMethod(value: unknown, name: string): boolean {
  return typeof (value as Record<string, unknown> | null | undefined)?.[name] === 'function'
}
