/** The id that a payer gave a payment: extension `payment-identifier`, at verify and settle. */
import type { Response } from 'express'
import { fingerprintOf, idempotencyKey } from '../../ledger/once/fingerprint.js'
import type { WaitContext } from '../../ledger/once/wait.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { decodePayment } from '../../shared/protocol/decoded-payment.js'
import type { SettleResponse, VerifyResponse } from '../../shared/protocol/payment.js'
import { merchantOf } from '../serve/authenticate.js'
import type { RouterContext } from '../context.js'
import type { KeyedRequest } from '../serve/repeatable-request.js'
import type { IdentifiedSubmission } from './submission.js'

/**
 * Makes the key of a payment: its id, in the scope of project and payer. Ids may be guessed: nobody takes
 * one from another payer.
 *
 * @returns `undefined` for a payment without an id.
 */
export function paymentIdKey(
  { facilitator }: Pick<RouterContext, 'facilitator'>,
  res: Response,
  submission: IdentifiedSubmission,
): KeyedRequest | undefined {
  const { paymentId: id, paymentPayload, paymentRequirements } = submission
  if (id === undefined) return undefined
  const { extensions: _extensions, ...signed } = paymentPayload
  const { scheme, network, asset, payTo, amount } = paymentRequirements
  const decoded = decodePayment(paymentPayload, paymentRequirements, facilitator.formats)
  const { project } = merchantOf(res)
  const required = { scheme, network, asset, payTo, amount }
  return {
    key: idempotencyKey('payment', project, decoded.key?.from ?? '', id),
    // The requirements count: an id of a payment for one item is not that of a more expensive one.
    fingerprint: fingerprintOf({ signed, required }),
    project,
    res,
    inProgress: 'The first request with this payment is not answered yet: send it again later.',
    conflict: () => conflict({ success: false, errorReason: TAKEN, transaction: '', network }),
  }
}

/**
 * Binds a verified payment to its id, so that no other payment of its payer can use that id.
 *
 * @throws {@link RequestProblem} if another payment has the id.
 */
export async function bindPaymentId(
  { idempotency }: WaitContext,
  byId: KeyedRequest,
): Promise<void> {
  const begun = await idempotency.begin(byId)
  if (begun.state === 'conflict') throw byId.conflict()
  if (begun.state === 'fresh') await begun.claim.pause()
}

/** Refuses to verify a payment if another payment has its id, because it could not be settled. */
export async function requireFreeId(
  { idempotency }: WaitContext,
  byId: KeyedRequest,
): Promise<void> {
  const { state } = await idempotency.look(byId)
  if (state === 'conflict') throw conflict({ isValid: false, invalidReason: TAKEN })
}

const TAKEN = 'payment_identifier_conflict'

function conflict(refusal: VerifyResponse | SettleResponse): RequestProblem {
  const detail = 'Another payment has this payment-identifier: nothing was sent for this one.'
  return new RequestProblem('idempotency_conflict', detail, { ...refusal })
}
