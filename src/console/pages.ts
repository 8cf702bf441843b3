/** Lists that come in pages. */
import { z } from 'zod'

/** Number of entries on a page. */
const DEFAULT_LIMIT = 100
const MAX_LIMIT = 100

const NOT_A_LIMIT = `must be an integer from 1 to ${MAX_LIMIT}`

/** The parameter `limit`. */
export const limitSchema = z
  .string(NOT_A_LIMIT)
  .regex(/^\d{1,3}$/, NOT_A_LIMIT)
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= MAX_LIMIT, NOT_A_LIMIT)
  .default(DEFAULT_LIMIT)

const POSITION = /^p([0-9]{1,15})$/

/** The parameter `cursor`: the position of the last entry of the page before. */
export const cursorSchema = z.string().transform((text, context) => {
  const match = POSITION.exec(Buffer.from(text, 'base64url').toString('latin1'))
  if (match !== null) return Number(match[1])
  context.addIssue('must be the nextCursor of a page before')
  return z.NEVER
})

/** A page of what was found: one more than `limit` shows that there is another. */
export function pageOf<T>(found: readonly T[], limit: number, positionOf: (last: T) => number) {
  const page = found.slice(0, limit)
  const last = page.at(-1)
  const hasMore = found.length > page.length && last !== undefined
  const cursor = hasMore && Buffer.from(`p${positionOf(last)}`, 'latin1').toString('base64url')
  return { page, next: cursor === false ? {} : { nextCursor: cursor } }
}

/** A time as it is shown. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()
