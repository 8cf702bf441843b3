/** What an operator sees of payments: those of all projects, or of one. */
import express, { type Request, type Router } from 'express'
import { z } from 'zod'
import { respondJson } from '../http/respond-json.js'
import { RequestProblem } from '../http/respond-problem.js'
import { EVERY_PROJECT, type LedgerQuery, type LedgerRecord } from '../ledger/index.js'
import { SETTLEMENTS_QUERY } from '../protocol/strict-document.js'
import { readQuery, takesNoQuery } from '../router/read-query.js'
import { refundTotals } from '../router/refund-totals.js'
import { settlementOf } from '../router/settlement-document.js'
import { isRecordId, readPage, readSettlementQuery } from '../router/settlement-query.js'
import { streamRoutes } from '../router/streams/stream-routes.js'
import type { ViewScope } from '../router/views/view-query.js'
import { viewRoutes } from '../router/views/view-routes.js'
import type { AdminContext, AdminEndpoint } from './context.js'
import { projectIdSchema } from './project-ids.js'

/** The query of a list: that of a project's own, and which project. */
const ADMIN_SETTLEMENTS_QUERY = {
  ...SETTLEMENTS_QUERY,
  known: [...SETTLEMENTS_QUERY.known, 'project'],
}

const scopeSchema = z.object({ project: projectIdSchema.optional() })

/** `/api/v2/admin/overview`, `revenue`, `funnel` and `latency`. */
export function adminViews(context: AdminContext): Router {
  return viewRoutes(context, { parameters: ['project'], scopeOf })
}

/** `/api/v2/admin/settlements.csv` and `events`. */
export function adminStreams(context: AdminContext): Router {
  return streamRoutes(context, {
    owner: 'operators',
    parameters: ['project'],
    scopeOf,
    documentOf: adminView,
  })
}

/** `/api/v2/admin/settlements`: as each project's own list, across projects. */
export function adminSettlements(context: AdminContext): Router {
  const router = express.Router()
  router.get('/', respondJson(context, listSettlements))
  router.get('/:id', takesNoQuery, respondJson(context, findSettlement))
  return router
}

const listSettlements: AdminEndpoint = async (context, req) => {
  const query: LedgerQuery = {
    ...readSettlementQuery(req, ADMIN_SETTLEMENTS_QUERY),
    project: projectOf(req),
  }
  const { records, nextCursor } = await readPage(context.ledger, query)
  const totals = await refundTotals(context.ledger, records)
  return {
    settlements: records.map((record) => ({
      ...adminView(context, record),
      ...totals.get(record.id),
    })),
    ...(nextCursor !== undefined && { nextCursor }),
  }
}

const findSettlement: AdminEndpoint = async (context, req) => {
  const id = String(req.params['id'])
  const query = { project: EVERY_PROJECT, id, limit: 1 } as const
  const [record] = isRecordId(id) ? await context.ledger.payments.list(query) : []
  if (record === undefined)
    throw new RequestProblem('not_found', 'There is no settlement of that id.')
  const totals = await refundTotals(context.ledger, [record])
  return { ...adminView(context, record), ...totals.get(id) }
}

/** A settlement with its project, which a project's own list omits. */
function adminView(context: AdminContext, record: LedgerRecord): object {
  const { project } = record
  const shown = settlementOf(record, { accepts: assetsOf(context) }, context.networkNames)
  return { ...(project !== undefined && { project }), ...shown }
}

function scopeOf(context: AdminContext, req: Request): ViewScope {
  return { project: projectOf(req), accepts: assetsOf(context) }
}

/** The project that is asked for. The view itself reads the rest of the query. */
function projectOf(req: Request): ViewScope['project'] {
  const given = { known: [...Object.keys(req.query)], tolerated: [] }
  return readQuery(req, scopeSchema, given).project ?? EVERY_PROJECT
}

function assetsOf({ networks }: AdminContext): ViewScope['accepts'] {
  return networks.flatMap(({ assets }) => assets)
}
