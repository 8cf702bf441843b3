/**
 * What every store of repeatable answers does.
 *
 * One request at a time *claims* a key. Once that request has *finished*, its answer is given to
 * every request with the same key and the same fingerprint. Before that, an answer may be *kept*:
 * it is complete, but the ledger does not say yet that it may go out. If the process dies at that
 * point, the next request that claims the key is shown the kept answer and asks the ledger whether the
 * payment was delivered by the very delivery that the answer was kept for.
 *
 * A store does not prevent double settlement: the ledger does.
 */

export interface RepeatableRequest {
  /** Hash of the client's key and its scope: see `idempotencyKey`. */
  readonly key: string
  /** Hash of what the request asks for: see `fingerprintOf`. */
  readonly fingerprint: string
  /** Whose answer it is: where room is short, projects share it. @defaultValue no project's */
  readonly project?: string
}

export interface KeptAnswer {
  readonly answer: string
  /** The lock under which it is delivered. Absent from one that is not paid. */
  readonly delivery?: string | undefined
}

/** A key that belongs to the caller for now. After a method that ends the claim, call no other. */
export interface IdempotencyClaim {
  /** The answer that a process kept under this key before it died. */
  readonly kept: KeptAnswer | undefined
  /** Stores an answer that must not be given before `finish`; `undefined` removes it. */
  keep(kept: KeptAnswer | undefined): Promise<void>
  finish(answer: string): Promise<void>
  /** Ends the claim. The key stays bound to its fingerprint: the same request may try again. */
  pause(): Promise<void>
  /** Ends the claim and frees the key, unless an earlier claim kept an answer under it. */
  abandon(): Promise<void>
}

export type IdempotencyAttempt =
  | { readonly state: 'fresh'; readonly claim: IdempotencyClaim }
  | { readonly state: 'done'; readonly answer: string }
  /** Claimed by another request with the same fingerprint. */
  | { readonly state: 'busy' }
  /** Used with another fingerprint. */
  | { readonly state: 'conflict' }

/** A key as its store knows it. */
export type IdempotencyState =
  | Exclude<IdempotencyAttempt, { state: 'fresh' }>
  /** Never used. */
  | { readonly state: 'free' }
  /** Bound to this request, and not claimed. `kept`: the answer that was complete, but not given. */
  | { readonly state: 'paused'; readonly kept: KeptAnswer | undefined }

/** How long a store keeps an answer (ms). */
export const ANSWERS_KEPT_MS = 24 * 3_600_000

/** Largest body of a response that is stored (bytes). For a larger one, only the headers are. */
export const MAX_STORED_BYTES = 256 * 1024

/**
 * Keeps keys and answers for {@link ANSWERS_KEPT_MS}: in a database all of them, in memory within a budget.
 *
 * Every method throws `LedgerError` when it did not do what it says.
 */
export interface IdempotencyStore {
  /** Claims a key, atomically: of many requests with it, one is `fresh`. */
  begin(request: RepeatableRequest): Promise<IdempotencyAttempt>
  /** Reads what is known of a key, and changes nothing. */
  look(request: RepeatableRequest): Promise<IdempotencyState>
  /** Notes that the answer was sent to its end: where room is short, it gives way before others do. */
  noteSent(key: string): void
}
