/** Whether a refund may be sent again. */
import { isOutsideFailure } from '../../../../shared/errors.js'
import { EVERY_PROJECT } from '../../../../ledger/index.js'
import { REMOTE_SUBMISSION } from '../../../../ledger/record-transaction.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import type { ConfirmContext } from './concluder.js'
import { OPEN, type Outcome } from '../transfer/decision.js'
import { findOutcome } from './outcome.js'

/**
 * Tells what the chain says now of a payment that was settled, and that a refund pays back.
 *
 * A reorganisation may have dropped it, and its buyer may have moved the money since, or cancelled the
 * authorization: a refund that is sent again nevertheless would give away what was never paid. So only
 * the transfer itself counts as paid, by any sender.
 *
 * @returns `open` also where node or ledger do not answer.
 */
export async function judgeRefunded(
  { ledger, nowSeconds }: Pick<ConfirmContext, 'ledger' | 'nowSeconds'>,
  network: SettlementNetwork,
  id: string,
): Promise<Outcome> {
  try {
    const [payment] = await ledger.payments.list({ project: EVERY_PROJECT, id, limit: 1 })
    if (payment?.state !== 'settled' || payment.transaction === undefined) return OPEN
    const { transaction, submission = { ...REMOTE_SUBMISSION, transaction } } = payment
    return await findOutcome(network, { ...payment, submission }, nowSeconds())
  } catch (error) {
    if (!isOutsideFailure(error)) throw error
    return OPEN
  }
}
