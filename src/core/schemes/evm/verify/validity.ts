/** How long a payment must still be valid. */
import type { PaymentFacts } from '../../../../shared/protocol/decoded-payment.js'
import { blockTimeMs, type Network } from '../../../../shared/protocol/networks.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'
import { methodOf } from '../transfer-methods.js'

/** Least seconds that a transaction is given to be mined before its authorization lapses. */
const LEAST_MARGIN_SECONDS = 6

/** Time to be mined: blocks, since it may just miss one, and seconds to reach the node. */
const MARGIN = { blocks: 2, seconds: 2 }

/** How long handler and settlement may take by default (s). */
const USUAL_VALIDITY_SECONDS = 30

/** How long a transaction gets to be mined before its authorization lapses (s). */
export function settleMarginSeconds(network: Network): number {
  const { blocks, seconds } = MARGIN
  return Math.max(LEAST_MARGIN_SECONDS, Math.ceil((blocks * blockTimeMs(network)) / 1000) + seconds)
}

/** How long an authorization must still be valid when a handler starts, by default (s). */
export function usualValiditySeconds(maxTimeoutSeconds: number): number {
  return Math.min(USUAL_VALIDITY_SECONDS, maxTimeoutSeconds / 2)
}

/**
 * Tells whether an authorization is inside its time window.
 *
 * The window closes early: a payment that lapses while its transaction waits costs us gas and earns
 * nothing, and one that lapses while a handler runs leaves the handler unpaid.
 *
 * @param time - Unix time in seconds, and for how many seconds the authorization must still be valid.
 */
export function checkTimeWindow(
  facts: PaymentFacts,
  { now, validitySeconds }: { readonly now: bigint; readonly validitySeconds: number },
): Reason | undefined {
  const { validAfter, validBefore } = facts
  const { reasons, checkUnsignedTime } = methodOf(facts)
  const until = now + BigInt(Math.ceil(validitySeconds))
  if (now <= validAfter) return reasons.tooEarly
  return until > validBefore ? reasons.tooLate : checkUnsignedTime?.(facts, until)
}
