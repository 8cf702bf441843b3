import { ChainError } from '../../../../shared/errors.js'
import type { Submission } from '../../../../ledger/index.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'
import { LostLocks } from '../../../relayer/transaction.js'
import { transactionsOf } from '../confirm/outcome.js'
import type { VerifiedPayment } from '../verify/verify.js'
import { prepareTransfer, withChangedPayer } from './prepare-transfer.js'
import { MIN_WAIT_MS, startDeadline, type Deadline } from './deadline.js'

export type SubmitResult =
  /** A node was given it; `isUnknown` where the node rejected it or its answer was lost. */
  | { readonly kind: 'sent'; readonly submission: Submission; readonly isUnknown: boolean }
  /** It would fail, and was not sent. */
  | { readonly kind: 'refused'; readonly reason: Reason }

/** A transaction in the ledger, or about to be. */
export interface WrittenSubmission {
  readonly submission: Submission
  /** Resolves once it is in the ledger. */
  readonly stored: Promise<void>
}

/** Sends the transaction of a payment that is reserved. */
export class TransferSubmission {
  /** Rejects when it cannot be sent. What was written before may be mined. */
  readonly sent: Promise<SubmitResult>
  /** Resolves as soon as there is a transaction. */
  readonly written: Promise<Submission>
  readonly #payment: VerifiedPayment
  #current: WrittenSubmission | undefined
  /** Hashes of earlier transactions: should one be mined after all, it is still known as ours. */
  #givenUp: readonly Hex[]
  #isDetached = false
  #announce: (written: Submission) => void = () => undefined

  /** @param superseded - A transaction that was written before, and will never be mined. */
  constructor(payment: VerifiedPayment, superseded?: Submission) {
    this.#payment = payment
    this.#givenUp = superseded ? transactionsOf(payment.network, superseded) : []
    this.written = new Promise((resolve) => {
      this.#announce = resolve
    })
    this.sent = this.#send()
  }

  /**
   * Stops waiting: what is not written by now will not be sent, and what is written is not withdrawn,
   * because another request may resume it.
   *
   * @returns The transaction; nothing where there will be none.
   */
  detach(): WrittenSubmission | undefined {
    this.#isDetached = true
    if (this.#current === undefined) return undefined
    const { submission, stored } = this.#current
    return { submission, stored: stored.catch((error: unknown) => this.#storeWithoutOthers(error)) }
  }

  /** If one payment of a batch may not be sent, the others are written down without it. */
  async #storeWithoutOthers(error: unknown): Promise<void> {
    const isOver = !(error instanceof LostLocks) || (await this.sent).kind !== 'sent'
    if (isOver) throw error
  }

  async #send(): Promise<SubmitResult> {
    const { network, checked: verified, entry, key, transfer } = this.#payment
    await network.relayers.requireReady()
    const { validBefore } = transfer.facts
    const hasWaited = await network.payers.places.take(entry, validBefore, () => this.#isDetached)
    const known = hasWaited ? undefined : verified
    const sent = await withChangedPayer(async (checked) => {
      if (this.#isDetached) throw settlementTimeout()
      const prepared = await prepareTransfer(this.#payment, checked)
      if (typeof prepared === 'string') return prepared
      if (this.#isDetached) throw settlementTimeout()
      return network.relayers.send({
        key,
        charged: entry.charged,
        ...prepared,
        toSubmission: (next) => this.#toSubmission(next),
        onWriteAhead: (next, stored) => this.#onWriteAhead(next, stored),
      })
    }, known)
    if (typeof sent === 'string') return { kind: 'refused', reason: sent }
    return { kind: 'sent', submission: sent.submission, isUnknown: sent.kind === 'unknown' }
  }

  #toSubmission(next: Submission): Submission {
    // A replacement at the same nonce is sent even then: at most one of them is ever mined.
    if (this.#isDetached && this.#current === undefined) throw settlementTimeout()
    const replaces =
      next.replaces === undefined ? this.#earlier() : [...next.replaces, ...this.#givenUp]
    return replaces.length === 0 ? next : { ...next, replaces: [...new Set(replaces)] }
  }

  #onWriteAhead(submission: Submission, stored: Promise<void>): void {
    this.#givenUp = this.#earlier()
    this.#current = { submission, stored }
    this.#announce(submission)
  }

  /** Our earlier hashes: one of them may be mined instead of the next transaction. */
  #earlier(): readonly Hex[] {
    return this.#current === undefined
      ? this.#givenUp
      : [this.#current.submission.transaction, ...this.#givenUp]
  }
}

/** The time of a settlement is over, and nothing was sent for it. */
function settlementTimeout(): ChainError {
  return new ChainError(
    'settlement_timeout',
    'The payment could not be sent in time; nothing was sent.',
  )
}

export interface SubmissionPatience {
  readonly settleTimeoutMs: number
  /** Ends the wait: the gateway closes. */
  readonly closed: AbortSignal
}

/**
 * Waits for a payment to be sent, but not beyond its deadline. Never rejects.
 *
 * @returns `left` where it could not be sent, or not in time. What is written down by then may still be mined.
 */
export async function awaitSubmission(
  { sent, written }: TransferSubmission,
  { settleTimeoutMs, closed }: SubmissionPatience,
  { late }: Deadline,
): Promise<SubmitResult | { readonly kind: 'left'; readonly error: unknown }> {
  const left = (error: unknown) => ({ kind: 'left', error }) as const
  const sending = sent.catch(left)
  const first = await Promise.race([sending, late])
  if (first !== 'late') return first
  if (settleTimeoutMs >= MIN_WAIT_MS) return left(settlementTimeout())
  const patience = startDeadline(MIN_WAIT_MS - settleTimeoutMs, closed)
  const isWritten = written.then(() => 'late' as const)
  const second = await Promise.race([sending, isWritten, patience.late]).finally(patience.end)
  return second === 'late' ? left(settlementTimeout()) : second
}
