/** Waiting for a key that another request has claimed. */
import type { ServerResponse } from 'node:http'
import { isClosed } from '../../shared/http/once-closed.js'
import type { IdempotencyStore, RepeatableRequest } from './store.js'
import { world } from '../../shared/world.js'

/** How often a busy key is asked for: at first, and at most (ms). */
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 250

/** Requests of a process that wait for one key; any more get `busy` at once. */
const MAX_WAITERS = 8

/** Number of waiting requests: by store, then by key and fingerprint. */
const waiters = new WeakMap<object, Map<string, number>>()

export interface WaitContext {
  readonly idempotency: IdempotencyStore
  /** How long to wait for the answer of an earlier request with the same key (ms). */
  readonly settleTimeoutMs: number
  /** Ends the wait: the gateway closes. */
  readonly closed?: AbortSignal | undefined
}

export interface WaitingRequest extends RepeatableRequest {
  /** A key that the request may claim only once its payment is verified: see `KeyClaim.claimVerified`. */
  readonly verifiedKey?: string | undefined
  /** The response: once its client has disconnected, the answer is no longer waited for. */
  readonly res?: ServerResponse
}

/**
 * Asks a store for a key; if another request has it, waits for that request's answer.
 *
 * Waiting is bounded, because it polls the ledger, less and less often: it ends when the client
 * disconnects, and at most {@link MAX_WAITERS} requests wait for one key.
 *
 * @param ask - Claims the key, or reads what is known of it.
 * @returns `busy` if it stays so until `timeoutMs` are over.
 */
export async function askUntilFree<T extends { readonly state: string }>(
  { idempotency: store, settleTimeoutMs: timeoutMs, closed }: WaitContext,
  { key, fingerprint, res }: WaitingRequest,
  ask: () => Promise<T>,
): Promise<T> {
  let found = await ask()
  if (found.state !== 'busy') return found
  const counts = waiters.get(store) ?? new Map<string, number>()
  waiters.set(store, counts)
  const name = `${key} ${fingerprint}`
  const count = counts.get(name) ?? 0
  if (count >= MAX_WAITERS) return found
  counts.set(name, count + 1)
  try {
    const deadline = world.elapsed() + timeoutMs
    let pauseMs = FIRST_PAUSE_MS
    while (found.state === 'busy' && world.elapsed() + pauseMs <= deadline) {
      await world.sleep(pauseMs)
      if ((res && isClosed(res)) || closed?.aborted === true) return found
      found = await ask()
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    }
    return found
  } finally {
    const left = (counts.get(name) ?? 1) - 1
    if (left === 0) counts.delete(name)
    else counts.set(name, left)
  }
}
