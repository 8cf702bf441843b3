/**
 * A payment on its way through a paid call: reserved, settled, delivered. One function leads from each state to the
 * next, and whatever gives an answer asks for the last one.
 */
import { deliveredAnswer } from '../../ledger/delivered-answer.js'
import type { LedgerStore } from '../../ledger/index.js'
import type { Logger } from '../../shared/logger.js'
import type { PaymentRequirements, SettleResponse } from '../../shared/protocol/payment.js'
import { sameOffer } from '../../shared/protocol/same-offer.js'
import { refusalResponse } from '../../core/schemes/scheme.js'
import type { OfferExtra, Refusal, Reservation } from '../../core/schemes/scheme.js'
import type { AnswerKeys } from './answer-keys.js'
import type { Exit, Unsettled } from './exits.js'
import { requestFields } from '../respond/log-fields.js'
import { isUnpaid } from '../respond/stored-response.js'
import type { Offer } from '../route/offer.js'
import type { Receipt } from '../route/payment-dialect.js'
import type { PresentedAttempt } from './paid-call.js'

export interface PaymentAttempt extends PresentedAttempt {
  readonly keys: AnswerKeys
}

/** A payment that is reserved for this request. It is settled, or released. */
export interface Reserved extends PaymentAttempt {
  readonly kind: 'reserved'
  readonly reservation: Reservation
}

interface Paid<Kind> extends PaymentAttempt {
  readonly kind: Kind
  readonly reservation: Reservation
  readonly settlement: Extract<SettleResponse, { success: true }>
  readonly receipt: Receipt
}

/** The money has moved. The answer is delivered, or the payment is opened again. */
export type Settled = Paid<'settled'>

/** The answer is kept, and the ledger has it that it goes out: only now may it. */
export type Delivered = Paid<'delivered'>

/** How a route makes what was paid for, and gives it. */
export interface Delivery {
  /** Whether there is no room for another answer. */
  readonly isFull: boolean
  /** Leads a payment to its end. */
  run(attempt: Reserved): Promise<Exit>
}

/** Gives an unused payment back: its payer may present it for another request. */
export async function releaseUnpaid(
  { logger }: { readonly logger: Logger },
  attempt: Reserved,
): Promise<void> {
  const { reservation, keys } = attempt
  await reservation.release().catch((error: unknown) => {
    logger.error('A payment could not be released.', { ...requestFields(attempt), error })
  })
  await keys.id.abandon()
}

interface MadeAnswer {
  /** Token units, where the price is a maximum. */
  readonly charge?: bigint | undefined
  /** Serializes it. If the price is another one when the payment is presented again, this is what it has bought. */
  readonly serialize?: () => string | undefined
}

/** Moves the money. @returns How the request ends if that failed, or is not known to be done. */
export async function settle(
  attempt: Reserved,
  { charge, serialize }: MadeAnswer = {},
): Promise<Settled | Exit> {
  const { reservation, keys, payment } = attempt
  const settlement = await reservation.settle(charge === undefined ? charge : { amount: charge })
  if (settlement.success) {
    const receipt = payment.dialect.receipt(settlement)
    return { ...attempt, kind: 'settled', settlement, receipt }
  }
  const { errorReason, transaction } = settlement
  const isPending = errorReason === 'settlement_pending'
  if (isPending && keys.id.hasKey && serialize !== undefined) {
    const answer = serialize()
    await keys.id.keep(answer === undefined ? keys.id.kept : { answer })
  }
  // What a transaction was to take may still be taken, or is taken by the next one.
  if (!isPending && transaction === '') await keys.charge.forget()
  return endUnsettled(attempt, settlement)
}

/**
 * Keeps the answer for this delivery alone, and then records that it is about to go out.
 *
 * @param answer - Serialized, where it may be given again.
 * @throws `LedgerError` if the delivery could not be recorded: then nothing may go out.
 */
export async function deliver(settled: Settled, answer: string | undefined): Promise<Delivered> {
  const { reservation, keys, offer, payment, settlement } = settled
  if (answer !== undefined) await keys.id.keep({ answer, delivery: reservation.lock })
  await reservation.markDelivered().catch(async (error: unknown) => {
    // An answer that an earlier request kept may be all that this payment still buys.
    await keys.id.keep(keys.id.kept)
    throw error
  })
  // Charged nothing, it would be counted as a sale that cost its buyer nothing.
  if (settlement.amount !== '0') offer.onSold?.(payment.requirements)
  return { ...settled, kind: 'delivered' }
}

/**
 * Makes the receipt of an answer that goes out: a signed one, if the gateway signs receipts. A charge of zero has none,
 * as anybody could collect them.
 */
export function receiptFor({ offer, payment, settlement, receipt }: Settled | Delivered): Receipt {
  const { issuer, resource } = offer
  if (issuer === undefined || settlement.amount === '0') return receipt
  const extensions = { ...settlement.extensions, ...issuer.signReceipt(resource.url, settlement) }
  return payment.dialect.receipt({ ...settlement, extensions })
}

/** Ends a payment whose answer goes out. @param answer - The final one, if it may be given again. */
export function give({ keys }: Delivered, answer: string | undefined): void {
  keys.give(answer)
}

/** Opens a payment again that has bought nothing yet: nobody is there to receive it. */
export async function reopen({ reservation }: Settled): Promise<Exit> {
  await reservation.reopen()
  return { kind: 'over' }
}

/** Opens a payment again that was recorded as delivered, though nothing went out. */
export async function undeliver({ reservation, keys }: Delivered): Promise<Exit> {
  await keys.id.keep(keys.id.kept)
  await reservation.undeliver()
  return { kind: 'over' }
}

async function endUnsettled(
  { offer, payment, keys: { id } }: PaymentAttempt,
  settlement: Unsettled,
): Promise<Exit> {
  const receipt = payment.dialect.receipt(settlement)
  if (settlement.errorReason === 'settlement_pending') {
    await id.pause()
    return { kind: 'settlement_pending', receipt }
  }
  // It will never be paid for.
  if (id.kept !== undefined && isUnpaid(id.kept.answer)) await id.keep(undefined)
  await id.abandon()
  return { kind: 'not_settled', offer, settlement, receipt }
}

/** Ends a payment that was refused before this request sent anything for it. */
export async function endRefused(
  { ledger }: { readonly ledger: Pick<LedgerStore, 'payments' | 'refunds'> },
  attempt: PaymentAttempt,
  refusal: Refusal,
): Promise<Exit> {
  const { offer, payment, keys } = attempt
  const { refused, message, transaction, settledBy, offerExtra } = refusal
  if (refused === 'invalid_exact_evm_nonce_already_used') {
    const stored = await deliveredAnswer(ledger, keys.id.kept, payment.key)
    if (stored !== undefined) {
      await keys.id.finish(stored)
      return { kind: 'repeated', stored }
    }
  }
  const isUnsent = transaction === undefined && settledBy === undefined
  // `settlement_pending` without a hash: something was sent or waits to be, so the client must not sign anew.
  if (!isUnsent || refused === 'settlement_pending')
    return endUnsettled(attempt, refusalResponse(refusal, payment.requirements.network))
  await keys.id.abandon()
  // A 402 would ask for another payment.
  if (refused === 'merchant_paused') return { kind: 'merchant_paused' }
  const next =
    offerExtra === undefined ? offer : amendOffer(offer, payment.requirements, offerExtra)
  return { kind: 'payment_required', offer: next, error: refused, message }
}

/** The offer of the next 402, in which the entry of a refused payment says more. */
function amendOffer(offer: Offer, refused: PaymentRequirements, more: OfferExtra): Offer {
  const quotes = offer.quotes.map((quote) => {
    const { entry } = quote
    // It may have another price by now.
    if (!sameOffer({ ...entry, amount: refused.amount }, refused)) return quote
    return { ...quote, entry: { ...entry, extra: { ...entry.extra, ...more } } }
  })
  return { ...offer, quotes, accepts: quotes.map(({ entry }) => entry) }
}
