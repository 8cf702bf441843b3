/** The checks that cost nothing: no I/O, no cryptography. Each returns why it refuses. */
import type { Authorization } from '../../../protocol/authorization.js'
import { blockTimeMs, type Network } from '../../../protocol/networks.js'
import { sameHex } from '../../../protocol/hex.js'
import type { PaymentRequirements } from '../../../protocol/payment.js'
import type { Reason } from '../../../protocol/reasons.js'

/** Least seconds that a transaction is given to be mined before its authorization lapses. */
const LEAST_MARGIN_SECONDS = 6

/** Time to be mined: blocks, since it may just miss one, and seconds to reach the node. */
const MARGIN = { blocks: 2, seconds: 2 }

/** How long handler and settlement may take by default (s). */
const USUAL_VALIDITY_SECONDS = 30

/** Checks that the authorization pays the required amount to the required payee. */
export function checkTransfer(
  { to, value }: Authorization,
  { payTo, amount }: PaymentRequirements,
): Reason | undefined {
  if (!sameHex(to, payTo)) return 'invalid_exact_evm_payload_recipient_mismatch'
  if (value !== BigInt(amount)) return 'invalid_exact_evm_payload_authorization_value_mismatch'
  return undefined
}

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
  { validAfter, validBefore }: Authorization,
  { now, validitySeconds }: { readonly now: bigint; readonly validitySeconds: number },
): Reason | undefined {
  if (now <= validAfter) return 'invalid_exact_evm_payload_authorization_valid_after'
  if (now + BigInt(Math.ceil(validitySeconds)) > validBefore)
    return 'invalid_exact_evm_payload_authorization_valid_before'
  return undefined
}
