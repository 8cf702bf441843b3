/** All operations of the admin API. */
import { OPERATOR_EVENTS, WEBHOOK_EVENTS } from '../../ledger/webhooks.js'
import type { Operations } from '../../router/openapi/operation.js'
import { settlementOperations } from '../../router/openapi/operations/merchant-operations.js'
import { ADMIN } from '../../router/openapi/operations/owner.js'
import { refundOperations } from '../../router/openapi/operations/refund-operations.js'
import {
  reportOperations,
  streamOperations,
} from '../../router/openapi/operations/report-operations.js'
import { webhookOperations } from '../../router/openapi/operations/webhook-operations.js'
import { operatorOperations } from './operator-operations.js'
import { projectOperations, PROJECT_ID } from './project-operations.js'

/** Describes the admin API. */
export function describeAdminApi(): Operations {
  return {
    ...projectOperations,
    ...settlementOperations(ADMIN),
    ...streamOperations(ADMIN),
    ...refundOperations(ADMIN),
    ...reportOperations(ADMIN),
    ...operatorOperations,
    ...webhookOperations({
      ...ADMIN,
      events: OPERATOR_EVENTS,
      idOf: (id) => ADMIN.idOf(`${id}OfOperator`),
    }),
    ...webhookOperations({
      ...ADMIN,
      prefix: '/api/v2/admin/projects/{project}',
      events: WEBHOOK_EVENTS,
      path: { project: PROJECT_ID },
    }),
  }
}
