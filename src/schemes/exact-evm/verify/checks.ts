/** The checks that cost nothing: no I/O, no cryptography. Each returns why it refuses. */
import type { LedgerRecord } from '../../../ledger/ledger.js'
import {
  bringsSameProof,
  isSameBuyer,
  isSamePurchase,
  type PresentedPurchase,
} from '../../../ledger/purchase.js'
import { blockTimeMs } from '../../../protocol/block-time.js'
import { findNetwork, sameNetwork, type Network } from '../../../protocol/networks.js'
import { EXACT, parsePaymentRequirements, X402_VERSION } from '../../../protocol/payment.js'
import type { PaymentPayload, PaymentRequirements } from '../../../protocol/payment.js'
import type { Reason } from '../../../protocol/reasons.js'
import type { MerchantTerms, Refusal } from '../../scheme.js'
import { lowerHex, type Authorization } from '../authorization.js'

/** Seconds that a transaction is given at least to be mined before its authorization lapses. */
const LEAST_MARGIN_SECONDS = 6

/** Blocks that it is given, and seconds to reach the node: it may just miss one. */
const MARGIN = { blocks: 2, seconds: 2 }

/** Seconds that a handler and the settlement are given, where a route does not say. */
const USUAL_VALIDITY_SECONDS = 30

/** Checks version and scheme, and that payer and merchant speak of the same offer. */
export function checkOffer(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
): Reason | undefined {
  if (payload.x402Version !== X402_VERSION) return 'invalid_x402_version'
  if (requirements.scheme !== EXACT) return 'unsupported_scheme'
  const accepted = parsePaymentRequirements(payload.accepted)
  if (!accepted.ok) return 'invalid_payload'
  if (accepted.value.scheme !== EXACT) return 'unsupported_scheme'
  if (findNetwork(requirements.network) === undefined) return 'invalid_network'
  return sameOffer(accepted.value, requirements) ? undefined : 'accepted_mismatch'
}

/** Compares two entries of `accepts` by what they mean: who gets how much of what, and where. */
export function sameOffer(one: PaymentRequirements, other: PaymentRequirements): boolean {
  return (
    one.scheme === other.scheme &&
    sameNetwork(one.network, other.network) &&
    sameHex(one.asset, other.asset) &&
    sameHex(one.payTo, other.payTo) &&
    one.amount === other.amount
  )
}

/** Checks that the merchant takes this token on this network, to this address. */
export function checkTerms(
  { network, asset, payTo }: PaymentRequirements,
  terms: MerchantTerms,
): Reason | undefined {
  const onNetwork = terms.accepts.filter((entry) => sameNetwork(entry.network.caip2, network))
  if (onNetwork.length === 0) return 'invalid_network'
  if (!onNetwork.some((entry) => sameHex(entry.address, asset))) return 'unsupported_asset'
  if (!sameHex(terms.payTo, payTo)) return 'pay_to_mismatch'
  return undefined
}

/** Checks that the authorization pays what is required, to whom it is required. */
export function checkTransfer(
  { to, value }: Authorization,
  { payTo, amount }: PaymentRequirements,
): Reason | undefined {
  if (!sameHex(to, payTo)) return 'invalid_exact_evm_payload_recipient_mismatch'
  if (value !== BigInt(amount)) return 'invalid_exact_evm_payload_authorization_value_mismatch'
  return undefined
}

/** Seconds that a transaction is given to be mined on a network before its authorization lapses. */
export function settleMarginSeconds(network: Network): number {
  const { blocks, seconds } = MARGIN
  return Math.max(LEAST_MARGIN_SECONDS, Math.ceil((blocks * blockTimeMs(network)) / 1000) + seconds)
}

/** Seconds that an authorization must live on for the handler to run, before it is settled. */
export function usualValiditySeconds(maxTimeoutSeconds: number): number {
  return Math.min(USUAL_VALIDITY_SECONDS, maxTimeoutSeconds / 2)
}

/**
 * Tells whether an authorization is inside its time window.
 *
 * The window closes early: a payment that lapses while its transaction waits costs us gas and earns
 * nothing, and one that lapses while a handler runs has it run for nothing.
 *
 * @param time - Unix time in seconds, passed in so that tests own the clock, and how many seconds the
 * authorization must live on.
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

/**
 * Tells whether what the ledger knows of an authorization stands in its way.
 *
 * An open record does not, which its buyer presents for what it was reserved for: he has paid, or is
 * about to have, and got nothing.
 */
export function checkLedger(
  record: LedgerRecord | undefined,
  presented: PresentedPurchase,
): Reason | undefined {
  if (record === undefined) return undefined
  if (!isSamePurchase(record, presented.entry)) return 'invalid_exact_evm_nonce_already_used'
  if (record.state === 'failed') return record.reason
  if (record.delivered) return 'invalid_exact_evm_nonce_already_used'
  if (!record.locked) return checkBuyer(record, presented)
  // The process that sent it may be dead: once its hold has lapsed, the same payment is good again.
  const isElsewhere = record.ownerSilent || record.lockedElsewhere === true
  return isElsewhere && record.state !== 'reserved' ? 'settlement_pending' : 'duplicate_settlement'
}

/** Checks that an open record is presented by its buyer, for what it was reserved for. */
export function checkBuyer(record: LedgerRecord, presented: PresentedPurchase): Reason | undefined {
  return isSamePurchase(record, presented.entry) && isSameBuyer(record, presented)
    ? undefined
    : 'invalid_exact_evm_nonce_already_used'
}

/**
 * What a refusal tells of the record that is in the way.
 *
 * Of one that was made for something else, nothing: it may be another merchant's.
 */
export function refusalDetails(
  record: LedgerRecord,
  { entry }: PresentedPurchase,
  refused: Reason,
): Pick<Refusal, 'transaction' | 'settledBy'> {
  if (!isSamePurchase(record, entry)) return {}
  switch (record.state) {
    case 'reserved':
      return {}
    case 'submitted':
      return refused === 'settlement_pending' ? { transaction: record.submission.transaction } : {}
    case 'failed':
      return { transaction: record.transaction }
    case 'settled':
      if (refused === 'settlement_pending') return { transaction: record.transaction }
      return bringsSameProof(record, entry) ? { settledBy: record.transaction } : {}
  }
}

function sameHex(one: string, other: string): boolean {
  return lowerHex(one) === lowerHex(other)
}
