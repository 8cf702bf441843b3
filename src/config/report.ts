/** Collects everything that is wrong with options before anything is thrown. */
import type { z } from 'zod'
import type { ConfigErrorCode } from '../errors.js'
import { parseWithIssues } from '../protocol/document.js'

/** Records one mistake; `option` is a path, `""` for the whole value. */
export type Report = (option: string, code: ConfigErrorCode, message: string) => void

/** Prefixes the paths of a report with that of the option they lie in. */
export function within(report: Report, path: string): Report {
  return (option, code, message) =>
    report(option === '' ? path : `${path}.${option}`, code, message)
}

/**
 * Reads a value by a schema and reports what is wrong with it.
 *
 * @returns The schema's output; `undefined` when something was reported.
 */
export function readOption<T>(schema: z.ZodType<T>, value: unknown, report: Report): T | undefined {
  const parsed = parseWithIssues(schema, value)
  if (parsed.ok) return parsed.value
  for (const { path, message, issue } of parsed.issues) report(path, codeOf(issue), message)
  return undefined
}

/** Classifies an issue of zod; schemas give their own checks a code with `params`. */
function codeOf(issue: z.core.$ZodIssue): ConfigErrorCode {
  switch (issue.code) {
    case 'unrecognized_keys':
      return 'unknown_option'
    case 'invalid_type':
      return issue.input === undefined ? 'missing_option' : 'invalid_type'
    case 'too_small':
    case 'too_big':
      return 'out_of_range'
    case 'invalid_union':
      return 'invalid_type'
    case 'custom': {
      const code: ConfigErrorCode | undefined = issue.params?.['code']
      return code ?? 'invalid_type'
    }
    default:
      return 'invalid_value'
  }
}

/** Type guard for objects that are not arrays. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
