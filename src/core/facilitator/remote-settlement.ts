import { isFacilitatorError } from '../../shared/errors.js'
import { amountOf, type LedgerRecord } from '../../ledger/index.js'
import { provesBuyer } from '../../ledger/purchase.js'
import { REMOTE_SUBMISSION } from '../../ledger/record-transaction.js'
import { sameHex } from '../../shared/protocol/hex.js'
import type { Address, Hex, SettleResponse } from '../../shared/protocol/payment.js'
import { unsettledResponse } from '../../shared/protocol/reason-words.js'
import { isFailedTransaction } from '../../shared/protocol/reasons.js'
import { checkBuyer, purchaseOf } from '../schemes/check-record.js'
import { chargedMembers, paymentEvent } from '../schemes/events.js'
import { refusalResponse } from '../schemes/scheme.js'
import type { Refusal, Reservation } from '../schemes/scheme.js'
import {
  chargedBefore,
  chargedOf,
  EXCEEDED,
  logLedgerFailure,
  settledReservation,
} from '../schemes/settled-reservation.js'
import { amountMember, askToSettle } from './ask-to-settle.js'
import type { Charge } from './charged-payment.js'
import { wordsOf } from './remote-log.js'
import type { RemoteContext, RemotePayment } from './remote-payment.js'
import { hashOrNone, isUnsentElsewhere, ownWords } from './remote-results.js'

type Settled = Extract<SettleResponse, { success: true }>
type Unsettled = Extract<SettleResponse, { success: false }>

/** A reservation, in the ledger here, of a payment that a remote facilitator settles. */
export class RemoteSettlement implements Reservation {
  readonly payer: Address
  /** As {@link Reservation.lock}; absent until it is taken. */
  lock: string | undefined
  readonly #context: RemoteContext
  /** With what is charged, once that is known. */
  #payment: RemotePayment
  /** What an earlier request to settle it was to take. */
  #before: bigint | undefined
  /** Its last transaction that failed: asking to settle after it is another request. */
  #failed: Hex | undefined

  constructor(context: RemoteContext, payment: RemotePayment) {
    this.payer = payment.payer
    this.#context = context
    this.#payment = payment
  }

  /** Takes the payment that was just reserved or relocked. */
  taken(): this {
    this.lock = this.#context.ledger.payments.lockOf(this.#payment.entry)
    return this
  }

  /** Asks the facilitator to settle it, for the first time. */
  async settle(charge?: Charge): Promise<SettleResponse> {
    const { ledger } = this.#context
    const { entry: signed, isMetered } = this.#payment
    const charged = chargedOf({ value: signed.value, before: this.#before, charge })
    if (charged === undefined) return this.#refuseCharge()
    this.#note(charged)
    if (isMetered && charged === 0n) return this.#settleUncharged()
    const { entry } = this.#payment
    // If this process ends before the response is here, its successor must know that it asked.
    await this.#orRelease(ledger.payments.submit(entry, REMOTE_SUBMISSION, entry.charged))
    const response = await this.#ask().catch(async (error: unknown) => {
      if (isFacilitatorError(error) && error.isUnsent) await this.#logFailure(this.#withdraw())
      else {
        await this.#logFailure(this.reopen())
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
    const refusal = this.#context.log.refusalOf('settle', errorReason, errorMessage)
    await this.#logFailure(this.#withdraw())
    this.#context.events.emit('refused', {
      reason: errorReason,
      ...this.#unsettledEvent(refusal.facilitatorMessage),
    })
    return refusalResponse({ ...refusal, payer: this.payer }, this.#network)
  }

  /** Makes the charge a part of the payment, where its amount is a maximum. */
  #note(charged: bigint): void {
    const { entry, isMetered } = this.#payment
    if (isMetered) this.#payment = { ...this.#payment, entry: { ...entry, charged } }
  }

  async #refuseCharge(): Promise<SettleResponse> {
    await this.#logFailure(this.release())
    const message = chargedBefore(this.#before)
    this.#context.events.emit('refused', { reason: EXCEEDED, ...this.#event })
    return refusalResponse({ refused: EXCEEDED, message, payer: this.payer }, this.#network)
  }

  /**
   * Nothing is taken: the ledger keeps the payment from being used again. The facilitator is told, as official
   * servers tell it, and whatever it answers changes nothing.
   */
  async #settleUncharged(): Promise<SettleResponse> {
    const { ledger, events, log } = this.#context
    await this.#orRelease(ledger.payments.settleUncharged(this.#payment.entry, this.lock))
    const told = await this.#ask().catch((error: Error) => error)
    if (told instanceof Error) log.undecided('unexpected_settle_error', told.message)
    else if (!told.success) log.undecided(told.errorReason, told.errorMessage)
    events.emit('settled', { transaction: '', ...this.#settledEvent })
    return this.#settledBy('')
  }

  release(): Promise<void> {
    return this.#context.ledger.payments.release(this.#payment.entry, this.lock)
  }

  markDelivered(): Promise<void> {
    return this.#context.ledger.payments.markDelivered(this.#payment.entry, undefined, this.lock)
  }

  reopen(): Promise<void> {
    return this.#context.ledger.payments.unlock(this.#payment.entry, this.lock)
  }

  undeliver(): Promise<void> {
    return this.#context.ledger.payments.undeliver(this.#payment.entry, this.lock)
  }

  /**
   * Takes up a payment that was sent there before, and whose outcome was not known or whose payer got
   * nothing for it. Of many requests that present it at once, one gets it.
   */
  async resume(): Promise<Reservation | Refusal> {
    const { ledger } = this.#context
    const { entry, terms } = this.#payment
    const { payer } = this
    if (!(await ledger.payments.relock(entry, entry.purchase?.asker)))
      return { refused: 'duplicate_settlement', payer }
    const { lock } = this.taken()
    // It may have changed before it was locked.
    const record = await this.#orReopen(ledger.payments.find(entry))
    const refused = record && checkBuyer(record, purchaseOf(this.#payment))
    if (refused !== undefined) return this.#refuse({ refused })
    // Its process ended before it asked.
    if (record === undefined || record.state === 'reserved')
      return terms?.purchase?.redeemOnly ? this.#refuse({ refused: 'quote_expired' }) : this
    this.#before = amountOf(record)
    this.#note(this.#before)
    if (record.state === 'failed') {
      this.#failed = record.transaction
      if (!terms?.purchase?.redeemOnly) return this
      return this.#refuse({ refused: record.reason, message: wordsOf(record.reason) })
    }
    if (record.state === 'submitted') this.#failed = record.submission.failed?.[0]
    const found = await this.#outcomeOf(record)
    if ('refused' in found) return { ...found, payer }
    const charged = this.#before
    const { value } = record
    return settledReservation(ledger, { key: entry, payer, lock, response: found, value, charged })
  }

  /** Finds the outcome of a payment that was sent before. */
  async #outcomeOf(
    record: Extract<LedgerRecord, { state: 'submitted' | 'settled' }>,
  ): Promise<Settled | Refusal> {
    const { entry, isSigned } = this.#payment
    const isSettled = record.state === 'settled'
    if (isSettled && (isSigned || provesBuyer(record, entry)))
      return this.#settledBy(record.transaction ?? '')
    // The facilitator knows nothing of a payment that nothing was charged for: it would settle it.
    if (isSettled && record.transaction === undefined) return this.#refuse({ refused: NONCE_USED })
    // The idempotency key is the same, so the very payment that was settled gets the same answer.
    const response = await this.#orReopen(this.#ask())
    const isUsed = !response.success && response.errorReason === NONCE_USED
    // The facilitator names the transaction to the asker alone whose request settled the payment.
    const settledBy = isUsed ? response.settledBy : undefined
    if (isSettled && (response.success || settledBy !== undefined))
      return this.#settledBy(record.transaction ?? '')
    if (isSettled) return this.#refuse({ refused: NONCE_USED })
    if (response.success) return this.#conclude(response)
    if (settledBy !== undefined) return this.#conclude(this.#settledBy(settledBy))
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
    return askToSettle(this.#context, this.#payment, this.#failed)
  }

  async #conclude(response: Settled): Promise<Settled> {
    const { ledger, events } = this.#context
    const { entry } = this.#payment
    // A facilitator of the app's own may name anything.
    const transaction = hashOrNone(response.transaction) ?? REMOTE_SUBMISSION.transaction
    await this.#logFailure(ledger.payments.markSettled(entry, transaction as Hex))
    events.emit('settled', { transaction: response.transaction, ...this.#settledEvent })
    return response
  }

  /** The transaction was mined, and failed. */
  async #fail({ errorReason: reason, transaction, errorMessage }: Unsettled): Promise<Unsettled> {
    const { ledger, events, log } = this.#context
    const { message, facilitatorMessage } = log.refusalOf('settle', reason, errorMessage)
    const failure = { transaction: transaction as Hex, reason }
    await this.#logFailure(ledger.payments.markFailed(this.#payment.entry, failure))
    events.emit('failed', { transaction, reason, ...this.#unsettledEvent(facilitatorMessage) })
    const network = this.#network
    return unsettledResponse({ reason, message, transaction, network, payer: this.payer })
  }

  /** Leaves the outcome open: the same payment, presented again, asks anew. */
  async #leavePending({ errorReason, errorMessage, transaction }: Unsettled): Promise<Unsettled> {
    const { ledger, log } = this.#context
    const hash = hashOrNone(transaction) as Hex | undefined
    if (errorReason !== 'settlement_pending') log.undecided(errorReason, errorMessage)
    if (hash !== undefined) {
      const submission = { ...REMOTE_SUBMISSION, transaction: hash }
      await this.#logFailure(ledger.payments.submit(this.#payment.entry, submission))
    }
    await this.#logFailure(this.reopen())
    return unsettledResponse({
      reason: 'settlement_pending',
      transaction: hash,
      network: this.#network,
      payer: this.payer,
    })
  }

  #announcePending(said: unknown, transaction = ''): void {
    this.#context.events.emit('pending', { transaction, ...this.#unsettledEvent(ownWords(said)) })
  }

  /** Nothing was sent. */
  #withdraw(): Promise<void> {
    return this.#context.ledger.payments.withdraw(
      this.#payment.entry,
      REMOTE_SUBMISSION.transaction,
    )
  }

  /** Ends a resumption: the record stays as it is. */
  async #refuse(refusal: Refusal): Promise<Refusal> {
    await this.#logFailure(this.reopen())
    return { ...refusal, payer: this.payer }
  }

  async #orRelease<T>(writing: Promise<T>): Promise<T> {
    return writing.catch(async (error: unknown) => {
      await this.#logFailure(this.release())
      throw error
    })
  }

  async #orReopen<T>(asked: Promise<T>): Promise<T> {
    return asked.catch(async (error: unknown) => {
      await this.#logFailure(this.reopen())
      throw error
    })
  }

  #settledBy(transaction: string): Settled {
    const { payer } = this
    return {
      success: true,
      transaction,
      network: this.#network,
      payer,
      ...amountMember(this.#payment),
    }
  }

  get #network(): string {
    return this.#payment.payment.requirements.network
  }

  get #event() {
    return paymentEvent(this.#payment)
  }

  get #settledEvent() {
    return {
      ...this.#event,
      ...amountMember(this.#payment),
      ...chargedMembers(this.#payment.entry),
    }
  }

  #unsettledEvent(facilitatorMessage: string | undefined) {
    return { ...this.#event, ...(facilitatorMessage !== undefined && { facilitatorMessage }) }
  }

  #logFailure(written: Promise<unknown>): Promise<void> {
    return logLedgerFailure({ ...this.#context, ...this.#payment }, written)
  }
}

const NONCE_USED = 'invalid_exact_evm_nonce_already_used'
