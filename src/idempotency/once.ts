import type { Logger } from '../logger.js'
import { KeyClaim } from './key-claim.js'
import type { IdempotencyStore } from './store.js'
import { beginOrWait, type WaitingRequest } from './wait.js'

/** What {@link once} needs from the gateway. */
export interface OnceContext {
  readonly idempotency: IdempotencyStore
  /** Milliseconds to wait for the answer of an earlier request with the same key. */
  readonly settleTimeoutMs: number
  readonly logger: Logger
}

/** What became of a request that runs once. */
export type OnceResult<T, Request> =
  /** This request ran. */
  | { readonly kind: 'produced'; readonly value: T }
  /** An earlier request with this key has finished; this is the answer it stored. */
  | { readonly kind: 'repeated'; readonly stored: string }
  /** An earlier request with this key still runs. */
  | { readonly kind: 'busy'; readonly request: Request }
  /** The key was used for another request. */
  | { readonly kind: 'conflict'; readonly request: Request }

/**
 * Runs `produce` once per key; requests that come later get the stored answer.
 *
 * `produce` decides what becomes of its key: `finish` stores an answer for later requests, `abandon`
 * frees the key. If it does neither, or throws, the same request may try again.
 *
 * @param request - `undefined` for a request without a key, which simply runs.
 * @throws `LedgerError` when the key could not be claimed, and whatever `produce` throws.
 */
export async function once<T, Request extends WaitingRequest>(
  { idempotency, settleTimeoutMs, logger }: OnceContext,
  request: Request | undefined,
  produce: (claim: KeyClaim) => Promise<T>,
): Promise<OnceResult<T, Request>> {
  if (request === undefined)
    return { kind: 'produced', value: await produce(new KeyClaim(undefined, logger)) }
  const begun = await beginOrWait(idempotency, request, settleTimeoutMs)
  switch (begun.state) {
    case 'done':
      return { kind: 'repeated', stored: begun.answer }
    case 'conflict':
    case 'busy':
      return { kind: begun.state, request }
    case 'fresh': {
      const claim = new KeyClaim(begun.claim, logger)
      try {
        return { kind: 'produced', value: await produce(claim) }
      } finally {
        await claim.pause()
      }
    }
  }
}
