import express, { type Router } from 'express'
import { respondJson } from '../http/respond-json.js'
import { RequestProblem } from '../http/respond-problem.js'
import type { LedgerRecord } from '../ledger/index.js'
import type { Payee } from './acting.js'
import { merchantOf } from './authenticate.js'
import type { Endpoint, RouterContext } from './context.js'
import { takesNoQuery } from './read-query.js'
import { refundTotals } from './refund-totals.js'
import { settlementOf } from './settlement-document.js'
import { isRecordId, readPage, readSettlementQuery } from './settlement-query.js'

/** `/api/v2/merchant/settlements`: what became of the project's payments. */
export function settlementRoutes(context: RouterContext): Router {
  const router = express.Router()
  router.get('/', respondJson(context, listSettlements))
  router.get('/:id', takesNoQuery, respondJson(context, findSettlement))
  return router
}

const listSettlements: Endpoint = async (context, req, res) => {
  const { ledger, networkNames } = context
  const merchant = merchantOf(res)
  const query = { ...readSettlementQuery(req), project: merchant.project }
  const { records, nextCursor } = await readPage(ledger, query)
  const totals = await refundTotals(ledger, records)
  return {
    settlements: records.map((record) => ({
      ...settlementOf(record, merchant, networkNames),
      ...totals.get(record.id),
    })),
    ...(nextCursor !== undefined && { nextCursor }),
  }
}

const findSettlement: Endpoint = async (context, req, res) => {
  const merchant = merchantOf(res)
  const record = await findRecord(context, merchant, String(req.params['id']))
  const totals = await refundTotals(context.ledger, [record])
  return { ...settlementOf(record, merchant, context.networkNames), ...totals.get(record.id) }
}

/** Finds a settlement of the merchant's project. @throws {@link RequestProblem} 404 */
export async function findRecord(
  { ledger }: RouterContext,
  { project }: Pick<Payee, 'project'>,
  id: string,
): Promise<LedgerRecord> {
  const [record] = isRecordId(id) ? await ledger.payments.list({ project, id, limit: 1 }) : []
  if (record !== undefined) return record
  throw new RequestProblem('not_found', 'This project has no settlement of that id.')
}
