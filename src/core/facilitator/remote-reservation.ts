import { isFacilitatorError } from '../../shared/errors.js'
import { amountOf } from '../../ledger/index.js'
import { provesBuyer } from '../../ledger/purchase.js'
import { REMOTE_SUBMISSION } from '../../ledger/record-transaction.js'
import { sameHex } from '../../shared/protocol/hex.js'
import type { Hex, SettleResponse } from '../../shared/protocol/payment.js'
import { isFailedTransaction } from '../../shared/protocol/reasons.js'
import type { FailedRecord } from '../schemes/check-record.js'
import { OpenReservation } from '../schemes/open-reservation.js'
import type { SentRecord, Settled, Unsettled } from '../schemes/open-reservation.js'
import { refusalResponse, type Refusal } from '../schemes/scheme.js'
import { askToSettle } from './ask-to-settle.js'
import { wordsOf } from './remote-log.js'
import type { RemoteContext, RemotePayment } from './remote-payment.js'
import { hashOrNone, isUnsentElsewhere, ownWords } from './http/results.js'

/** A reservation, in the ledger here, of a payment that a remote facilitator settles. */
export class RemoteReservation extends OpenReservation<RemoteContext, RemotePayment> {
  /** Its last transaction that failed: asking to settle after it is another request. */
  #failed: Hex | undefined

  /** Asks the facilitator to settle it, for the first time. */
  protected async pay(): Promise<SettleResponse> {
    const { ledger } = this.context
    const { entry } = this.payment
    // If this process ends before the response is here, its successor must know that it asked.
    await this.orElse('release', ledger.payments.submit(entry, REMOTE_SUBMISSION, entry.charged))
    const response = await this.#ask().catch(async (error: unknown) => {
      if (isFacilitatorError(error) && error.isUnsent) await this.logFailure(this.#withdraw())
      else {
        await this.logFailure(this.reopen())
        this.#announcePending(error instanceof Error ? error.cause : undefined)
      }
      throw error
    })
    if (response.success) return this.#conclude(response)
    const { errorReason, errorMessage } = response
    // Without a hash, its transaction may be one that another had come before: one that has paid.
    if (isFailedTransaction(errorReason) && hashOrNone(response.transaction) !== undefined)
      return this.#fail(response)
    if (!isUnsentElsewhere(errorReason)) {
      const pending = await this.#leavePending(response)
      this.#announcePending(errorMessage, pending.transaction)
      return pending
    }
    const refusal = this.context.log.refusalOf('settle', errorReason, errorMessage)
    await this.logFailure(this.#withdraw())
    this.context.events.emit('refused', {
      reason: errorReason,
      ...this.#unsettledEvent(refusal.facilitatorMessage),
    })
    return refusalResponse({ ...refusal, payer: this.payer }, this.network)
  }

  /** The facilitator is told, as official servers tell it, and whatever it answers changes nothing. */
  protected async onUncharged(): Promise<void> {
    const { log } = this.context
    const told = await this.#ask().catch((error: Error) => error)
    if (told instanceof Error) log.undecided('unexpected_settle_error', told.message)
    else if (!told.success) log.undecided(told.errorReason, told.errorMessage)
  }

  protected refusalAfter({ reason, transaction }: FailedRecord): Refusal | undefined {
    this.#failed = transaction
    const isOver = this.payment.terms?.purchase?.redeemOnly
    return isOver ? { refused: reason, message: wordsOf(reason) } : undefined
  }

  protected async findOutcome(record: SentRecord): Promise<Settled | Refusal> {
    if (this.isMetered) this.setCharge(amountOf(record))
    if (record.state === 'submitted') this.#failed = record.submission.failed?.[0]
    const { entry, isSigned } = this.payment
    const isSettled = record.state === 'settled'
    if (isSettled && (isSigned || provesBuyer(record, entry)))
      return this.settledBy(record.transaction ?? '')
    // The facilitator knows nothing of a payment that nothing was charged for: it would settle it.
    if (isSettled && record.transaction === undefined)
      return this.refuseToResume({ refused: NONCE_USED })
    // The idempotency key is the same, so the very payment that was settled gets the same answer.
    const response = await this.orElse('reopen', this.#ask())
    const isUsed = !response.success && response.errorReason === NONCE_USED
    // The facilitator names the transaction to the asker alone whose request settled the payment.
    const settledBy = isUsed ? response.settledBy : undefined
    if (isSettled && (response.success || settledBy !== undefined))
      return this.settledBy(record.transaction ?? '')
    if (isSettled) return this.refuseToResume({ refused: NONCE_USED })
    if (response.success) return this.#conclude(response)
    if (settledBy !== undefined) return this.#conclude(this.settledBy(settledBy))
    // Another transaction that fails may do so because the first one has paid.
    const { transaction } = record.submission
    const hasFailed =
      isFailedTransaction(response.errorReason) && sameHex(response.transaction, transaction)
    const unsettled = hasFailed ? await this.#fail(response) : await this.#leavePending(response)
    const { errorReason: refused, errorMessage: message } = unsettled
    const facilitatorMessage = ownWords(response.errorMessage)
    return { refused, message, transaction: unsettled.transaction, facilitatorMessage }
  }

  #ask(): Promise<SettleResponse> {
    return askToSettle(this.context, this.payment, this.#failed)
  }

  async #conclude(response: Settled): Promise<Settled> {
    const { ledger, events } = this.context
    const { entry } = this.payment
    // A facilitator of the app's own may name anything.
    const transaction = hashOrNone(response.transaction) ?? REMOTE_SUBMISSION.transaction
    await this.logFailure(ledger.payments.markSettled(entry, transaction as Hex))
    events.emit('settled', { transaction: response.transaction, ...this.settledEvent })
    return response
  }

  async #fail({ errorReason: reason, transaction, errorMessage }: Unsettled): Promise<Unsettled> {
    const { ledger, events, log } = this.context
    const { message, facilitatorMessage } = log.refusalOf('settle', reason, errorMessage)
    const failure = { transaction: transaction as Hex, reason }
    await this.logFailure(ledger.payments.markFailed(this.payment.entry, failure))
    events.emit('failed', { transaction, reason, ...this.#unsettledEvent(facilitatorMessage) })
    return this.unsettled({ reason, message, transaction })
  }

  /** Leaves the outcome open: the same payment, presented again, asks anew. */
  async #leavePending({ errorReason, errorMessage, transaction }: Unsettled): Promise<Unsettled> {
    const { ledger, log } = this.context
    const hash = hashOrNone(transaction) as Hex | undefined
    if (errorReason !== 'settlement_pending') log.undecided(errorReason, errorMessage)
    if (hash !== undefined) {
      const submission = { ...REMOTE_SUBMISSION, transaction: hash }
      await this.logFailure(ledger.payments.submit(this.payment.entry, submission))
    }
    await this.logFailure(this.reopen())
    return this.unsettled({ reason: 'settlement_pending', transaction: hash })
  }

  #announcePending(said: unknown, transaction = ''): void {
    this.context.events.emit('pending', { transaction, ...this.#unsettledEvent(ownWords(said)) })
  }

  /** Nothing was sent. */
  #withdraw(): Promise<void> {
    return this.context.ledger.payments.withdraw(this.payment.entry, REMOTE_SUBMISSION.transaction)
  }

  #unsettledEvent(facilitatorMessage: string | undefined) {
    return { ...this.event, ...(facilitatorMessage !== undefined && { facilitatorMessage }) }
  }
}

const NONCE_USED = 'invalid_exact_evm_nonce_already_used'
