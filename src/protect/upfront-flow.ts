import { onAbort } from '../http/on-abort.js'
import type { OpenRequests } from '../http/open-requests.js'
import { keepPrivateOnHead } from './cache-control.js'
import { removeConditions } from './conditional-requests.js'
import { respondExit, type Exit } from './exits.js'
import { HeldResponse } from './held-response.js'
import { attachPayment, endUnsettled, markDelivered } from './payment-attempt.js'
import type { ReservedAttempt } from './payment-attempt.js'
import { paymentResponseHeaders, setPaymentResponse } from './respond.js'
import { recordResponse, serializeResponse } from './stored-response.js'

/** The `upfront` flow: settles the payment, then runs the handler, which may stream. */
export async function settleThenRun(
  { requests }: { readonly requests: OpenRequests },
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
  await claim.keep(serializeResponse({ status: 200, headers, body: undefined }))
  await markDelivered(attempt)

  attachPayment(attempt, { payer: reservation.payer, transaction: settlement.transaction })
  removeConditions(req)
  const recorded = claim.hasKey ? recordResponse(res) : undefined
  setPaymentResponse(res, settlement)
  keepPrivateOnHead(res)
  // A buyer of a handler that does not begin in time is told by the headers what was paid.
  res.once(
    'close',
    onAbort(requests.cutOff, () => {
      if (res.headersSent) return
      new HeldResponse(res, { maxHeldBytes: 0 }).replace(() =>
        respondExit(res, { kind: 'shutting_down' }),
      )
    }),
  )
  next()
  if (recorded !== undefined) await claim.finish(serializeResponse(await recorded))
  return { kind: 'over' }
}
