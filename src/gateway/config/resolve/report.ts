/** Collects everything that is wrong with options before anything is thrown. */
import type { z } from 'zod'
import type { ConfigErrorCode } from '../../../shared/errors.js'
import { readOptions } from '../../../shared/protocol/option-issues.js'

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
  const read = readOptions(schema, value)
  if (read.ok) return read.value
  for (const { option, code, message } of read.issues) report(option, code, message)
  return undefined
}
