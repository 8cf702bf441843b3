import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { explainUnknownVariables, nameVariables } from './name-variables.js'
import { isAnySet, SERVE_DATABASE, type Environment } from './variables.js'
import { optionsFromEnvironment, overrideOptions } from './override.js'
import { withEnvFile } from './env-file.js'
import { ConfigError, isConfigError, type ConfigIssue } from '../../../shared/errors.js'
import type { GatewayOptions } from '../options.js'
import { isObject } from '../../../shared/protocol/document.js'
import { parse, printParseErrorCode, stripComments, type ParseError } from 'jsonc-parser'

/** Relative to the working directory. */
export const DEFAULT_FILE = 'gateway.config.json'

export interface ConfigSource {
  /** Name of the file; must exist. `undefined` for the default one, which may be missing. */
  readonly config: string | undefined
  readonly cwd: string
  readonly env: Environment
}

export interface OpenedConfig {
  /** Path of the file; absent where there is none. */
  readonly file?: string | undefined
  /** Path of the `.env` beside it; absent where there is none. */
  readonly envFile?: string | undefined
  /** The folder that paths of the configuration are relative to. */
  readonly folder: string
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
  facilitator:
    'use X402_FACILITATOR_URL and X402_FACILITATOR_TOKEN, or for a list createGateway and its check()',
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

/** What the parser expected, for people, by the name of its error. */
const MISTAKES: Readonly<Record<string, string>> = {
  CloseBraceExpected: 'a comma or } is expected',
  CloseBracketExpected: 'a comma or ] is expected',
  ColonExpected: 'a colon is expected',
  CommaExpected: 'a comma is expected',
  EndOfFileExpected: 'the end of the file is expected',
  InvalidCharacter: 'this character cannot stand in a text',
  InvalidCommentToken: 'a comment is // or /* … */',
  InvalidEscapeCharacter: 'there is no such escape after \\',
  InvalidNumberFormat: 'this is not a number',
  InvalidSymbol: 'a text in double quotes, a number, true, false or null is expected',
  InvalidUnicode: 'four hexadecimal digits are expected after \\u',
  PropertyNameExpected: 'the name of a member is expected: is there a comma too many?',
  UnexpectedEndOfComment: 'a comment is not closed',
  UnexpectedEndOfNumber: 'a number is not complete',
  UnexpectedEndOfString: 'a text is not closed on its line',
  ValueExpected: 'a value is expected',
}

/**
 * Parses a configuration file: JSON, with comments.
 *
 * @param path - Its name, for errors.
 * @returns What it holds.
 * @throws {@link ConfigError} with line, column and what is expected there. The text is never
 * repeated: it may be a key.
 */
export function parseConfig(path: string, text: string): unknown {
  // Editors of Windows write a byte-order mark.
  const json = text.replace(/^\uFEFF/, '')
  const errors: ParseError[] = []
  parse(json, errors, { allowTrailingComma: false, disallowComments: false })
  const [first] = errors
  if (first === undefined) return JSON.parse(stripComments(json)) as unknown
  const lines = json.slice(0, first.offset).split('\n')
  const where = `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`
  const mistake = MISTAKES[printParseErrorCode(first.error)] ?? 'something else is expected'
  throw new ConfigError('config', `${path} is not JSON (${where}): ${mistake}`, 'invalid_file')
}

/** `${NAME}`; a `$` in front makes it text. */
const REFERENCE = /(\$?)\$\{([A-Za-z_]\w*)\}/g

/**
 * Fills in the environment variables that a configuration file refers to: `{ "env": "NAME" }` is the
 * variable's value, and `${NAME}` within a text stands for it. `$${NAME}` is the text `${NAME}`.
 *
 * @param options - What the file holds.
 * @returns The same with all references replaced.
 * @throws {@link ConfigError} that names each variable that is not set, by the path of the option.
 */
export function fillVariables(options: unknown, env: Environment): unknown {
  const issues: ConfigIssue[] = []
  const read = (name: string, option: string): string => {
    const value = env[name]?.trim()
    if (value) return value
    const message = `is the environment variable ${name}, which is not set`
    issues.push({ option, code: 'missing_variable', message })
    return ''
  }
  const fill = (value: unknown, path: string): unknown => {
    if (typeof value === 'string')
      return value.replaceAll(REFERENCE, (text: string, escape: string, name: string) =>
        escape === '' ? read(name, path) : text.slice(1),
      )
    const below = (member: string | number, one: unknown): unknown =>
      fill(one, path === '' ? String(member) : `${path}.${member}`)
    if (Array.isArray(value)) return value.map((one, index) => below(index, one))
    if (!isObject(value)) return value
    const { env: name, ...others } = value
    if (typeof name === 'string' && Object.keys(others).length === 0) return read(name, path)
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, below(key, one)]))
  }
  const filled = fill(options, '')
  if (issues.length > 0) throw new ConfigError(issues)
  return filled
}

export function variablesIn(value: unknown): readonly string[] {
  if (typeof value === 'string')
    return [...value.matchAll(REFERENCE)].flatMap(([, escape, name]) =>
      name !== undefined && escape === '' ? [name] : [],
    )
  if (Array.isArray(value)) return value.flatMap(variablesIn)
  if (!isObject(value)) return []
  const { env: name, ...others } = value
  if (typeof name === 'string' && Object.keys(others).length === 0) return [name]
  return Object.values(value).flatMap(variablesIn)
}
