/** The id that a payer gave a payment: extension `payment-identifier`, at verify and settle. */
import type { Response } from 'express'
import { claimantsOf } from '../../core/facilitator/claimant.js'
import { fingerprintOf, idempotencyKey } from '../../ledger/once/fingerprint.js'
import type { KeyClaim } from '../../ledger/once/once.js'
import { askUntilFree, type WaitContext } from '../../ledger/once/wait.js'
import { deliveredAnswer } from '../../ledger/delivered-answer.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { decodePayment, type Payment } from '../../shared/protocol/decoded-payment.js'
import type { SettleResponse, VerifyResponse } from '../../shared/protocol/payment.js'
import { merchantOf } from '../serve/authenticate.js'
import type { RouterContext } from '../context.js'
import type { KeyedRequest } from '../serve/repeatable-request.js'
import type { IdentifiedSubmission } from './submission.js'

/**
 * Makes the key of a payment: its id, in the scope of project and payer. Ids may be guessed: nobody takes
 * one from another payer. Where settle repeats answers, it claims the id before the payment is verified.
 *
 * @returns `undefined` for a payment without an id.
 */
export async function paymentIdKey(
  { facilitator }: Pick<RouterContext, 'facilitator'>,
  res: Response,
  submission: IdentifiedSubmission,
): Promise<KeyedRequest | undefined> {
  const { paymentId: id, paymentPayload, paymentRequirements } = submission
  if (id === undefined) return undefined
  const { extensions: _extensions, ...signed } = paymentPayload
  const { scheme, network, asset, payTo, amount } = paymentRequirements
  const decoded = decodePayment(paymentPayload, paymentRequirements, facilitator.formats)
  const { project, repeatSettlements } = merchantOf(res)
  const { presented, verified } = repeatSettlements
    ? await claimantsOf(facilitator, decoded)
    : { presented: decoded.key?.from ?? '' }
  const keyOf = (claimant: string): string => idempotencyKey('payment', project, claimant, id)
  const required = { scheme, network, asset, payTo, amount }
  return {
    key: keyOf(presented),
    verifiedKey: verified && keyOf(verified),
    // The requirements count: a payment for one item must not repeat the answer for a more expensive one.
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
 * @param claim - Claims the id where settle repeats answers.
 * @throws {@link RequestProblem} if another payment has the id.
 */
export async function bindPaymentId(
  { idempotency }: WaitContext,
  byId: KeyedRequest,
  claim: KeyClaim,
): Promise<void> {
  if (!(await claim.claimVerified())) throw byId.conflict()
  if (claim.hasKey) return
  const begun = await idempotency.begin(byId)
  if (begun.state === 'conflict') throw byId.conflict()
  if (begun.state === 'fresh') await begun.claim.pause()
}

/**
 * Tells whether a payment was settled under its id, so that settle would repeat its answer. Reads
 * only: it neither binds nor frees the id.
 */
export async function wasSettledForId(
  context: WaitContext & Pick<RouterContext, 'ledger'>,
  byId: KeyedRequest,
  { key }: Payment,
): Promise<boolean> {
  const known = await askUntilFree(context, byId, () => context.idempotency.look(byId))
  return known.state === 'paused'
    ? (await deliveredAnswer(context.ledger, known.kept, key)) !== undefined
    : known.state === 'done'
}

/**
 * Refuses to verify a payment if another payment has its id, because it could not be settled.
 *
 * @throws {@link RequestProblem}
 */
export async function requireFreeId(
  { idempotency }: WaitContext,
  byId: KeyedRequest,
): Promise<void> {
  const { state } = await idempotency.look({ ...byId, key: byId.verifiedKey ?? byId.key })
  if (state === 'conflict') throw conflict({ isValid: false, invalidReason: TAKEN })
}

const TAKEN = 'payment_identifier_conflict'

function conflict(refusal: VerifyResponse | SettleResponse): RequestProblem {
  const detail = 'Another payment has this payment-identifier: nothing was sent for this one.'
  return new RequestProblem('idempotency_conflict', detail, { ...refusal })
}
