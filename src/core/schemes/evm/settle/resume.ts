import { ChainError } from '../../../../shared/errors.js'
import { amountOf, type LedgerRecord, type Submission } from '../../../../ledger/index.js'
import { paymentFields } from '../../../../ledger/payment-fields.js'
import { transactionOf } from '../../../../ledger/record-transaction.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import { checkBuyer, purchaseOf, refusalDetails, type FailedRecord } from '../../check-record.js'
import type { Refusal, Reservation } from '../../scheme.js'
import { logLedgerFailure, settledReservation } from '../../settled-reservation.js'
import { OPEN, type FailedDecision } from '../transfer/decision.js'
import { isSuperseded } from '../confirm/outcome.js'
import type { VerifiedPayment } from '../verify/verify.js'
import { MIN_WAIT_MS, startDeadline } from './deadline.js'
import { OpenReservation, type SettleContext } from './reservation.js'
import { settledResponse } from './responses.js'

type FoundRecord = Exclude<LedgerRecord, { state: 'reserved' | 'failed' }>

/** The outcome of a payment that was sent before. */
type ResumedOutcome =
  | { readonly kind: 'paid'; readonly transaction: Hex | '' }
  | FailedDecision
  | { readonly kind: 'open' }
  /** Its transaction will never be mined, and its authorization is unused. */
  | { readonly kind: 'superseded'; readonly submission: Submission }

/**
 * Takes up a payment whose transaction is out, but whose payer got nothing for it yet.
 *
 * Of many requests that present it at once, one gets it.
 *
 * @throws {@link LedgerError}
 */
export async function resumeReservation(
  context: SettleContext,
  payment: VerifiedPayment,
): Promise<Reservation | Refusal> {
  const { ledger } = context
  const { key, payer, entry } = payment
  if (!(await ledger.payments.relock(key, entry.purchase?.asker)))
    return { refused: 'duplicate_settlement', payer }
  const lock = ledger.payments.lockOf(key)
  const unlock = () =>
    logLedgerFailure({ ...context, ...payment }, ledger.payments.unlock(key, lock))
  // It may have changed before it was locked.
  const record = await ledger.payments.find(key).catch(async (error: unknown) => {
    await unlock()
    throw error
  })
  const refuse = async (refusal: Refusal): Promise<Refusal> => {
    await unlock()
    return { ...refusal, payer }
  }
  const purchase = purchaseOf(payment)
  const refused = record && checkBuyer(record, purchase)
  if (record !== undefined && refused !== undefined)
    return refuse({ refused, ...refusalDetails(record, purchase, refused) })
  // Its authorization was found used, but not by which transaction.
  if (record === undefined || record.state === 'reserved')
    return payment.terms?.purchase?.redeemOnly
      ? refuse({ refused: 'quote_expired' })
      : new OpenReservation(context, payment, { lock })
  return record.state === 'failed'
    ? sendAgain(context, payment, { record, lock, refuse })
    : resumeRecord(context, payment, { record, lock, refuse })
}

/** A locked record, and how it is unlocked again. */
interface LockedRecord<Found> {
  readonly record: Found
  readonly lock: string | undefined
  readonly refuse: (refusal: Refusal) => Promise<Refusal>
}

/** Takes a payment whose transaction was mined without moving money, if it was verified anew. */
async function sendAgain(
  context: SettleContext,
  payment: VerifiedPayment,
  { record, lock, refuse }: LockedRecord<FailedRecord>,
): Promise<Reservation | Refusal> {
  const { reason, transaction, submission } = record
  const isNew = !payment.isSubmitted && !payment.terms?.purchase?.redeemOnly
  if (!isNew) return refuse({ refused: reason, transaction })
  return new OpenReservation(context, payment, {
    lock,
    failed: submission,
    charged: record.charged,
  })
}

/** Takes up a locked record by what became of its transaction. */
async function resumeRecord(
  context: SettleContext,
  payment: VerifiedPayment,
  { record, lock, refuse }: LockedRecord<FoundRecord>,
): Promise<Reservation | Refusal> {
  const outcome = await outcomeOf(context, payment, record)
  switch (outcome.kind) {
    case 'paid':
      return settledReservation(context.ledger, {
        ...payment,
        lock,
        response: settledResponse(payment, outcome.transaction, record),
        value: record.value,
        charged: amountOf(record),
      })
    case 'failed':
      return refuse({ refused: outcome.reason, transaction: outcome.transaction })
    case 'superseded':
      return new OpenReservation(context, payment, {
        lock,
        superseded: outcome.submission,
        charged: record.charged,
      })
    case 'open':
      return refuse({ refused: 'settlement_pending', transaction: transactionOf(record) })
  }
}

/** Finds out what became of a payment that is out, within the time a request may wait. */
async function outcomeOf(
  { reconciler, settleTimeoutMs, closed, logger }: SettleContext,
  { core }: VerifiedPayment,
  record: FoundRecord,
): Promise<ResumedOutcome> {
  if (record.state === 'settled') return { kind: 'paid', transaction: record.transaction ?? '' }
  const deadline = startDeadline(settleTimeoutMs, closed)
  const patience = startDeadline(Math.max(settleTimeoutMs, MIN_WAIT_MS), closed)
  try {
    const seen = await Promise.race([reconciler.follower.check(record), patience.late])
    if (seen === 'late') return OPEN
    if (seen.kind !== 'open') return seen
    const isLost = await isSuperseded(core, record).catch((error: unknown) => {
      if (!(error instanceof ChainError))
        logger.error('A transaction could not be followed.', { ...paymentFields(record), error })
      return false
    })
    if (isLost) return { kind: 'superseded', submission: record.submission }
    // Perhaps another process sent it, and has ended since.
    const followed = reconciler.follower.follow(record, { isUnknown: true })
    const found = await Promise.race([followed, deadline.late])
    return found === 'late' ? OPEN : found
  } finally {
    deadline.end()
    patience.end()
  }
}
