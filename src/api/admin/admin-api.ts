import type { RequestHandler } from 'express'
import { paymentLinkEndpoints } from '../checkouts/payment-link-endpoints.js'
import { refundEndpoints, refundListEndpoints } from '../refunds/refund-endpoints.js'
import { bindEndpoints, type MountedApi } from '../serve/serve-endpoints.js'
import { settlementSummary } from '../settlements/settlement-summary.js'
import { settlementEndpoints } from '../settlements/settlement-endpoints.js'
import { downloadEndpoint } from '../settlements/download/download-endpoint.js'
import { viewEndpoints } from '../settlements/views/view-endpoints.js'
import { webhookEndpoints } from '../webhooks/webhook-endpoints.js'
import { auditEndpoints } from './audit-endpoints.js'
import { identifyAdmin, requireAdmin } from './authenticate-admin.js'
import type { AdminContext } from './context.js'
import { operationEndpoints } from './operation-endpoints.js'
import {
  operatorPayments,
  operatorRefunds,
  operatorWebhooks,
  projectCheckouts,
  projectWebhooks,
} from './owners.js'
import { projectEndpoints } from './project-endpoints.js'
import { operatorTokens, tokenEndpoints } from './token-endpoints.js'

/** `/api/v2/admin/*`: what an operator sees and changes, across all projects. */
export const adminEndpoints = [
  ...projectEndpoints,
  ...tokenEndpoints(operatorTokens),
  ...auditEndpoints,
  ...settlementEndpoints(operatorPayments),
  settlementSummary(operatorPayments),
  ...viewEndpoints(operatorPayments),
  downloadEndpoint(operatorPayments),
  ...webhookEndpoints(operatorWebhooks),
  ...webhookEndpoints(projectWebhooks),
  ...paymentLinkEndpoints(projectCheckouts),
  ...refundEndpoints(operatorRefunds),
  ...refundListEndpoints(operatorPayments),
  ...operationEndpoints,
]

/**
 * Makes the admin API.
 *
 * @param identifySession - Finds the admin of a request that has no token.
 */
export function createAdminApi(
  context: AdminContext,
  identifySession?: RequestHandler,
): MountedApi {
  return {
    prefix: '/api/v2/admin',
    identify: [identifyAdmin(context.adminTokens), ...(identifySession ? [identifySession] : [])],
    endpoints: bindEndpoints(context, adminEndpoints, { admin: requireAdmin(context.logger) }),
  }
}
