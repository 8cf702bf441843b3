import { LRUCache } from 'lru-cache'
import { isFacilitatorError } from '../errors.js'
import type { Payment } from '../protocol/decoded-payment.js'
import type { SettleResponse } from '../protocol/payment.js'
import { isFailedTransaction, type Reason } from '../protocol/reasons.js'
import { paymentEvent, type EventBus, type PaymentEvent } from '../schemes/events.js'
import { isRefusal, type MerchantTerms, type Reservation } from '../schemes/scheme.js'
import { decodingFacilitator } from './decoding-facilitator.js'
import type { FacilitatorCore, ReservingFacilitator } from './facilitator.js'

/** Settled payments that are remembered, so that each is announced once. */
const REMEMBERED = 100_000

/**
 * Emits the events of payments that a remote facilitator settles, as a local one does.
 *
 * `submitted` is never emitted: only the facilitator knows when it sends a transaction. Where it did not
 * say what became of a settlement, `pending` has `transaction: ""`.
 */
export function announceRemote(core: FacilitatorCore, events: EventBus): ReservingFacilitator {
  /** Ids of payments whose settlement was announced. */
  const settled = new LRUCache<string, true>({ max: REMEMBERED })

  const announceRefusal = (
    event: PaymentEvent,
    reason: Reason,
    transaction: string | undefined,
  ): void => {
    if (reason === 'settlement_pending')
      events.emit('pending', { transaction: transaction ?? '', ...event })
    else if (transaction && isFailedTransaction(reason))
      events.emit('failed', { transaction, reason, ...event })
    else events.emit('refused', { reason, ...event })
  }

  const announceSettlement = (event: PaymentEvent, id: string, response: SettleResponse): void => {
    if (!response.success) return announceRefusal(event, response.errorReason, response.transaction)
    if (settled.has(id)) return
    settled.set(id, true)
    events.emit('settled', { transaction: response.transaction, ...event })
  }

  return decodingFacilitator({
    formats: core.formats,
    supported: () => core.supported(),
    async verifyPayment(payment, terms) {
      const response = await core.verifyPayment(payment, terms)
      const event = describe(payment, terms)
      if (response.isValid) events.emit('verified', event)
      else events.emit('refused', { reason: response.invalidReason, ...event })
      return response
    },
    async reserve(payment, terms, options) {
      const reserved = await core.reserve(payment, terms, options)
      const event = describe(payment, terms)
      if (isRefusal(reserved)) {
        announceRefusal(event, reserved.refused, reserved.transaction)
        return reserved
      }
      events.emit('verified', event)
      return {
        payer: reserved.payer,
        release: () => reserved.release(),
        markDelivered: () => reserved.markDelivered(),
        reopen: () => reserved.reopen(),
        undeliver: () => reserved.undeliver(),
        async settle() {
          const response = await reserved.settle().catch((error: unknown) => {
            // It was asked, and may have settled.
            if (isFacilitatorError(error)) events.emit('pending', { transaction: '', ...event })
            throw error
          })
          announceSettlement(event, idOf(payment, event), response)
          return response
        },
      } satisfies Reservation
    },
  })
}

/** Describes a payment; its payer is written as the client wrote it. */
function describe(payment: Payment, terms: MerchantTerms | undefined): PaymentEvent {
  const payer = payment.signed.ok ? payment.signed.value.payer : undefined
  return paymentEvent({ payment, terms, payer })
}

/** Identifies an authorization. */
function idOf({ signed }: Payment, { network, asset, payer }: PaymentEvent): string {
  const nonce = signed.ok ? signed.value.authorization.nonce : ''
  return [network, asset, payer, nonce].join(' ').toLowerCase()
}
