/** Mounts the admin API and the console, whose sessions also open the merchants' API. */
import type { RequestHandler } from 'express'
import { ipKeyGenerator } from 'express-rate-limit'
import { FailedAttempts } from '../http/failed-attempts.js'
import { requireProject, setHolder } from '../router/authenticate.js'
import { builtFolder, pageEndpoints } from '../router/page-endpoints.js'
import { setLimitKey } from '../router/rate-limit.js'
import { securityHeaders } from '../router/security-headers.js'
import { bindEndpoints, type Mounted, type MountedApi } from '../router/serve-endpoints.js'
import { setAdmin } from './admin.js'
import { createAdminApi } from './admin-api.js'
import type { AdminContext } from './context.js'
import { merchantEndpoints } from './merchant-endpoints.js'
import { ConsoleSessions } from './session/console-sessions.js'
import { SessionAccess } from './session/session-access.js'
import { FAILURES, sessionEndpoints } from './session/session-endpoints.js'

const { page, asset } = pageEndpoints({
  path: '/console',
  tag: 'Console',
  id: 'getConsole',
  summary: 'Open the console',
  description: 'The page of operators and merchants.',
  folder: builtFolder('console'),
})

/** `/console/…`: the page, and its sessions. */
export const consoleEndpoints = [page, ...sessionEndpoints, asset]

/** Makes what an operator's tokens open. */
export function mountConsole(context: AdminContext): Mounted {
  if (context.adminTokens.length === 0) return {}
  const merchant = createMerchantApi(context)
  if (!context.console) return { mounted: [createAdminApi(context), merchant] }
  const sessions = new ConsoleSessions({ ...context, store: context.ledger.sessions })
  const access = new SessionAccess(sessions)
  const identifyAdmin = access.identify((session, res) => {
    if (session.role === 'admin') setAdmin(res, session.admin)
    return session.role === 'admin'
  })
  const identifyMerchant = access.identify((session, res) => {
    if (session.role === 'merchant') setHolder(res, session.holder)
    return session.role === 'merchant'
  })
  const failures = new FailedAttempts(FAILURES)
  const console: MountedApi = {
    prefix: page.path,
    identify,
    endpoints: bindEndpoints({ ...context, sessions, access, failures }, consoleEndpoints),
  }
  return { mounted: [createAdminApi(context, identifyAdmin), merchant, console], identifyMerchant }
}

/** The merchants' own API. Their API has identified the sender already. */
function createMerchantApi(context: AdminContext): MountedApi {
  return {
    prefix: '/api/v2/merchant',
    identify: (_req, _res, next) => next(),
    endpoints: bindEndpoints(context, merchantEndpoints, {
      merchant: requireProject(context.directory),
    }),
  }
}

const identify: RequestHandler = (req, res, next) => {
  setLimitKey(res, `address:${ipKeyGenerator(req.ip ?? '')}`)
  securityHeaders(req, res, next)
}
