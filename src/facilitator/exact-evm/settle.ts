import type { LedgerEntry, LedgerRecord, Submission } from '../../ledger/ledger.js'
import type { Logger } from '../../logger.js'
import type { SettleResponse } from '../../protocol/payment.js'
import type { Reason } from '../../protocol/reasons.js'
import type { EventBus } from '../events.js'
import type { Refusal, Reservation } from '../facilitator.js'
import { describePayment, failure, success } from './answers.js'
import { checkTimeWindow } from './checks.js'
import { transactionOf, type ExaminedPayment, type ExamineContext } from './examine.js'
import { findUse, isBarred, type Decision, type Outcome, type SubmittedPayment } from './outcome.js'
import type { Reconciler } from './reconcile.js'
import { startSending, tooLate, type Sending, type Sent } from './sending.js'

/**
 * Milliseconds that sending, or one look at the chain, is given in any case: a settlement is not
 * given up before it has begun, however short its time.
 */
const MIN_PATIENCE_MS = 2000

/** Milliseconds that the ledger is given to let go of a payment before its answer goes out. */
const LEAVE_GRACE_MS = 500

/** What settling takes. */
export interface SettleContext extends ExamineContext {
  readonly events: EventBus
  readonly logger: Logger
  readonly reconciler: Reconciler
  /** Milliseconds a request waits for its outcome, from the start of settling. */
  readonly settleTimeoutMs: number
}

/**
 * A reservation of a payment that nothing was sent for yet.
 *
 * @param barred - Or nothing that will ever be mined.
 */
export function freshReservation(
  context: SettleContext,
  payment: ExaminedPayment,
  barred?: Submission,
): Reservation {
  const { ledger, events, reconciler } = context
  const { key, payer, core } = payment
  const release = (): Promise<void> => ledger.release(key)

  const refuse = async (reason: Reason): Promise<SettleResponse> => {
    await note(context, release())
    events.emit('refused', { ...describePayment(payment), reason })
    return failure(payment, reason)
  }

  /** The authorization was used after we had found it unused: perhaps the merchant has been paid. */
  const takeUse = async (): Promise<SettleResponse> => {
    const known = { ...entryOf(payment), ...(barred && { submission: barred }) }
    const use = await findUse(core, known).catch(async (error: unknown) => {
      // It is not known to have failed: whoever presents it again has this looked at anew.
      await note(context, ledger.yield(key))
      throw error
    })
    if (use === 'open' && barred !== undefined) return pend(barred)
    if (use === 'open' || 'failed' in use) return refuse('invalid_exact_evm_nonce_already_used')
    await reconciler.conclude(entryOf(payment), use)
    return success(payment, use.paid)
  }

  const pend = async ({ transaction }: Submission): Promise<SettleResponse> => {
    await note(context, ledger.yield(key))
    events.emit('pending', { ...describePayment(payment), transaction })
    return failure(payment, 'settlement_pending', transaction)
  }

  const announceSubmitted = ({ transaction }: Submission): void =>
    events.emit('submitted', { ...describePayment(payment), transaction })

  const settleSent = async (sent: Sent, deadline: Deadline): Promise<SettleResponse> => {
    if ('refused' in sent)
      return sent.refused === 'invalid_exact_evm_nonce_already_used'
        ? takeUse()
        : refuse(sent.refused)
    if ('rejected' in sent && barred !== undefined) return pend(barred)
    if ('rejected' in sent) {
      const reason = 'invalid_transaction_state'
      events.emit('failed', { ...describePayment(payment), transaction: '', reason })
      return failure(payment, reason)
    }
    const { submission } = sent
    announceSubmitted(submission)
    const following = reconciler.follow(submittedOf(payment, submission), sent)
    const outcome = await Promise.race([following, deadline.late])
    if (outcome === 'late' || outcome === 'open') return pend(submission)
    return settlement(payment, outcome)
  }

  /** Time is over while the transaction is on its way to the node: it goes on without its caller. */
  const leave = async (sending: Sending): Promise<SettleResponse> => {
    const left = sending.letGo()
    if (left === undefined) throw tooLate()
    const { submission, stored } = left
    const pending = stored.then(() => {
      announceSubmitted(submission)
      return pend(submission)
    })
    void followLate(pending, sending)
    const grace = startDeadline(LEAVE_GRACE_MS)
    const answer = await Promise.race([pending, grace.late]).finally(grace.end)
    return answer === 'late'
      ? failure(payment, 'settlement_pending', submission.transaction)
      : answer
  }

  const followLate = async (pending: Promise<unknown>, { sent }: Sending): Promise<void> => {
    try {
      await pending
      const late = await sent
      if ('submission' in late) await reconciler.follow(submittedOf(payment, late.submission), late)
    } catch (error) {
      // It was not written down, and not sent; or a later round finds it.
      context.logger.warn('A payment was left while it was being sent.', { error })
      await note(context, release())
    }
  }

  const send = async (deadline: Deadline): Promise<Sent | SettleResponse> => {
    const sending = startSending(ledger, payment, barred)
    try {
      const sent = await patiently(sending, context.settleTimeoutMs, deadline)
      return sent === 'late' ? await leave(sending) : sent
    } catch (error) {
      // Nothing was sent. What was written down to be sent is no longer released by this.
      await note(context, release())
      throw error
    }
  }

  return {
    payer,
    async settle() {
      const late = checkTimeWindow(payment.transfer.authorization, context.now())
      if (late !== undefined) return refuse(late)
      const deadline = startDeadline(context.settleTimeoutMs)
      try {
        const sent = await send(deadline)
        return 'success' in sent ? sent : await settleSent(sent, deadline)
      } finally {
        deadline.end()
      }
    },
    release,
    grant: () => ledger.grant(key),
    reopen: () => ledger.yield(key),
  }
}

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
    const other = await ledger.find(key)
    const transaction = other && transactionOf(other)
    return { refused: 'duplicate_settlement', payer, transaction }
  }
  const giveBack = (): Promise<void> => ledger.yield(key)
  // It may have changed before it was claimed.
  const record = await ledger.find(key).catch(async (error: unknown) => {
    await note(context, giveBack())
    throw error
  })
  // Its authorization was found used, and by whom could not be told.
  if (record === undefined || record.state === 'reserved') return freshReservation(context, payment)

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

/** Finds out what became of a payment that is out, within the time a request may wait. */
async function outcomeOf(
  { reconciler, settleTimeoutMs }: SettleContext,
  { core }: ExaminedPayment,
  record: Exclude<LedgerRecord, { state: 'reserved' }>,
): Promise<Outcome | 'barred'> {
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

/** Tells the ledger what is decided already: one that is away can no longer change it. */
async function note({ logger }: SettleContext, written: Promise<void>): Promise<void> {
  await written.catch((error: unknown) =>
    logger.error('The ledger missed what became of a payment.', { error }),
  )
}

function settlement(payment: ExaminedPayment, outcome: Decision): SettleResponse {
  return 'paid' in outcome
    ? success(payment, outcome.paid)
    : failure(payment, outcome.failed, outcome.transaction)
}

function entryOf({ key, transfer, terms }: ExaminedPayment): LedgerEntry {
  const { to: payTo, value, validBefore } = transfer.authorization
  return { ...key, payTo, value, validBefore, project: terms?.project }
}

function submittedOf(payment: ExaminedPayment, submission: Submission): SubmittedPayment {
  return { ...entryOf(payment), submission }
}

/** Waits for a payment to be sent, or to be too late. */
async function patiently(
  { sent, written }: Sending,
  settleTimeoutMs: number,
  { late }: Deadline,
): Promise<Sent | 'late'> {
  const first = await Promise.race([sent, late])
  if (first !== 'late' || settleTimeoutMs >= MIN_PATIENCE_MS) return first
  const patience = startDeadline(MIN_PATIENCE_MS - settleTimeoutMs)
  const isWritten = written.then(() => 'late' as const)
  return Promise.race([sent, isWritten, patience.late]).finally(patience.end)
}

/** A time after which nothing is waited for any longer. */
interface Deadline {
  readonly late: Promise<'late'>
  end(): void
}

function startDeadline(ms: number): Deadline {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, ms, 'late')
  })
  return { late, end: () => clearTimeout(timer) }
}
