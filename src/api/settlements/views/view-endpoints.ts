/** `…/overview`, `revenue` and `funnel`. */
import { z } from 'zod'
import { REVENUE_KEYS } from '../../../ledger/revenue.js'
import type { RouterContext } from '../../context.js'
import { defineEndpoint, type Call, type Endpoint } from '../../serve/define-endpoint.js'
import { owned, type PaymentsOwner } from '../../serve/owner.js'
import { refundTotals } from '../refund-totals.js'
import { settlementOf } from '../settlement-document.js'
import { funnelOf } from './activity-view.js'
import { revenueOf, type Money } from './revenue-view.js'
import { moneyMembers, readSpan, shownSpan, spanQuery } from './view-query.js'
import { lazyDocuments } from '../../serve/lazy-documents.js'

const documents = lazyDocuments(() => import('../../documents/report.js'))

const RECENT = 10

const grouping = {
  by: z
    .enum(REVENUE_KEYS, `must be one of ${REVENUE_KEYS.join(', ')}`)
    .default('day')
    .meta({ description: 'By what it is grouped. Default: `day`.' }),
}

const moneyOf = ({ network, testnet }: Money): Money => ({ network, testnet })

export function viewEndpoints<Context extends RouterContext>(
  owner: PaymentsOwner<Context>,
): readonly Endpoint<Context>[] {
  const { prefix } = owner
  const query = owner.withScope(spanQuery)
  const asked = (context: Context, call: Call<z.output<typeof spanQuery>>) => {
    const span = readSpan(call.query, context.now())
    return { scope: owner.scopeOf(context, call), span, shown: shownSpan(span) }
  }
  return [
    defineEndpoint({
      ...owned(owner, 'getOverview', { tag: 'Reports', scope: 'read' }),
      method: 'GET',
      path: `${prefix}/overview`,
      summary: 'Get an overview',
      description: 'Revenue, numbers, and the newest settlements, at a glance.',
      query: query.extend(moneyMembers),
      responses: { 200: { description: 'The overview.', document: documents('overviewReport') } },
      async handle(context: Context, call) {
        const { scope, span, shown } = asked(context, call)
        const [revenue, { total: funnel }, newest] = await Promise.all([
          revenueOf(context, scope, { ...span, ...moneyOf(call.query), by: 'asset' }),
          funnelOf(context, scope, span),
          context.ledger.payments.list({
            project: scope.project,
            chainId: call.query.network?.chainId,
            limit: RECENT,
          }),
        ])
        const totals = await refundTotals(context.ledger, newest)
        const settlements = newest.map((one) => ({
          ...settlementOf(one, scope, context.networkNames),
          ...totals.get(one.id),
        }))
        return { ...shown, revenue, funnel, settlements }
      },
    }),
    defineEndpoint({
      ...owned(owner, 'getRevenue', { tag: 'Reports', scope: 'read' }),
      method: 'GET',
      path: `${prefix}/revenue`,
      summary: 'Get what was paid',
      description:
        'Sums of settled payments and refunds by token, and by day, project, token or resource. A refund counts when it was made. The same question is answered once in five seconds.',
      query: query.extend({ ...grouping, ...moneyMembers }),
      responses: { 200: { description: 'The sums.', document: documents('revenueReport') } },
      async handle(context: Context, call) {
        const { scope, span, shown } = asked(context, call)
        const { by } = call.query
        const money = moneyOf(call.query)
        return { ...shown, by, revenue: await revenueOf(context, scope, { ...span, ...money, by }) }
      },
    }),
    defineEndpoint({
      ...owned(owner, 'getFunnel', { tag: 'Reports', scope: 'read' }),
      method: 'GET',
      path: `${prefix}/funnel`,
      summary: 'Get how many offers became payments',
      description: 'Numbers of what happened to payments, by day, with the reasons of refusals.',
      query,
      responses: { 200: { description: 'The numbers.', document: documents('funnelReport') } },
      async handle(context: Context, call) {
        const { scope, span, shown } = asked(context, call)
        return { ...shown, ...(await funnelOf(context, scope, span)) }
      },
    }),
  ]
}
