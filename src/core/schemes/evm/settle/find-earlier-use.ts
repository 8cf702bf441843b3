import type { Reason } from '../../../../shared/protocol/reasons.js'
import { OPEN, type Outcome } from '../transfer/decision.js'
import { findUse } from '../confirm/outcome.js'
import type { Submission } from '../../../../ledger/index.js'
import { paymentFields } from '../../../../ledger/payment-fields.js'
import type { ReservationContext } from '../../open-reservation.js'
import { BELIEVED_AFTER_MS } from '../permit2/permit2.js'
import type { VerifiedPayment } from '../verify/verify.js'
import { MIN_WAIT_MS, startDeadline, type Deadline } from './deadline.js'
import type { SubmissionPatience } from './submit.js'
import { world } from '../../../../shared/world.js'

/** How long to wait before a transfer that was not found is searched for once more (ms). */
const UNFOUND_MS = BELIEVED_AFTER_MS + 500

/**
 * Finds out what used an authorization that was good when it was verified.
 *
 * @param sent - What was sent for it before, and why its transfer would fail.
 * @returns `open` also where the node takes too long, or could not be asked: whatever used it may have paid.
 */
export async function findEarlierUse(
  { ledger, logger, settleTimeoutMs, closed }: ReservationContext & SubmissionPatience,
  { network, entry, key }: VerifiedPayment,
  { submission, reason }: { readonly submission: Submission | undefined; readonly reason: Reason },
): Promise<Outcome> {
  let patience: Deadline | undefined
  try {
    const { createdAt } = (await ledger.payments.find(key)) ?? {}
    patience = startDeadline(Math.max(settleTimeoutMs, MIN_WAIT_MS) + UNFOUND_MS, closed)
    const late = patience.late.then(() => OPEN)
    const payment = { ...entry, submission, createdAt }
    const find = (): Promise<Outcome> => Promise.race([findUse(network, payment), late])
    const use = await find()
    // Permit2 does not log who has used a nonce, and the node may not have the transfer yet.
    if (use.kind !== 'open' || reason !== 'permit2_invalid_nonce') return use
    await world.sleep(UNFOUND_MS, undefined, { signal: closed }).catch(() => undefined)
    return await find()
  } catch (error) {
    const fields = paymentFields(entry)
    logger.warn('It could not be found out what used an authorization.', { ...fields, error })
    return OPEN
  } finally {
    patience?.end()
  }
}
