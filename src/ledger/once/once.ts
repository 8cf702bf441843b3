import type { OutsideFailure } from '../../shared/errors.js'
import type { Logger } from '../../shared/logger.js'
import type { IdempotencyClaim, KeptAnswer } from './store.js'
import { askUntilFree, type WaitContext, type WaitingRequest } from './wait.js'

export interface OnceContext extends WaitContext {
  readonly logger: Logger
  /** Counts a payment that a failure outside has prevented, unless it was counted. */
  readonly noteFailure?: (error: OutsideFailure) => void
}

type Taken<Request> =
  /** An earlier request with this key has finished; this is the answer it stored. */
  | { readonly kind: 'repeated'; readonly stored: string }
  /** An earlier request with this key still runs. */
  | { readonly kind: 'busy'; readonly request: Request }
  /** The key was used for another request. */
  | { readonly kind: 'conflict'; readonly request: Request }

export type OnceResult<T, Request> =
  /** This request ran. */
  { readonly kind: 'produced'; readonly value: T } | Taken<Request>

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
  context: OnceContext,
  request: Request | undefined,
  produce: (claim: KeyClaim) => Promise<T>,
): Promise<OnceResult<T, Request>> {
  const claimed = await claimKey(context, request)
  if (claimed.kind !== 'claimed') return claimed
  try {
    return { kind: 'produced', value: await produce(claimed.claim) }
  } finally {
    await claimed.claim.end()
  }
}

/**
 * Claims the key of a request. Who gets a claim ends it.
 *
 * @throws `LedgerError` when the key could not be claimed.
 */
export async function claimKey<Request extends WaitingRequest>(
  context: OnceContext,
  request: Request | undefined,
): Promise<{ readonly kind: 'claimed'; readonly claim: KeyClaim } | Taken<Request>> {
  if (request === undefined) return { kind: 'claimed', claim: new KeyClaim(context) }
  const begun = await askUntilFree(context, request, () => context.idempotency.begin(request))
  switch (begun.state) {
    case 'done':
      noteOnceSent(context, request)
      return { kind: 'repeated', stored: begun.answer }
    case 'conflict':
    case 'busy':
      return { kind: begun.state, request }
    case 'fresh':
      return { kind: 'claimed', claim: new KeyClaim(context, request, begun.claim) }
  }
}

/** Tells the store once a client has been sent its answer. */
function noteOnceSent({ idempotency }: WaitContext, { key, res }: WaitingRequest): void {
  if (res?.writableFinished === true) idempotency.noteSent(key)
  else res?.once('finish', () => idempotency.noteSent(key))
}

/**
 * The key of a request, while that request runs. Without a key, every method is a no-op.
 *
 * No method but `claimVerified` throws: a failed write is logged, because the ledger knows what became of the
 * payment and the answer is right even if it cannot be repeated.
 */
export class KeyClaim {
  readonly #context: OnceContext
  readonly #request: WaitingRequest | undefined
  readonly #claim: IdempotencyClaim | undefined
  #verified: IdempotencyClaim | undefined
  #isOver = false
  #isFinished = false
  #isKept: boolean

  constructor(context: OnceContext, request?: WaitingRequest, claim?: IdempotencyClaim) {
    this.#context = context
    this.#request = request
    this.#claim = claim
    this.#isKept = claim?.kept !== undefined
  }

  /** Whether the request has a key, so that its answer may be asked for again. */
  get hasKey(): boolean {
    return this.#claim !== undefined
  }

  /** The answer that a process kept under this key before it died. */
  get kept(): KeptAnswer | undefined {
    return this.#claim?.kept
  }

  /**
   * Claims the request's `verifiedKey`, if it has one: it stays bound to this request unless this key is freed.
   *
   * @returns Whether no other request has it.
   */
  async claimVerified(): Promise<boolean> {
    const request = this.#request
    const { verifiedKey: key } = request ?? {}
    if (request === undefined || key === undefined || key === request.key) return true
    const begun = await this.#context.idempotency.begin({ ...request, key })
    if (begun.state === 'fresh') this.#verified = begun.claim
    return begun.state !== 'conflict'
  }

  /**
   * Stores an answer that must not be given before `finish`; `undefined` removes it.
   *
   * @returns Whether the store has certainly done so.
   */
  async keep(kept: KeptAnswer | undefined): Promise<boolean> {
    const isStored = await this.#log(this.#claim?.keep(kept))
    this.#isKept = kept !== undefined || (this.#isKept && !isStored)
    return isStored
  }

  async finish(answer: string): Promise<void> {
    this.#isFinished = true
    await this.#end((claim) => claim.finish(answer))
  }

  /** Frees the key: nothing was paid under it. */
  async abandon(): Promise<void> {
    const isFree = !this.#isKept
    await this.#end(
      (claim) => claim.abandon(),
      (verified) => (isFree ? verified.abandon() : verified.pause()),
    )
  }

  /** Frees the key: what an earlier request kept under it is of no use any more. */
  async forget(): Promise<void> {
    if (this.kept !== undefined) await this.keep(undefined)
    await this.abandon()
  }

  /** Ends the claim, unless it has ended, and frees the key if nothing is kept under it. */
  letGo(): Promise<void> {
    return this.#isKept ? this.pause() : this.abandon()
  }

  /** Ends the claim, unless it has ended: the same request may try again. */
  async pause(): Promise<void> {
    await this.#end((claim) => claim.pause())
  }

  /** Ends the claim when its request is answered, or has failed. */
  async end(): Promise<void> {
    if (this.#isFinished && this.#request) noteOnceSent(this.#context, this.#request)
    await this.pause()
  }

  async #end(
    how: (claim: IdempotencyClaim) => Promise<void>,
    howVerified = (verified: IdempotencyClaim) => verified.pause(),
  ): Promise<void> {
    if (this.#claim === undefined || this.#isOver) return
    this.#isOver = true
    // First: a repetition may claim both as soon as it gets this one.
    if (this.#verified !== undefined) await this.#log(howVerified(this.#verified))
    await this.#log(how(this.#claim))
  }

  /** @returns Whether it was written. */
  async #log(written: Promise<void> | undefined): Promise<boolean> {
    try {
      await written
      return true
    } catch (error) {
      this.#context.logger.error('An answer could not be stored.', { error })
      return false
    }
  }
}
