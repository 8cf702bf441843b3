/** Routes of a project that an operator uses for that project, or for the operator's own webhooks. */
import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import { EVERY_PROJECT } from '../ledger/index.js'
import { OPERATOR, OPERATOR_EVENTS } from '../ledger/webhooks.js'
import type { Project } from '../merchants/project.js'
import { RequestProblem } from '../http/respond-problem.js'
import { actFor } from '../router/acting.js'
import type { Endpoints } from '../router/endpoints.js'
import { refundEndpoints, refundRoutes } from '../router/refund-routes.js'
import { isRecordId } from '../router/settlement-query.js'
import { webhookEndpoints, webhookRoutes } from '../router/webhook-routes.js'
import { adminOf } from './admin.js'
import { noSuchProject } from './changes.js'
import type { AdminContext } from './context.js'
import { isStoredId } from './project-ids.js'

/** The endpoints of {@link actingRoutes}. */
export function actingEndpoints(prefix: string): Endpoints {
  return {
    ...webhookEndpoints(prefix),
    ...webhookEndpoints(`${prefix}/projects/{project}`),
    ...refundEndpoints(`${prefix}/settlements/{id}`),
  }
}

/** `/api/v2/admin/projects/{id}/webhooks`, `…/settlements/{id}/refunds`, and the operator's own `…/webhooks`. */
export function actingRoutes(context: AdminContext): Router {
  const router = express.Router()
  const actAs = (find: (req: Request) => Promise<Project>): RequestHandler =>
    function act(req, res, next) {
      find(req)
        .then((project) => actForProject(context, res, project))
        .then(() => next(), next)
    }
  router.use(
    '/webhooks',
    actAs(async () => ({ id: OPERATOR, tokenHashes: [] })),
    webhookRoutes(context, OPERATOR_EVENTS),
  )
  router.use(
    '/projects/:project/webhooks',
    actAs((req) => findProject(context, String(req.params['project']))),
    webhookRoutes(context),
  )
  router.use(
    '/settlements/:id/refunds',
    actAs((req) => findPayee(context, String(req.params['id']))),
    refundRoutes(context),
  )
  return router
}

function actForProject({ networks }: AdminContext, res: Response, project: Project): void {
  const accepts = networks.flatMap(({ assets }) => assets)
  actFor(res, { admin: adminOf(res).name, project, accepts })
}

/** Finds a project as the ledger has it now. @throws {@link RequestProblem} 404 */
async function findProject({ directory, ledger }: AdminContext, id: string): Promise<Project> {
  const configured = directory.isConfigured(id) && directory.find(id)
  if (configured) return configured
  const stored = isStoredId(id) ? await ledger.projects.findProject(id) : undefined
  if (stored === undefined) throw noSuchProject()
  return directory.find(id) ?? { id, tokenHashes: [] }
}

/** Finds the project of a settlement, also of one that is deleted. @throws {@link RequestProblem} 404 */
async function findPayee({ directory, ledger }: AdminContext, id: string): Promise<Project> {
  const query = { project: EVERY_PROJECT, id, limit: 1 } as const
  const [record] = isRecordId(id) ? await ledger.payments.list(query) : []
  const project = record?.project
  if (project !== undefined) return directory.find(project) ?? { id: project, tokenHashes: [] }
  throw new RequestProblem('not_found', 'There is no settlement of that id.')
}
