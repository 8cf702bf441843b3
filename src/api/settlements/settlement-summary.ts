/** `…/settlements-summary`: how many settlements a search finds, and what they come to. */
import type { RequestProblem } from '../../shared/http/respond-problem.js'
import { EVERY_PROJECT, type LedgerQuery, type LedgerRecord } from '../../ledger/index.js'
import type { RouterContext } from '../context.js'
import { defineEndpoint } from '../serve/define-endpoint.js'
import type { MadeDocument } from '../documents/component.js'
import type { settlementSum } from '../documents/settlement.js'
import { invalidRequest } from '../serve/invalid-request.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { owned, type PaymentsOwner } from '../serve/owner.js'
import { refundTotals } from './refund-totals.js'
import { findBy, lookThrough } from './settlement-search.js'
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
    description: `How many settlements a search finds, and what was settled in each token. At most ${MAX_SUMMED} are summed, the newest ones, and parts are searched for among 1,000; \`isMore\` says that there may be others. Operators name a project or what they search for.`,
    query: owner.withScope(filterQuery),
    responses: { 200: { description: 'The summary.', document: documents('settlementSummary') } },
    async handle(context: Context, call) {
      const scope = owner.scopeOf(context, call)
      const { project } = scope
      const filters = ledgerFilters(call.query)
      // Each project has a list of its own: of thousands, all would be read.
      const isSearch = filters.search !== undefined || call.query.search !== undefined
      if (project === EVERY_PROJECT && !isSearch) throw tooWide()
      const { isWanted, ...by } = await findBy(context.ledger, scope, call.query)
      const query: LedgerQuery = { ...filters, ...by, project, limit: MAX_SUMMED + 1 }
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

function tooWide(): RequestProblem {
  const message = 'must be given, or one of search, payer, transaction, resource and reference'
  return invalidRequest('query', [{ path: 'project', message }])
}

/** What was settled and refunded in each token, the one with most payments first. */
async function sumsOf<Context extends RouterContext>(
  context: Context,
  owner: PaymentsOwner<Context>,
  records: readonly LedgerRecord[],
) {
  const totals = await refundTotals(context.ledger, records)
  const sums = new Map<string, Sum>()
  for (const record of records) {
    if (record.state !== 'settled') continue
    const { network, testnet, asset, symbol, decimals, amount } = owner.documentOf(context, record)
    const token = {
      network,
      asset,
      ...(testnet && { testnet }),
      ...(symbol !== undefined && { symbol }),
      ...(decimals !== undefined && { decimals }),
    }
    const { count, ...before } = sums.get(`${network} ${asset}`) ?? EMPTY
    const refunded = totals.get(record.id)?.refunded ?? 0
    sums.set(`${network} ${asset}`, {
      ...token,
      count: count + 1,
      amount: String(BigInt(before.amount) + BigInt(amount)),
      refunded: String(BigInt(before.refunded) + BigInt(refunded)),
    })
  }
  return [...sums.values()].toSorted((one, other) => other.count - one.count)
}

const EMPTY = { count: 0, amount: '0', refunded: '0' }

type Sum = MadeDocument<typeof settlementSum>
