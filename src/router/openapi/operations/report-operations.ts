/** Reports, files and events, of a project or of all. */
import { bySchema } from '../../views/revenue-view.js'
import { spanSchema, SPAN_PARAMETERS } from '../../views/view-query.js'
import { funnelReport, latencyReport, overviewReport, revenueReport } from '../documents/report.js'
import { adminSettlement, settlement } from '../documents/settlement.js'
import type { Operations } from '../operation.js'
import { queryParameters } from '../request-schema.js'
import { settlementParameters, SPAN } from './merchant-operations.js'
import { commonOf, type Owner } from './owner.js'

const span = queryParameters(
  spanSchema,
  {
    from: {
      ...SPAN['from']!,
      description: 'Begin: a date or a time. Default: 30 days before `to`.',
    },
    to: {
      ...SPAN['to']!,
      description: 'End, at most 400 days after `from`. Default: the end of today (UTC).',
    },
  },
  { known: SPAN_PARAMETERS, tolerated: [] },
)

const by = queryParameters(
  bySchema,
  { by: { description: 'By what it is grouped. Default: `day`.' } },
  { known: ['by'], tolerated: [] },
)

const PAGING = ['cursor', 'limit']

/** `…/overview`, `revenue`, `funnel`, `latency`. */
export function reportOperations(owner: Owner): Operations {
  const tag = owner.access === 'admin' ? 'Admin: payments' : 'Reports'
  const query = [...span, ...owner.query]
  return {
    [`GET ${owner.prefix}/overview`]: {
      ...commonOf(owner, 'getOverview'),
      ...{ tag, query },
      summary: 'Get an overview',
      description: 'Revenue, numbers, times, and the newest settlements, at a glance.',
      responses: { 200: { description: 'The overview.', document: overviewReport } },
    },
    [`GET ${owner.prefix}/revenue`]: {
      ...commonOf(owner, 'getRevenue'),
      tag,
      summary: 'Get what was paid',
      description:
        'Sums of settled payments by token, and by day, project, token or resource. Refunds are not subtracted. The same question is answered once in five seconds.',
      query: [...query, ...by],
      responses: { 200: { description: 'The sums.', document: revenueReport } },
    },
    [`GET ${owner.prefix}/funnel`]: {
      ...commonOf(owner, 'getFunnel'),
      ...{ tag, query },
      summary: 'Get how many offers became payments',
      description: 'Numbers of what happened to payments, by day, with the reasons of refusals.',
      responses: { 200: { description: 'The numbers.', document: funnelReport } },
    },
    [`GET ${owner.prefix}/latency`]: {
      ...commonOf(owner, 'getLatency'),
      ...{ tag, query },
      summary: 'Get how long payments took',
      description: 'Median and 95th percentile of each phase, in milliseconds.',
      responses: { 200: { description: 'The percentiles.', document: latencyReport } },
    },
  }
}

/** `…/settlements.csv` and `…/events`. */
export function streamOperations(owner: Owner): Operations {
  const isAdmin = owner.access === 'admin'
  const tag = isAdmin ? 'Admin: payments' : 'Settlements'
  const problems = [...owner.problems, 'server_busy'] as const
  return {
    [`GET ${owner.prefix}/settlements.csv`]: {
      ...commonOf(owner, 'downloadSettlements'),
      ...{ tag, problems },
      summary: 'Download settlements as CSV',
      description:
        'All pages of the list as one file, in the columns of `ledger export`. Reservations are in it only if they are asked for by `status`. A download that is cut ends in an error of the connection.',
      query: [...settlementParameters.filter(({ name }) => !PAGING.includes(name)), ...owner.query],
      responses: {
        200: { description: 'The file.', type: 'text/csv', headers: ['Content-Disposition'] },
      },
    },
    [`GET ${owner.prefix}/events`]: {
      ...commonOf(owner, 'streamSettlements'),
      ...{ tag, problems },
      summary: 'Watch payments as they happen',
      description:
        'Server-sent events. Each event `settlement` has a settlement as its data: a payment that is new or has changed. Events that happened before the connection are not sent: ask for the list first.',
      query: owner.query,
      responses: {
        200: {
          description: `A stream of server-sent events; \`data\` is a document \`${isAdmin ? 'AdminSettlement' : 'Settlement'}\`.`,
          type: 'text/event-stream',
          document: isAdmin ? adminSettlement : settlement,
        },
      },
    },
  }
}
