/** `…/settlements`: what became of payments. */
import { notFound } from '../../shared/http/respond-problem.js'
import { EVERY_PROJECT, type LedgerQuery, type LedgerRecord } from '../../ledger/index.js'
import type { RouterContext } from '../context.js'
import { defineEndpoint, type Endpoint } from '../serve/define-endpoint.js'
import { listRecords } from './list-records.js'
import { owned, type PaymentsOwner } from '../serve/owner.js'
import { refundTotals } from './refund-totals.js'
import { isRecordId, listQuery } from './settlement-query.js'

export const SETTLEMENT_ID = 'Id of the settlement: 32 hexadecimal digits.'

export function settlementEndpoints<Context extends RouterContext>(
  owner: PaymentsOwner<Context>,
): readonly Endpoint<Context>[] {
  const path = `${owner.prefix}/settlements`
  const documentsOf = async (context: Context, records: readonly LedgerRecord[]) => {
    const totals = await refundTotals(context.ledger, records)
    return records.map((record) => ({
      ...owner.documentOf(context, record),
      ...totals.get(record.id),
    }))
  }
  return [
    defineEndpoint({
      ...owned(owner, 'listSettlements', { tag: 'Settlements', scope: 'read' }),
      method: 'GET',
      path,
      summary: 'List settlements',
      description: 'What became of payments, newest first, in pages.',
      query: owner.withScope(listQuery),
      responses: { 200: { description: 'A page.', document: owner.settlementList } },
      async handle(context: Context, call) {
        const scope = owner.scopeOf(context, call)
        const asked = { scope, kind: 'payment', query: call.query } as const
        const { page, next } = await listRecords(context, asked)
        return { settlements: await documentsOf(context, page), ...next }
      },
    }),
    defineEndpoint({
      ...owned(owner, 'getSettlement', { tag: 'Settlements', scope: 'read' }),
      method: 'GET',
      path: `${path}/{id}`,
      summary: 'Get a settlement',
      description: 'One payment, and what became of it.',
      params: { id: SETTLEMENT_ID },
      responses: { 200: { description: 'The settlement.', document: owner.settlement } },
      async handle(context: Context, call) {
        const { project } = owner.scopeOf(context, call)
        const record = await findRecord(context, project, call.param('id'))
        const [document] = await documentsOf(context, [record])
        return document!
      },
    }),
  ]
}

/** Finds a settlement, of one project or of any. @throws {@link RequestProblem} 404 */
export async function findRecord(
  { ledger }: Pick<RouterContext, 'ledger'>,
  project: LedgerQuery['project'],
  id: string,
): Promise<LedgerRecord> {
  const [record] = isRecordId(id) ? await ledger.payments.list({ project, id, limit: 1 }) : []
  if (record !== undefined) return record
  const whose = project === EVERY_PROJECT ? 'There is' : 'This project has'
  return notFound(`${whose} no settlement of that id.`)
}
