/** A page of payments or refunds: the newest, or what has changed since a time. */
import type { z } from 'zod'
import type { LedgerQuery, LedgerRecord, ListPlace } from '../../ledger/index.js'
import type { RouterContext } from '../context.js'
import { invalidRequest } from '../serve/invalid-request.js'
import { cursorOf, nameOfPlace, pageOf } from '../serve/pages.js'
import type { ViewScope } from '../serve/owner.js'
import { ledgerFilters, type listQuery, type refundQuery } from './settlement-query.js'
import { lookThrough, pricedBy } from './settlement-search.js'
import { momentOf } from './time-query.js'

export type Listed = { readonly scope: ViewScope } & (
  | { readonly kind: 'payment'; readonly query: z.output<typeof listQuery> }
  | { readonly kind: 'refund'; readonly query: z.output<typeof refundQuery> }
)

export interface RecordPage {
  readonly page: readonly LedgerRecord[]
  readonly next: { readonly nextCursor?: string }
}

/** The position of a cursor: what is searched by a beginning is sorted by that, which only the owner may read. */
async function placeOf(
  { payments }: RouterContext['ledger'],
  { project, search, limit }: LedgerQuery,
  cursor: ListPlace,
): Promise<ListPlace> {
  if (search === undefined || !('payerStart' in search || 'referenceStart' in search)) return cursor
  const [last] = await payments.list({ project, kind: 'any', id: cursor.id, limit })
  if (last !== undefined) return last
  const message = 'is of a page whose last row is gone: begin without it'
  throw invalidRequest('query', [{ path: 'cursor', message }])
}

export async function listRecords(
  { ledger }: Pick<RouterContext, 'ledger'>,
  listed: Listed,
): Promise<RecordPage> {
  const { scope, kind, query } = listed
  const { cursor, limit, updatedSince, timeZone } = query
  const { project } = scope
  const filters: Omit<LedgerQuery, 'limit'> = { ...ledgerFilters(query), project, kind }
  if (updatedSince === undefined) {
    const isWanted = listed.kind === 'payment' ? pricedBy(listed.query, scope.accepts) : undefined
    const after = cursor && (await placeOf(ledger, { ...filters, limit: 1 }, cursor))
    const asked = { ...filters, after, limit: limit + 1 }
    const { found, end } = await lookThrough(ledger, asked, isWanted)
    if (end === undefined) return pageOf(found, limit, nameOfPlace)
    return { page: found, next: { nextCursor: cursorOf(nameOfPlace(end)) } }
  }
  const { records, next } = await ledger.payments.listChanged({
    project,
    kind,
    limit,
    state: filters.state,
    chainId: filters.chainId,
    since: momentOf(updatedSince, timeZone),
    after: cursor && { updatedAt: cursor.createdAt, id: cursor.id },
  })
  const place = next && nameOfPlace({ createdAt: next.updatedAt, id: next.id })
  return { page: records, next: place === undefined ? {} : { nextCursor: cursorOf(place) } }
}
