import type { LedgerStore } from '../ledger/ledger.js'
import { keepPrivateOnHead } from './cache-control.js'
import { removeConditions } from './conditional-requests.js'
import type { Exit } from './exits.js'
import { attachPayment, endUnsettled, keepPaid, markDelivered } from './payment-attempt.js'
import type { ReservedAttempt } from './payment-attempt.js'
import { paymentResponseHeaders, setPaymentResponse } from './respond.js'
import { recordResponse, serializeResponse } from './stored-response.js'
import { refuseWaiver } from './waiver.js'

/** The `upfront` flow: settles the payment, then runs the handler, which may stream. */
export async function settleThenRun(
  context: { readonly ledger: Pick<LedgerStore, 'deliveryName'> },
  attempt: ReservedAttempt,
): Promise<Exit> {
  const { req, res, next, claim, reservation } = attempt
  const settlement = await reservation.settle()
  if (!settlement.success) return endUnsettled(attempt, settlement)
  if (res.destroyed) {
    await reservation.reopen()
    return { kind: 'over' }
  }
  // Stored without a body until the handler's response is known.
  const headers = paymentResponseHeaders(settlement)
  await keepPaid(context, attempt, serializeResponse({ status: 200, headers, body: undefined }))
  await markDelivered(attempt)

  const { transaction } = settlement
  attachPayment(attempt, { payer: reservation.payer, transaction, waive: refuseWaiver })
  removeConditions(req)
  const recorded = claim.hasKey ? recordResponse(res) : undefined
  setPaymentResponse(res, settlement)
  keepPrivateOnHead(res)
  next()
  if (recorded !== undefined) await claim.finish(serializeResponse(await recorded))
  return { kind: 'over' }
}
