import {
  amountOf,
  type LedgerEntry,
  type LedgerRecord,
  type LedgerStore,
} from '../../ledger/index.js'
import { isRefundEntry } from '../../ledger/refunds.js'
import type { Logger } from '../../shared/logger.js'
import type { ReadablePayment } from '../../shared/protocol/decoded-payment.js'
import type { Address, SettleResponse } from '../../shared/protocol/payment.js'
import { unsettledResponse } from '../../shared/protocol/reason-words.js'
import type { Reason } from '../../shared/protocol/reasons.js'
import { askHook } from './ask-hook.js'
import { checkBuyer, purchaseOf, refusalDetails, type FailedRecord } from './check-record.js'
import {
  chargedMembers,
  paymentEvent,
  type EventBus,
  type GatewayEvents,
  type RecordedPaymentEvent,
} from './events.js'
import type { PaymentHooks } from './payment-hooks.js'
import { isRefusal, type MerchantTerms, type Refusal, type Reservation } from './scheme.js'
import {
  chargedBefore,
  chargedOf,
  EXCEEDED,
  logLedgerFailure,
  settledReservation,
} from './settled-reservation.js'

export interface ReservationContext extends Pick<PaymentHooks, 'beforeSettle'> {
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly logger: Logger
}

export interface ReservedPayment {
  readonly payment: ReadablePayment
  readonly terms: MerchantTerms | undefined
  readonly entry: LedgerEntry
  /** With its checksum. */
  readonly payer: Address
}

export type Settled = Extract<SettleResponse, { success: true }>
export type Unsettled = Extract<SettleResponse, { success: false }>

export type SentRecord = Extract<LedgerRecord, { state: 'submitted' | 'settled' }>

/** A reservation of a payment that is not known to be paid, as the ledger sees it. Subclasses move the money. */
export abstract class OpenReservation<
  Context extends ReservationContext,
  Payment extends ReservedPayment,
> implements Reservation {
  readonly payer: Address
  /** As {@link Reservation.lock}; absent until it is taken. */
  lock: string | undefined
  protected readonly context: Context
  /** With what is charged, once that is known. */
  protected payment: Payment
  /** What an earlier transaction was to take: whatever is sent now takes the same. */
  #before: bigint | undefined
  /** Whether a transaction was sent for it that may still be mined. */
  #wasSent = false

  constructor(context: Context, payment: Payment) {
    this.payer = payment.payer
    this.context = context
    this.payment = payment
  }

  /** Moves the money, waits for the outcome and answers. */
  protected abstract pay(): Promise<SettleResponse>
  /** The ledger has settled a payment of which nothing is taken. Never rejects. */
  protected abstract onUncharged(): void | Promise<void>
  /** Why a payment whose last transaction failed is not sent again, if it is not. */
  protected abstract refusalAfter(record: FailedRecord): Refusal | undefined
  /**
   * Finds out what became of a payment that was sent before; it stays locked unless it is refused.
   *
   * @returns `undefined` where it is to be sent again.
   */
  protected abstract findOutcome(record: SentRecord): Promise<Settled | Refusal | undefined>

  /** Takes the payment that was just reserved or locked again. */
  taken(): this {
    this.lock = this.context.ledger.payments.lockOf(this.payment.entry)
    return this
  }

  async settle(charge?: { readonly amount: bigint }): Promise<SettleResponse> {
    const before = this.#before
    const charged = chargedOf({ value: this.payment.entry.value, before, charge })
    if (charged === undefined) return this.refuse(EXCEEDED, chargedBefore(before))
    // A fixed price has no charge: the amount itself is taken.
    if (!this.isMetered) return this.#payUnlessVetoed()
    this.setCharge(charged)
    return charged === 0n ? this.#settleUncharged() : this.#payUnlessVetoed()
  }

  async #payUnlessVetoed(): Promise<SettleResponse> {
    const { beforeSettle } = this.context
    // What was sent may still be mined, and a refund is no payment.
    if (beforeSettle === undefined || this.#wasSent || isRefundEntry(this.payment.entry))
      return this.pay()
    const proposed = { ...this.payment, event: this.event }
    const veto = await this.orElse('release', askHook('beforeSettle', beforeSettle, proposed))
    return veto === undefined ? this.pay() : this.refuse(veto.refused, veto.message)
  }

  /** From now on the ledger keeps the payment from being used again: nobody else can make its call. */
  async #settleUncharged(): Promise<SettleResponse> {
    const { ledger, events } = this.context
    const { entry } = this.payment
    await this.orElse('release', ledger.payments.settleUncharged(entry, this.lock))
    await this.onUncharged()
    events.emit('settled', { transaction: '', ...this.settledEvent })
    return this.settledBy('')
  }

  protected setCharge(charged: bigint): void {
    this.payment = { ...this.payment, entry: { ...this.payment.entry, charged } }
  }

  release(): Promise<void> {
    return this.context.ledger.payments.release(this.payment.entry, this.lock)
  }

  markDelivered(): Promise<void> {
    return this.context.ledger.payments.markDelivered(this.payment.entry, undefined, this.lock)
  }

  reopen(): Promise<void> {
    return this.context.ledger.payments.unlock(this.payment.entry, this.lock)
  }

  undeliver(): Promise<void> {
    return this.context.ledger.payments.undeliver(this.payment.entry, this.lock)
  }

  /**
   * Takes up a payment that was sent before, and whose outcome was not known or whose payer got nothing for it.
   * Of many requests that present it at once, one gets it.
   */
  async resume(): Promise<Reservation | Refusal> {
    const { ledger } = this.context
    const { entry, terms, payer } = this.payment
    if (!(await ledger.payments.relock(entry, entry.purchase?.asker)))
      return { refused: 'duplicate_settlement', payer }
    const { lock } = this.taken()
    // It may have changed before it was locked.
    const record = await this.orElse('reopen', ledger.payments.find(entry))
    const purchase = purchaseOf(this.payment)
    const refused = record && checkBuyer(record, purchase)
    if (record !== undefined && refused !== undefined)
      return this.refuseToResume({ refused, ...refusalDetails(record, purchase, refused) })
    // Nothing was sent, or its authorization was found used, but not by which transaction.
    if (record === undefined || record.state === 'reserved')
      return terms?.purchase?.redeemOnly ? this.refuseToResume({ refused: 'quote_expired' }) : this
    if (this.isMetered) this.#before = amountOf(record)
    if (record.state === 'failed') {
      const refusal = this.refusalAfter(record)
      return refusal ? this.refuseToResume(refusal) : this
    }
    const found = await this.findOutcome(record)
    this.#wasSent = found === undefined
    if (found === undefined) return this
    if (isRefusal(found)) return { ...found, payer }
    return settledReservation(ledger, record, { payer, lock, response: found })
  }

  /** Ends a resumption: the record stays as it is. */
  protected async refuseToResume(refusal: Refusal): Promise<Refusal> {
    await this.logFailure(this.reopen())
    return { ...refusal, payer: this.payer }
  }

  /** Nothing was sent, and nothing will be. */
  protected async refuse(reason: Reason, message?: string): Promise<SettleResponse> {
    await this.logFailure(this.release())
    this.announce('refused', { reason, ...this.event })
    return this.unsettled({ reason, message })
  }

  /** Ends the reservation where what it waits for fails; what is already written stays. */
  protected orElse<T>(end: 'release' | 'reopen', waiting: Promise<T>): Promise<T> {
    return waiting.catch(async (error: unknown) => {
      await this.logFailure(this[end]())
      throw error
    })
  }

  protected logFailure(written: Promise<unknown>): Promise<void> {
    return logLedgerFailure({ logger: this.context.logger, entry: this.payment.entry }, written)
  }

  /** Emits an event of a payment. Of a refund, the asker is told. */
  protected announce<Name extends keyof GatewayEvents>(
    name: Name,
    event: GatewayEvents[Name],
  ): void {
    if (!isRefundEntry(this.payment.entry)) this.context.events.emit(name, event)
  }

  /** @param entry - What its record says was charged. */
  protected settledBy(transaction: string, entry: LedgerEntry = this.payment.entry): Settled {
    const { payer, network, isMetered } = this
    const amount = isMetered ? { amount: amountOf(entry).toString() } : {}
    return { success: true, transaction, network, payer, ...amount }
  }

  /** The merchant was not paid, or is not known to have been. */
  protected unsettled(failure: {
    readonly reason: Reason
    readonly message?: string | undefined
    readonly transaction?: string | undefined
  }): Unsettled {
    const { reason, message, transaction } = failure
    const { network, payer } = this
    return unsettledResponse({ reason, message, transaction, network, payer })
  }

  /** Whether the amount is a maximum. */
  protected get isMetered(): boolean {
    return this.payment.payment.format?.isMetered === true
  }

  protected get network(): string {
    return this.payment.payment.requirements.network
  }

  protected get settledEvent(): RecordedPaymentEvent {
    return this.event
  }

  /** The payment, with its charge as soon as that is known. */
  protected get event(): RecordedPaymentEvent {
    const { entry } = this.payment
    const amount = amountOf(entry).toString()
    return { ...paymentEvent(this.payment), amount, ...chargedMembers(entry) }
  }
}
