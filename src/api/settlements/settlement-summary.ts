/** `…/settlements-summary`: how many settlements a search finds, and what they come to. */
import { amountOf, type LedgerQuery, type LedgerRecord } from '../../ledger/index.js'
import { groupBy } from '../../shared/group-by.js'
import type { RouterContext } from '../context.js'
import { defineEndpoint } from '../serve/define-endpoint.js'
import type { MadeDocument } from '../documents/component.js'
import type { settlementSum } from '../documents/settlement.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { owned, type PaymentsOwner } from '../serve/owner.js'
import { refundTotals } from './refund-totals.js'
import { lookThrough, pricedBy } from './settlement-search.js'
import { filterQuery, ledgerFilters } from './settlement-query.js'

const documents = lazyDocuments(() => import('../documents/settlement.js'))

/** Most settlements that are summed: a search may find millions. */
const MAX_SUMMED = 500

export function settlementSummary<Context extends RouterContext>(owner: PaymentsOwner<Context>) {
  return defineEndpoint({
    ...owned(owner, 'summarizeSettlements', { tag: 'Settlements', scope: 'read' }),
    method: 'GET',
    path: `${owner.prefix}/settlements-summary`,
    summary: 'Count and sum settlements',
    description: `How many settlements a search finds, and what was settled in each token. At most ${MAX_SUMMED} are summed, the first ones of the list, and tokens and amounts are looked for among 1,000; \`isMore\` says that there may be others.`,
    query: owner.withScope(filterQuery),
    responses: { 200: { description: 'The summary.', document: documents('settlementSummary') } },
    async handle(context: Context, call) {
      const { project, accepts } = owner.scopeOf(context, call)
      const query: LedgerQuery = { ...ledgerFilters(call.query), project, limit: MAX_SUMMED + 1 }
      const isWanted = pricedBy(call.query, accepts)
      const { found, end } = await lookThrough(context.ledger, query, isWanted)
      const records = found.slice(0, MAX_SUMMED)
      return {
        count: records.length,
        isMore: found.length > MAX_SUMMED || end !== undefined,
        sums: await sumsOf(context, owner, records),
      }
    },
  })
}

/** What was settled and refunded in each token, the one with most payments first. */
async function sumsOf<Context extends RouterContext>(
  context: Context,
  owner: PaymentsOwner<Context>,
  records: readonly LedgerRecord[],
) {
  const totals = await refundTotals(context.ledger, records)
  const settled = records.filter(({ state }) => state === 'settled')
  const groups = groupBy(settled, ({ chainId, asset }) => `${chainId} ${asset}`)
  const sums = [...groups.values()].map((group): Sum => {
    const { network, testnet, asset, symbol, decimals } = owner.documentOf(context, group[0]!)
    const sum = (amounts: readonly bigint[]) => String(amounts.reduce((all, one) => all + one, 0n))
    return {
      network,
      asset,
      ...(testnet && { testnet }),
      ...(symbol !== undefined && { symbol }),
      ...(decimals !== undefined && { decimals }),
      count: group.length,
      amount: sum(group.map(amountOf)),
      refunded: sum(group.map(({ id }) => BigInt(totals.get(id)?.refunded ?? 0))),
    }
  })
  return sums.toSorted((one, other) => other.count - one.count)
}

type Sum = MadeDocument<typeof settlementSum>
