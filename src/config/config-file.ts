import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import {
  DEFAULT_PROJECT,
  ledgerOf,
  nameVariables,
  networkSettingsOf,
  optionsFromEnvironment,
  SERVE_DATABASE,
  settingsOf,
  type Environment,
} from './environment.js'
import { ConfigError, isConfigError } from '../errors.js'
import type { GatewayOptions, ProjectOptions } from './options.js'
import { sameNetwork } from '../protocol/networks.js'
import { isObject } from './report.js'

const DEFAULT_FILE = 'gateway.config.json'

/** Where a gateway's options come from. */
export interface ConfigSource {
  /** Name of the file; must exist. `undefined` for the default one, which may be missing. */
  readonly config: string | undefined
  readonly cwd: string
  readonly env: Environment
}

/**
 * Reads a gateway's options and passes them to `use`.
 *
 * The environment overrides the file; without a file, the environment stands alone.
 *
 * @param source - Where the options come from.
 * @param use - Checks the options; its `ConfigError` is reported under the names of variables.
 * @returns What `use` returns.
 * @throws {@link ConfigError} when the file cannot be read, when a variable does not fit the file,
 * and for everything that `use` finds wrong.
 */
export async function withConfig<T>(
  { config, cwd, env }: ConfigSource,
  use: (options: GatewayOptions) => T,
): Promise<T> {
  const file = await readConfigFile(resolve(cwd, config ?? DEFAULT_FILE), config !== undefined)
  try {
    return use(
      file === undefined ? optionsFromEnvironment(env, SERVE_DATABASE) : overrideFrom(env, file),
    )
  } catch (error) {
    if (!isConfigError(error)) throw error
    throw nameVariables(error, { env, isAlone: file === undefined })
  }
}

async function readConfigFile(
  path: string,
  mustExist: boolean,
): Promise<GatewayOptions | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && !mustExist) return undefined
    throw new ConfigError('config', `${path} cannot be read (${code ?? 'unknown'})`, 'invalid_file')
  }
  const options = parseConfig(path, text)
  if (isObject(options)) return options
  throw new ConfigError('config', `${path} must hold one JSON object`, 'invalid_file')
}

/** Parses a file. The error names the line, and never repeats its text, which may be a key. */
function parseConfig(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const message = `${path} is not JSON (line ${brokenLine(text)})`
    throw new ConfigError('config', message, 'invalid_file')
  }
}

/**
 * The first line after which a text can no longer become JSON.
 *
 * Errors of `JSON.parse` name a position for some mistakes only, so that it cannot be counted from.
 */
function brokenLine(text: string): number {
  const lines = text.split('\n')
  const broken = lines.findIndex((_, index) => !isBeginning(lines.slice(0, index + 1).join('\n')))
  return broken === -1 ? lines.length : broken + 1
}

/** Tells whether a text is JSON, or could become JSON by further lines. */
function isBeginning(lines: string): boolean {
  // Only white space can continue across the end of a line.
  const text = `${lines}\n`
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const { message } = error as Error
    const position = Number(/position (\d+)/.exec(message)?.[1])
    return message.includes('end of JSON') || position >= text.length
  }
}

/** Overrides the options of a file by those of the environment. */
function overrideFrom(env: Environment, file: GatewayOptions): GatewayOptions {
  const { publicUrl, facilitator, quoteSecret } = settingsOf(env)
  return {
    ...file,
    ...(publicUrl && { publicUrl }),
    ...(quoteSecret && { quoteSecret }),
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
