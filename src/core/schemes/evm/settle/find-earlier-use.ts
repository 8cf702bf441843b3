import type { Reason } from '../../../../shared/protocol/reasons.js'
import { OPEN, type Outcome } from '../transfer/decision.js'
import { findUse } from '../confirm/outcome.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import { BELIEVED_AFTER_MS } from '../permit2/permit2.js'
import type { JudgedPayment } from '../transfer/transfer-method.js'
import { MIN_WAIT_MS, startDeadline } from './deadline.js'
import type { SubmissionPatience } from './submit.js'
import { world } from '../../../../shared/world.js'

/** How long to wait before a transfer that was not found is searched for once more (ms). */
const UNFOUND_MS = BELIEVED_AFTER_MS + 500

/**
 * Finds out what used an authorization that was good when it was verified.
 *
 * @param reason - Why its transfer would fail.
 * @returns `open` also where the node takes too long: whatever used it may have paid.
 * @throws {@link ChainError} when the node could not be asked.
 */
export async function findEarlierUse(
  network: SettlementNetwork,
  { payment, reason }: { readonly payment: JudgedPayment; readonly reason: Reason },
  { settleTimeoutMs, closed }: SubmissionPatience,
): Promise<Outcome> {
  const patience = startDeadline(Math.max(settleTimeoutMs, MIN_WAIT_MS) + UNFOUND_MS, closed)
  const late = patience.late.then(() => OPEN)
  const find = (): Promise<Outcome> => Promise.race([findUse(network, payment), late])
  try {
    const use = await find()
    // Permit2 does not log who has used a nonce, and the node may not have the transfer yet.
    if (use.kind !== 'open' || reason !== 'permit2_invalid_nonce') return use
    await world.sleep(UNFOUND_MS, undefined, { signal: closed }).catch(() => undefined)
    return await find()
  } finally {
    patience.end()
  }
}
