import type { z } from 'zod'
import { parseDocument, type DocumentError, type Parsed } from './document.js'
import type { KnownMembers } from './tolerated-members.js'

/** Most letters that may differ between what was written and what was meant. */
const MOST_SLIPS = 2

/** Longest name that is repeated, or compared. */
const MAX_SHOWN = 40

/** Most unknown members that are reported. */
const MAX_REPORTED = 10

/** Reads a document that may have no members beside the known and the tolerated ones. */
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

/** Reports each unknown member, with the one that was probably meant. */
export function findUnknownMembers(
  value: unknown,
  { known, tolerated }: KnownMembers,
): readonly DocumentError[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
  return Object.keys(value)
    .filter((name) => !known.includes(name) && !tolerated.includes(name))
    .slice(0, MAX_REPORTED)
    .map((name) => ({
      path: name.slice(0, MAX_SHOWN),
      message: `is not known here; ${suggest(name, known)}`,
    }))
}

function suggest(name: string, known: readonly string[]): string {
  const meant = known
    .map((one) => ({ one, slips: slipsBetween(name, one) }))
    .filter(({ one, slips }) => slips <= Math.min(MOST_SLIPS, one.length - 1))
    .toSorted((a, b) => a.slips - b.slips)[0]
  if (meant !== undefined) return `did you mean '${meant.one}'?`
  return known.length === 0 ? 'nothing is taken' : `there is ${known.join(', ')}`
}

/** Counts letters to add, remove, replace or swap with a neighbour; ignores case, `_` and `-`. */
function slipsBetween(written: string, meant: string): number {
  const [a, b] = [written, meant].map((text) => text.slice(0, MAX_SHOWN).toLowerCase())
  const one = (a ?? '').replaceAll(/[_-]/g, '')
  const other = b ?? ''
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1]
      const isSwapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? Infinity) + 1 : Infinity,
      )
    }
    before = row
    row = next
  }
  return row[other.length] ?? Infinity
}
