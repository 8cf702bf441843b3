import { paymentFields } from '../../ledger/payment-fields.js'
import type { Payment } from '../../shared/protocol/decoded-payment.js'
import type { RequestView } from '../route/request-view.js'

export interface LoggedRequest {
  readonly caller: {
    readonly view: Pick<RequestView, 'method' | 'path'>
    readonly requestId: string | undefined
  }
  readonly project?: string | undefined
  readonly payment?: Pick<Payment, 'key' | 'network'> | undefined
}

export function requestFields(logged: LoggedRequest): Readonly<Record<string, unknown>> {
  const { caller, project, payment } = logged
  const { view, requestId } = caller
  return {
    requestId,
    method: view.method,
    path: view.path,
    project,
    network: payment?.network?.caip2,
    ...(payment?.key && paymentFields({ ...payment.key, project })),
  }
}
