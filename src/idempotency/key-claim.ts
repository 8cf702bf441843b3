import type { Logger } from '../logger.js'
import type { IdempotencyClaim } from './store.js'

/**
 * The key of a request, while that request runs. Without a key, every method is a no-op.
 *
 * No method throws: a failed write is logged, because the ledger knows what became of the payment
 * and the answer is right even if it cannot be repeated.
 */
export class KeyClaim {
  readonly #claim: IdempotencyClaim | undefined
  readonly #logger: Logger
  #isOver = false

  constructor(claim: IdempotencyClaim | undefined, logger: Logger) {
    this.#claim = claim
    this.#logger = logger
  }

  /** Whether the request has a key, so that its answer may be asked for again. */
  get hasKey(): boolean {
    return this.#claim !== undefined
  }

  /** The answer that a process kept under this key before it died. */
  get kept(): string | undefined {
    return this.#claim?.kept
  }

  /** Stores an answer that must not be given before `finish`; `undefined` removes it. */
  async keep(answer: string | undefined): Promise<void> {
    await this.#log(this.#claim?.keep(answer))
  }

  /** Stores the final answer and ends the claim. */
  async finish(answer: string): Promise<void> {
    await this.#end((claim) => claim.finish(answer))
  }

  /** Frees the key: nothing was paid under it. */
  async abandon(): Promise<void> {
    await this.#end((claim) => claim.abandon())
  }

  /** Ends the claim, unless it has ended: the same request may try again. */
  async pause(): Promise<void> {
    await this.#end((claim) => claim.pause())
  }

  async #end(how: (claim: IdempotencyClaim) => Promise<void>): Promise<void> {
    if (this.#claim === undefined || this.#isOver) return
    this.#isOver = true
    await this.#log(how(this.#claim))
  }

  async #log(written: Promise<void> | undefined): Promise<void> {
    await written?.catch((error: unknown) =>
      this.#logger.error('An answer could not be stored.', { error }),
    )
  }
}
