/** The environment variables of a gateway: each is one row of {@link VARIABLES}. */
import { trustedFrom } from '../resolve/trust-proxy.js'

export type Environment = Readonly<Record<string, string | undefined>>

type Row = readonly [
  name: string,
  /** Path of the option that it sets; `*` is the network of `X402_NETWORK`. Commands read those without one. */
  option: string | undefined,
  /** Its line in `configuration.md`. */
  about: string,
  /**
   * Makes the option of the text, and of the option in the file. Text that it cannot read stays as it is:
   * the check of the options refuses it. @defaultValue the text
   */
  read?: (text: string, inFile: unknown) => unknown,
]

const flag = (text: string): unknown =>
  text === 'true' || text === 'false' ? text === 'true' : text
const listOfOne = (text: string): unknown => [text]
const list = (text: string): unknown => text.split(',').map((one) => one.trim())

/** Every `X402_…` variable that this package reads. A later row overrides an earlier one. */
export const VARIABLES: readonly Row[] = [
  ['X402_PAY_TO', 'projects.0.merchant.payTo', 'the address that is paid'],
  [
    'X402_NETWORK',
    'networks.*',
    '`base`, `base-sepolia`, …, or `eip155:<chain id>`',
    (_name, inFile) => inFile ?? {},
  ],
  ['X402_RPC_URL', 'networks.*.rpcUrl', 'JSON-RPC of that network'],
  [
    'X402_RELAYER_KEY',
    'networks.*.relayerKeys',
    'private key of the relayer; separate several with commas',
    list,
  ],
  [
    'X402_EXECUTOR',
    'networks.*.executor',
    '`true` to send `upto` payments through an executor',
    flag,
  ],
  [
    'X402_ASSET',
    'networks.*.assets',
    'the token; separate several with commas; `USDC` when not set',
    list,
  ],
  [
    'X402_CROSS_CURRENCY',
    'projects.0.merchant.crossCurrency',
    '`true` to take tokens of other currencies at a rate, too; needs the option `rates`',
    flag,
  ],
  [
    'X402_FACILITATOR_URL',
    'facilitator.url',
    'the facilitator that verifies and settles, instead of RPC and relayer',
  ],
  [
    'X402_FACILITATOR_TOKEN',
    'facilitator.token',
    'identify token of the project at that facilitator',
  ],
  [
    'X402_PROJECT_TOKEN',
    'projects.0.tokens',
    "identify token for the gateway's API, at least 16 characters",
    listOfOne,
  ],
  ['X402_PUBLIC_URL', 'publicUrl', 'root of the app as its clients see it'],
  ['X402_QUOTE_SECRET', 'quoteSecret', 'signs quotes, at least 32 characters'],
  ['X402_RECEIPT_KEY', 'receipts.privateKey', 'private key that signs offers and receipts'],
  [
    'X402_DATABASE_URL',
    undefined,
    '`sqlite:./data/ledger.db` or `postgres://…`: where payments are kept; `serve` also reads `DATABASE_URL`',
  ],
  [
    'X402_ADMIN_TOKEN',
    'admin.tokens',
    'turns on the admin API, at least 16 characters or `sha256:…`',
    listOfOne,
  ],
  ['X402_CONSOLE', 'console', '`false` for an admin API without the console', flag],
  ['X402_REDIS_URL', 'rateLimit.redisUrl', '`redis://…`: rate limits that all gateways share'],
  ['X402_METRICS_TOKEN', 'metrics.token', 'token that reads the metrics; turns them on'],
  ['X402_TRACES', 'traces', '`true` for an OpenTelemetry span of each payment', flag],
  [
    'X402_TRUST_PROXY',
    'trustProxy',
    'proxies that `serve` trusts: `1`, `uniquelocal`, `10.0.0.7, fd00::/8`, …',
    trustedFrom,
  ],
  ['X402_WEBHOOK_SECRET', undefined, 'what the command `trigger` signs with'],
]

export const NAMES: readonly string[] = VARIABLES.map(([name]) => name)

/** Variables that name the ledger's database for `serve`, where the gateway runs alone; the first one that is set counts. */
export const SERVE_DATABASE = ['X402_DATABASE_URL', 'DATABASE_URL'] as const

/** The value of a variable; a blank one counts as not set. */
export function textOf(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined
}

/** Tells whether any of {@link VARIABLES} is set. */
export function isAnySet(env: Environment): boolean {
  return NAMES.some((name) => textOf(env, name) !== undefined)
}

/** The variable that is set to the ledger's database; `undefined` where none is. */
export function databaseVariable(env: Environment, names: readonly string[]): string | undefined {
  return names.find((name) => textOf(env, name) !== undefined)
}
