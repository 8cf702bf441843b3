/** Mounts the admin API and the console, whose sessions also open the merchants' API. */
import { FailedAttempts } from '../../shared/http/failed-attempts.js'
import { requireProject, setHolder } from '../serve/authenticate.js'
import { builtFolder, pageEndpoints } from '../serve/page-endpoints.js'
import { countByAddress } from '../serve/rate-limit.js'
import { securityHeaders } from '../serve/security-headers.js'
import { bindEndpoints, type Mounted, type MountedApi } from '../serve/serve-endpoints.js'
import { setAdmin } from '../admin/admin.js'
import { createAdminApi } from '../admin/admin-api.js'
import type { AdminContext } from '../admin/context.js'
import { merchantEndpoints } from '../admin/merchant-endpoints.js'
import { ConsoleSessions } from './console-sessions.js'
import { SessionAccess } from './session-access.js'
import { FAILURES, sessionEndpoints } from './session-endpoints.js'

const { page, asset } = pageEndpoints({
  path: '/console',
  tag: 'Console',
  id: 'getConsole',
  summary: 'Open the console',
  description: 'The page of operators and merchants.',
  folder: builtFolder('console'),
})

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
    identify: [countByAddress, securityHeaders],
    endpoints: bindEndpoints({ ...context, sessions, access, failures }, consoleEndpoints),
  }
  return { mounted: [createAdminApi(context, identifyAdmin), merchant, console], identifyMerchant }
}

/** The merchants' own API. Their API has identified the sender already. */
function createMerchantApi(context: AdminContext): MountedApi {
  return {
    prefix: '/api/v2/merchant',
    identify: [],
    endpoints: bindEndpoints(context, merchantEndpoints, {
      merchant: requireProject(context.directory),
    }),
  }
}
