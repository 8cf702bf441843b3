import type { RouterContext } from '../../context.js'
import { defineEndpoint } from '../../serve/define-endpoint.js'
import { owned, type PaymentsOwner } from '../../serve/owner.js'
import { filterQuery, ledgerFilters } from '../settlement-query.js'
import { findBy } from '../settlement-search.js'
import { downloadSettlements } from './settlements-csv.js'

/** `…/settlements.csv`. */
export function downloadEndpoint<Context extends RouterContext>(owner: PaymentsOwner<Context>) {
  return defineEndpoint({
    ...owned(owner, 'downloadSettlements', 'Settlements'),
    scope: 'read',
    method: 'GET',
    path: `${owner.prefix}/settlements.csv`,
    summary: 'Download settlements as CSV',
    description:
      'All pages of the list as one file, in the columns of `ledger export`, with a row for each refund and times in `timeZone`. The sum of `net` is what is left of a token. Reservations are in it only if they are asked for by `status`. A download that is cut ends in an error of the connection.',
    query: owner.withScope(filterQuery),
    responses: {
      200: { description: 'The file.', type: 'text/csv', headers: ['Content-Disposition'] },
    },
    problems: ['server_busy'],
    async respond(context: Context, call) {
      const scope = owner.scopeOf(context, call)
      const found = await findBy(context.ledger, scope, call.query)
      await downloadSettlements(context, call, {
        slots: owner.slots,
        scope,
        filters: { ...ledgerFilters(call.query), ...found },
        zone: call.query.timeZone,
      })
    },
  })
}
