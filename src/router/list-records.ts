/** A page of payments or refunds: the newest, or what has changed since a time. */
import type { z } from 'zod'
import type { LedgerQuery, LedgerRecord } from '../ledger/index.js'
import type { RouterContext } from './context.js'
import { cursorOf, nameOfPlace, pageOf } from './pages.js'
import { ledgerFilters, type listQuery, type refundQuery } from './settlement-query.js'
import { momentOf } from './time-query.js'

export interface Listed {
  readonly project: LedgerQuery['project']
  readonly kind: 'payment' | 'refund'
  readonly query: z.output<typeof listQuery> | z.output<typeof refundQuery>
}

/** A page, and where the next one begins. */
export interface RecordPage {
  readonly page: readonly LedgerRecord[]
  readonly next: { readonly nextCursor?: string }
}

export async function listRecords(
  { ledger }: Pick<RouterContext, 'ledger'>,
  { project, kind, query }: Listed,
): Promise<RecordPage> {
  const { cursor, limit, updatedSince, timeZone } = query
  const filters: Omit<LedgerQuery, 'limit'> = { ...ledgerFilters(query), project, kind }
  if (updatedSince === undefined) {
    const found = await ledger.payments.list({ ...filters, after: cursor, limit: limit + 1 })
    return pageOf(found, limit, nameOfPlace)
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
