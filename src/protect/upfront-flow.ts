import { isClosed } from '../http/once-closed.js'
import { keepPrivateOnHead } from './cache-control.js'
import { removeConditions } from './conditional-requests.js'
import type { Exit } from './exits.js'
import { attachPayment, endUnsettled } from './payment-attempt.js'
import { markDelivered, markUndelivered, type ReservedAttempt } from './payment-attempt.js'
import { paymentResponseHeaders, setPaymentResponse } from './respond.js'
import { recordResponse, serializeResponse } from './stored-response.js'

/** The `upfront` flow: settles the payment, then runs the handler, which may stream. */
export async function settleThenRun(attempt: ReservedAttempt): Promise<Exit> {
  const { req, res, next, claim, reservation } = attempt
  const settlement = await reservation.settle()
  if (!settlement.success) return endUnsettled(attempt, settlement)
  if (isClosed(res)) {
    await reservation.reopen()
    return { kind: 'over' }
  }
  // Stored without a body until the handler's response is known.
  const headers = paymentResponseHeaders(settlement)
  await claim.keep(serializeResponse({ status: 200, headers, body: undefined }))
  await markDelivered(attempt)
  if (isClosed(res)) {
    await markUndelivered(attempt)
    return { kind: 'over' }
  }

  attachPayment(attempt, { payer: reservation.payer, transaction: settlement.transaction })
  removeConditions(req)
  const recorded = claim.hasKey ? recordResponse(res) : undefined
  setPaymentResponse(res, settlement)
  keepPrivateOnHead(res)
  next()
  if (recorded !== undefined) await claim.finish(serializeResponse(await recorded))
  return { kind: 'over' }
}
