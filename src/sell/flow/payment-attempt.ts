/** A payment on its way through a paid route, from the header that presents it to its delivery. */
import type { LedgerStore } from '../../ledger/index.js'
import type { Logger } from '../../shared/logger.js'
import type { SettleResponse } from '../../shared/protocol/payment.js'
import { refusalResponse, type Refusal, type Reservation } from '../../core/schemes/scheme.js'
import type { AnswerKeys } from './answer-keys.js'
import type { Exit, Unsettled } from './exits.js'
import { hidePayment } from '../respond/hide-payment.js'
import { requestFields } from '../respond/log-fields.js'
import type { PaidRequest } from './paid-request.js'
import type { PresentedAttempt } from './presented-attempt.js'

/** A payment whose keys are claimed for this request. */
export interface PaymentAttempt extends PresentedAttempt {
  readonly keys: AnswerKeys
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
  const { reservation, keys } = attempt
  await reservation.release().catch((error: unknown) => {
    logger.error('A payment could not be released.', { ...requestFields(attempt), error })
  })
  await keys.release()
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
  const { reservation, keys, offer, payment } = attempt
  await reservation.markDelivered().catch(async (error: unknown) => {
    await keys.keepEarlier()
    throw error
  })
  // Charged nothing, it would be counted as a sale that cost its buyer nothing.
  if (amount !== '0') offer.onSold?.(payment.requirements)
}

/** Opens a payment again that was recorded as delivered, though nothing went out. */
export async function markUndelivered({ reservation, keys }: ReservedAttempt): Promise<void> {
  await keys.keepEarlier()
  await reservation.undeliver()
}

/**
 * Ends a payment that this request could not settle, or that is not known to be settled.
 *
 * @param made - Serializes what its handler has made.
 */
export async function endReserved(
  attempt: ReservedAttempt,
  settlement: Unsettled,
  made?: () => string | undefined,
): Promise<Exit> {
  // What a transaction was to take may still be taken, or is taken by the next one.
  const forgetsCharge = settlement.transaction === ''
  return endUnsettled(attempt, settlement, { forgetsCharge, made })
}

/** Ends a payment that was not settled, or is not known to be. */
async function endUnsettled(
  { offer, keys }: PaymentAttempt,
  settlement: Unsettled,
  {
    forgetsCharge,
    made,
  }: { forgetsCharge: boolean; made?: (() => string | undefined) | undefined },
): Promise<Exit> {
  if (settlement.errorReason === 'settlement_pending') {
    await keys.pause(made)
    return { kind: 'settlement_pending', settlement }
  }
  await keys.refuse({ forgetsCharge })
  return { kind: 'not_settled', offer, settlement }
}

/** Ends a payment that was refused before this request sent anything for it. */
export async function endRefused(
  { ledger }: { readonly ledger: Pick<LedgerStore, 'payments' | 'refunds'> },
  attempt: PaymentAttempt,
  refusal: Refusal,
): Promise<Exit> {
  const { offer, payment, keys } = attempt
  const { refused, message, transaction, settledBy } = refusal
  if (refused === 'invalid_exact_evm_nonce_already_used') {
    const stored = await keys.repeatDelivered(ledger, payment)
    if (stored !== undefined) return { kind: 'repeated', stored }
  }
  const isUnsent = transaction === undefined && settledBy === undefined
  // `settlement_pending` without a hash: something was sent or waits to be, so the client must not sign anew.
  if (!isUnsent || refused === 'settlement_pending') {
    const settlement = refusalResponse(refusal, payment.requirements.network)
    return endUnsettled(attempt, settlement, { forgetsCharge: false })
  }
  await keys.release()
  // A 402 would ask for another payment.
  if (refused === 'merchant_paused') return { kind: 'merchant_paused' }
  return { kind: 'payment_required', offer, error: refused, message }
}
