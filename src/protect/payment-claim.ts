import type { Request, Response } from 'express'
import { beginOrWait, fingerprintOf, idempotencyKey } from '../idempotency/store.js'
import type { IdempotencyClaim, IdempotencyStore } from '../idempotency/store.js'
import type { Logger } from '../logger.js'
import type { PaymentPayload } from '../protocol/payment.js'
import { answerProblem, answerUnavailable } from './answers.js'
import { answerAgain, writeAnswer, type GivenAnswer } from './stored-answer.js'

/** What claiming the id of a payment takes of its gateway. */
export interface ClaimContext {
  readonly idempotency: IdempotencyStore
  /** Milliseconds the answer of a first request is waited for. */
  readonly settleTimeoutMs: number
  readonly logger: Logger
}

/** A payment that is presented for a resource. */
export interface PresentedPayment {
  readonly req: Request
  readonly res: Response
  /** Id of the project that is paid. */
  readonly project: string
  readonly resourceUrl: string
  readonly payload: PaymentPayload
  /** By the extension `payment-identifier`. */
  readonly paymentId: string | undefined
}

/**
 * The id of a payment, which belongs to one request for now: its answer will be given again to
 * whoever presents the same payment with the same id. Nothing happens where a payment has no id.
 *
 * Its methods never throw: the ledger knows of the payment, whatever is known of its answer.
 */
export interface PaymentClaim {
  readonly hasId: boolean
  /** Stores an answer that is ready; it is given again once the payment is known to be granted. */
  keep(answer: GivenAnswer | undefined): Promise<void>
  /** Stores the answer for good. */
  finish(answer: GivenAnswer | undefined): Promise<void>
  /** Gives an answer that was granted by a process that is gone. @returns Whether there was one. */
  answerKept(res: Response): Promise<boolean>
  /** Forgets the id: nothing was paid by it. */
  abandon(): Promise<void>
  /** Ends the claim, if nothing else has: the same payment may try again. */
  pause(): Promise<void>
}

/**
 * Claims the id of a payment, for its project and its resource.
 *
 * @returns `undefined` where the request has been answered: with the stored answer, with 409 where
 * another payment has the id, with 503 where the first request takes too long.
 */
export async function claimPayment(
  context: ClaimContext,
  payment: PresentedPayment,
): Promise<PaymentClaim | undefined> {
  const { res, paymentId } = payment
  if (paymentId === undefined) return openClaim(context, undefined)
  const { extensions: _extensions, ...signed } = payment.payload
  const begun = await beginOrWait(
    context.idempotency,
    {
      key: keyOf(payment, paymentId),
      fingerprint: fingerprintOf(signed),
      isGone: () => res.destroyed,
    },
    context.settleTimeoutMs,
  )
  switch (begun.state) {
    case 'done':
      answerAgain(res, begun.answer)
      return undefined
    case 'conflict':
      answerProblem(res, {
        status: 409,
        code: 'idempotency_conflict',
        detail: 'Another payment has this payment-identifier: take a new id for a new payment.',
      })
      return undefined
    case 'busy':
      answerUnavailable(res, {
        code: 'idempotency_in_progress',
        detail: 'The first request with this payment is not answered yet: present it again later.',
      })
      return undefined
    case 'fresh': {
      const claim = openClaim(context, begun.claim)
      // Whoever waited may be gone meanwhile.
      if (!res.destroyed) return claim
      await claim.pause()
      return undefined
    }
  }
}

/** Methods count, and so does what a `resourceUrl` of the route's own may hide. */
function keyOf({ req, project, resourceUrl }: PresentedPayment, paymentId: string): string {
  return idempotencyKey('resource', project, req.method, resourceUrl, req.originalUrl, paymentId)
}

function openClaim({ logger }: ClaimContext, claim: IdempotencyClaim | undefined): PaymentClaim {
  let isOver = claim === undefined
  const note = async (written: Promise<void> | undefined): Promise<void> =>
    written?.catch((error: unknown) =>
      logger.error('The answer to a payment could not be stored.', { error }),
    )
  const end = async (how: () => Promise<void> | undefined): Promise<void> => {
    if (isOver) return
    isOver = true
    await note(how())
  }
  return {
    hasId: claim !== undefined,
    keep: async (answer) => answer && note(claim?.keep(writeAnswer(answer))),
    finish: async (answer) => answer && end(() => claim?.finish(writeAnswer(answer))),
    async answerKept(res) {
      const kept = claim?.kept
      if (kept === undefined) return false
      await end(() => claim?.finish(kept))
      answerAgain(res, kept)
      return true
    },
    abandon: () => end(() => claim?.abandon()),
    pause: () => end(() => claim?.pause()),
  }
}
