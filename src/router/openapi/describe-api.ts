/** All operations of the API itself. What other folders mount is described by them. */
import type { Operations } from './operation.js'
import { merchantOperations, settlementOperations } from './operations/merchant-operations.js'
import { MERCHANT } from './operations/owner.js'
import { paymentOperations } from './operations/payment-operations.js'
import { docsOperations, ucpOperations } from './operations/public-operations.js'
import { refundOperations } from './operations/refund-operations.js'
import { reportOperations, streamOperations } from './operations/report-operations.js'
import { webhookOperations } from './operations/webhook-operations.js'
import { WEBHOOK_EVENTS } from '../../ledger/webhooks.js'

/** Describes the API of `gatewayRouter`. */
export function describeApi(): Operations {
  return {
    ...paymentOperations,
    ...merchantOperations,
    ...settlementOperations(MERCHANT),
    ...streamOperations(MERCHANT),
    ...refundOperations(MERCHANT),
    ...webhookOperations({ ...MERCHANT, events: WEBHOOK_EVENTS }),
    ...reportOperations(MERCHANT),
    ...ucpOperations,
    ...docsOperations,
  }
}
