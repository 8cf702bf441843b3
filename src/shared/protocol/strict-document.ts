import type { z } from 'zod'
import { suggestName } from './did-you-mean.js'
import { parseDocument, type DocumentError, type Parsed } from './document.js'

/** Longest name that is repeated. */
const MAX_SHOWN = 40

const MAX_REPORTED = 10

/**
 * Reads a document that may have no members besides the known and the tolerated ones.
 *
 * Requests that are our own are read like this: ignoring a misspelled `currency` would sell euros for dollars.
 */
export function parseStrictDocument<T>(
  schema: z.ZodType<T>,
  value: unknown,
  members: KnownMembers,
): Parsed<T> {
  const unknown = findUnknownMembers(value, members)
  const parsed = parseDocument(schema, value)
  if (unknown.length === 0) return parsed
  return { ok: false, errors: [...unknown, ...(parsed.ok ? [] : parsed.errors)] }
}

function findUnknownMembers(
  value: unknown,
  { known, tolerated }: KnownMembers,
): readonly DocumentError[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.keys(value)
    .filter((name) => !known.includes(name) && !tolerated.includes(name))
    .slice(0, MAX_REPORTED)
    .map((name) => ({
      path: name.slice(0, MAX_SHOWN),
      message: `is not known here; ${suggestName(name, known)}`,
    }))
}

export interface KnownMembers {
  readonly known: readonly string[]
  /** Not read, and not refused. */
  readonly tolerated: readonly string[]
}

/** x402 clients write these on top of every document. */
export const ENVELOPE = ['x402Version', 'protocolVersion', 'extensions'] as const
