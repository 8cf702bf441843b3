import type { Request } from 'express'
import { paymentFields } from '../../ledger/payment-fields.js'
import type { Payment } from '../../shared/protocol/decoded-payment.js'

/** Log fields of a request to a paid route. */
export interface LoggedRequest {
  readonly caller: { readonly req: Request; readonly requestId: string | undefined }
  /** Id of the project that is paid. */
  readonly project?: string | undefined
  readonly payment?: Pick<Payment, 'key' | 'network'> | undefined
}

/** The log fields of a request: its id, path and payment. */
export function requestFields(logged: LoggedRequest): Readonly<Record<string, unknown>> {
  const { caller, project, payment } = logged
  const { req, requestId } = caller
  return {
    requestId,
    method: req.method,
    // Without the query, which may hold what is secret.
    path: req.baseUrl + req.path,
    project,
    network: payment?.network?.caip2,
    ...(payment?.key && paymentFields({ ...payment.key, project })),
  }
}
