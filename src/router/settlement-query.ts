/** How lists of settlements are asked for: filters, and pages by cursor. */
import type { Request } from 'express'
import { z } from 'zod'
import type { LedgerQuery, LedgerRecord, LedgerStore, RecordSearch } from '../ledger/index.js'
import { isReference, NOT_A_REFERENCE } from '../ledger/payment-details.js'
import { lowerHex } from '../protocol/hex.js'
import { SETTLEMENTS_QUERY, type KnownMembers } from '../protocol/strict-document.js'
import { readQuery } from './read-query.js'

/**
 * `reserved`: taken for one request, nothing was sent. `pending`: a transaction was sent. `settled`:
 * the merchant was paid. `failed`: the transaction was mined, and did not pay the merchant.
 */
const STATUSES = ['reserved', 'pending', 'settled', 'failed'] as const

/** Number of settlements on a page. */
const DEFAULT_LIMIT = 20
const MAX_LIMIT = 100

const NOT_A_TIME = 'must be a time, like 2026-01-31T00:00:00Z'

export const timeSchema = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], NOT_A_TIME)
  .transform((text) => Date.parse(text))

const NOT_A_LIMIT = `must be an integer from 1 to ${MAX_LIMIT}`

const limitSchema = z
  .string(NOT_A_LIMIT)
  .regex(/^\d{1,3}$/, NOT_A_LIMIT)
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= MAX_LIMIT, NOT_A_LIMIT)

/** A cursor: creation time and id of the last record of a page, which the page itself shows. */
const CURSOR = /^(\d{1,16})\.([0-9a-f]{32})$/

const cursorSchema = z.string().transform((text, context) => {
  const match = CURSOR.exec(Buffer.from(text, 'base64url').toString('latin1'))
  if (match !== null) return { createdAt: Number(match[1]), id: match[2] ?? '' }
  context.addIssue('must be the nextCursor of a page before')
  return z.NEVER
})

const SEARCHES = ['payer', 'transaction', 'resource', 'reference'] as const

const textSchema = z.string('must be given once').min(1, 'must not be empty')

/** Reads the query of a list. */
export const settlementsSchema = z
  .object({
    cursor: cursorSchema.optional(),
    limit: limitSchema.optional(),
    status: z.enum(STATUSES).optional(),
    from: timeSchema.optional(),
    to: timeSchema.optional(),
    payer: textSchema
      .regex(/^0x[0-9a-f]{40}$/i, 'must be an address: 0x and 40 hexadecimal digits')
      .optional(),
    transaction: textSchema
      .regex(/^0x[0-9a-f]{64}$/i, 'must be a transaction: 0x and 64 hexadecimal digits')
      .optional(),
    resource: textSchema.optional(),
    reference: z.custom<string>(isReference, NOT_A_REFERENCE).optional(),
  })
  .superRefine((query, context) => {
    const given = SEARCHES.filter((name) => query[name] !== undefined)
    const [, second] = given
    // Each search has its own index. A combination has none, and could read every settlement.
    if (second !== undefined)
      context.addIssue({
        code: 'custom',
        path: [second],
        message: `cannot be combined with ${given[0]}: search by one of ${SEARCHES.join(', ')}`,
      })
    if (query.from !== undefined && query.to !== undefined && query.from > query.to)
      context.addIssue({ code: 'custom', path: ['to'], message: 'must not be before from' })
  })

/** The query of a list, without the project whose settlements they are. */
export type SettlementQuery = Omit<LedgerQuery, 'project' | 'id'>

/**
 * Reads the query of a list.
 *
 * @param members - The parameters that it takes.
 * @throws `RequestProblem` 400 with every invalid parameter.
 */
export function readSettlementQuery(
  req: Request,
  members: KnownMembers = SETTLEMENTS_QUERY,
): SettlementQuery {
  const query = readQuery(req, settlementsSchema, members)
  const { cursor, limit = DEFAULT_LIMIT, status, from, to } = query
  const state = status === 'pending' ? 'submitted' : status
  return { state, from, until: to, after: cursor, limit, search: searchOf(query) }
}

function searchOf({
  payer,
  transaction,
  resource,
  reference,
}: z.output<typeof settlementsSchema>): RecordSearch | undefined {
  if (payer !== undefined) return { payer: lowerHex(payer) }
  if (transaction !== undefined) return { transaction: lowerHex(transaction) }
  if (resource !== undefined) return { resource }
  return reference === undefined ? undefined : { reference }
}

/** A page of a list, and where the next one begins, if there is one. */
export interface SettlementPage {
  readonly records: readonly LedgerRecord[]
  readonly nextCursor: string | undefined
}

/** Reads a page. */
export async function readPage(
  ledger: Pick<LedgerStore, 'payments'>,
  query: LedgerQuery,
): Promise<SettlementPage> {
  // One more than requested shows whether there is another page.
  const found = await ledger.payments.list({ ...query, limit: query.limit + 1 })
  const records = found.slice(0, query.limit)
  const last = records.at(-1)
  const hasMore = found.length > records.length && last !== undefined
  return { records, nextCursor: hasMore ? cursorOf(last) : undefined }
}

function cursorOf({ createdAt, id }: LedgerRecord): string {
  return Buffer.from(`${createdAt}.${id}`, 'latin1').toString('base64url')
}

/** Tells whether a text has the form of a record's id. The ledger is asked only for such ids. */
export function isRecordId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text)
}
