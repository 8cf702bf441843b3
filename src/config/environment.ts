/** The default gateway's options, from `X402_*` environment variables. */
import { ConfigError, type ConfigIssue } from '../errors.js'
import { httpFacilitator } from '../facilitator/http-facilitator.js'
import type { LedgerStore } from '../ledger/ledger.js'
import { openPostgresLedger } from '../ledger/sql/postgres-ledger.js'
import type { GatewayOptions, NetworkOptions } from './options.js'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Id of the project that the environment describes. */
export const DEFAULT_PROJECT = 'default'

/** What names the ledger's database in an app: its own `DATABASE_URL` is not ours to use. */
export const APP_DATABASE = ['X402_DATABASE_URL'] as const

/** The same where the gateway is all there is; the first that is set counts. */
export const SERVE_DATABASE = ['X402_DATABASE_URL', 'DATABASE_URL'] as const

/** Names of the variables that may name the ledger's database. */
export type DatabaseVariables = typeof APP_DATABASE | typeof SERVE_DATABASE

/** Which variable sets an option; the name of a network, where there is one, is captured. */
const VARIABLE_OF_OPTION: ReadonlyArray<readonly [RegExp, string]> = [
  [/^publicUrl$/, 'X402_PUBLIC_URL'],
  [/^networks\.([^.]*)\.rpcUrl$/, 'X402_RPC_URL'],
  [/^networks\.([^.]*)\.relayerKeys/, 'X402_RELAYER_KEY'],
  [/^networks\.([^.]*)\.assets/, 'X402_ASSET'],
  [/^networks\.([^.]*)$/, 'X402_NETWORK'],
  [/^projects\.0\.tokens/, 'X402_PROJECT_TOKEN'],
  [/^projects\.0\.merchant\.payTo$/, 'X402_PAY_TO'],
  [/^facilitator\.url$/, 'X402_FACILITATOR_URL'],
  [/^quoteSecret$/, 'X402_QUOTE_SECRET'],
]

/**
 * Reads the options of the default gateway.
 *
 * Required: `X402_PAY_TO`, `X402_NETWORK`, and either `X402_RPC_URL` with `X402_RELAYER_KEY`
 * (comma-separated for several) or `X402_FACILITATOR_URL`. Optional: `X402_ASSET` (`USDC`),
 * `X402_PROJECT_TOKEN`, `X402_PUBLIC_URL`, `X402_FACILITATOR_TOKEN`, `X402_QUOTE_SECRET`,
 * `X402_DATABASE_URL`. What is missing is left out here, and found by the check of the options.
 *
 * @param database - The variables that may name the ledger's database.
 * @throws {@link ConfigError} for an `X402_FACILITATOR_URL` or a database URL that is none.
 */
export function optionsFromEnvironment(
  env: Environment,
  database: DatabaseVariables = APP_DATABASE,
): GatewayOptions {
  const { publicUrl, facilitator, payTo, token, quoteSecret, network = '' } = settingsOf(env)
  return {
    ...(publicUrl && { publicUrl }),
    ...(quoteSecret && { quoteSecret }),
    ...(facilitator && { facilitator }),
    ...ledgerOf(env, database),
    networks: { [network]: networkSettingsOf(env) },
    projects: [
      {
        id: DEFAULT_PROJECT,
        ...(token && { tokens: [token] }),
        // Where it is missing, the check of the options says so.
        merchant: { payTo: payTo as string },
      },
    ],
  }
}

/**
 * The ledger in the database that a variable names, where one does.
 *
 * @throws {@link ConfigError} when it is no URL of PostgreSQL, or a package is missing.
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
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(error.issues.map((issue) => ({ ...issue, option: variable ?? '' })))
  }
}

/** The variable that names the ledger's database. */
export function databaseVariable(env: Environment, names: DatabaseVariables): string | undefined {
  return names.find((name) => read(env, name) !== undefined)
}

/** What the variables say that are about no network. */
export function settingsOf(env: Environment) {
  const facilitatorUrl = read(env, 'X402_FACILITATOR_URL')
  const facilitatorToken = read(env, 'X402_FACILITATOR_TOKEN')
  return {
    publicUrl: read(env, 'X402_PUBLIC_URL'),
    payTo: read(env, 'X402_PAY_TO'),
    token: read(env, 'X402_PROJECT_TOKEN'),
    network: read(env, 'X402_NETWORK'),
    quoteSecret: read(env, 'X402_QUOTE_SECRET'),
    facilitator:
      facilitatorUrl &&
      httpFacilitator({
        url: facilitatorUrl,
        ...(facilitatorToken && { token: facilitatorToken }),
      }),
  }
}

/** What the variables say about their network. */
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

/** A variable's value; blank ones count as not set. */
function read(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined
}

/**
 * Names the variables that wrong options come from.
 *
 * @param env - Variables that are not set in it are named too where `isAlone`, since nothing else
 * could have set their options; where a file could have, the option keeps its path.
 */
export function nameVariables(
  error: ConfigError,
  { env, isAlone }: { env: Environment; isAlone: boolean },
): ConfigError {
  const nameOf = (issue: ConfigIssue): ConfigIssue => {
    const { option } = issue
    for (const [pattern, variable] of VARIABLE_OF_OPTION) {
      const match = pattern.exec(option)
      if (match === null) continue
      const isOthers = match[1] !== undefined && match[1] !== (env['X402_NETWORK'] ?? match[1])
      const isSource = isAlone || (read(env, variable) !== undefined && !isOthers)
      return { ...issue, option: isSource ? variable : option }
    }
    return issue
  }
  return new ConfigError(error.issues.map(nameOf))
}
