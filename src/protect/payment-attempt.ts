/** A payment on its way through a paid route, from the header that presents it to its delivery. */
import type { NextFunction, Request, Response } from 'express'
import type { KeyClaim } from '../idempotency/once.js'
import type { Logger } from '../logger.js'
import type { SettleResponse } from '../protocol/payment.js'
import type { Reservation } from '../schemes/scheme.js'
import type { Exit } from './exits.js'
import { hidePayment } from './hide-payment.js'
import { requestFields } from './log-fields.js'
import type { MatchedPayment } from './matched-payment.js'
import type { Offer } from './offer.js'
import type { PaidRequest } from './paid-request.js'
import { isUnpaid } from './stored-response.js'

/** A request on its way through Express. */
export interface Exchange {
  readonly req: Request
  readonly res: Response
  readonly next: NextFunction
}

/** A payment that is presented for an offer. */
export interface PaymentAttempt extends Exchange {
  /** Id of the project that is paid. */
  readonly project: string
  readonly offer: Offer
  readonly payment: MatchedPayment
  /** The payment's id, under which its payer may ask for the response again. */
  readonly claim: KeyClaim
}

/** A payment that is reserved for this request. */
export interface ReservedAttempt extends PaymentAttempt {
  readonly reservation: Reservation
}

/** Shows the handler what was paid, as `req.x402` and `res.locals.x402`, and not the payment itself. */
export function attachPayment(
  { req, res, payment }: PaymentAttempt,
  parties: Pick<PaidRequest, 'payer' | 'transaction' | 'waive'>,
): void {
  const { payload, requirements } = payment
  const { amount, asset, network } = requirements
  const paid: PaidRequest = { amount, asset, network, requirements, payload, ...parties }
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
export function keepPaid({ claim, reservation }: ReservedAttempt, answer: string): Promise<void> {
  return claim.keep({ answer, delivery: reservation.lock })
}

/**
 * Records that what was paid for is about to go out.
 *
 * @throws `LedgerError` if that could not be recorded: then nothing may go out.
 */
export async function markDelivered({ reservation, claim }: ReservedAttempt): Promise<void> {
  await reservation.markDelivered().catch(async (error: unknown) => {
    // An answer that an earlier request kept may be all that this payment still buys.
    await claim.keep(claim.kept)
    throw error
  })
}

/** Opens a payment again that was recorded as delivered, though nothing went out. */
export async function markUndelivered({ reservation, claim }: ReservedAttempt): Promise<void> {
  await claim.keep(claim.kept)
  await reservation.undeliver()
}

/** Ends the claim of a payment that was not settled, or is not known to be. @returns Its exit. */
export async function endUnsettled(
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
