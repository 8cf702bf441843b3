import { amountOf, recordId, type Submission } from '../../../../ledger/index.js'
import { isRefundEntry } from '../../../../ledger/refunds.js'
import { paymentFields } from '../../../../ledger/payment-fields.js'
import type { Logger } from '../../../../shared/logger.js'
import type { Address, SettleResponse } from '../../../../shared/protocol/payment.js'
import { isNonceUsed, type Reason } from '../../../../shared/protocol/reasons.js'
import {
  chargedMembers,
  entryEvent,
  paymentEvent,
  type EventBus,
  type GatewayEvents,
} from '../../events.js'
import type { Reservation } from '../../scheme.js'
import { chargedBefore, chargedOf, EXCEEDED, logLedgerFailure } from '../../settled-reservation.js'
import {
  MAY_HAVE_PAID,
  OPEN,
  type Decision,
  type Outcome,
  type PaidDecision,
  type SubmittedPayment,
} from '../transfer/decision.js'
import { tokenOf } from '../confirm/concluder.js'
import type { Reconciler } from '../confirm/reconciler.js'
import { dropPayment, endTransaction } from '../network/pending-payments.js'
import { checkTimeWindow, settleMarginSeconds } from '../verify/validity.js'
import type { VerifiedPayment, VerifyContext } from '../verify/verify.js'
import { startDeadline, type Deadline } from './deadline.js'
import { findEarlierUse } from './find-earlier-use.js'
import { sendAlone } from './prepare-transfer.js'
import { failedResponse, settledResponse } from './responses.js'
import { awaitSubmission, TransferSubmission } from './submit.js'
import type { SubmissionPatience, SubmitResult } from './submit.js'

/** How long the response of a payment waits until the ledger has unlocked it (ms). */
const UNLOCK_GRACE_MS = 500

/** Dependencies of {@link OpenReservation}. */
export interface SettleContext extends VerifyContext, SubmissionPatience {
  readonly events: EventBus
  readonly logger: Logger
  readonly reconciler: Reconciler
  /** How long a request waits for its outcome, from the start of settling (ms). */
  readonly settleTimeoutMs: number
}

/** How a request has taken a payment. */
interface TakenPayment {
  /** As {@link Reservation.lock}. */
  readonly lock: string | undefined
  /** It was written before, and will never be mined. */
  readonly superseded?: Submission | undefined
  /** It was mined without moving money. */
  readonly failed?: Submission | undefined
  /** What that transaction was to take: whatever is sent now takes the same. */
  readonly charged?: bigint | undefined
}

/** A reservation of a payment without a transaction that can still pay it. */
export class OpenReservation implements Reservation {
  readonly payer: Address
  readonly lock: string | undefined
  readonly #context: SettleContext
  /** With what is charged, once that is known. */
  #payment: VerifiedPayment
  readonly #taken: TakenPayment
  /** The transfer that has paid, where it is written down with the delivery. */
  #paid: PaidDecision | undefined

  constructor(context: SettleContext, payment: VerifiedPayment, taken: TakenPayment) {
    this.payer = payment.payer
    this.lock = taken.lock
    this.#context = context
    this.#payment = payment
    this.#taken = taken
  }

  /** Sends the transfer, waits for the outcome and answers. */
  async settle(charge?: { readonly amount: bigint }): Promise<SettleResponse> {
    const { charged: before } = this.#taken
    const charged = chargedOf({ value: this.#payment.entry.value, before, charge })
    if (charged === undefined) return this.#refuse(EXCEEDED, chargedBefore(before))
    if (charged === 0n) return this.#settleUncharged()
    // A fixed price has no charge: the amount itself is taken.
    if (charge !== undefined || before !== undefined) this.#note(charged)
    const { nowSeconds, settleTimeoutMs, closed } = this.#context
    const { core, transfer } = this.#payment
    const validitySeconds = settleMarginSeconds(core.chain.network)
    const late = checkTimeWindow(transfer.facts, { now: nowSeconds(), validitySeconds })
    if (late !== undefined) return this.#refuseToSend(late)
    const deadline = startDeadline(settleTimeoutMs, closed)
    try {
      const sending = new TransferSubmission(this.#payment, this.#taken.superseded)
      const sent = await awaitSubmission(sending, this.#context, deadline)
      switch (sent.kind) {
        case 'sent':
          return await this.#awaitOutcome(sent, deadline)
        case 'refused':
          return isNonceUsed(sent.reason)
            ? await this.#onNonceUsed(sent.reason)
            : await this.#refuseToSend(sent.reason)
        case 'left':
          return await this.#orRelease(this.#leave(sending, sent.error))
      }
    } finally {
      deadline.end()
    }
  }

  /** Makes the charge a part of the payment. */
  #note(charged: bigint): void {
    const { entry, transfer } = this.#payment
    this.#payment = {
      ...this.#payment,
      entry: { ...entry, charged },
      transfer: { ...transfer, amount: charged },
    }
  }

  /** Nothing is sent: from now on the ledger refuses the payment, and nobody else can make its call. */
  async #settleUncharged(): Promise<SettleResponse> {
    const { core, key } = this.#payment
    await this.#orRelease(this.#context.ledger.payments.settleUncharged(key, this.lock))
    this.#note(0n)
    const { entry } = this.#payment
    dropPayment(core, entry)
    const event = entryEvent(core.chain.network, entry, tokenOf(core, entry))
    this.#context.events.emit('settled', { transaction: '', ...event })
    return settledResponse(this.#payment, '', entry)
  }

  release(): Promise<void> {
    const { core, key, entry } = this.#payment
    dropPayment(core, entry)
    return this.#context.ledger.payments.release(key, this.lock)
  }

  markDelivered(): Promise<void> {
    const { key } = this.#payment
    return this.#context.ledger.payments.markDelivered(key, this.#paid, this.lock)
  }

  async reopen(): Promise<void> {
    if (this.#paid !== undefined)
      await this.#context.reconciler.concluder.conclude(this.#payment.entry, this.#paid)
    return this.#context.ledger.payments.unlock(this.#payment.key, this.lock)
  }

  undeliver(): Promise<void> {
    return this.#context.ledger.payments.undeliver(this.#payment.key, this.lock)
  }

  /** Waits until the chain has decided, or time is over. */
  async #awaitOutcome(
    sent: Extract<SubmitResult, { kind: 'sent' }>,
    deadline: Deadline,
  ): Promise<SettleResponse> {
    const { submission, isUnknown } = sent
    this.#announceSubmitted(submission)
    let isWaiting = true
    const following = this.#context.reconciler.follower.follow(
      toSubmitted(this.#payment, submission),
      {
        isUnknown,
        resend: () => this.#resendAlone(() => !isWaiting || this.#context.closed.aborted),
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
    const again = await sendAlone(this.#payment, isOver)
    if (again !== undefined) this.#announceSubmitted(again)
    return again
  }

  /** A transaction that was written before is sent again as soon as it would succeed: the payer must not sign anew. */
  async #refuseToSend(reason: Reason): Promise<SettleResponse> {
    const { superseded } = this.#taken
    if (superseded === undefined) return this.#refuse(reason)
    endTransaction(this.#payment.core, this.#payment.entry)
    return this.#toPending(superseded)
  }

  async #refuse(reason: Reason, message?: string): Promise<SettleResponse> {
    await logLedgerFailure(this.#logged, this.release())
    this.#announce('refused', { reason, ...this.#event })
    return failedResponse(this.#payment, reason, { message })
  }

  /** The authorization was used since it was verified: perhaps the merchant has been paid. */
  async #onNonceUsed(reason: Reason): Promise<SettleResponse> {
    const { ledger, reconciler, logger } = this.#context
    const { core, entry, key } = this.#payment
    const { superseded, failed } = this.#taken
    const find = async (): Promise<Outcome> => {
      const { createdAt } = (await ledger.payments.find(key)) ?? {}
      const payment = { ...entry, submission: superseded ?? failed, createdAt }
      return findEarlierUse(core, { payment, reason }, this.#context)
    }
    const use = await find().catch((error: unknown): Outcome => {
      const fields = paymentFields(entry)
      logger.warn('It could not be found out what used an authorization.', { ...fields, error })
      return OPEN
    })
    switch (use.kind) {
      case 'paid':
        return this.#toResponse(await reconciler.concluder.conclude(entry, use))
      case 'failed':
        if (use.reason !== MAY_HAVE_PAID) return this.#refuse(reason)
        return this.#toResponse(await reconciler.concluder.conclude(entry, use))
      case 'open':
        if (superseded !== undefined) return this.#toPending(superseded)
        // Nothing is sent for it. When it is presented again, the chain is asked once more.
        dropPayment(core, entry)
        await logLedgerFailure(this.#logged, this.reopen())
        return failedResponse(this.#payment, 'settlement_pending')
    }
  }

  /** Nothing more is sent. What is written down may be mined, and goes on in the background. */
  async #leave(sending: TransferSubmission, error: unknown): Promise<SettleResponse> {
    const left = sending.detach()
    if (left === undefined) {
      if (this.#taken.superseded === undefined) throw error
      const fields = paymentFields(this.#payment.entry)
      this.#context.logger.warn('A payment could not be sent again.', { ...fields, error })
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
      ? failedResponse(this.#payment, 'settlement_pending', submission)
      : response
  }

  async #followLate(pending: Promise<unknown>, { sent }: TransferSubmission): Promise<void> {
    const { logger, reconciler } = this.#context
    try {
      await pending
      const late = await sent
      // Once the gateway closes, the next process on this ledger follows it.
      if (late.kind !== 'sent' || this.#context.closed.aborted) return
      await reconciler.follower.follow(toSubmitted(this.#payment, late.submission), late)
    } catch (error) {
      // It was neither written nor sent; or a later round finds it.
      const fields = paymentFields(this.#payment.entry)
      logger.warn('A payment was left while it was being sent.', { ...fields, error })
      await logLedgerFailure(this.#logged, this.release())
    }
  }

  /** The outcome is not known: unlocks the payment, so that a later request can resume it. */
  async #toPending({ transaction }: Submission): Promise<SettleResponse> {
    await logLedgerFailure(this.#logged, this.reopen())
    this.#announcePending(transaction)
    return failedResponse(this.#payment, 'settlement_pending', { transaction })
  }

  #toResponse(decision: Decision): SettleResponse {
    return decision.kind === 'paid'
      ? settledResponse(this.#payment, decision.transaction, this.#payment.entry)
      : failedResponse(this.#payment, decision.reason, decision)
  }

  /** The fields with which a failure of the ledger is logged. */
  get #logged() {
    return { logger: this.#context.logger, entry: this.#payment.entry }
  }

  #announceSubmitted({ transaction }: Submission): void {
    this.#payment.onSubmitted?.(transaction)
    this.#announce('submitted', { transaction, ...this.#event })
  }

  #announcePending(transaction: string): void {
    const { events } = this.#context
    const { core, entry } = this.#payment
    if (!isRefundEntry(entry)) return events.emit('pending', { transaction, ...this.#event })
    const event = entryEvent(core.chain.network, entry, tokenOf(core, entry))
    events.emit('refundPending', { transaction, refund: recordId(entry), ...event })
  }

  get #event() {
    const { payment, terms, payer, entry } = this.#payment
    const event = paymentEvent({ payment, terms, payer })
    return { ...event, amount: amountOf(entry).toString(), ...chargedMembers(entry) }
  }

  /** Emits an event of a payment. Of a refund, the asker is told. */
  #announce<Name extends keyof GatewayEvents>(name: Name, event: GatewayEvents[Name]): void {
    if (!isRefundEntry(this.#payment.entry)) this.#context.events.emit(name, event)
  }

  /** Releases the payment if nothing was sent; what is already written stays. */
  async #orRelease<T>(sending: Promise<T>): Promise<T> {
    return sending.catch(async (error: unknown) => {
      await logLedgerFailure(this.#logged, this.release())
      throw error
    })
  }
}

const toSubmitted = ({ entry }: VerifiedPayment, submission: Submission): SubmittedPayment => ({
  submission,
  ...entry,
})
