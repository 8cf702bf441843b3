import express, { type RequestHandler } from 'express'
import type { MountedApi } from '../router/context.js'
import type { Endpoints } from '../router/endpoints.js'
import { actingEndpoints, actingRoutes } from './acting-routes.js'
import { auditRoutes } from './audit-routes.js'
import { identifyAdmin, requireAdmin } from './authenticate-admin.js'
import type { AdminContext } from './context.js'
import { operationRoutes } from './operation-routes.js'
import { projectRoutes } from './project-routes.js'
import { streamEndpoints } from '../router/streams/stream-routes.js'
import { viewEndpoints } from '../router/views/view-routes.js'
import { tokenRoutes } from './token-routes.js'
import { adminSettlements, adminStreams, adminViews } from './view-routes.js'

const PREFIX = '/api/v2/admin'

/** The methods of each endpoint. Every new one is registered here, and routed below. */
const ENDPOINTS: Endpoints = {
  '/api/v2/admin/projects': ['GET', 'POST'],
  '/api/v2/admin/projects/{id}': ['GET', 'PATCH', 'DELETE'],
  '/api/v2/admin/projects/{id}/tokens': ['GET', 'POST'],
  '/api/v2/admin/projects/{id}/tokens/{tokenId}': ['DELETE'],
  '/api/v2/admin/audit-log': ['GET'],
  '/api/v2/admin/settlements': ['GET'],
  '/api/v2/admin/settlements/{id}': ['GET'],
  ...viewEndpoints(PREFIX),
  ...streamEndpoints(PREFIX),
  ...actingEndpoints(PREFIX),
  '/api/v2/admin/relayers': ['GET'],
  '/api/v2/admin/networks': ['GET'],
}

/**
 * Makes the admin API, `/api/v2/admin/*`: what an operator sees and changes, across all projects.
 *
 * @param identifySession - Finds the admin of a request that has no token.
 */
export function createAdminApi(
  context: AdminContext,
  identifySession?: RequestHandler,
): MountedApi {
  const identify = express.Router()
  identify.use(identifyAdmin(context.adminTokens))
  if (identifySession !== undefined) identify.use(identifySession)
  const router = express.Router()
  router.use(requireAdmin(context.logger))
  router.use(actingRoutes(context))
  router.use('/projects', tokenRoutes(context))
  router.use('/projects', projectRoutes(context))
  router.use('/audit-log', auditRoutes(context))
  router.use('/settlements', adminSettlements(context))
  router.use(adminViews(context))
  router.use(adminStreams(context))
  router.use(operationRoutes(context))
  return {
    prefix: PREFIX,
    endpoints: ENDPOINTS,
    identify,
    routes: router,
    async describe() {
      const { describeAdminApi } = await import('./openapi/describe-admin-api.js')
      return describeAdminApi()
    },
  }
}
