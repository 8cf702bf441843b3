import { ChainError } from '../../../../shared/errors.js'
import type { Submission } from '../../../../ledger/index.js'
import { paymentFields } from '../../../../ledger/payment-fields.js'
import type { Logger } from '../../../../shared/logger.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import type { SentRecord } from '../../open-reservation.js'
import { isSuperseded } from '../confirm/outcome.js'
import type { Reconciler } from '../confirm/reconciler.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import { OPEN, type FailedDecision } from '../transfer/decision.js'
import { MIN_WAIT_MS, startDeadline } from './deadline.js'
import type { SubmissionPatience } from './submit.js'

type ResumedOutcome =
  | { readonly kind: 'paid'; readonly transaction: Hex | '' }
  | FailedDecision
  | { readonly kind: 'open' }
  /** Its transaction will never be mined, and its authorization is unused. */
  | { readonly kind: 'superseded'; readonly submission: Submission }

interface FollowContext extends SubmissionPatience {
  readonly reconciler: Reconciler
  readonly logger: Logger
}

/** Finds out what became of a payment that is out, within the time a request may wait. */
export async function findSentOutcome(
  { reconciler, settleTimeoutMs, closed, logger }: FollowContext,
  network: SettlementNetwork,
  record: SentRecord,
): Promise<ResumedOutcome> {
  if (record.state === 'settled') return { kind: 'paid', transaction: record.transaction ?? '' }
  const deadline = startDeadline(settleTimeoutMs, closed)
  const patience = startDeadline(Math.max(settleTimeoutMs, MIN_WAIT_MS), closed)
  try {
    const seen = await Promise.race([reconciler.follower.check(record), patience.late])
    if (seen === 'late') return OPEN
    if (seen.kind !== 'open') return seen
    const isLost = await isSuperseded(network, record).catch((error: unknown) => {
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
