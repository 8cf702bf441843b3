/** Waiting for a key that another request has claimed. */
import { setTimeout as sleep } from 'node:timers/promises'
import type {
  IdempotencyAttempt,
  IdempotencyState,
  IdempotencyStore,
  RepeatableRequest,
} from './store.js'

/** Milliseconds between two queries for a busy key: at first, and at most. */
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 250

/** Requests of a process that wait for one key; any more get `busy` at once. */
const MAX_WAITERS = 8

/** Number of waiting requests: by store, then by key and fingerprint. */
const waiters = new WeakMap<object, Map<string, number>>()

/** A request that waits while another one has its key. */
export interface WaitingRequest extends RepeatableRequest {
  /** Whether the client has disconnected, so that the answer is no longer needed. @defaultValue never */
  readonly isGone?: () => boolean
}

/**
 * Claims a key; if another request has it, waits for that request's answer.
 *
 * Waiting is bounded, because it polls the ledger: it ends when the client disconnects, and at most
 * {@link MAX_WAITERS} requests wait for one key.
 *
 * @param timeoutMs - Milliseconds after which a key that is still busy is reported as `busy`.
 */
export const beginOrWait = (
  store: Pick<IdempotencyStore, 'begin'>,
  request: WaitingRequest,
  timeoutMs: number,
): Promise<IdempotencyAttempt> =>
  whileBusy(request, { store, timeoutMs, ask: () => store.begin(request) })

/** Reads what is known of a key; if another request has it, waits as {@link beginOrWait} does. */
export const lookOrWait = (
  store: Pick<IdempotencyStore, 'look'>,
  request: WaitingRequest,
  timeoutMs: number,
): Promise<IdempotencyState> =>
  whileBusy(request, { store, timeoutMs, ask: () => store.look(request) })

interface Waiting<T> {
  readonly store: object
  readonly timeoutMs: number
  readonly ask: () => Promise<T>
}

/** Polls a busy key, less and less often. @returns `busy` if it stays so until the end. */
async function whileBusy<T extends { readonly state: string }>(
  { key, fingerprint, isGone }: WaitingRequest,
  { store, timeoutMs, ask }: Waiting<T>,
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
    const deadline = performance.now() + timeoutMs
    let pauseMs = FIRST_PAUSE_MS
    while (found.state === 'busy' && performance.now() + pauseMs <= deadline) {
      await sleep(pauseMs)
      if (isGone?.() === true) return found
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
