/** Asks a remote facilitator to settle a payment. */
import { onAbort } from '../../shared/http/on-abort.js'
import { fingerprintOf, idempotencyKey } from '../../ledger/once/fingerprint.js'
import { amountOf } from '../../ledger/index.js'
import type { Hex, SettleResponse } from '../../shared/protocol/payment.js'
import { parseUint256 } from '../../shared/protocol/primitives.js'
import { unsettledResponse } from '../../shared/protocol/reason-words.js'
import { termsOf, type RemoteContext, type RemotePayment } from './remote-payment.js'
import { requestOf, type RemoteRequest } from './remote-request.js'

/**
 * Asks a facilitator to settle a payment: the same charge of it is the same request, which may be repeated.
 *
 * @param failed - Its last transaction that failed: asking after it is another request.
 */
export async function askToSettle(
  context: RemoteContext,
  remote: RemotePayment,
  failed: Hex | undefined,
): Promise<SettleResponse> {
  const { facilitator, secret } = context
  const { payment, terms } = remote
  const request = chargedRequest(remote)
  const parts = [await secret(), fingerprintOf(request)]
  const asker = idempotencyKey(...parts, ...(failed === undefined ? [] : [failed]))
  const answering = facilitator.settle(request.payload, request.requirements, {
    ...(terms ?? termsOf(payment)),
    purchase: { ...terms?.purchase, asker },
  })
  return asCharged(context, remote, await untilClosed(context, remote, answering))
}

/** The charge, as a member of a success, where the amount of the payment is a maximum. */
function amountMember({ entry, payment }: RemotePayment): { readonly amount?: string } {
  return payment.format?.isMetered ? { amount: amountOf(entry).toString() } : {}
}

/** Of a payment whose amount is a maximum, the requirements say what to take (x402 `upto`). */
function chargedRequest(remote: RemotePayment): RemoteRequest {
  const request = requestOf(remote)
  return { ...request, requirements: { ...request.requirements, ...amountMember(remote) } }
}

/**
 * Checks that a facilitator says it has taken what was charged. If it took more, the payment pays for its response
 * nevertheless, and buyer and books are told what was charged. If it took less, the merchant was not paid.
 */
function asCharged(
  { log }: RemoteContext,
  remote: RemotePayment,
  response: SettleResponse,
): SettleResponse {
  const { amount: charged } = amountMember(remote)
  if (!response.success || charged === undefined) return response
  const { amount: taken, transaction } = response
  if (taken !== undefined && taken !== charged) log.otherAmount(charged, response)
  if (taken === undefined || (parseUint256(taken) ?? 0n) >= BigInt(charged))
    return { ...response, amount: charged }
  return pending(remote, transaction)
}

/** Waits for an answer; once the gateway closes, the outcome is unknown. */
async function untilClosed(
  { closed }: RemoteContext,
  remote: RemotePayment,
  answering: Promise<SettleResponse>,
): Promise<SettleResponse> {
  if (closed === undefined) return answering
  let remove: (() => void) | undefined
  const closing = new Promise<SettleResponse>((resolve) => {
    remove = onAbort(closed, () => resolve(pending(remote, '')))
  })
  return Promise.race([answering, closing]).finally(remove)
}

function pending({ payment, payer }: RemotePayment, transaction: string): SettleResponse {
  const { network } = payment.requirements
  return unsettledResponse({ reason: 'settlement_pending', transaction, network, payer })
}
