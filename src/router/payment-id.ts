import { fingerprintOf, idempotencyKey } from '../ledger/idempotency.js'
import type { IdempotencyStore } from '../ledger/idempotency.js'
import type { Reservation } from '../facilitator/facilitator.js'
import type { Parsed } from '../protocol/document.js'
import { readPaymentId } from '../protocol/payment-identifier.js'
import { parsePaymentSubmission } from '../protocol/payment.js'
import type { PaymentSubmission, SettleResponse } from '../protocol/payment.js'
import { RequestProblem } from './problem-response.js'

/** A payment to verify or settle, and the id that its payer gave it. */
export interface Submission extends PaymentSubmission {
  readonly paymentId: string | undefined
}

/** Reads the body of verify and settle, with what we use of its extensions. */
export function parseSubmission(body: unknown): Parsed<Submission> {
  const parsed = parsePaymentSubmission(body)
  if (!parsed.ok) return parsed
  const { paymentPayload, paymentRequirements } = parsed.value
  const id = readPaymentId(paymentPayload)
  if (id.ok)
    return { ok: true, value: { paymentPayload, paymentRequirements, paymentId: id.value } }
  const errors = id.errors.map((error) => ({ ...error, path: `paymentPayload.${error.path}` }))
  return { ok: false, errors }
}

/** A payment that is about to be settled. */
interface BoundPayment {
  readonly project: string
  readonly submission: Submission
  readonly reservation: Reservation
}

/**
 * Binds the id of a payment to it, for its project: another payment with this id is refused.
 *
 * More is not done for an id here. It is the payer's, not our caller's: were a settled payment
 * answered with success once more for its id, the payer could have every copy of it served by a
 * resource server that keeps no book of its own. Our caller's word is the `Idempotency-Key`.
 *
 * @throws {@link RequestProblem} where another payment has the id; the reservation is released.
 */
export async function bindPaymentId(store: IdempotencyStore, payment: BoundPayment): Promise<void> {
  const { submission, reservation } = payment
  const isBound = await tryToBind(store, payment).catch(async (error: unknown) => {
    await reservation.release()
    throw error
  })
  if (isBound) return
  await reservation.release()
  const { network } = submission.paymentRequirements
  const errorReason = 'payment_identifier_conflict'
  const refusal: SettleResponse = { success: false, errorReason, transaction: '', network }
  throw new RequestProblem(
    {
      status: 409,
      code: 'idempotency_conflict',
      detail: 'Another payment has this payment-identifier: nothing was sent for this one.',
    },
    { ...refusal },
  )
}

async function tryToBind(
  store: IdempotencyStore,
  { project, submission }: BoundPayment,
): Promise<boolean> {
  if (submission.paymentId === undefined) return true
  const { extensions: _extensions, ...payment } = submission.paymentPayload
  const begun = await store.begin({
    key: idempotencyKey('payment', project, submission.paymentId),
    fingerprint: fingerprintOf(payment),
  })
  if (begun.state === 'fresh') await begun.claim.pause()
  return begun.state !== 'conflict'
}
