/** Refunds, with who asked for them and why. */
import type { RefundRecord, RefundRequest } from '../../ledger/refunds.js'
import type { Merchant } from '../../core/merchants/project.js'
import type { RouterContext } from '../context.js'
import type { Access } from '../serve/define-endpoint.js'
import { refundDocument } from '../settlements/settlement-document.js'

export interface RefundReader extends Pick<Merchant, 'accepts'> {
  /** Operators see which of them has asked; merchants only that one has. */
  readonly access: Access
}

export async function refundDocuments(
  context: Pick<RouterContext, 'ledger' | 'networkNames'>,
  { accepts, access }: RefundReader,
  refunds: readonly RefundRecord[],
) {
  const requests = await context.ledger.refunds.requestsOf(refunds.map(({ id }) => id))
  return refunds.map((record) => {
    const request = shownRequest(requests.get(record.id), access)
    return refundDocument(context, { accepts, record, request })
  })
}

/** A merchant's own request without a reason is not noted. */
function shownRequest({ reason, requestedBy }: RefundRequest = {}, access: Access): RefundRequest {
  const operator = requestedBy && (access === 'admin' ? requestedBy : 'operator')
  return { ...(reason !== undefined && { reason }), requestedBy: operator ?? 'merchant' }
}
