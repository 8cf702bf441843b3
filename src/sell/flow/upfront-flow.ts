import { onceClosed } from '../../shared/http/once-closed.js'
import { onAbort } from '../../shared/http/on-abort.js'
import type { OpenRequests } from '../../shared/http/open-requests.js'
import { keepPrivateOnHead } from '../respond/cache-control.js'
import { removeConditions } from '../respond/conditional-requests.js'
import { HeldResponse } from '../hold/held-response.js'
import { attachPayment, type Exchange } from './exchange.js'
import { deliver, give, receiptFor, reopen, settle, undeliver } from './payment-attempt.js'
import type { Delivered, Delivery } from './payment-attempt.js'
import { refuseCharge } from '../route/up-to-charge.js'
import { respondRouteProblem, setReceipt } from '../respond/respond.js'
import { recordResponse, serializeResponse } from '../respond/stored-response.js'
import { refuseWaiver } from './waiver.js'

/** The response to a buyer whose handler has not begun to answer when the gateway closes. */
const CUT_OFF = {
  code: 'shutting_down',
  detail:
    'The server is shutting down before it has answered. The payment is settled: PAYMENT-RESPONSE names the transaction, by which the seller finds it.',
} as const

/** The `upfront` flow: settles the payment, then runs the handler, which may stream. */
export function streamAnswer(
  { requests }: { readonly requests: OpenRequests },
  exchange: Exchange,
): Delivery {
  return {
    isFull: false,
    async run(attempt) {
      const settled = await settle(attempt)
      if (settled.kind !== 'settled') return settled
      if (attempt.caller.isGone) return reopen(settled)
      if (requests.cutOff.aborted) {
        await reopen(settled)
        setReceipt(exchange.res, settled.receipt)
        return { kind: 'shutting_down' }
      }
      // Stored without a body until the handler's response is known.
      const { receipt: headers } = settled
      const answer = serializeResponse({ status: 200, headers, body: undefined })
      const delivered = await deliver(settled, answer)
      if (attempt.caller.isGone) return undeliver(delivered)
      await runHandler(requests, delivered, exchange)
      return { kind: 'over' }
    },
  }
}

async function runHandler(
  { cutOff }: OpenRequests,
  delivered: Delivered,
  exchange: Exchange,
): Promise<void> {
  const { req, res, next } = exchange
  const { keys, reservation, receipt, caller } = delivered
  const { payer } = reservation
  const { transaction } = delivered.settlement
  const parties = { payer, transaction, waive: refuseWaiver, charge: refuseCharge }
  attachPayment(exchange, delivered, parties)
  removeConditions(req)
  const recorded = keys.id.hasKey ? recordResponse(res) : undefined
  setReceipt(res, receipt)
  // Before the head is written, it is not known whether anything is delivered.
  const sign = (): void => {
    if (res.statusCode < 400 && !caller.isGone) res.set(receiptFor(delivered))
  }
  keepPrivateOnHead(res, delivered.offer.issuer && sign)
  let isCutOff = false
  const remove = onAbort(cutOff, () => {
    if (res.headersSent) return
    isCutOff = true
    new HeldResponse(res, { maxHeldBytes: 0 }).replace(() => respondRouteProblem(res, CUT_OFF))
  })
  onceClosed(res, remove)
  next()
  if (recorded === undefined) return
  const response = await recorded
  if (!isCutOff) give(delivered, serializeResponse(response, receipt))
}
