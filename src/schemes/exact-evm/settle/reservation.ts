import type { Submission } from '../../../ledger/ledger.js'
import type { Logger } from '../../../logger.js'
import type { SettleResponse } from '../../../protocol/payment.js'
import type { Reason } from '../../../protocol/reasons.js'
import type { EventBus } from '../../events.js'
import type { Reservation } from '../../scheme.js'
import { describePayment, failedResponse, settledResponse } from '../describe.js'
import { checkTimeWindow, settleMarginSeconds } from '../verify/checks.js'
import { startDeadline, type Deadline } from './deadline.js'
import type { VerifiedPayment, VerifyContext } from '../verify/verify.js'
import { findUse, type Decision, type SubmittedPayment } from '../confirm/outcome.js'
import type { Reconciler } from '../confirm/reconciler.js'
import { dropPayment } from '../pending-payments.js'
import { sendAlone } from './prepare-transfer.js'
import {
  submitTransfer,
  settlementTimeout,
  type TransferSubmission,
  type SubmitResult,
} from './submit.js'

/**
 * Milliseconds that sending, or one look at the chain, is given in any case: a settlement is not
 * given up before it has begun, however short its time.
 */
export const MIN_WAIT_MS = 2000

/** Milliseconds that the ledger is given to let go of a payment before its answer goes out. */
const UNLOCK_GRACE_MS = 500

/** What settling takes. */
export interface SettleContext extends VerifyContext {
  readonly events: EventBus
  readonly logger: Logger
  readonly reconciler: Reconciler
  /** Milliseconds a request waits for its outcome, from the start of settling. */
  readonly settleTimeoutMs: number
}

/**
 * A reservation of a payment that nothing was sent for yet.
 *
 * @param superseded - Or nothing that will ever be mined.
 */
export function newReservation(
  context: SettleContext,
  payment: VerifiedPayment,
  superseded?: Submission,
): Reservation {
  const { ledger, events, reconciler } = context
  const { key, payer, core } = payment
  const release = (): Promise<void> => {
    dropPayment(core, key)
    return ledger.release(key)
  }

  const refuse = async (reason: Reason): Promise<SettleResponse> => {
    await logLedgerFailure(context, release())
    events.emit('refused', { ...describePayment(payment), reason })
    return failedResponse(payment, reason)
  }

  /** The authorization was used after we had found it unused: perhaps the merchant has been paid. */
  const onNonceUsed = async (): Promise<SettleResponse> => {
    const known = { ...payment.entry, ...(superseded && { submission: superseded }) }
    const use = await findUse(core, known).catch(async (error: unknown) => {
      // It is not known to have failed: whoever presents it again has this looked at anew.
      await logLedgerFailure(context, ledger.unlock(key))
      throw error
    })
    if (use === 'open' && superseded !== undefined) return toPending(superseded)
    if (use === 'open' || 'failed' in use) return refuse('invalid_exact_evm_nonce_already_used')
    const concluded = await reconciler.conclude(payment.entry, use)
    return toSettleResponse(payment, concluded)
  }

  const toPending = async ({ transaction }: Submission): Promise<SettleResponse> => {
    await logLedgerFailure(context, ledger.unlock(key))
    events.emit('pending', { ...describePayment(payment), transaction })
    return failedResponse(payment, 'settlement_pending', transaction)
  }

  const announceSubmitted = ({ transaction }: Submission): void =>
    events.emit('submitted', { ...describePayment(payment), transaction })

  const settleSent = async (sent: SubmitResult, deadline: Deadline): Promise<SettleResponse> => {
    if ('refused' in sent)
      return sent.refused === 'invalid_exact_evm_nonce_already_used'
        ? onNonceUsed()
        : refuse(sent.refused)
    if ('rejected' in sent && superseded !== undefined) return toPending(superseded)
    if ('rejected' in sent) {
      dropPayment(core, key)
      const reason = 'invalid_transaction_state'
      events.emit('failed', { ...describePayment(payment), transaction: '', reason })
      return failedResponse(payment, reason)
    }
    const { submission } = sent
    announceSubmitted(submission)
    const following = reconciler.follow(toSubmitted(payment, submission), {
      ...sent,
      resend: resendAlone,
    })
    const outcome = await Promise.race([following, deadline.late])
    if (outcome === 'late' || outcome === 'open') return toPending(submission)
    return toSettleResponse(payment, outcome)
  }

  /** Its transaction was mined without it. Nobody else can have it meanwhile: it stays held. */
  const resendAlone = async (): Promise<Submission | undefined> => {
    const again = await sendAlone(payment)
    if (again !== undefined) announceSubmitted(again)
    return again
  }

  /** Time is over while the transaction is on its way to the node: it goes on without its caller. */
  const onTimeout = async (sending: TransferSubmission): Promise<SettleResponse> => {
    const left = sending.detach()
    if (left === undefined) throw settlementTimeout()
    const { submission, stored } = left
    const pending = stored.then(() => {
      announceSubmitted(submission)
      return toPending(submission)
    })
    void followLate(pending, sending)
    const grace = startDeadline(UNLOCK_GRACE_MS)
    const answer = await Promise.race([pending, grace.late]).finally(grace.end)
    return answer === 'late'
      ? failedResponse(payment, 'settlement_pending', submission.transaction)
      : answer
  }

  const followLate = async (
    pending: Promise<unknown>,
    { sent }: TransferSubmission,
  ): Promise<void> => {
    try {
      await pending
      const late = await sent
      if ('submission' in late) await reconciler.follow(toSubmitted(payment, late.submission), late)
    } catch (error) {
      // It was not written down, and not sent; or a later round finds it.
      context.logger.warn('A payment was left while it was being sent.', { error })
      await logLedgerFailure(context, release())
    }
  }

  const send = async (deadline: Deadline): Promise<SubmitResult | SettleResponse> => {
    const sending = submitTransfer(payment, superseded)
    try {
      const sent = await awaitSubmission(sending, context.settleTimeoutMs, deadline)
      return sent === 'late' ? await onTimeout(sending) : sent
    } catch (error) {
      // Nothing was sent. What was written down to be sent is no longer released by this.
      await logLedgerFailure(context, release())
      throw error
    }
  }

  return {
    payer,
    async settle() {
      const validitySeconds = settleMarginSeconds(core.chain.network)
      const time = { now: context.now(), validitySeconds }
      const late = checkTimeWindow(payment.transfer.authorization, time)
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
    markDelivered: () => ledger.markDelivered(key),
    reopen: () => ledger.unlock(key),
  }
}

/** Tells the ledger what is decided already: one that is away can no longer change it. */
export async function logLedgerFailure(
  { logger }: SettleContext,
  written: Promise<void>,
): Promise<void> {
  await written.catch((error: unknown) =>
    logger.error('The ledger missed what became of a payment.', { error }),
  )
}

function toSettleResponse(payment: VerifiedPayment, outcome: Decision): SettleResponse {
  return 'paid' in outcome
    ? settledResponse(payment, outcome.paid)
    : failedResponse(payment, outcome.failed, outcome.transaction)
}

function toSubmitted({ entry }: VerifiedPayment, submission: Submission): SubmittedPayment {
  return { ...entry, submission }
}

/** Waits for a payment to be sent, or to be too late. */
async function awaitSubmission(
  { sent, written }: TransferSubmission,
  settleTimeoutMs: number,
  { late }: Deadline,
): Promise<SubmitResult | 'late'> {
  const first = await Promise.race([sent, late])
  if (first !== 'late' || settleTimeoutMs >= MIN_WAIT_MS) return first
  const patience = startDeadline(MIN_WAIT_MS - settleTimeoutMs)
  const isWritten = written.then(() => 'late' as const)
  return Promise.race([sent, isWritten, patience.late]).finally(patience.end)
}
