/** A payment on its way through a paid route, from the header that presents it to its delivery. */
import type { NextFunction, Request, Response } from 'express'
import { claimantsOf } from '../../core/facilitator/claimant.js'
import type { ReservingFacilitator } from '../../core/facilitator/facilitator.js'
import { fingerprintOf, idempotencyKey } from '../../ledger/once/fingerprint.js'
import type { ReadInput } from '../discovery/read-input.js'
import type { KeyClaim } from '../../ledger/once/once.js'
import type { WaitingRequest } from '../../ledger/once/wait.js'
import { deliveredAnswer } from '../../ledger/delivered-answer.js'
import { recordId, type LedgerStore } from '../../ledger/index.js'
import { ledgerEntryOf } from '../../ledger/ledger-entry.js'
import type { Logger } from '../../shared/logger.js'
import { isReadable } from '../../shared/protocol/decoded-payment.js'
import type { SettleResponse } from '../../shared/protocol/payment.js'
import { refusalResponse, type Refusal, type Reservation } from '../../core/schemes/scheme.js'
import type { Exit } from './exits.js'
import { hidePayment } from '../respond/hide-payment.js'
import { requestFields } from '../respond/log-fields.js'
import type { MatchedPayment } from '../route/matched-payment.js'
import type { Offer } from '../route/offer.js'
import type { PaidRequest } from './paid-request.js'
import type { RequestedPurchase } from '../route/route.js'
import { isUnpaid } from '../respond/stored-response.js'

/** A request on its way through Express. */
export interface Exchange {
  readonly req: Request
  readonly res: Response
  readonly next: NextFunction
  /** Whether the rate limit has counted it for its address. @defaultValue false */
  readonly isCounted?: boolean
  /** The request's input, as the route's schemas read it. */
  readonly input?: ReadInput | undefined
}

/** A payment that is presented for an offer, before its keys are claimed. */
type PresentedAttempt = Omit<PaymentAttempt, 'claim' | 'charged'>

/** A payment that is presented for an offer. */
export interface PaymentAttempt extends Exchange {
  /** Id of the project that is paid. */
  readonly project: string
  readonly offer: Offer
  readonly payment: MatchedPayment
  /** The purchase that the request asks for. */
  readonly bought: RequestedPurchase
  /** The payment's id, under which its payer may ask for the response again. */
  readonly claim: KeyClaim
  /** Of a payment up to a maximum: keeps the response that was charged for, until it goes out. */
  readonly charged: KeyClaim
}

/** A payment that is reserved for this request. */
export interface ReservedAttempt extends PaymentAttempt {
  readonly reservation: Reservation
}

/** Shows the handler what was paid, as `req.x402` and `res.locals.x402`, and not the payment itself. */
export function attachPayment(
  { req, res, payment, input }: PaymentAttempt,
  parties: Pick<PaidRequest, 'payer' | 'transaction' | 'waive' | 'charge'>,
): void {
  const { payload, requirements } = payment
  const { amount, asset, network } = requirements
  const paid: PaidRequest = { amount, asset, network, requirements, payload, input, ...parties }
  req.x402 = paid
  res.locals['x402'] = paid
  hidePayment(req)
}

/** Gives an unused payment back: its payer may present it for another request. */
export async function releaseUnpaid(
  { logger }: { readonly logger: Logger },
  attempt: ReservedAttempt,
): Promise<void> {
  const { reservation, claim } = attempt
  await reservation.release().catch((error: unknown) => {
    logger.error('A payment could not be released.', { ...requestFields(attempt), error })
  })
  await claim.abandon()
}

/** Keeps the answer of a payment that is about to be delivered, for that delivery alone. */
export async function keepPaid(
  { claim, reservation }: ReservedAttempt,
  answer: string,
): Promise<void> {
  await claim.keep({ answer, delivery: reservation.lock })
}

/**
 * Records that what was paid for is about to go out.
 *
 * @throws `LedgerError` if that could not be recorded: then nothing may go out.
 */
export async function markDelivered(
  attempt: ReservedAttempt,
  { amount }: Extract<SettleResponse, { success: true }>,
): Promise<void> {
  const { reservation, claim, offer, payment } = attempt
  await reservation.markDelivered().catch(async (error: unknown) => {
    // An answer that an earlier request kept may be all that this payment still buys.
    await claim.keep(claim.kept)
    throw error
  })
  // Charged nothing, it would be counted as a sale that cost its buyer nothing.
  if (amount !== '0') offer.onSold?.(payment.requirements)
}

/** Opens a payment again that was recorded as delivered, though nothing went out. */
export async function markUndelivered({ reservation, claim }: ReservedAttempt): Promise<void> {
  await claim.keep(claim.kept)
  await reservation.undeliver()
}

/**
 * Ends the claims of a payment that this request could not settle, or that is not known to be settled.
 *
 * @returns Its exit.
 */
export async function endReserved(
  attempt: ReservedAttempt,
  settlement: Extract<SettleResponse, { success: false }>,
): Promise<Exit> {
  const { errorReason, transaction } = settlement
  // What a transaction was to take may still be taken, or is taken by the next one.
  if (errorReason !== 'settlement_pending' && transaction === '') await attempt.charged.forget()
  return endUnsettled(attempt, settlement)
}

/** Ends the claim of a payment that was not settled, or is not known to be. @returns Its exit. */
async function endUnsettled(
  { offer, claim }: PaymentAttempt,
  settlement: Extract<SettleResponse, { success: false }>,
): Promise<Exit> {
  if (settlement.errorReason === 'settlement_pending') {
    await claim.pause()
    return { kind: 'settlement_pending', settlement }
  }
  // It will never be paid for.
  if (claim.kept !== undefined && isUnpaid(claim.kept.answer)) await claim.keep(undefined)
  await claim.abandon()
  return { kind: 'not_settled', offer, settlement }
}

/** Ends a payment that was refused before this request sent anything for it. */
export async function endRefused(
  { ledger }: { readonly ledger: Pick<LedgerStore, 'payments' | 'refunds'> },
  attempt: PaymentAttempt,
  refusal: Refusal,
): Promise<Exit> {
  const { offer, payment, claim } = attempt
  const { refused, message, transaction, settledBy } = refusal
  if (refused === 'invalid_exact_evm_nonce_already_used') {
    const stored = await deliveredAnswer(ledger, claim.kept, payment.key)
    if (stored !== undefined) {
      await claim.finish(stored)
      return { kind: 'repeated', stored }
    }
  }
  const isUnsent = transaction === undefined && settledBy === undefined
  // `settlement_pending` without a hash: something was sent or waits to be, so the client must not sign anew.
  if (!isUnsent || refused === 'settlement_pending')
    return endUnsettled(attempt, refusalResponse(refusal, payment.requirements.network))
  await claim.abandon()
  // A 402 would ask for another payment.
  if (refused === 'merchant_paused') return { kind: 'merchant_paused' }
  return { kind: 'payment_required', offer, error: refused, message }
}

/**
 * The key under which the payment's response is stored: the payment's id, in the scope of project, payer,
 * method, resource, route and declared price. Ids may be guessed: nobody takes one from another payer, see
 * {@link claimantsOf}. `originalUrl` counts because a route's own `resourceUrl` may leave parts out.
 */
export async function paymentIdKey(
  { facilitator }: { readonly facilitator: Pick<ReservingFacilitator, 'formats'> },
  { req, res, project, payment, bought }: PresentedAttempt,
): Promise<WaitingRequest | undefined> {
  const id = payment.paymentId.ok ? payment.paymentId.value : undefined
  if (id === undefined) return undefined
  const { presented, verified } = await claimantsOf(facilitator, payment)
  const { url = '', route = '', price = '' } = bought
  const resource = [req.method, url, req.originalUrl, route, price]
  // Extensions may be added when it is presented again.
  const { extensions: _extensions, ...signed } = payment.payload
  const keyOf = (claimant: string): string =>
    idempotencyKey('resource', project, claimant, ...resource, id)
  return {
    key: keyOf(presented),
    verifiedKey: verified && keyOf(verified),
    fingerprint: fingerprintOf(signed),
    project,
    res,
  }
}

/**
 * The key under which the response is kept that a payment up to a maximum was charged for: the payment, in
 * the scope of what it buys. Its nonce alone would not do: a payer may sign it again for another token, of
 * which as many units are worth less. A stranger who has only seen the payment on chain does not know the offer's
 * id, and holds nobody up. A payment has one key, however it is written: every key may keep a response. The response
 * is only given to a request that may reserve the payment.
 */
export function chargedKey({
  req,
  res,
  project,
  payment,
  bought,
}: PresentedAttempt): WaitingRequest | undefined {
  if (!isReadable(payment) || payment.format?.isMetered !== true) return undefined
  const entry = ledgerEntryOf(payment, { project, purchase: bought })
  const { resource = '', price = '', offer = '' } = entry.purchase ?? {}
  const signed = [recordId(entry), entry.asset, entry.value.toString(), offer, price]
  const key = idempotencyKey('charged', project, ...signed, resource, req.method, req.originalUrl)
  return { key, fingerprint: key, project, res }
}
