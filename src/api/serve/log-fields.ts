import type { Request, Response } from 'express'
import { responseRequestId } from '../../shared/http/request-id.js'
import { paymentFields } from '../../ledger/payment-fields.js'
import { decodePayment } from '../../shared/protocol/decoded-payment.js'
import type { PaymentPayload, PaymentRequirements } from '../../shared/protocol/payment.js'
import type { SchemeFormats } from '../../core/schemes/scheme.js'
import { projectOf } from './authenticate.js'
import type { RouterContext } from '../context.js'

/** What a line of the log says of a request: its id, path, project and payment. */
export function requestFields(
  { facilitator }: Pick<RouterContext, 'facilitator'>,
  req: Request,
  res: Response,
): Readonly<Record<string, unknown>> {
  const project = projectOf(res)?.id
  return {
    requestId: responseRequestId(res),
    method: req.method,
    path: req.baseUrl + req.path,
    project,
    ...fieldsOfBody(req.body, { formats: facilitator.formats, project }),
  }
}

/** The payment in a body, if there is one that can be read. */
function fieldsOfBody(
  body: unknown,
  { formats, project }: { readonly formats: SchemeFormats; readonly project: string | undefined },
): object {
  const { paymentPayload, paymentRequirements } = (body ?? {}) as Partial<Record<string, unknown>>
  try {
    const { key, network } = decodePayment(
      paymentPayload as PaymentPayload,
      paymentRequirements as PaymentRequirements,
      formats,
    )
    return key === undefined ? { network: network?.caip2 } : paymentFields({ ...key, project })
  } catch {
    return {}
  }
}
