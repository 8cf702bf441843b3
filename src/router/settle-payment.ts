import type { Request, Response } from 'express'
import { isRefusal, refusalResponse } from '../schemes/scheme.js'
import type { ReservingFacilitator } from '../facilitator/facilitator.js'
import type { IdempotencyClaim } from '../idempotency/store.js'
import { decodePayment } from '../protocol/decoded-payment.js'
import type { SettleResponse, VerifyResponse } from '../protocol/payment.js'
import type { Reason } from '../protocol/reasons.js'
import {
  answerForKey,
  answerOnce,
  type AnswerOnceContext,
  type KeyedRequest,
  type OnceAnswer,
} from './answer-once.js'
import { merchantOf } from './authenticate.js'
import { readBody } from './json-body.js'
import {
  bindPaymentId,
  keyOfPayment,
  parseSubmission,
  requireFreeId,
  wasSettledForId,
  type Submission,
} from './payment-id.js'
import { RequestProblem } from '../http/problem-response.js'
import { appliedRateOf, type QuoteContext } from './quote-fiat.js'

/** What verifying and settling take of their gateway. */
export interface SettlePaymentContext extends AnswerOnceContext, Pick<QuoteContext, 'quotes'> {
  readonly facilitator: ReservingFacilitator
}

/** A transaction that was sent, or offered to the node, and did not pay the merchant. */
const FAILED_TRANSACTIONS: readonly Reason[] = [
  'invalid_transaction_state',
  'invalid_exact_evm_transfer_event_mismatch',
]

/**
 * What became of the payment is not decided: the ledger is asked again. Also one that was settled may
 * be free once more, where whoever settled it was gone before its answer.
 */
const UNDECIDED: readonly Reason[] = [
  'settlement_pending',
  'duplicate_settlement',
  'invalid_exact_evm_nonce_already_used',
]

/**
 * What no time can cure: what is asked is wrong in itself, or over. All other reasons may pass, as a
 * lack of money does, or a token that is paused: the same request is tried again.
 */
const FINAL: readonly Reason[] = [
  'invalid_payload',
  'invalid_x402_version',
  'unsupported_scheme',
  'invalid_network',
  'invalid_payment_requirements',
  'invalid_exact_evm_payload_recipient_mismatch',
  'invalid_exact_evm_payload_authorization_value_mismatch',
  'invalid_exact_evm_payload_authorization_valid_before',
  'invalid_transaction_state',
  'invalid_exact_evm_transfer_event_mismatch',
  'eip6492_factory_not_allowed',
  'unsupported_asset',
  'accepted_mismatch',
  'pay_to_mismatch',
  'resource_mismatch',
  'quote_mismatch',
  'quote_expired',
]

const isUndecided = (reason: Reason): boolean => UNDECIDED.includes(reason)
const isPassing = (reason: Reason): boolean => !FINAL.includes(reason)

/**
 * Answers `POST /api/v2/payment/verify`.
 *
 * A payment whose settlement would be repeated for its id is as good as it was: whoever verifies
 * first, and then settles, could not ask for it again otherwise.
 */
export async function verifyPayment(
  context: SettlePaymentContext,
  req: Request,
  res: Response,
): Promise<VerifyResponse> {
  const merchant = merchantOf(res)
  const { project } = merchant
  const submission = readBody(req, parseSubmission)
  const payment = decodePayment(submission.paymentPayload, submission.paymentRequirements)
  const request = { req, res, project, endpoint: 'verify', asked: submission }
  const byId = keyOfPayment({ res, project, submission })
  return answerOnce<VerifyResponse>(context, request, async () => {
    if (byId !== undefined) await requireFreeId(context, byId)
    const answer = await context.facilitator.verifyPayment(payment, merchant)
    if (answer.isValid) return { answer, isFinal: true }
    const isRepeated = merchant.repeatSettlements && isUndecided(answer.invalidReason)
    if (!isRepeated || byId === undefined || !(await wasSettledForId(context, byId)))
      return { answer, isFinal: !isPassing(answer.invalidReason) }
    const { payer = '' } = answer
    return { answer: { isValid: true, payer }, isFinal: true }
  })
}

/** Answers `POST /api/v2/payment/settle`. */
export async function settlePayment(
  context: SettlePaymentContext,
  req: Request,
  res: Response,
): Promise<SettleResponse> {
  const { project, repeatSettlements } = merchantOf(res)
  const submission = readBody(req, parseSubmission)
  const request = { req, res, project, endpoint: 'settle', asked: submission }
  const byId = keyOfPayment({ res, project, submission })
  const { answer, failed } = await answerOnce(context, request, (claim) => {
    const claims = claim === undefined ? [] : [claim]
    return byId !== undefined && repeatSettlements
      ? settleForId(context, byId, { res, submission, claims })
      : settleOnce(context, { res, submission, claims, bound: byId })
  })
  if (!failed) return answer
  throw new RequestProblem(
    {
      status: 502,
      code: 'transaction_failed',
      detail: 'The transaction failed on chain; the merchant was not paid.',
    },
    { ...answer },
  )
}

/** A payment to settle. */
interface SettleRequest {
  readonly res: Response
  readonly submission: Submission
  /** Of the key that its caller gave the request, and of the id of its payment. */
  readonly claims: readonly IdempotencyClaim[]
  /** The id that the payment is bound to, where it does no more. */
  readonly bound?: KeyedRequest | undefined
}

/** What came of settling. */
interface Settlement {
  readonly answer: SettleResponse
  /** A transaction was sent for this request, and did not pay the merchant. */
  readonly failed: boolean
}

/**
 * Settles a payment once for its id: where it comes again, it is answered alike.
 *
 * Only success is repeated. What was refused leaves the id free, for the same payment or another.
 */
async function settleForId(
  context: SettlePaymentContext,
  byId: KeyedRequest,
  request: SettleRequest,
): Promise<OnceAnswer<Settlement>> {
  let isFinal = true
  const answer = await answerForKey(context, byId, async (claim) => {
    const once = await settleOnce(context, { ...request, claims: [...request.claims, claim] })
    isFinal = once.isFinal
    const settled = once.answer.answer
    if (settled.success) return { answer: once.answer, keyIs: 'finished' }
    return { answer: once.answer, keyIs: isUndecided(settled.errorReason) ? 'paused' : 'abandoned' }
  })
  return { answer, isFinal }
}

async function settleOnce(
  context: SettlePaymentContext,
  { res, submission, claims, bound }: SettleRequest,
): Promise<OnceAnswer<Settlement>> {
  const merchant = merchantOf(res)
  const { paymentPayload, paymentRequirements } = submission
  const appliedRate = await appliedRateOf(context, merchant, paymentRequirements)
  const terms = { ...merchant, appliedRate }
  const reserved = await context.facilitator.reserve(
    decodePayment(paymentPayload, paymentRequirements),
    terms,
  )
  if (isRefusal(reserved)) {
    // Granted by a process that was gone before it could say so.
    const kept = claims.find((claim) => claim.kept !== undefined)?.kept
    if (kept !== undefined && reserved.refused === 'invalid_exact_evm_nonce_already_used')
      return { answer: JSON.parse(kept) as Settlement, isFinal: true }
    const answer = refusalResponse(reserved, paymentRequirements.network)
    return { answer: { answer, failed: false }, isFinal: !isPassing(reserved.refused) }
  }
  if (bound !== undefined) await bindPaymentId(context.idempotency, bound, reserved)

  const answer = await reserved.settle()
  if (!answer.success) {
    const failed = FAILED_TRANSACTIONS.includes(answer.errorReason)
    const wasTried = !failed || answer.transaction !== ''
    return { answer: { answer, failed }, isFinal: wasTried && !isPassing(answer.errorReason) }
  }
  const settlement = { answer, failed: false }
  const keep = async (kept: string | undefined): Promise<void> => {
    for (const claim of claims)
      await claim.keep(kept).catch((error: unknown) => {
        context.logger.error('An answer could not be stored.', { error })
      })
  }
  await keep(JSON.stringify(settlement))
  // Where nobody is there to have the answer, the caller may ask for it once more: by his key, by
  // the payment's id, or else by the same payment.
  const granted =
    res.destroyed && claims.length === 0 ? reserved.reopen() : reserved.markDelivered()
  await granted.catch(async (error: unknown) => {
    await keep(undefined)
    throw error
  })
  return { answer: settlement, isFinal: true }
}
