/** `…/settlements.csv` and `…/events`. */
import { z } from 'zod'
import type { RouterContext } from '../../context.js'
import { defineEndpoint, type Endpoint } from '../../serve/define-endpoint.js'
import { owned, type PaymentsOwner } from '../../serve/owner.js'
import { filterQuery, ledgerFilters, networkParameter } from '../settlement-query.js'
import { openEventStream } from './event-stream.js'
import { findBy } from '../settlement-search.js'
import { downloadSettlements } from './settlements-csv.js'

/** The streams of an owner's payments. */
export function streamEndpoints<Context extends RouterContext>(
  owner: PaymentsOwner<Context>,
): readonly Endpoint<Context>[] {
  const { prefix, slots } = owner
  return [
    defineEndpoint({
      ...owned(owner, 'downloadSettlements', 'Settlements'),
      scope: 'read',
      method: 'GET',
      path: `${prefix}/settlements.csv`,
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
          slots,
          scope,
          filters: { ...ledgerFilters(call.query), ...found },
          zone: call.query.timeZone,
        })
      },
    }),
    defineEndpoint({
      ...owned(owner, 'streamSettlements', 'Settlements'),
      scope: 'read',
      method: 'GET',
      path: `${prefix}/events`,
      summary: 'Watch payments as they happen',
      description:
        'Server-sent events. Each event `settlement` has a settlement as its data: a payment that is new or has changed. Events that happened before the connection are not sent: ask for the list first.',
      query: owner.withScope(z.object({ network: networkParameter })),
      responses: {
        200: {
          description: `A stream of server-sent events; \`data\` is a document \`${slots === 'operators' ? 'AdminSettlement' : 'Settlement'}\`.`,
          type: 'text/event-stream',
          document: owner.settlement,
        },
      },
      problems: ['server_busy'],
      async respond(context: Context, call) {
        const { project } = owner.scopeOf(context, call)
        await openEventStream(context, call, {
          slots,
          project,
          chainId: call.query.network?.chainId,
          documentOf: ({ record, totals }) => ({ ...owner.documentOf(context, record), ...totals }),
        })
      },
    }),
  ]
}
