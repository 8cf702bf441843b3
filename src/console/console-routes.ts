import { join } from 'node:path'
import express, { type RequestHandler } from 'express'
import { ipKeyGenerator } from 'express-rate-limit'
import { ownPackage } from '../http/own-package.cjs'
import type { MountedApi, RouterContext } from '../router/context.js'
import type { Endpoints } from '../router/endpoints.js'
import { setProject } from '../router/authenticate.js'
import { pageRoutes } from '../router/page-routes.js'
import { setLimitKey } from '../router/rate-limit.js'
import { securityHeaders } from '../router/security-headers.js'
import { setAdmin } from './admin.js'
import { createAdminApi } from './admin-routes.js'
import type { AdminContext } from './context.js'
import { ConsoleSessions } from './session/console-sessions.js'
import { SessionAccess } from './session/session-access.js'
import { sessionRoutes, type SessionContext } from './session/session-routes.js'

const PREFIX = '/console'

const ENDPOINTS: Endpoints = {
  '/console': ['GET'],
  '/console/session': ['GET', 'POST', 'DELETE'],
  '/console/assets/{name}': ['GET'],
}

/** What operators have: the admin API, and the console, whose sessions open the merchants' API as well. */
export function mountConsole(
  context: AdminContext,
): Pick<RouterContext, 'mounted' | 'identifyMerchant'> {
  if (!context.console) return { mounted: [createAdminApi(context)] }
  const sessions = new ConsoleSessions({ ...context, store: context.ledger.sessions })
  const access = new SessionAccess(sessions)
  const identifyAdmin = access.identify((session, res) => {
    if (session.role === 'admin') setAdmin(res, session.admin)
    return session.role === 'admin'
  })
  const identifyMerchant = access.identify((session, res) => {
    if (session.role === 'merchant') setProject(res, session.project)
    return session.role === 'merchant'
  })
  const console = createConsole({ context, sessions, access })
  return { mounted: [createAdminApi(context, identifyAdmin), console], identifyMerchant }
}

/** The console, `/console/…`: its page, and its sessions. */
function createConsole(parts: SessionContext): MountedApi {
  const { folder } = ownPackage
  const identify: RequestHandler = (req, res, next) => {
    setLimitKey(res, `address:${ipKeyGenerator(req.ip ?? '')}`)
    securityHeaders(req, res, next)
  }
  const routes = express.Router()
  routes.use('/session', sessionRoutes(parts))
  routes.use(pageRoutes({ name: 'console', folder: folder && join(folder, 'dist', 'console') }))
  const describe = async () => (await import('./openapi/console-operations.js')).consoleOperations
  return { prefix: PREFIX, endpoints: ENDPOINTS, identify, routes, describe }
}
