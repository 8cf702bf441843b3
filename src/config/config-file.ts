import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import {
  DEFAULT_PROJECT,
  explainUnknownVariables,
  ledgerOf,
  nameVariables,
  networkSettingsOf,
  optionsFromEnvironment,
  SERVE_DATABASE,
  settingsOf,
  type Environment,
} from './environment.js'
import { withEnvFile } from './env-file.js'
import { ConfigError, isConfigError, type ConfigIssue } from '../errors.js'
import { observingFrom } from './observing-variables.js'
import type { GatewayOptions, ProjectOptions } from './options.js'
import { parseConfig } from './parse-config.js'
import { sameNetwork } from '../protocol/networks.js'
import { isObject } from './report.js'
import { fillVariables, variablesIn } from './variables-in-file.js'

/** Relative to the working directory. */
export const DEFAULT_FILE = 'gateway.config.json'

/** Where a gateway's options come from. */
export interface ConfigSource {
  /** Name of the file; must exist. `undefined` for the default one, which may be missing. */
  readonly config: string | undefined
  readonly cwd: string
  readonly env: Environment
}

/** A configuration that was read. */
export interface OpenedConfig {
  /** Path of the file; absent where there is none. */
  readonly file?: string | undefined
  /** Path of the `.env` beside it; absent where there is none. */
  readonly envFile?: string | undefined
  /** The folder that paths of the configuration are relative to. */
  readonly folder: string
  /** The environment, with the variables of {@link envFile}. */
  readonly env: Environment
  /** Warnings that prevent nothing: variables that nothing reads. */
  readonly warnings: readonly string[]
  /**
   * Passes the options to a function. The environment overrides the file; without a file, the
   * environment stands alone.
   *
   * @param use - Checks the options; its `ConfigError` is reported under the names of variables.
   * @param env - The environment, if another one than `env`.
   * @throws {@link ConfigError} when a variable does not fit the file, and for everything that `use`
   * finds wrong.
   */
  readonly with: <T>(use: (options: GatewayOptions) => T, env?: Environment) => T
}

/**
 * Reads a gateway's configuration: the file, and the `.env` beside it.
 *
 * @throws {@link ConfigError} when a file cannot be read.
 */
export async function openConfig({ config, cwd, env: given }: ConfigSource): Promise<OpenedConfig> {
  const path = resolve(cwd, config ?? DEFAULT_FILE)
  const folder = dirname(path)
  const content = await readConfigFile(path, config !== undefined)
  const { env, file: envFile } = await withEnvFile(folder, given)
  const isAlone = content === undefined
  const referred = variablesIn(content)
  return {
    ...{ envFile, folder, env },
    file: isAlone ? undefined : path,
    warnings: explainUnknownVariables(env, referred),
    with(use, used = env) {
      try {
        if (isAlone) return use(optionsFromEnvironment(used, SERVE_DATABASE))
        return use(overrideFrom(used, fillVariables(content, used) as GatewayOptions))
      } catch (error) {
        if (!isConfigError(error)) throw error
        const named = nameVariables(error, { env: used, isAlone, referred })
        if (!isAlone) throw named
        throw new ConfigError([...named.issues, missingFile(path)])
      }
    },
  }
}

/** Reported last if the environment alone is not enough: a wrong folder is a common mistake. */
function missingFile(path: string): ConfigIssue {
  const message = `there is no ${path}; npx express-x402-gateway init makes one`
  return { option: 'config', code: 'invalid_file', message }
}

/** Options that only code can set, with what to use instead. */
const ONLY_IN_CODE: Readonly<Record<string, string>> = {
  ledger: 'use --ledger FILE for SQLite, or X402_DATABASE_URL for PostgreSQL',
  facilitator: 'use X402_FACILITATOR_URL and X402_FACILITATOR_TOKEN',
  logger: 'serve logs to standard error',
  now: 'it is for tests',
}

async function readConfigFile(
  path: string,
  mustExist: boolean,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && !mustExist) return undefined
    throw new ConfigError('config', `${path} cannot be read (${code ?? 'unknown'})`, 'invalid_file')
  }
  const content = parseConfig(path, text)
  if (!isObject(content))
    throw new ConfigError('config', `${path} must hold one JSON object`, 'invalid_file')
  const issues = Object.entries(ONLY_IN_CODE).flatMap(([option, instead]): ConfigIssue[] => {
    const message = `cannot be set in a file: ${instead}`
    return option in content ? [{ option, code: 'unknown_option', message }] : []
  })
  if (issues.length > 0) throw new ConfigError(issues)
  return content
}

/** Overrides the options of a file by those of the environment. */
function overrideFrom(env: Environment, file: GatewayOptions): GatewayOptions {
  const { publicUrl, facilitator, quoteSecret, redisUrl, admin, console } = settingsOf(env)
  return {
    ...file,
    ...(publicUrl && { publicUrl }),
    ...(quoteSecret && { quoteSecret }),
    ...(admin && { admin }),
    ...(console !== undefined && { console }),
    ...(redisUrl && file.rateLimit !== false && { rateLimit: { ...file.rateLimit, redisUrl } }),
    ...observingFrom(env, file.metrics),
    ...(facilitator && { facilitator }),
    ...ledgerOf(env, SERVE_DATABASE),
    ...overrideNetworks(env, file),
    ...overrideProjects(env, file),
  }
}

function overrideNetworks(env: Environment, { networks = {} }: GatewayOptions): GatewayOptions {
  const settings = networkSettingsOf(env)
  const { network } = settingsOf(env)
  const ids = Object.keys(networks)
  const id =
    network === undefined
      ? ids.length === 1 && ids[0]
      : (ids.find((listed) => sameNetwork(listed, network)) ?? network)
  if (id) return { networks: { ...networks, [id]: { ...networks[id], ...settings } } }
  if (Object.keys(settings).length === 0) return {}
  throw new ConfigError(
    'X402_NETWORK',
    'is not set: which network are the X402_* variables about?',
    'missing_option',
  )
}

function overrideProjects(env: Environment, { projects = [] }: GatewayOptions): GatewayOptions {
  const { payTo, token } = settingsOf(env)
  if (!payTo && !token) return {}
  const [project = { id: DEFAULT_PROJECT }, ...others]: readonly ProjectOptions[] = projects
  if (others.length > 0)
    throw new ConfigError(
      payTo ? 'X402_PAY_TO' : 'X402_PROJECT_TOKEN',
      'the file has several projects; set it there',
      'conflicting_options',
    )
  return {
    projects: [
      {
        ...project,
        ...(token && { tokens: [token] }),
        ...(payTo && { merchant: { ...project.merchant, payTo } }),
      },
    ],
  }
}
