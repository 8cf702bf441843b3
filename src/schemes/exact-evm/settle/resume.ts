import type { LedgerRecord } from '../../../ledger/ledger.js'
import type { SettleResponse } from '../../../protocol/payment.js'
import type { Refusal, Reservation } from '../../scheme.js'
import { settledResponse } from '../describe.js'
import { checkBuyer, refusalDetails } from '../verify/checks.js'
import { startDeadline } from './deadline.js'
import { presentedOf, transactionOf, type VerifiedPayment } from '../verify/verify.js'
import { isSuperseded, type Outcome } from '../confirm/outcome.js'
import { newReservation, MIN_WAIT_MS, logLedgerFailure, type SettleContext } from './reservation.js'

/**
 * Takes up a payment whose transaction is out, but whose payer got nothing for it yet.
 *
 * Of many requests that present it at once, one gets it.
 */
export async function resumeReservation(
  context: SettleContext,
  payment: VerifiedPayment,
): Promise<Reservation | Refusal> {
  const { ledger } = context
  const { key, payer } = payment
  if (!(await ledger.relock(key))) {
    return { refused: 'duplicate_settlement', payer }
  }
  const unlock = (): Promise<void> => ledger.unlock(key)
  // It may have changed before it was claimed.
  const record = await ledger.find(key).catch(async (error: unknown) => {
    await logLedgerFailure(context, unlock())
    throw error
  })
  const presented = presentedOf(payment)
  const refused = record && checkBuyer(record, presented)
  if (record !== undefined && refused !== undefined) {
    await logLedgerFailure(context, unlock())
    return { refused, payer, ...refusalDetails(record, presented, refused) }
  }
  // Its authorization was found used, and by whom could not be told.
  if (record === undefined || record.state === 'reserved') {
    if (!payment.terms?.purchase?.redeemOnly) return newReservation(context, payment)
    await logLedgerFailure(context, unlock())
    return { refused: 'quote_expired', payer }
  }

  const outcome = await outcomeOf(context, payment, record)
  if (outcome === 'barred' && record.state === 'submitted')
    return newReservation(context, payment, record.submission)
  if (outcome === 'open' || outcome === 'barred') {
    await logLedgerFailure(context, unlock())
    return { refused: 'settlement_pending', payer, transaction: transactionOf(record) }
  }
  if ('failed' in outcome) {
    await logLedgerFailure(context, unlock())
    return { refused: outcome.failed, payer, transaction: outcome.transaction }
  }
  const settle = async (): Promise<SettleResponse> => settledResponse(payment, outcome.paid)
  return {
    payer,
    settle,
    release: unlock,
    markDelivered: () => ledger.markDelivered(key),
    reopen: unlock,
  }
}

/** What became of a payment; which transfer paid it is in the ledger already. */
type ResumedOutcome = Pick<Extract<Outcome, { paid: unknown }>, 'paid'> | Outcome | 'barred'

/** Finds out what became of a payment that is out, within the time a request may wait. */
async function outcomeOf(
  { reconciler, settleTimeoutMs }: SettleContext,
  { core }: VerifiedPayment,
  record: Exclude<LedgerRecord, { state: 'reserved' }>,
): Promise<ResumedOutcome> {
  if (record.state === 'settled') return { paid: record.transaction }
  if (record.state === 'failed') return { failed: record.reason, transaction: record.transaction }
  const deadline = startDeadline(settleTimeoutMs)
  const patience = startDeadline(Math.max(settleTimeoutMs, MIN_WAIT_MS))
  try {
    const seen = await Promise.race([reconciler.check(record), patience.late])
    if (seen !== 'open') return seen === 'late' ? 'open' : seen
    if (await isSuperseded(core, record).catch(() => false)) return 'barred'
    // Perhaps another process sent it, and perhaps that one is gone.
    const found = await Promise.race([
      reconciler.follow(record, { isUnknown: true }),
      deadline.late,
    ])
    return found === 'late' ? 'open' : found
  } finally {
    deadline.end()
    patience.end()
  }
}
