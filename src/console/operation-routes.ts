/** What only an operator sees: relayers and networks. */
import express, { type Router } from 'express'
import { respondJson } from '../http/respond-json.js'
import { takesNoQuery } from '../router/read-query.js'
import type { AdminContext, AdminEndpoint } from './context.js'

/** `/api/v2/admin/relayers` and `/api/v2/admin/networks`. Both are empty with a remote facilitator. */
export function operationRoutes(context: AdminContext): Router {
  const router = express.Router()
  router.get('/relayers', takesNoQuery, respondJson(context, listRelayers))
  router.get('/networks', takesNoQuery, respondJson(context, listNetworks))
  return router
}

const listRelayers: AdminEndpoint = async ({ operations }) => ({
  relayers: await operations.relayers(),
})

const listNetworks: AdminEndpoint = async ({ operations }) => ({
  networks: await operations.networks(),
})
