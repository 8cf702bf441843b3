import { amountOf, recordId, type Submission } from '../../../../ledger/index.js'
import { isRefundEntry } from '../../../../ledger/refunds.js'
import { paymentFields } from '../../../../ledger/payment-fields.js'
import {
  REMOTE_SUBMISSION,
  toldTransaction,
  toldTransactionOf,
} from '../../../../ledger/record-transaction.js'
import { sameHex } from '../../../../shared/protocol/hex.js'
import type { SettleResponse } from '../../../../shared/protocol/payment.js'
import { isNonceUsed, type Reason } from '../../../../shared/protocol/reasons.js'
import type { FailedRecord } from '../../check-record.js'
import { entryEvent, type RecordedPaymentEvent } from '../../events.js'
import { OpenReservation } from '../../open-reservation.js'
import type { ReservationContext, SentRecord, Settled } from '../../open-reservation.js'
import type { Refusal } from '../../scheme.js'
import {
  MAY_HAVE_PAID,
  OPEN,
  type Decision,
  type PaidDecision,
  type SubmittedPayment,
} from '../transfer/decision.js'
import { tokenOf } from '../confirm/concluder.js'
import { transactionsOf } from '../confirm/outcome.js'
import type { Reconciler } from '../confirm/reconciler.js'
import { dropPayment, endTransaction } from '../network/pending-payments.js'
import { checkOnChain } from '../verify/check-on-chain.js'
import { checkTimeWindow, settleMarginSeconds } from '../verify/validity.js'
import type { VerifiedPayment, VerifyContext } from '../verify/verify.js'
import { startDeadline, type Deadline } from './deadline.js'
import { findEarlierUse } from './find-earlier-use.js'
import { findSentOutcome } from './find-sent-outcome.js'
import { settleByTurn, takeTurn } from './facilitator-turn.js'
import type { FacilitatorTurn, SharesByNetwork, TurnEnd } from './facilitator-turn.js'
import { sendAlone } from './prepare-transfer.js'
import { awaitSubmission, TransferSubmission } from './submit.js'
import type { SubmissionPatience, SubmitResult } from './submit.js'

/** How long the response of a payment waits until the ledger has unlocked it (ms). */
const UNLOCK_GRACE_MS = 500

export interface SettleContext extends ReservationContext, VerifyContext, SubmissionPatience {
  readonly reconciler: Reconciler
  /** How long a request waits for its outcome, from the start of settling (ms). */
  readonly settleTimeoutMs: number
  /** By CAIP-2 id. @defaultValue none */
  readonly shares?: SharesByNetwork | undefined
}

/** A reservation of a payment without a transaction that can still pay it. */
export class EvmReservation extends OpenReservation<SettleContext, VerifiedPayment> {
  /** It was written before, and will never be mined. */
  #superseded: Submission | undefined
  /** It was mined without moving money. */
  #failed: Submission | undefined
  /** The transfer that has paid, where it is written down with the delivery. */
  #paid: PaidDecision | undefined
  /** A facilitator says that it has sent nothing for it, which may be untrue. */
  #isSaidUnsent = false
  /** Transactions that were sent for it from here. */
  readonly #sent: Submission[] = []

  /** Sends the transfer, waits for the outcome and answers. */
  protected async pay(): Promise<SettleResponse> {
    const { nowSeconds, settleTimeoutMs, closed } = this.context
    const { network, transfer } = this.payment
    const validitySeconds = settleMarginSeconds(network.chain.network)
    const late = checkTimeWindow(transfer.facts, { now: nowSeconds(), validitySeconds })
    if (late !== undefined) return this.#refuseToSend(late)
    const deadline = startDeadline(settleTimeoutMs, closed)
    const isSent = this.#superseded !== undefined || this.#failed !== undefined
    const taking = isSent ? undefined : takeTurn(this.context, this.payment)
    const turn = taking && (await taking)
    let end: TurnEnd = 'void'
    try {
      const decided = turn && (await this.#settleByTurn(turn))
      if (decided?.kind === 'paid') end = 'paid'
      if (decided !== undefined) return this.#toResponse(decided)
      const response = await this.#send(deadline)
      if (turn === undefined) return response
      if (response.success) end = this.#isOurs(response.transaction) ? 'missed' : 'paid'
      else if (response.errorReason === 'settlement_pending') end = 'missed'
      return response
    } finally {
      turn?.end(end)
      deadline.end()
    }
  }

  async #send(deadline: Deadline): Promise<SettleResponse> {
    const sending = new TransferSubmission(this.payment, this.#superseded)
    const sent = await awaitSubmission(sending, this.context, deadline)
    switch (sent.kind) {
      case 'sent':
        return this.#awaitOutcome(sent, deadline)
      case 'refused':
        return isNonceUsed(sent.reason)
          ? this.#onNonceUsed(sent.reason)
          : this.#refuseToSend(sent.reason)
      case 'left':
        return this.orElse('release', this.#leave(sending, sent.error))
    }
  }

  /** Lets a facilitator send it. @returns `undefined` if it has not paid in time. */
  async #settleByTurn(turn: FacilitatorTurn): Promise<Decision | undefined> {
    const { ledger, reconciler } = this.context
    const { entry } = this.payment
    // If this process ends before the chain has decided, its successor must know that it asked.
    await this.orElse('release', ledger.payments.submit(entry, REMOTE_SUBMISSION))
    const asked = toSubmitted(this.payment, REMOTE_SUBMISSION)
    const found = await settleByTurn(turn, () => reconciler.follower.check(asked), this.context)
    if (found !== 'unsent' && found.kind !== 'open') return found
    this.#superseded = REMOTE_SUBMISSION
    // The facilitator may have paid since the transfer was simulated.
    this.payment = { ...this.payment, checked: undefined }
    this.#isSaidUnsent = found === 'unsent'
    return undefined
  }

  protected override setCharge(charged: bigint): void {
    super.setCharge(charged)
    this.payment = { ...this.payment, transfer: { ...this.payment.transfer, amount: charged } }
  }

  protected onUncharged(): void {
    dropPayment(this.payment.network, this.payment.entry)
  }

  override release(): Promise<void> {
    dropPayment(this.payment.network, this.payment.entry)
    return super.release()
  }

  override markDelivered(): Promise<void> {
    return this.context.ledger.payments.markDelivered(this.payment.entry, this.#paid, this.lock)
  }

  override async reopen(): Promise<void> {
    if (this.#paid !== undefined)
      await this.context.reconciler.concluder.conclude(this.payment.entry, this.#paid)
    return super.reopen()
  }

  /** One whose transaction was mined without moving money is sent again if it was verified anew. */
  protected refusalAfter({ reason, transaction, submission }: FailedRecord): Refusal | undefined {
    const { isSubmitted, terms } = this.payment
    if (isSubmitted || terms?.purchase?.redeemOnly) return { refused: reason, transaction }
    this.#failed = submission
    return undefined
  }

  protected async findOutcome(record: SentRecord): Promise<Settled | Refusal | undefined> {
    const outcome = await findSentOutcome(this.context, this.payment.network, record)
    switch (outcome.kind) {
      case 'paid':
        return this.settledBy(outcome.transaction, record)
      case 'failed':
        return this.refuseToResume({ refused: outcome.reason, transaction: outcome.transaction })
      case 'superseded':
        this.#superseded = outcome.submission
        return (await this.#wouldPay(record)) ? undefined : this.#refuseAsPending(record)
      case 'open':
        return this.#refuseAsPending(record)
    }
  }

  /** A handler must not run again and again for a payer whose money is gone. */
  async #wouldPay(record: SentRecord): Promise<boolean> {
    const { network, asset, transfer } = this.payment
    const checking = checkOnChain(network, asset, { ...transfer, amount: amountOf(record) })
    return typeof (await this.orElse('reopen', checking)) !== 'string'
  }

  #refuseAsPending(record: SentRecord): Promise<Refusal> {
    const transaction = toldTransactionOf(record)
    return this.refuseToResume({ refused: 'settlement_pending', transaction })
  }

  /** Waits until the chain has decided, or time is over. */
  async #awaitOutcome(
    sent: Extract<SubmitResult, { kind: 'sent' }>,
    deadline: Deadline,
  ): Promise<SettleResponse> {
    const { submission, isUnknown } = sent
    this.#announceSubmitted(submission)
    let isWaiting = true
    const following = this.context.reconciler.follower.follow(
      toSubmitted(this.payment, submission),
      {
        isUnknown,
        resend: () => this.#resendAlone(() => !isWaiting || this.context.closed.aborted),
        takesPaid: (paid) => {
          if (isWaiting) this.#paid = paid
          return isWaiting
        },
      },
    )
    const late = deadline.late.then(() => OPEN)
    const first = await Promise.race([following, late])
    isWaiting = false
    const outcome = this.#paid ?? first
    return outcome.kind === 'open' ? this.#toPending(submission) : this.#toResponse(outcome)
  }

  /** Sends a payment again whose transaction was mined without it. It stays locked meanwhile. */
  async #resendAlone(isOver: () => boolean): Promise<Submission | undefined> {
    const again = await sendAlone(this.payment, isOver)
    if (again !== undefined) this.#announceSubmitted(again)
    return again
  }

  /** A transaction that was written before is sent again as soon as it would succeed: the payer must not sign anew. */
  async #refuseToSend(reason: Reason): Promise<SettleResponse> {
    // `refuse` keeps the record of what a facilitator may send after all.
    if (this.#superseded === undefined || this.#isSaidUnsent) return this.refuse(reason)
    endTransaction(this.payment.network, this.payment.entry)
    return this.#toPending(this.#superseded)
  }

  /** The authorization was used since it was verified: perhaps the merchant has been paid. */
  async #onNonceUsed(reason: Reason): Promise<SettleResponse> {
    const { reconciler } = this.context
    const { network, entry } = this.payment
    const submission = this.#superseded ?? this.#failed
    const use = await findEarlierUse(this.context, this.payment, { submission, reason })
    switch (use.kind) {
      case 'paid':
        return this.#toResponse(await reconciler.concluder.conclude(entry, use))
      case 'failed':
        if (use.reason !== MAY_HAVE_PAID) return this.refuse(reason)
        return this.#toResponse(await reconciler.concluder.conclude(entry, use))
      case 'open':
        if (this.#superseded !== undefined) return this.#toPending(this.#superseded)
        // Nothing is sent for it. When it is presented again, the chain is asked once more.
        dropPayment(network, entry)
        await this.logFailure(this.reopen())
        return this.unsettled({ reason: 'settlement_pending' })
    }
  }

  /** Nothing more is sent. What is written down may be mined, and goes on in the background. */
  async #leave(sending: TransferSubmission, error: unknown): Promise<SettleResponse> {
    const left = sending.detach()
    if (left === undefined) {
      if (this.#superseded === undefined || this.#isSaidUnsent) throw error
      const fields = paymentFields(this.payment.entry)
      this.context.logger.warn('A payment could not be sent again.', { ...fields, error })
      return this.#refuseToSend('settlement_pending')
    }
    const { submission, stored } = left
    const pending = stored.then(() => {
      this.#announceSubmitted(submission)
      return this.#toPending(submission)
    })
    void this.#followLate(pending, sending)
    const grace = startDeadline(UNLOCK_GRACE_MS)
    const response = await Promise.race([pending, grace.late]).finally(grace.end)
    return response === 'late'
      ? this.unsettled({ reason: 'settlement_pending', transaction: submission.transaction })
      : response
  }

  async #followLate(pending: Promise<unknown>, { sent }: TransferSubmission): Promise<void> {
    const { logger, reconciler } = this.context
    try {
      await pending
      const late = await sent
      // Once the gateway closes, the next process on this ledger follows it.
      if (late.kind !== 'sent' || this.context.closed.aborted) return
      await reconciler.follower.follow(toSubmitted(this.payment, late.submission), late)
    } catch (error) {
      // It was neither written nor sent; or a later round finds it.
      const fields = paymentFields(this.payment.entry)
      logger.warn('A payment was left while it was being sent.', { ...fields, error })
      await this.logFailure(this.release())
    }
  }

  /** The outcome is not known: unlocks the payment, so that a later request can resume it. */
  async #toPending(submission: Submission): Promise<SettleResponse> {
    const transaction = toldTransaction(submission.transaction)
    await this.logFailure(this.reopen())
    this.#announcePending(transaction)
    return this.unsettled({ reason: 'settlement_pending', transaction })
  }

  #toResponse(decision: Decision): SettleResponse {
    return decision.kind === 'paid'
      ? this.settledBy(decision.transaction)
      : this.unsettled(decision)
  }

  /** Whether a transaction is one that was sent from here. */
  #isOurs(transaction: string): boolean {
    const ours = this.#sent.flatMap((one) => transactionsOf(this.payment.network, one))
    return ours.some((hash) => sameHex(hash, transaction))
  }

  #announceSubmitted(submission: Submission): void {
    const { transaction } = submission
    this.#sent.push(submission)
    this.payment.onSubmitted?.(transaction)
    this.announce('submitted', { transaction, ...this.event })
  }

  #announcePending(transaction: string): void {
    const { events } = this.context
    const { entry } = this.payment
    if (!isRefundEntry(entry)) return events.emit('pending', { transaction, ...this.event })
    const refund = recordId(entry)
    events.emit('refundPending', { transaction, refund, ...this.settledEvent })
  }

  protected override get settledEvent(): RecordedPaymentEvent {
    const { network, entry } = this.payment
    return entryEvent(network.chain.network, entry, tokenOf(network, entry))
  }
}

const toSubmitted = ({ entry }: VerifiedPayment, submission: Submission): SubmittedPayment => ({
  submission,
  ...entry,
})
