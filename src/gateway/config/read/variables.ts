/** The environment variables of a gateway: each is one row of {@link VARIABLES}. */
import { ConfigError, isConfigError, type ConfigIssue } from '../../../shared/errors.js'
import {
  httpFacilitator,
  type HttpFacilitatorOptions,
} from '../../../core/facilitator/http-facilitator.js'
import type { LedgerStore } from '../../../ledger/index.js'
import { readLocation } from '../../../ledger/engine/location.js'
import { openPostgresLedger } from '../../../ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../ledger/sqlite-ledger.js'
import { closestName } from '../../../shared/protocol/did-you-mean.js'
import { ELSEWHERE } from '../../../shared/protocol/option-issues.js'
import { OPTION_PATHS } from '../resolve/resolve-options.js'
import { sameNetwork, type Network } from '../../../shared/protocol/networks.js'
import type { GatewayOptions } from '../options.js'
import { isObject } from '../../../shared/protocol/document.js'
import { trustedFrom } from '../resolve/trust-proxy.js'

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** An environment variable. */
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

const NAMES: readonly string[] = VARIABLES.map(([name]) => name)

/** Id of the project that the environment describes. */
const DEFAULT_PROJECT = 'default'

/** Variables that name the ledger's database in an app; `DATABASE_URL` is the app's own. */
const APP_DATABASE = ['X402_DATABASE_URL'] as const

/** The same for `serve`, where the gateway runs alone; the first one that is set counts. */
export const SERVE_DATABASE = ['X402_DATABASE_URL', 'DATABASE_URL'] as const

/** Where the ledger's database is named. */
export interface DatabaseSource {
  /** The first of these variables that is set counts. */
  readonly variables: readonly string[]
  /** What the path of an SQLite file is relative to. @defaultValue the working directory */
  readonly folder?: string
}

/** The value of a variable; a blank one counts as not set. */
function textOf(env: Environment, name: string): string | undefined {
  return env[name]?.trim() || undefined
}

/** Tells whether any of {@link VARIABLES} is set. */
export function isAnySet(env: Environment): boolean {
  return NAMES.some((name) => textOf(env, name) !== undefined)
}

/**
 * Reads the options of a gateway that has no configuration file.
 *
 * @returns Options that were not checked yet: the check reports missing variables.
 * @throws As {@link overrideOptions}.
 */
export function optionsFromEnvironment(
  env: Environment,
  database: DatabaseSource = { variables: APP_DATABASE },
): GatewayOptions {
  const merchant = { payTo: undefined as unknown as string }
  const unset = {
    networks: { [textOf(env, 'X402_NETWORK') ?? '']: {} },
    projects: [{ id: DEFAULT_PROJECT, merchant }],
  }
  return overrideOptions(unset, env, database)
}

/**
 * Overrides the options of a file by those of the environment.
 *
 * @returns Options that were not checked yet.
 * @throws {@link ConfigError} when a variable could be about several networks or projects of the file, when
 * `X402_FACILITATOR_URL` is not an http(s) URL, or the database cannot be opened.
 */
export function overrideOptions(
  file: GatewayOptions,
  env: Environment,
  database: DatabaseSource,
): GatewayOptions {
  let options: unknown = file
  for (const [name, option, , read = (text: string) => text] of VARIABLES) {
    const text = textOf(env, name)
    if (text === undefined || option === undefined) continue
    if (option.startsWith('rateLimit.') && file.rateLimit === false) continue
    if (option.startsWith('projects.')) options = withOneProject(options as GatewayOptions, name)
    const path = option.split('.').map((member) => (member === '*' ? networkOf(file, env) : member))
    options = put(options, path, (before) => read(text, before))
  }
  const { facilitator, ...others } = options as Omit<GatewayOptions, 'facilitator'> & {
    readonly facilitator?: HttpFacilitatorOptions
  }
  return {
    ...others,
    ...(facilitator?.url && { facilitator: httpFacilitator(facilitator) }),
    ...ledgerOf(env, database),
  }
}

/** Copies options, with another value at a path. */
function put(
  options: unknown,
  [name, ...path]: readonly string[],
  make: (before: unknown) => unknown,
): unknown {
  if (name === undefined) return make(options)
  if (Array.isArray(options))
    return Object.assign([...options], { [name]: put(options[Number(name)], path, make) })
  const members = isObject(options) ? options : {}
  return { ...members, [name]: put(members[name], path, make) }
}

/** The network of a file that the variables are about, as the file writes it. */
function networkOf({ networks = {} }: GatewayOptions, env: Environment): string {
  const network = textOf(env, 'X402_NETWORK')
  const ids = Object.keys(networks)
  if (network !== undefined) return ids.find((id) => sameNetwork(id, network)) ?? network
  const [only, ...others] = ids
  if (only !== undefined && others.length === 0) return only
  throw new ConfigError(
    'X402_NETWORK',
    'is not set: which network are the X402_* variables about?',
    'missing_option',
  )
}

/** @throws {@link ConfigError} if the file has several projects. */
function withOneProject(options: GatewayOptions, variable: string): GatewayOptions {
  const { projects = [] } = options
  if (projects.length === 0) return { ...options, projects: [{ id: DEFAULT_PROJECT }] }
  if (projects.length === 1) return options
  const message = 'the file has several projects; set it there'
  throw new ConfigError(variable, message, 'conflicting_options')
}

/** Opens the ledger in the database that a variable names, where one is set. */
function ledgerOf(
  env: Environment,
  { variables, folder = '.' }: DatabaseSource,
): { readonly ledger?: LedgerStore } {
  const option = databaseVariable(env, variables)
  const url = option && textOf(env, option)
  if (option === undefined || url === undefined) return {}
  const location = readLocation(url, folder, option)
  try {
    if ('file' in location) return { ledger: openSqliteLedger(location.file) }
    return { ledger: openPostgresLedger(location.url, { option }) }
  } catch (error) {
    if (!isConfigError(error)) throw error
    const hintOf = ({ code }: ConfigIssue): string =>
      code === 'invalid_url' ? '; for SQLite, write sqlite:./data/ledger.db' : ''
    throw new ConfigError(
      error.issues.map((issue) => ({ ...issue, option, message: issue.message + hintOf(issue) })),
    )
  }
}

/** The variable that is set to the ledger's database; `undefined` where none is. */
export function databaseVariable(env: Environment, names: readonly string[]): string | undefined {
  return names.find((name) => textOf(env, name) !== undefined)
}

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
    const hint = whatWasMeant(name)
    return `${name}: nothing reads this variable${hint ? `; ${hint}` : ''}`
  })
}

/** Points to a variable, or from `X402_METRICS_HOST` to `metrics.host`, an option that no variable sets. */
function whatWasMeant(name: string): string | undefined {
  const lettersOf = (text: string): string => text.replaceAll(/[._]/g, '').toLowerCase()
  const isMeant = (option: string): boolean => `x402${lettersOf(option)}` === lettersOf(name)
  const isSet = (option: string): boolean => VARIABLES.some(([, path]) => path === option)
  const option = OPTION_PATHS.find((path) => isMeant(path) && !isSet(path))
  if (option !== undefined) return `set the option ${option}`
  const variable = closestName(name, NAMES)
  if (variable !== undefined) return `did you mean ${variable}?`
  return [...ELSEWHERE].find(([known]) => isMeant(known))?.join(' ')
}

function unknownVariables(env: Environment, referred: readonly string[]): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith('X402_') && textOf(env, name) !== undefined)
    .filter((name) => !NAMES.includes(name) && !referred.includes(name))
}

/** The variables by the paths of their options, which may end in an index; the name of a network is captured. */
const PATHS = VARIABLES.flatMap(([name, option]) => {
  const path = option?.replaceAll('.', '\\.').replace('*', '([^.]*)')
  return path === undefined ? [] : [{ name, path: new RegExp(`^${path}(?:\\.\\d+)?$`) }]
})

/** The variable that is set and sets an option; otherwise the option itself. */
export function sourceOf(option: string, env: Environment): string {
  const found = PATHS.find(({ name, path }) => {
    const match = path.exec(option)
    return match !== null && textOf(env, name) !== undefined && isMeant(match[1], env)
  })
  return found?.name ?? option
}

/** The option of a network's node. */
export const rpcOption = ({ shortName, caip2 }: Pick<Network, 'shortName' | 'caip2'>): string =>
  `networks.${shortName ?? caip2}.rpcUrl`

/** Whether the variables are about a network. */
function isMeant(network: string | undefined, env: Environment): boolean {
  const meant = textOf(env, 'X402_NETWORK')
  return network === undefined || meant === undefined || sameNetwork(meant, network)
}

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
    for (const { name, path } of PATHS) {
      const match = path.exec(option)
      if (match === null) continue
      const isSet = textOf(env, name) !== undefined
      const misnamed = unknown.find((one) => closestName(one, NAMES) === name)
      const hint =
        code === 'missing_option' && !isSet && misnamed !== undefined
          ? `; ${misnamed} is set: did you mean ${name}?`
          : ''
      const isSource = isAlone || (isSet && isMeant(match[1], env))
      return { code, option: isSource ? name : option, message: message + hint }
    }
    return issue
  }
  return new ConfigError(error.issues.map(nameOf))
}
