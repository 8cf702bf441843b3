import type { Submission } from '../../../ledger/ledger.js'
import type { Logger } from '../../../logger.js'
import type { Address, SettleResponse } from '../../../protocol/payment.js'
import type { Reason } from '../../../protocol/reasons.js'
import type { EventBus } from '../../events.js'
import { paymentEvent } from '../../payment-event.js'
import type { Reservation } from '../../scheme.js'
import { OPEN, type Decision, type SubmittedPayment } from '../confirm/decision.js'
import { findUse } from '../confirm/outcome.js'
import type { Reconciler } from '../confirm/reconciler.js'
import { dropPayment } from '../pending-payments.js'
import { checkTimeWindow, settleMarginSeconds } from '../verify/checks.js'
import type { VerifiedPayment, VerifyContext } from '../verify/verify.js'
import { startDeadline, type Deadline } from './deadline.js'
import { sendAlone } from './prepare-transfer.js'
import { failedResponse, settledResponse } from './responses.js'
import { settlementTimeout, TransferSubmission, type SubmitResult } from './submit.js'

/**
 * Least milliseconds that sending, or one request to the chain, is given: a settlement is not given up
 * before it has begun, however short its time.
 */
export const MIN_WAIT_MS = 2000

/** Milliseconds that the ledger is given to unlock a payment before its response goes out. */
const UNLOCK_GRACE_MS = 500

/** What settling takes. */
export interface SettleContext extends VerifyContext {
  readonly events: EventBus
  readonly logger: Logger
  readonly reconciler: Reconciler
  /** Milliseconds a request waits for its outcome, from the start of settling. */
  readonly settleTimeoutMs: number
}

/** A reservation of a payment that nothing was sent for yet, or nothing that will ever be mined. */
export class Settlement implements Reservation {
  readonly payer: Address
  readonly #context: SettleContext
  readonly #payment: VerifiedPayment
  /** A transaction that was written before, and will never be mined. */
  readonly #superseded: Submission | undefined

  /** @param superseded - A transaction that was written before, and will never be mined. */
  constructor(context: SettleContext, payment: VerifiedPayment, superseded?: Submission) {
    this.payer = payment.payer
    this.#context = context
    this.#payment = payment
    this.#superseded = superseded
  }

  /** Sends the transfer, waits for the outcome and answers. */
  async settle(): Promise<SettleResponse> {
    const { nowSeconds, settleTimeoutMs } = this.#context
    const { core, transfer } = this.#payment
    const validitySeconds = settleMarginSeconds(core.chain.network)
    const late = checkTimeWindow(transfer.authorization, { now: nowSeconds(), validitySeconds })
    if (late !== undefined) return this.#refuse(late)
    const deadline = startDeadline(settleTimeoutMs)
    try {
      const sending = new TransferSubmission(this.#payment, this.#superseded)
      const sent = await this.#orRelease(awaitSubmission(sending, settleTimeoutMs, deadline))
      switch (sent.kind) {
        case 'sent':
          return await this.#awaitOutcome(sent, deadline)
        case 'refused':
          return sent.reason === 'invalid_exact_evm_nonce_already_used'
            ? await this.#onNonceUsed()
            : await this.#refuse(sent.reason)
        case 'rejected':
          return await this.#onRejected()
        case 'late':
          return await this.#orRelease(this.#onTimeout(sending))
      }
    } finally {
      deadline.end()
    }
  }

  /** As {@link Reservation.release}. */
  release(): Promise<void> {
    const { core, key } = this.#payment
    dropPayment(core, key)
    return this.#context.ledger.release(key)
  }

  /** As {@link Reservation.markDelivered}. */
  markDelivered(): Promise<void> {
    return this.#context.ledger.markDelivered(this.#payment.key)
  }

  /** As {@link Reservation.reopen}. */
  reopen(): Promise<void> {
    return this.#context.ledger.unlock(this.#payment.key)
  }

  /** Waits until the chain has decided, or time is over. */
  async #awaitOutcome(
    sent: Extract<SubmitResult, { kind: 'sent' }>,
    deadline: Deadline,
  ): Promise<SettleResponse> {
    const { submission, isUnknown } = sent
    this.#announceSubmitted(submission)
    const following = this.#context.reconciler.follow(toSubmitted(this.#payment, submission), {
      isUnknown,
      resend: () => this.#resendAlone(),
    })
    const late = deadline.late.then(() => OPEN)
    const outcome = await Promise.race([following, late])
    return outcome.kind === 'open' ? this.#toPending(submission) : this.#toResponse(outcome)
  }

  /** Sends a payment again whose transaction was mined without it. It stays locked meanwhile. */
  async #resendAlone(): Promise<Submission | undefined> {
    const again = await sendAlone(this.#payment)
    if (again !== undefined) this.#announceSubmitted(again)
    return again
  }

  async #refuse(reason: Reason): Promise<SettleResponse> {
    await logLedgerFailure(this.#context, this.release())
    this.#context.events.emit('refused', { ...paymentEvent(this.#payment), reason })
    return failedResponse(this.#payment, reason)
  }

  /** The authorization was used since it was verified: perhaps the merchant has been paid. */
  async #onNonceUsed(): Promise<SettleResponse> {
    const { ledger, reconciler } = this.#context
    const { core, entry, key } = this.#payment
    const known = { ...entry, ...(this.#superseded && { submission: this.#superseded }) }
    const use = await findUse(core, known).catch(async (error: unknown) => {
      // It is not known to have failed: the next request with it checks again.
      await logLedgerFailure(this.#context, ledger.unlock(key))
      throw error
    })
    if (use.kind === 'paid') return this.#toResponse(await reconciler.conclude(entry, use))
    return use.kind === 'open' && this.#superseded !== undefined
      ? this.#toPending(this.#superseded)
      : this.#refuse('invalid_exact_evm_nonce_already_used')
  }

  /** No node took the transaction: the record was withdrawn, unless an earlier one keeps it. */
  async #onRejected(): Promise<SettleResponse> {
    if (this.#superseded !== undefined) return this.#toPending(this.#superseded)
    const { core, key } = this.#payment
    dropPayment(core, key)
    const reason = 'invalid_transaction_state'
    const event = { ...paymentEvent(this.#payment), transaction: '', reason } as const
    this.#context.events.emit('failed', event)
    return failedResponse(this.#payment, reason)
  }

  /** Time is over while the transaction is on its way to the node: it goes on in the background. */
  async #onTimeout(sending: TransferSubmission): Promise<SettleResponse> {
    const left = sending.detach()
    if (left === undefined) throw settlementTimeout()
    const { submission, stored } = left
    const pending = stored.then(() => {
      this.#announceSubmitted(submission)
      return this.#toPending(submission)
    })
    void this.#followLate(pending, sending)
    const grace = startDeadline(UNLOCK_GRACE_MS)
    const response = await Promise.race([pending, grace.late]).finally(grace.end)
    return response === 'late'
      ? failedResponse(this.#payment, 'settlement_pending', submission.transaction)
      : response
  }

  async #followLate(pending: Promise<unknown>, { sent }: TransferSubmission): Promise<void> {
    const { logger, reconciler } = this.#context
    try {
      await pending
      const late = await sent
      if (late.kind !== 'sent') return
      await reconciler.follow(toSubmitted(this.#payment, late.submission), late)
    } catch (error) {
      // It was neither written nor sent; or a later round finds it.
      logger.warn('A payment was left while it was being sent.', { error })
      await logLedgerFailure(this.#context, this.release())
    }
  }

  /** The outcome is not known: unlocks the payment, so that a later request can resume it. */
  async #toPending({ transaction }: Submission): Promise<SettleResponse> {
    await logLedgerFailure(this.#context, this.reopen())
    this.#context.events.emit('pending', { ...paymentEvent(this.#payment), transaction })
    return failedResponse(this.#payment, 'settlement_pending', transaction)
  }

  #toResponse(decision: Decision): SettleResponse {
    return decision.kind === 'paid'
      ? settledResponse(this.#payment, decision.transaction)
      : failedResponse(this.#payment, decision.reason, decision.transaction)
  }

  #announceSubmitted({ transaction }: Submission): void {
    this.#context.events.emit('submitted', { ...paymentEvent(this.#payment), transaction })
  }

  /** Releases the payment if nothing was sent; what is already written stays. */
  async #orRelease<T>(sending: Promise<T>): Promise<T> {
    return sending.catch(async (error: unknown) => {
      await logLedgerFailure(this.#context, this.release())
      throw error
    })
  }
}

/** Waits for a write to the ledger of what is decided already, and logs its failure. */
export async function logLedgerFailure(
  { logger }: SettleContext,
  written: Promise<void>,
): Promise<void> {
  await written.catch((error: unknown) =>
    logger.error('The ledger missed what became of a payment.', { error }),
  )
}

function toSubmitted({ entry }: VerifiedPayment, submission: Submission): SubmittedPayment {
  return { ...entry, submission }
}

/** Waits for a payment to be sent, but not beyond its deadline. */
async function awaitSubmission(
  { sent, written }: TransferSubmission,
  settleTimeoutMs: number,
  { late }: Deadline,
): Promise<SubmitResult | { readonly kind: 'late' }> {
  const first = await Promise.race([sent, late])
  if (first !== 'late') return first
  if (settleTimeoutMs >= MIN_WAIT_MS) return { kind: 'late' }
  const patience = startDeadline(MIN_WAIT_MS - settleTimeoutMs)
  const isWritten = written.then(() => 'late' as const)
  const second = await Promise.race([sent, isWritten, patience.late]).finally(patience.end)
  return second === 'late' ? { kind: 'late' } : second
}
