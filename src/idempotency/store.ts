/**
 * Answers that may be asked for again, by whoever proves to have asked first.
 *
 * A key is *claimed* by one request at a time. While it is, its answer is not known; once the
 * request has *finished*, its answer is given to everybody who comes with the same key and the same
 * fingerprint. Between the two an answer may be *kept*: it is ready, but whether it may go out is
 * being written down elsewhere. Who takes over the claim of a process that died just then is shown
 * the kept answer, and finds out.
 *
 * Nothing here keeps a payment from being settled twice: the ledger does.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { findNetwork } from '../protocol/networks.js'

/** A request that may come more than once. */
export interface RepeatableRequest {
  /** {@link idempotencyKey} of whose key it is, for what, and the key itself. */
  readonly key: string
  /** {@link fingerprintOf} what is asked. */
  readonly fingerprint: string
}

/** A key that belongs to the caller for now. None of its methods is used after one that ends it. */
export interface IdempotencyClaim {
  /** What a process that is gone kept under this key. */
  readonly kept: string | undefined
  /** Stores an answer that is ready, but may not be given before `finish`; or takes it back. */
  keep(answer: string | undefined): Promise<void>
  /** Stores the answer for good. */
  finish(answer: string): Promise<void>
  /** Gives up the claim. The key stays with its fingerprint: the same request tries again. */
  pause(): Promise<void>
  /** Gives up the claim as if the key had never been used, except for what another kept. */
  abandon(): Promise<void>
}

/** What a key is found to be. */
export type IdempotencyAttempt =
  | { readonly state: 'fresh'; readonly claim: IdempotencyClaim }
  | { readonly state: 'done'; readonly answer: string }
  /** Claimed by another request with the same fingerprint. */
  | { readonly state: 'busy' }
  /** Used with another fingerprint. */
  | { readonly state: 'conflict' }

/**
 * Keeps keys and answers: at least 24 hours in a database, within a budget in memory.
 *
 * Every method throws `LedgerError` when it did not do what it says.
 */
export interface IdempotencyStore {
  /** Claims a key, atomically: of many requests with it, one is `fresh`. */
  begin(request: RepeatableRequest): Promise<IdempotencyAttempt>
  /** Tells what is known of a key, and changes nothing. */
  look(request: RepeatableRequest): Promise<IdempotencyState>
}

/** A request that waits for the answer of the first with its key. */
export interface WaitingRequest extends RepeatableRequest {
  /** Whether its client is gone: nobody needs the answer any more. @defaultValue never */
  readonly isGone?: () => boolean
}

/** What is known of a key. */
export type IdempotencyState =
  | Exclude<IdempotencyAttempt, { state: 'fresh' }>
  /** Nobody has used it. */
  | { readonly state: 'free' }
  /** It belongs to this request, which nobody works on. `kept`: what was ready, but not given. */
  | { readonly state: 'paused'; readonly kept: string | undefined }

/** Milliseconds between two looks at a key that is busy: at first, and at most. */
const FIRST_PAUSE_MS = 10
const LONGEST_PAUSE_MS = 250

/** Requests that wait for one key in a process; more are told at once that it is busy. */
const MAX_WAITERS = 8

/** By store, then by key and fingerprint. */
const waiters = new WeakMap<object, Map<string, number>>()

/**
 * Claims a key; where another request has it, waits for that one's answer.
 *
 * The waiting is bounded, because each look at the key is a query of the ledger: it ends with its
 * client, and a key has at most {@link MAX_WAITERS}.
 *
 * @param timeoutMs - Milliseconds after which a busy key is left to be busy.
 */
export const beginOrWait = (
  store: Pick<IdempotencyStore, 'begin'>,
  request: WaitingRequest,
  timeoutMs: number,
): Promise<IdempotencyAttempt> =>
  whileBusy(request, { store, timeoutMs, ask: () => store.begin(request) })

/** Tells what is known of a key; where a request has it, once that one is answered. */
export const lookOrWait = (
  store: Pick<IdempotencyStore, 'look'>,
  request: WaitingRequest,
  timeoutMs: number,
): Promise<IdempotencyState> =>
  whileBusy(request, { store, timeoutMs, ask: () => store.look(request) })

/** How a busy key is asked for, and for how long. */
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
    return await askAgain(request, waiting, found)
  } finally {
    const left = (counts.get(name) ?? 1) - 1
    if (left === 0) counts.delete(name)
    else counts.set(name, left)
  }
}

/** Looks at a busy key again and again. @returns `busy` where it is so to the end. */
async function askAgain<T extends { readonly state: string }>(
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

/** Makes a store's key of its parts. Keys are secrets: a store holds only their hash. */
export function idempotencyKey(...parts: readonly string[]): string {
  return sha256(JSON.stringify(parts))
}

/**
 * Tells requests apart by what they mean: order of members, case of hexadecimal digits, short or
 * CAIP-2 names of networks and absent or null members make no difference.
 */
export function fingerprintOf(document: unknown): string {
  return sha256(JSON.stringify(canonical(document, 0)))
}

/** Levels beyond which members are not looked at: none that mean something are so deep. */
const MAX_DEPTH = 32

function canonical(value: unknown, depth: number): unknown {
  if (depth > MAX_DEPTH) return null
  if (typeof value === 'string') return /^0x[0-9a-f]*$/i.test(value) ? value.toLowerCase() : value
  if (Array.isArray(value)) return value.map((one) => canonical(one, depth + 1))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined && member !== null)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(
    members.map(([name, member]) => [
      name,
      name === 'network' && typeof member === 'string'
        ? (findNetwork(member)?.caip2 ?? member)
        : canonical(member, depth + 1),
    ]),
  )
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
