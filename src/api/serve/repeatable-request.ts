/** Requests that a client may repeat: by its `Idempotency-Key`, or by the id of its payment. */
import type { Request, Response } from 'express'
import { fingerprintOf, idempotencyKey } from '../../ledger/once/fingerprint.js'
import { once, type KeyClaim, type OnceContext } from '../../ledger/once/once.js'
import type { WaitingRequest } from '../../ledger/once/wait.js'
import { RETRY_AFTER_SECONDS } from '../../shared/http/problem-status.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { IDEMPOTENCY_KEY } from '../../shared/protocol/headers.js'

const MAX_KEY_LENGTH = 255

/** A request with a key, and what is said to clients that may not have its answer. */
export interface KeyedRequest extends WaitingRequest {
  readonly res: Response
  /** Detail of the 503 while the first request still runs. */
  readonly inProgress: string
  /** The 409 for another request with the same key. */
  readonly conflict: () => RequestProblem
}

export interface HeaderKeyOptions {
  readonly res: Response
  readonly project: string
  /** A key has a separate meaning at each endpoint. */
  readonly endpoint: string
  readonly body: object
}

/**
 * Reads the `Idempotency-Key` of a request.
 *
 * @returns `undefined` for a request without one.
 * @throws {@link RequestProblem} for a malformed key.
 */
export function readHeaderKey(
  req: Request,
  { res, project, endpoint, body }: HeaderKeyOptions,
): KeyedRequest | undefined {
  const key = req.get(IDEMPOTENCY_KEY)
  if (key === undefined) return undefined
  if (!/^[\x21-\x7e]+$/.test(key) || key.length > MAX_KEY_LENGTH) throw malformedKey()
  return {
    key: idempotencyKey('header', project, endpoint, key),
    fingerprint: fingerprintOf(body),
    project,
    res,
    inProgress: `The first request with this ${IDEMPOTENCY_KEY} is not answered yet: send it again later.`,
    conflict: () =>
      new RequestProblem(
        'idempotency_conflict',
        `This ${IDEMPOTENCY_KEY} was used with another body: take a new key for a new request.`,
      ),
  }
}

/**
 * Runs `produce` once per key; a repeated request gets the value that was stored as JSON.
 *
 * @param request - `undefined` for a request without a key, which simply runs.
 * @throws {@link RequestProblem} 409 if the key belongs to another request, 503 if the first request
 * with this key takes too long; and whatever `produce` throws.
 */
export async function onceForKey<T extends object>(
  context: OnceContext,
  request: KeyedRequest | undefined,
  produce: (claim: KeyClaim) => Promise<T>,
): Promise<T> {
  const result = await once(context, request, produce)
  switch (result.kind) {
    case 'produced':
      return result.value
    case 'repeated':
      return JSON.parse(result.stored) as T
    case 'conflict':
      throw result.request.conflict()
    case 'busy':
      result.request.res.set('Retry-After', String(RETRY_AFTER_SECONDS))
      throw new RequestProblem('idempotency_in_progress', result.request.inProgress)
  }
}

function malformedKey(): RequestProblem {
  const message = `must be 1 to ${MAX_KEY_LENGTH} visible ASCII characters, and there once`
  return new RequestProblem('invalid_request', `The header ${IDEMPOTENCY_KEY} ${message}.`, {
    errors: [{ path: IDEMPOTENCY_KEY, message }],
  })
}
