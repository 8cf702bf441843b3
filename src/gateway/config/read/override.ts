/** Overrides the options of a file by environment variables, or makes options of these alone. */
import {
  httpFacilitator,
  type HttpFacilitatorOptions,
} from '../../../core/facilitator/http/http-facilitator.js'
import { readLocation } from '../../../ledger/engine/location.js'
import type { LedgerStore } from '../../../ledger/index.js'
import { openPostgresLedger } from '../../../ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../ledger/sqlite-ledger.js'
import { ConfigError, isConfigError, type ConfigIssue } from '../../../shared/errors.js'
import { membersOf } from '../../../shared/protocol/document.js'
import { sameNetwork } from '../../../shared/protocol/networks.js'
import type { GatewayOptions } from '../options.js'
import { databaseVariable, textOf, VARIABLES, type Environment } from './variables.js'

const DEFAULT_PROJECT = 'default'

/** Variables that name the ledger's database in an app; `DATABASE_URL` is the app's own. */
const APP_DATABASE = ['X402_DATABASE_URL'] as const

export interface DatabaseSource {
  /** The first of these variables that is set counts. */
  readonly variables: readonly string[]
  /** What the path of an SQLite file is relative to. @defaultValue the working directory */
  readonly folder?: string
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
  const members = membersOf(options)
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
