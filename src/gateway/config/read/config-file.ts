import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { explainUnknownVariables, nameVariables } from './name-variables.js'
import { isAnySet, SERVE_DATABASE, type Environment } from './variables.js'
import { optionsFromEnvironment, overrideOptions } from './override.js'
import { withEnvFile } from './env-file.js'
import { ConfigError, isConfigError, type ConfigIssue } from '../../../shared/errors.js'
import type { GatewayOptions } from '../options.js'
import { parseConfig } from './parse-config.js'
import { isObject } from '../../../shared/protocol/document.js'
import { fillVariables, variablesIn } from './variables-in-file.js'

/** Relative to the working directory. */
export const DEFAULT_FILE = 'gateway.config.json'

/** Sources of a gateway's options. */
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
  const database = { variables: SERVE_DATABASE, folder }
  return {
    envFile,
    folder,
    env,
    file: isAlone ? undefined : path,
    warnings: explainUnknownVariables(env, referred),
    with(use, used = env) {
      try {
        if (isAlone) return use(optionsFromEnvironment(used, database))
        return use(overrideOptions(fillVariables(content, used) as GatewayOptions, used, database))
      } catch (error) {
        if (!isConfigError(error)) throw error
        const named = nameVariables(error, { env: used, isAlone, referred })
        if (!isAlone) throw named
        throw withoutFile(path, named, used)
      }
    },
  }
}

/** What is wrong without a file, if the environment is not enough: a wrong folder is a common mistake. */
function withoutFile(path: string, { issues }: ConfigError, env: Environment): ConfigError {
  const option = 'config'
  const code = 'invalid_file'
  const init = 'npx express-x402-gateway init'
  const message = `there is no ${path}; \`${init}\` writes one`
  if (isAnySet(env)) return new ConfigError([...issues, { option, code, message }])
  const missing = new Intl.ListFormat('en-GB').format(issues.map((issue) => issue.option))
  return new ConfigError(option, `${message}. Or set ${missing}`, code)
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
