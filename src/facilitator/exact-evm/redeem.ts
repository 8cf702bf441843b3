import type { LedgerRecord } from '../../ledger/ledger.js'
import type { SettleResponse } from '../../protocol/payment.js'
import type { Refusal, Reservation } from '../facilitator.js'
import { success } from './answers.js'
import { checkBuyer, toldOf } from './checks.js'
import { startDeadline } from './deadline.js'
import { presentedOf, transactionOf, type ExaminedPayment } from './examine.js'
import { isBarred, type Outcome } from './outcome.js'
import { freshReservation, MIN_PATIENCE_MS, note, type SettleContext } from './settle.js'

/**
 * Takes up a payment whose transaction is out, but whose payer got nothing for it yet.
 *
 * Of many requests that present it at once, one gets it.
 */
export async function redeemReservation(
  context: SettleContext,
  payment: ExaminedPayment,
): Promise<Reservation | Refusal> {
  const { ledger } = context
  const { key, payer } = payment
  if (!(await ledger.claim(key))) {
    return { refused: 'duplicate_settlement', payer }
  }
  const giveBack = (): Promise<void> => ledger.yield(key)
  // It may have changed before it was claimed.
  const record = await ledger.find(key).catch(async (error: unknown) => {
    await note(context, giveBack())
    throw error
  })
  const presented = presentedOf(payment)
  const refused = record && checkBuyer(record, presented)
  if (record !== undefined && refused !== undefined) {
    await note(context, giveBack())
    return { refused, payer, ...toldOf(record, presented, refused) }
  }
  // Its authorization was found used, and by whom could not be told.
  if (record === undefined || record.state === 'reserved') {
    if (!payment.terms?.purchase?.redeemOnly) return freshReservation(context, payment)
    await note(context, giveBack())
    return { refused: 'quote_expired', payer }
  }

  const outcome = await outcomeOf(context, payment, record)
  if (outcome === 'barred' && record.state === 'submitted')
    return freshReservation(context, payment, record.submission)
  if (outcome === 'open' || outcome === 'barred') {
    await note(context, giveBack())
    return { refused: 'settlement_pending', payer, transaction: transactionOf(record) }
  }
  if ('failed' in outcome) {
    await note(context, giveBack())
    return { refused: outcome.failed, payer, transaction: outcome.transaction }
  }
  const settle = async (): Promise<SettleResponse> => success(payment, outcome.paid)
  return { payer, settle, release: giveBack, grant: () => ledger.grant(key), reopen: giveBack }
}

/** What became of a payment; which transfer paid it is in the ledger already. */
type RedeemedOutcome = Pick<Extract<Outcome, { paid: unknown }>, 'paid'> | Outcome | 'barred'

/** Finds out what became of a payment that is out, within the time a request may wait. */
async function outcomeOf(
  { reconciler, settleTimeoutMs }: SettleContext,
  { core }: ExaminedPayment,
  record: Exclude<LedgerRecord, { state: 'reserved' }>,
): Promise<RedeemedOutcome> {
  if (record.state === 'settled') return { paid: record.transaction }
  if (record.state === 'failed') return { failed: record.reason, transaction: record.transaction }
  const deadline = startDeadline(settleTimeoutMs)
  const patience = startDeadline(Math.max(settleTimeoutMs, MIN_PATIENCE_MS))
  try {
    const seen = await Promise.race([reconciler.look(record), patience.late])
    if (seen !== 'open') return seen === 'late' ? 'open' : seen
    if (await isBarred(core, record).catch(() => false)) return 'barred'
    // Perhaps another process sent it, and perhaps that one is gone.
    const found = await Promise.race([reconciler.follow(record, { inDoubt: true }), deadline.late])
    return found === 'late' ? 'open' : found
  } finally {
    deadline.end()
    patience.end()
  }
}
