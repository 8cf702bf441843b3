import { checkRefund, isRefundRecord } from '../refunds.js'
import type { RefundEntry, RefundRecord, RefundReservation, Refunds } from '../refunds.js'
import { recordId } from '../record.js'
import type { PaymentRecords } from './payment-records.js'

/** Reserves refunds in this process. Nothing in it awaits between a check and the change that it allows. */
export class MemoryRefunds implements Refunds {
  readonly #payments: PaymentRecords
  readonly #now: () => number

  /** @param now - Unix time in milliseconds. */
  constructor(payments: PaymentRecords, now: () => number) {
    this.#payments = payments
    this.#now = now
  }

  async reserveRefund(entry: RefundEntry): Promise<RefundReservation> {
    const existing = this.#payments.findAny(entry)
    if (existing !== undefined) return { kind: 'known', record: this.#payments.shown(existing) }
    const id = recordId(entry)
    const payment = this.#payments.records.get(entry.refundOf)
    const refused = checkRefund(entry, {
      payment,
      others: this.#listed(entry.refundOf).filter((other) => other.id !== id),
      nowSeconds: BigInt(Math.floor(this.#now() / 1000)),
    })
    if (refused !== undefined) return refused
    this.#payments.create(entry, { locked: true })
    if (payment?.delivered === false)
      this.#payments.update({ ...payment, locked: true, delivered: true })
    return { kind: 'reserved' }
  }

  async refundsOf(payments: readonly string[]): Promise<readonly RefundRecord[]> {
    return payments.flatMap((payment) => this.#listed(payment))
  }

  #listed(payment: string): readonly RefundRecord[] {
    return this.#payments.records
      .refundsOf(payment)
      .map((record) => this.#payments.listed(record))
      .filter(isRefundRecord)
  }
}
