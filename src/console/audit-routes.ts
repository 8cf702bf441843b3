import express, { type Router } from 'express'
import { z } from 'zod'
import { respondJson } from '../http/respond-json.js'
import type { AuditEntry } from '../ledger/projects.js'
import { OPERATOR } from '../ledger/webhooks.js'
import { readQuery } from '../router/read-query.js'
import type { AdminContext, AdminEndpoint } from './context.js'
import { cursorSchema, isoTime, limitSchema, pageOf } from './pages.js'
import { projectIdSchema } from './project-ids.js'

export const AUDIT_QUERY = { known: ['project', 'cursor', 'limit'], tolerated: ['_'] }

/** Reads the query of the audit log. */
export const auditSchema = z.object({
  project: projectIdSchema.optional(),
  cursor: cursorSchema.optional(),
  limit: limitSchema,
})

/** `/api/v2/admin/audit-log`: who has changed what, newest first. */
export function auditRoutes(context: AdminContext): Router {
  const router = express.Router()
  router.get('/', respondJson(context, listAudit))
  return router
}

const listAudit: AdminEndpoint = async ({ ledger }, req) => {
  const { project, cursor, limit } = readQuery(req, auditSchema, AUDIT_QUERY)
  const found = await ledger.projects.listAudit({ project, after: cursor, limit: limit + 1 })
  const { page, next } = pageOf(found, limit, ({ position }) => position)
  return { entries: page.map(entryOf), ...next }
}

/** Changes of the operator's own webhooks name no project. */
function entryOf({ at, position: _position, project, ...entry }: AuditEntry) {
  return { ...entry, ...(project !== OPERATOR && { project }), at: isoTime(at) }
}
