/** Lists that come in pages. */
import { z } from 'zod'

const MAX_LIMIT = 100

const NOT_A_LIMIT = `must be an integer from 1 to ${MAX_LIMIT}`

/** Transforms a text. @param message - What is wrong where `read` finds nothing in it. */
export const readBy =
  <Value>(read: (text: string) => Value | undefined, message: string) =>
  (text: string, context: z.RefinementCtx) => {
    const value = read(text)
    if (value !== undefined) return value
    context.addIssue(message)
    return z.NEVER
  }

/** The parameter `limit`. @param what - What the entries are called: `Settlements`. */
export function limitParameter(what: string, defaultLimit = 20) {
  return z
    .string(NOT_A_LIMIT)
    .regex(/^\d{1,3}$/, NOT_A_LIMIT)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= MAX_LIMIT, NOT_A_LIMIT)
    .default(defaultLimit)
    .meta({
      description: `${what} on a page, 1 to ${MAX_LIMIT}. Default: ${defaultLimit}.`,
      as: { type: 'integer', minimum: 1, maximum: MAX_LIMIT, default: defaultLimit },
    })
}

/** Cursor of a list sorted by time: the last entry of the page before. */
export interface Place {
  readonly createdAt: number
  readonly id: string
}

/** The parameter `cursor` of such a list. @param id - Pattern of the ids of its entries. */
export function placeParameter(id: string) {
  const pattern = new RegExp(String.raw`^(\d{1,16})\.(${id})$`)
  return cursorParameter((text): Place | undefined => {
    const match = pattern.exec(text)
    return match === null ? undefined : { createdAt: Number(match[1]), id: match[2] ?? '' }
  })
}

export const nameOfPlace = ({ createdAt, id }: Place): string => `${createdAt}.${id}`

/** The parameter `cursor`. @param read - Reads the name of a position; `undefined` if it is none. */
export function cursorParameter<Position>(read: (name: string) => Position | undefined) {
  const readText = (text: string) => read(Buffer.from(text, 'base64url').toString('latin1'))
  return z
    .string()
    .transform(readBy(readText, 'must be the nextCursor of a page before'))
    .optional()
    .meta({ description: '`nextCursor` of the page before.' })
}

/**
 * A page of what was found, and where the next one begins.
 *
 * @param found - One more than `limit` shows that there is another page.
 * @param nameOf - Names the position of an entry.
 */
export function pageOf<T>(found: readonly T[], limit: number, nameOf: (last: T) => string) {
  const page = found.slice(0, limit)
  const last = page.at(-1)
  if (found.length === page.length || last === undefined) return { page, next: {} }
  return { page, next: { nextCursor: cursorOf(nameOf(last)) } }
}

export function cursorOf(name: string): string {
  return Buffer.from(name, 'latin1').toString('base64url')
}
