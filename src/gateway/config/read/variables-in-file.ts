import { ConfigError, type ConfigIssue } from '../../../shared/errors.js'
import type { Environment } from './variables.js'
import { isObject } from '../../../shared/protocol/document.js'

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

/** The variables that a configuration file refers to. */
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
