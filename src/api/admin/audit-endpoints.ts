/** `/api/v2/admin/audit-log`: who has changed what, newest first. */
import { isoTime } from '../../ledger/time-zone.js'
import { z } from 'zod'
import type { AuditEntry } from '../../ledger/projects.js'
import { OPERATOR } from '../../ledger/webhooks.js'
import { defineEndpoint } from '../serve/define-endpoint.js'
import { namedProject } from '../serve/owner.js'
import { pageOf, cursorParameter, limitParameter } from '../serve/pages.js'
import type { AdminContext } from './context.js'
import { projectIdSchema } from './project-ids.js'
import { lazyDocuments } from '../serve/lazy-documents.js'

const POSITION = /^p([0-9]{1,15})$/

const documents = lazyDocuments(() => import('../documents/admin.js'))

export const auditEndpoints = [
  defineEndpoint({
    method: 'GET',
    path: '/api/v2/admin/audit-log',
    id: 'listAuditLog',
    tag: 'Admin: operations',
    access: 'admin',
    scope: 'read',
    summary: 'List who has changed what',
    description: 'Every change by an admin, newest first, in pages.',
    query: z.object({
      project: projectIdSchema.optional().meta({ description: 'Only changes of this project.' }),
      cursor: cursorParameter((name) => {
        const match = POSITION.exec(name)
        return match === null ? undefined : Number(match[1])
      }),
      limit: limitParameter('Entries', 100),
    }),
    responses: { 200: { description: 'A page.', document: documents('auditLog') } },
    async handle(context: AdminContext, { query: { project, cursor: after, limit } }) {
      const found = await context.ledger.projects.listAudit({ project, after, limit: limit + 1 })
      const { page, next } = pageOf(found, limit, ({ position }) => `p${position}`)
      return { entries: page.map((entry) => entryOf(context, entry)), ...next }
    },
  }),
]

/** Changes of the operator's own webhooks name no project. */
function entryOf(context: AdminContext, entry: AuditEntry) {
  const { at, position: _position, project, ...about } = entry
  return { ...about, ...(project !== OPERATOR && namedProject(context, project)), at: isoTime(at) }
}
