/** Taking down what is wrong with options, all of it at once. */
import type { z } from 'zod'
import { parseDocument } from '../protocol/document.js'

/** Takes down one thing that is wrong; `option` is a path, `""` for the whole. */
export type Report = (option: string, message: string) => void

/** Reports of what is inside an option. */
export function within(report: Report, path: string): Report {
  return (option, message) => report(option === '' ? path : `${path}.${option}`, message)
}

/** Tells whether a value has a shape; reports where not. */
export function hasShape(schema: z.ZodType, value: unknown, report: Report): boolean {
  const parsed = parseDocument(schema, value)
  if (!parsed.ok) for (const { path, message } of parsed.errors) report(path, message)
  return parsed.ok
}

/** Tells objects from arrays and all else. */
export function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
