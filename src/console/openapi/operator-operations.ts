/** What only an operator sees: relayers, networks, and the audit log. */
import type { Operations } from '../../router/openapi/operation.js'
import { OF_ADMIN } from '../../router/openapi/problems.js'
import { queryParameters } from '../../router/openapi/request-schema.js'
import { AUDIT_QUERY, auditSchema } from '../audit-routes.js'
import { auditLog, networkList, relayerList } from './documents.js'
import { PAGE } from './project-operations.js'

const common = { tag: 'Admin: operations', access: 'admin', problems: OF_ADMIN } as const

/** `/api/v2/admin/relayers`, `networks` and `audit-log`. */
export const operatorOperations: Operations = {
  'GET /api/v2/admin/relayers': {
    ...common,
    id: 'listRelayers',
    summary: 'List the accounts that pay for gas',
    description:
      'Balances, how far they go, and pending transactions. Nodes are asked once in 3 s.',
    responses: { 200: { description: 'The relayers.', document: relayerList } },
  },
  'GET /api/v2/admin/networks': {
    ...common,
    id: 'listNetworks',
    summary: 'List the health of networks',
    description: 'Whether each network’s node works. Nodes are asked once in 3 s.',
    responses: { 200: { description: 'The networks.', document: networkList } },
  },
  'GET /api/v2/admin/audit-log': {
    ...common,
    id: 'listAuditLog',
    summary: 'List who has changed what',
    description: 'Every change by an admin, newest first, in pages.',
    query: queryParameters(
      auditSchema,
      { project: { description: 'Only changes of this project.' }, ...PAGE },
      AUDIT_QUERY,
    ),
    responses: { 200: { description: 'A page.', document: auditLog } },
  },
}
