import type { Request, Response } from 'express'
import { isRefusal, refusalResponse } from '../facilitator/facilitator.js'
import type { ReservingFacilitator } from '../facilitator/facilitator.js'
import type { IdempotencyClaim } from '../ledger/idempotency.js'
import type { SettleResponse, VerifyResponse } from '../protocol/payment.js'
import type { Reason } from '../protocol/reasons.js'
import { answerOnce, type AnswerOnceContext, type OnceAnswer } from './answer-once.js'
import { merchantOf } from './authenticate.js'
import { readBody } from './json-body.js'
import { bindPaymentId, parseSubmission, type Submission } from './payment-id.js'
import { RequestProblem } from './problem-response.js'
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
 * Reasons that another try may not meet: the ledger is asked again. Also a payment that was settled
 * may be free once more, where whoever settled it was gone before its answer.
 */
const isPassing = (reason: Reason): boolean =>
  reason === 'settlement_pending' ||
  reason === 'duplicate_settlement' ||
  reason === 'invalid_exact_evm_nonce_already_used'

/** Answers `POST /api/v2/payment/verify`. */
export async function verifyPayment(
  context: SettlePaymentContext,
  req: Request,
  res: Response,
): Promise<VerifyResponse> {
  const merchant = merchantOf(res)
  const submission = readBody(req, parseSubmission)
  const { paymentPayload, paymentRequirements } = submission
  const request = { req, res, project: merchant.project, endpoint: 'verify', asked: submission }
  return answerOnce(context, request, async () => {
    const answer = await context.facilitator.verify(paymentPayload, paymentRequirements, merchant)
    return { answer, isFinal: answer.isValid || !isPassing(answer.invalidReason) }
  })
}

/** Answers `POST /api/v2/payment/settle`. */
export async function settlePayment(
  context: SettlePaymentContext,
  req: Request,
  res: Response,
): Promise<SettleResponse> {
  const { project } = merchantOf(res)
  const submission = readBody(req, parseSubmission)
  const request = { req, res, project, endpoint: 'settle', asked: submission }
  const { answer, failed } = await answerOnce(context, request, (claim) =>
    settleOnce(context, { res, submission, claim }),
  )
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

/** A payment to settle, and the key that its caller gave the request. */
interface SettleRequest {
  readonly res: Response
  readonly submission: Submission
  readonly claim: IdempotencyClaim | undefined
}

/** What came of settling. */
interface Settlement {
  readonly answer: SettleResponse
  /** A transaction was sent for this request, and did not pay the merchant. */
  readonly failed: boolean
}

async function settleOnce(
  context: SettlePaymentContext,
  { res, submission, claim }: SettleRequest,
): Promise<OnceAnswer<Settlement>> {
  const merchant = merchantOf(res)
  const { paymentPayload, paymentRequirements } = submission
  const quote = await appliedRateOf(context, merchant, paymentRequirements)
  const terms = { ...merchant, quote }
  const reserved = await context.facilitator.reserve(paymentPayload, paymentRequirements, terms)
  if (isRefusal(reserved)) {
    // Granted by a process that was gone before it could say so.
    if (claim?.kept !== undefined && reserved.refused === 'invalid_exact_evm_nonce_already_used')
      return { answer: JSON.parse(claim.kept) as Settlement, isFinal: true }
    const answer = refusalResponse(reserved, paymentRequirements.network)
    return { answer: { answer, failed: false }, isFinal: !isPassing(reserved.refused) }
  }
  await bindPaymentId(context.idempotency, {
    project: merchant.project,
    submission,
    reservation: reserved,
  })

  const answer = await reserved.settle()
  if (!answer.success) {
    const failed = FAILED_TRANSACTIONS.includes(answer.errorReason)
    const wasTried = !failed || answer.transaction !== ''
    return { answer: { answer, failed }, isFinal: wasTried && !isPassing(answer.errorReason) }
  }
  const settlement = { answer, failed: false }
  const keep = async (kept: string | undefined): Promise<void> =>
    claim?.keep(kept).catch((error: unknown) => {
      context.logger.error('An answer could not be stored.', { error })
    })
  await keep(JSON.stringify(settlement))
  // Where nobody is there to have the answer, the caller may ask for it once more: by his key, or
  // else by the same payment.
  const granted = res.destroyed && claim === undefined ? reserved.reopen() : reserved.grant()
  await granted.catch(async (error: unknown) => {
    await keep(undefined)
    throw error
  })
  return { answer: settlement, isFinal: true }
}
