import { isClosed, onceClosed } from '../../shared/http/once-closed.js'
import { onAbort } from '../../shared/http/on-abort.js'
import type { OpenRequests } from '../../shared/http/open-requests.js'
import { keepPrivateOnHead } from '../respond/cache-control.js'
import { removeConditions } from '../respond/conditional-requests.js'
import type { Exit } from './exits.js'
import { HeldResponse } from '../hold/held-response.js'
import {
  attachPayment,
  endReserved,
  markDelivered,
  markUndelivered,
  type ReservedAttempt,
} from './payment-attempt.js'
import { refuseCharge } from '../route/meter.js'
import {
  paymentResponseHeaders,
  respondRouteProblem,
  setPaymentResponse,
} from '../respond/respond.js'
import { recordResponse, serializeResponse } from '../respond/stored-response.js'
import { refuseWaiver } from './waiver.js'

/** The response to a buyer whose handler has not begun to answer when the gateway closes. */
const CUT_OFF = {
  code: 'shutting_down',
  detail:
    'The server is shutting down before it has answered. The payment is settled: PAYMENT-RESPONSE names the transaction, by which the seller finds it.',
} as const

/** The `upfront` flow: settles the payment, then runs the handler, which may stream. */
export async function settleThenRun(
  { requests }: { readonly requests: OpenRequests },
  attempt: ReservedAttempt,
): Promise<Exit> {
  const { req, res, next, keys, reservation } = attempt
  const settlement = await reservation.settle()
  if (!settlement.success) return endReserved(attempt, settlement)
  if (isClosed(res)) {
    await reservation.reopen()
    return { kind: 'over' }
  }
  if (requests.cutOff.aborted) {
    await reservation.reopen()
    setPaymentResponse(res, settlement)
    return { kind: 'shutting_down' }
  }
  // Stored without a body until the handler's response is known.
  const headers = paymentResponseHeaders(settlement)
  const answer = serializeResponse({ status: 200, headers, body: undefined })
  await keys.keepPaid(answer, reservation.lock)
  await markDelivered(attempt, settlement)
  if (isClosed(res)) {
    await markUndelivered(attempt)
    return { kind: 'over' }
  }

  const { transaction } = settlement
  const { payer } = reservation
  attachPayment(attempt, { payer, transaction, waive: refuseWaiver, charge: refuseCharge })
  removeConditions(req)
  const recorded = keys.hasId ? recordResponse(res) : undefined
  setPaymentResponse(res, settlement)
  keepPrivateOnHead(res)
  let isCutOff = false
  const remove = onAbort(requests.cutOff, () => {
    if (res.headersSent) return
    isCutOff = true
    new HeldResponse(res, { maxHeldBytes: 0 }).replace(() => respondRouteProblem(res, CUT_OFF))
  })
  onceClosed(res, remove)
  next()
  if (recorded === undefined) return { kind: 'over' }
  const response = await recorded
  if (!isCutOff) keys.give(serializeResponse(response))
  return { kind: 'over' }
}
