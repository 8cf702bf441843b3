/** The default gateway's options, from `X402_*` environment variables. */
import { ConfigError, isConfigError, type ConfigIssue } from '../errors.js'
import { httpFacilitator } from '../facilitator/http-facilitator.js'
import type { LedgerStore } from '../ledger/index.js'
import { openPostgresLedger } from '../ledger/postgres-ledger.js'
import { closestName } from '../protocol/did-you-mean.js'
import type { NetworkOptions } from './network-options.js'
import { observingFrom, flag, read, type Environment } from './observing-variables.js'
import type { GatewayOptions } from './options.js'

export type { Environment } from './observing-variables.js'

/** Id of the project that the environment describes. */
export const DEFAULT_PROJECT = 'default'

/** Variables that name the ledger's database in an app; `DATABASE_URL` is the app's own. */
export const APP_DATABASE = ['X402_DATABASE_URL'] as const

/** The same for `serve`, where the gateway runs alone; the first one that is set counts. */
export const SERVE_DATABASE = ['X402_DATABASE_URL', 'DATABASE_URL'] as const

/** One of the two lists of variables above. */
export type DatabaseVariables = typeof APP_DATABASE | typeof SERVE_DATABASE

/** Every `X402_…` variable that is read by something in this package. */
export const VARIABLES: readonly string[] = [
  'X402_ACCESS_LOG',
  'X402_ADMIN_TOKEN',
  'X402_ASSET',
  'X402_CONSOLE',
  'X402_DATABASE_URL',
  'X402_FACILITATOR_TOKEN',
  'X402_FACILITATOR_URL',
  'X402_METRICS',
  'X402_METRICS_HOST',
  'X402_METRICS_PORT',
  'X402_METRICS_TOKEN',
  'X402_NETWORK',
  'X402_PAY_TO',
  'X402_PROJECT_TOKEN',
  'X402_PUBLIC_URL',
  'X402_QUOTE_SECRET',
  'X402_REDIS_URL',
  'X402_RELAYER_KEY',
  'X402_RPC_URL',
  'X402_TRACES',
  'X402_TRUST_PROXY',
  'X402_WEBHOOK_SECRET',
]

/**
 * Reports the `X402_…` variables that nothing reads, with the ones that were probably meant.
 *
 * @param referred - Variables that a configuration file refers to.
 */
export function explainUnknownVariables(
  env: Environment,
  referred: readonly string[],
): readonly string[] {
  return unknownVariables(env, referred).map((name) => {
    const meant = closestName(name, VARIABLES)
    return `${name}: nothing reads this variable${meant ? `; did you mean ${meant}?` : ''}`
  })
}

function unknownVariables(env: Environment, referred: readonly string[]): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('X402_') && read(env, name) !== undefined)
    .filter((name) => !VARIABLES.includes(name) && !referred.includes(name))
}

/** The variable that sets an option; patterns capture the name of the network. */
const VARIABLE_OF_OPTION: ReadonlyArray<readonly [RegExp, string]> = [
  [/^publicUrl$/, 'X402_PUBLIC_URL'],
  [/^networks\.([^.]*)\.rpcUrl$/, 'X402_RPC_URL'],
  [/^networks\.([^.]*)\.relayerKeys/, 'X402_RELAYER_KEY'],
  [/^networks\.([^.]*)\.assets/, 'X402_ASSET'],
  [/^networks\.([^.]*)$/, 'X402_NETWORK'],
  [/^projects\.0\.tokens/, 'X402_PROJECT_TOKEN'],
  [/^projects\.0\.merchant\.payTo$/, 'X402_PAY_TO'],
  [/^facilitator\.url$/, 'X402_FACILITATOR_URL'],
  [/^admin\.tokens/, 'X402_ADMIN_TOKEN'],
  [/^console$/, 'X402_CONSOLE'],
  [/^quoteSecret$/, 'X402_QUOTE_SECRET'],
  [/^rateLimit\.redisUrl$/, 'X402_REDIS_URL'],
  [/^metrics$/, 'X402_METRICS'],
  [/^metrics\.token$/, 'X402_METRICS_TOKEN'],
  [/^metrics\.host$/, 'X402_METRICS_HOST'],
  [/^metrics\.port$/, 'X402_METRICS_PORT'],
  [/^traces$/, 'X402_TRACES'],
  [/^accessLog$/, 'X402_ACCESS_LOG'],
  [/^trustProxy$/, 'X402_TRUST_PROXY'],
]

/**
 * Reads the options of the default gateway.
 *
 * Required: `X402_PAY_TO`, `X402_NETWORK`, and either `X402_RPC_URL` with `X402_RELAYER_KEY`
 * (comma-separated for several) or `X402_FACILITATOR_URL`. Optional: `X402_ASSET` (`USDC`),
 * `X402_PROJECT_TOKEN`, `X402_PUBLIC_URL`, `X402_FACILITATOR_TOKEN`, `X402_QUOTE_SECRET`,
 * `X402_DATABASE_URL`, `X402_REDIS_URL` (rate limits), `X402_ADMIN_TOKEN` (the admin API),
 * `X402_CONSOLE` (`false` for an admin API without the console), `X402_METRICS` with `X402_METRICS_TOKEN`,
 * `X402_METRICS_HOST` and `X402_METRICS_PORT`, `X402_TRACES`, `X402_ACCESS_LOG`, `X402_TRUST_PROXY`.
 * Missing variables are reported later, by the check of the options.
 *
 * @param env - The variables, usually `process.env`.
 * @param database - The variables that may name the ledger's database.
 * @returns Options that were not checked yet.
 * @throws {@link ConfigError} when `X402_FACILITATOR_URL` is not an http(s) URL, or the database
 * cannot be opened.
 */
export function optionsFromEnvironment(
  env: Environment,
  database: DatabaseVariables = APP_DATABASE,
): GatewayOptions {
  const settings = settingsOf(env)
  const { publicUrl, facilitator, payTo, token, quoteSecret, redisUrl, network = '' } = settings
  const { admin, console } = settings
  return {
    ...(publicUrl && { publicUrl }),
    ...(quoteSecret && { quoteSecret }),
    ...(admin && { admin }),
    ...(console !== undefined && { console }),
    ...(redisUrl && { rateLimit: { redisUrl } }),
    ...observingFrom(env),
    ...(facilitator && { facilitator }),
    ...ledgerOf(env, database),
    networks: { [network]: networkSettingsOf(env) },
    projects: [
      {
        id: DEFAULT_PROJECT,
        ...(token && { tokens: [token] }),
        // A missing address is reported by the check of the options.
        merchant: { payTo: payTo as string },
      },
    ],
  }
}

/**
 * Opens the ledger in the database that a variable names, where one is set.
 *
 * @throws {@link ConfigError} when it is not a URL of PostgreSQL, or a package is missing.
 */
export function ledgerOf(
  env: Environment,
  database: DatabaseVariables,
): { readonly ledger?: LedgerStore } {
  const variable = databaseVariable(env, database)
  const url = variable && read(env, variable)
  if (url === undefined) return {}
  try {
    return { ledger: openPostgresLedger(url) }
  } catch (error) {
    if (!isConfigError(error)) throw error
    throw new ConfigError(error.issues.map((issue) => ({ ...issue, option: variable ?? '' })))
  }
}

/** The variable that is set to the ledger's database; `undefined` where none is. */
export function databaseVariable(env: Environment, names: DatabaseVariables): string | undefined {
  return names.find((name) => read(env, name) !== undefined)
}

/** The variables that do not belong to a network. */
export function settingsOf(env: Environment) {
  const facilitatorUrl = read(env, 'X402_FACILITATOR_URL')
  const facilitatorToken = read(env, 'X402_FACILITATOR_TOKEN')
  const adminToken = read(env, 'X402_ADMIN_TOKEN')
  return {
    publicUrl: read(env, 'X402_PUBLIC_URL'),
    payTo: read(env, 'X402_PAY_TO'),
    token: read(env, 'X402_PROJECT_TOKEN'),
    network: read(env, 'X402_NETWORK'),
    quoteSecret: read(env, 'X402_QUOTE_SECRET'),
    redisUrl: read(env, 'X402_REDIS_URL'),
    admin: adminToken && { tokens: [adminToken] },
    console: flag(read(env, 'X402_CONSOLE')),
    facilitator:
      facilitatorUrl &&
      httpFacilitator({
        url: facilitatorUrl,
        ...(facilitatorToken && { token: facilitatorToken }),
      }),
  }
}

/** The variables that describe the network `X402_NETWORK`. */
export function networkSettingsOf(env: Environment): NetworkOptions {
  const rpcUrl = read(env, 'X402_RPC_URL')
  const relayerKeys = read(env, 'X402_RELAYER_KEY')
    ?.split(',')
    .map((key) => key.trim())
  const asset = read(env, 'X402_ASSET')
  return {
    ...(rpcUrl && { rpcUrl }),
    ...(relayerKeys && { relayerKeys }),
    ...(asset && { assets: [asset] }),
  }
}

/** Where options come from. */
interface OptionSource {
  readonly env: Environment
  /**
   * No file was read, so a missing option can only come from its variable. With a file, an option whose
   * variable is not set keeps its path.
   */
  readonly isAlone: boolean
  /** Variables that the file refers to. @defaultValue none */
  readonly referred?: readonly string[]
}

/**
 * Reports wrong options under the variables they come from. A missing one is reported with the variable
 * that was set instead by a typing error.
 *
 * @param error - Names options by their path.
 */
export function nameVariables(error: ConfigError, source: OptionSource): ConfigError {
  const { env, isAlone, referred = [] } = source
  const unknown = unknownVariables(env, referred)
  const nameOf = (issue: ConfigIssue): ConfigIssue => {
    const { option, code, message } = issue
    for (const [pattern, variable] of VARIABLE_OF_OPTION) {
      const match = pattern.exec(option)
      if (match === null) continue
      const isOthers = match[1] !== undefined && match[1] !== (env['X402_NETWORK'] ?? match[1])
      const isSet = read(env, variable) !== undefined
      const misnamed = unknown.find((name) => closestName(name, VARIABLES) === variable)
      const hint =
        code === 'missing_option' && !isSet && misnamed !== undefined
          ? `; ${misnamed} is set: did you mean ${variable}?`
          : ''
      const isSource = isAlone || (isSet && !isOthers)
      return { code, option: isSource ? variable : option, message: message + hint }
    }
    return issue
  }
  return new ConfigError(error.issues.map(nameOf))
}
