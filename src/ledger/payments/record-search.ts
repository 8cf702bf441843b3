import type { ExpressionBuilder } from 'kysely'
import { bytesOf } from '../../protocol/hex.js'
import { resourceHash } from '../payment-details.js'
import type { RecordSearch } from '../record.js'
import type { LedgerDatabase } from '../schema/schema.js'

/** A search that has an index which begins with it and the project. */
export type IndexedSearch = Exclude<RecordSearch, { readonly transaction: unknown }>

/** The condition that a record is searched for. */
export function isFound(
  where: ExpressionBuilder<LedgerDatabase, 'x402_authorizations'>,
  search: IndexedSearch,
) {
  if ('payer' in search) return where('payer', '=', bytesOf(search.payer))
  if ('reference' in search) return where('reference', '=', search.reference)
  return where('resource_hash', '=', resourceHash(search.resource))
}
