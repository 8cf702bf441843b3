import type { Request, Response } from 'express'
import { beginOrWait, fingerprintOf, idempotencyKey } from '../idempotency/store.js'
import type { IdempotencyClaim, IdempotencyStore, RepeatableRequest } from '../idempotency/store.js'
import type { Logger } from '../logger.js'
import { IDEMPOTENCY_KEY } from '../protocol/headers.js'
import { RequestProblem } from '../http/problem-response.js'

const MAX_KEY_LENGTH = 255

/** Seconds after which a request that another one is working on is worth another try. */
const RETRY_AFTER_SECONDS = 5

/** What answering a request once takes of its gateway. */
export interface AnswerOnceContext {
  readonly idempotency: IdempotencyStore
  /** Milliseconds the answer of a first request is waited for. */
  readonly settleTimeoutMs: number
  readonly logger: Logger
}

/** A request that its caller may repeat. */
export interface RepeatedRequest {
  readonly req: Request
  readonly res: Response
  readonly project: string
  /** A key means something else at each endpoint. */
  readonly endpoint: string
  /** What is asked, as it was read. */
  readonly asked: object
}

/** An answer, and whether it is the last word. */
export interface OnceAnswer<T> {
  readonly answer: T
  readonly isFinal: boolean
}

/**
 * Answers a request; one with an `Idempotency-Key` once, and its repetitions likewise.
 *
 * Only what is final is stored: what was not tried, or is not known yet, is asked again by the next
 * request with the same key.
 *
 * @param produce - Is given the claim of its key, where there is one.
 * @throws {@link RequestProblem} for a key that is none, or belongs to another request.
 */
export async function answerOnce<T extends object>(
  context: AnswerOnceContext,
  request: RepeatedRequest,
  produce: (claim: IdempotencyClaim | undefined) => Promise<OnceAnswer<T>>,
): Promise<T> {
  const key = readKey(request.req)
  if (key === undefined) return (await produce(undefined)).answer
  const { res, project, endpoint, asked } = request
  const keyed: KeyedRequest = {
    key: idempotencyKey('header', project, endpoint, key),
    fingerprint: fingerprintOf(asked),
    res,
    inProgress: `The first request with this ${IDEMPOTENCY_KEY} is not answered yet: send it again later.`,
    conflict: () =>
      new RequestProblem({
        status: 409,
        code: 'idempotency_conflict',
        detail: `This ${IDEMPOTENCY_KEY} was used with another body: take a new key for a new request.`,
      }),
  }
  return answerForKey(context, keyed, async (claim) => {
    const { answer, isFinal } = await produce(claim)
    return { answer, keyIs: isFinal ? 'finished' : 'paused' }
  })
}

/** A request that is answered once for its key. */
export interface KeyedRequest extends RepeatableRequest {
  readonly res: Response
  /** What is said where the first request takes too long. */
  readonly inProgress: string
  /** What is thrown where the key belongs to another request. */
  readonly conflict: () => RequestProblem
}

/** An answer, and what becomes of its key: {@link IdempotencyClaim} says what each is. */
export interface KeyedAnswer<T> {
  readonly answer: T
  readonly keyIs: 'finished' | 'paused' | 'abandoned'
}

/**
 * Answers a request once for its key, and its repetitions with the stored answer.
 *
 * @throws {@link RequestProblem} where the key belongs to another request, or is worked on for too
 * long; and whatever `produce` throws, after which the key may be tried again.
 */
export async function answerForKey<T extends object>(
  context: AnswerOnceContext,
  request: KeyedRequest,
  produce: (claim: IdempotencyClaim) => Promise<KeyedAnswer<T>>,
): Promise<T> {
  const { key, fingerprint, res } = request
  const asked = { key, fingerprint, isGone: () => res.destroyed }
  const begun = await beginOrWait(context.idempotency, asked, context.settleTimeoutMs)
  switch (begun.state) {
    case 'done':
      return JSON.parse(begun.answer) as T
    case 'conflict':
      throw request.conflict()
    case 'busy':
      request.res.set('Retry-After', String(RETRY_AFTER_SECONDS))
      throw new RequestProblem({
        status: 503,
        code: 'idempotency_in_progress',
        detail: request.inProgress,
      })
    case 'fresh':
      return storeAnswer(context, begun.claim, () => produce(begun.claim))
  }
}

/** Produces an answer and stores it, if it is final; gives the key back otherwise. */
async function storeAnswer<T extends object>(
  { logger }: AnswerOnceContext,
  claim: IdempotencyClaim,
  produce: () => Promise<KeyedAnswer<T>>,
): Promise<T> {
  // The answer is right all the same: a repetition finds out what became of its payment.
  const note = (stored: Promise<void>): Promise<void> =>
    stored.catch((error: unknown) => logger.error('An answer could not be stored.', { error }))
  const { answer, keyIs } = await produce().catch(async (error: unknown) => {
    await note(claim.pause())
    throw error
  })
  switch (keyIs) {
    case 'finished':
      await note(claim.finish(JSON.stringify(answer)))
      break
    case 'paused':
      await note(claim.pause())
      break
    case 'abandoned':
      await note(claim.abandon())
  }
  return answer
}

function readKey(req: Request): string | undefined {
  const key = req.get(IDEMPOTENCY_KEY)
  if (key === undefined) return undefined
  if (/^[\x21-\x7e]+$/.test(key) && key.length <= MAX_KEY_LENGTH) return key
  const message = `must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters, and there once`
  throw new RequestProblem(
    { status: 400, code: 'invalid_request', detail: `The header ${IDEMPOTENCY_KEY} ${message}.` },
    { errors: [{ path: IDEMPOTENCY_KEY, message }] },
  )
}
