import { parseArgs, type ParseArgsConfig } from 'node:util'
import { closestName } from '../../shared/protocol/did-you-mean.js'

export class UsageError extends Error {}

export interface Flags {
  readonly names: readonly string[]
  /** Flags without a value. */
  readonly switches?: readonly string[]
  /** Flags that may be given several times. */
  readonly lists?: readonly string[]
}

export interface CommandLine {
  readonly flags: Readonly<Record<string, string | undefined>>
  readonly lists: Readonly<Record<string, readonly string[] | undefined>>
  readonly words: readonly string[]
}

export function readFlags(args: readonly string[], flags: Flags): CommandLine['flags'] {
  const { flags: given, words } = readCommandLine(args, flags)
  if (words.length === 0) return given
  throw new UsageError(`Unexpected argument '${words[0]}'.`)
}

export function readCommandLine(
  args: readonly string[],
  { names, switches = [], lists = [] }: Flags,
): CommandLine {
  const options: ParseArgsConfig['options'] = Object.fromEntries([
    ...names.map((name) => [name, { type: 'string' }]),
    ...switches.map((name) => [name, { type: 'boolean' }]),
    ...lists.map((name) => [name, { type: 'string', multiple: true }]),
  ])
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true })
    const isList = ([name]: [string, unknown]): boolean => lists.includes(name)
    const given = Object.entries(values)
    return {
      flags: Object.fromEntries(given.filter((one) => !isList(one))) as CommandLine['flags'],
      lists: Object.fromEntries(given.filter(isList)) as CommandLine['lists'],
      words: positionals,
    }
  } catch (error) {
    throw new UsageError(explain(error, [...names, ...switches, ...lists]))
  }
}

function explain(error: unknown, known: readonly string[]): string {
  const { code, message } = error as NodeJS.ErrnoException
  const flag = /'(-{1,2}[^' =]+)/.exec(message)?.[1]
  if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION' || flag === undefined) return message
  const meant = closestName(flag.replace(/^-+/, ''), known)
  const all = known.map((name) => `--${name}`).join(', ')
  const suggestion = meant ? `did you mean --${meant}?` : all && `there is ${all}.`
  return `There is no ${flag} here${suggestion ? `; ${suggestion}` : '.'}`
}

export function numberFrom(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() !== '' && Number.isFinite(value)) return value
  throw new UsageError(`--${flag} takes a number, not '${text}'.`)
}

export function portFrom(text: string | undefined): number | undefined {
  const port = numberFrom('port', text)
  if (port === undefined || (Number.isInteger(port) && port >= 0 && port <= 65_535)) return port
  throw new UsageError(`--port takes a port between 0 and 65535, not '${text}'.`)
}
