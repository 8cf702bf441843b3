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

async function whileBusy<T extends { readonly state: string }>(
  request: WaitingRequest,
  waiting: Waiting<T>,
): Promise<T> {
  const found = await waiting.ask()
  if (found.state !== 'busy') return found
  const counts = waiters.get(waiting.store) ?? new Map<string, number>()
  waiters.set(waiting.store, counts)
  const name = `${request.key} ${request.fingerprint}`
  const count = counts.get(name) ?? 0
  if (count >= MAX_WAITERS) return found
  counts.set(name, count + 1)
  try {
    return await poll(request, waiting, found)
  } finally {
    const left = (counts.get(name) ?? 1) - 1
    if (left === 0) counts.delete(name)
    else counts.set(name, left)
  }
}

/** Polls a busy key, less and less often. @returns `busy` if it stays so until the end. */
async function poll<T extends { readonly state: string }>(
  { isGone }: WaitingRequest,
  { timeoutMs, ask }: Waiting<T>,
  busy: T,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    if (performance.now() + pauseMs > deadline) return busy
    await sleep(pauseMs)
    if (isGone?.() === true) return busy
    const found = await ask()
    if (found.state !== 'busy') return found
  }
}
