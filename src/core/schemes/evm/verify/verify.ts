import { checksumAddress } from '../../../../shared/crypto/checksum-address.js'
import { ledgerEntryOf } from '../../../../ledger/ledger-entry.js'
import type { LedgerRecord, LedgerStore } from '../../../../ledger/index.js'
import { isGoodOnEarlierTerms } from '../../../../ledger/purchase.js'
import { isReadable } from '../../../../shared/protocol/decoded-payment.js'
import type { ReadablePayment } from '../../../../shared/protocol/decoded-payment.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'
import { methodOf as methodOfOffer } from '../../../../shared/protocol/same-offer.js'
import { checkRecord, purchaseOf, refusalDetails } from '../../check-record.js'
import { checkTerms, isRefusal, redeemingOnly } from '../../scheme.js'
import type { PresentedPayment, Refusal } from '../../scheme.js'
import { explainTooLong } from '../../explain-too-long.js'
import type { ReservedPayment } from '../../open-reservation.js'
import { methodOf } from '../transfer-methods.js'
import { assetAsOffered } from '../network/asset-as-offered.js'
import { findCaller } from '../network/find-caller.js'
import type { Shortage, Spend } from '../network/pending-spend.js'
import { uncarriedGas } from '../network/project-gas.js'
import type { SettlementAsset } from '../transfer/settlement-asset.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import type { SignedTransfer } from '../transfer/transfer-method.js'
import { checkSigned, type RecentlyVerified } from './check-signed.js'
import type { CheckedTransfer } from '../network/gas-limits.js'
import { checkTimeWindow, settleMarginSeconds, usualValiditySeconds } from './validity.js'

/** Dependencies of {@link verifyPayment}; time and chain are passed in. */
export interface VerifyContext {
  /** By CAIP-2 id. */
  readonly networks: ReadonlyMap<string, SettlementNetwork>
  readonly ledger: LedgerStore
  /** Unix time in seconds. */
  readonly nowSeconds: () => bigint
  readonly recent: RecentlyVerified
}

export interface VerifiedPayment extends ReservedPayment {
  readonly network: SettlementNetwork
  readonly asset: SettlementAsset
  readonly transfer: SignedTransfer
  readonly key: PaymentKey
  /** Whether its transaction is out already: nothing will be sent for it. */
  readonly isSubmitted: boolean
  /** The simulation of its transfer; absent if its transaction is out already. */
  readonly checked: CheckedTransfer | undefined
  readonly onSubmitted: PresentedPayment['onSubmitted']
}

/**
 * Verifies a payment; cheap checks go before expensive ones, and each fails with one reason.
 *
 * A payment whose transaction is out, but whose payer got nothing for it yet, is good: its signature is
 * checked, its transfer is not simulated again.
 *
 * @throws {@link ChainError} when the network could not be asked, {@link LedgerError} when the ledger
 * could not.
 */
export async function verifyPayment(
  context: VerifyContext,
  presented: PresentedPayment,
): Promise<VerifiedPayment | Refusal> {
  const { payment, terms, purpose } = presented
  if (!isReadable(payment)) return { refused: 'invalid_payload' }
  const { requirements, key, facts } = payment
  const payer = checksumAddress(facts.payer)
  const refuse = (refused: Reason): Refusal => ({ refused, payer })

  const network = context.networks.get(payment.network?.caip2 ?? '')
  if (network === undefined) return refuse('invalid_network')
  const method = methodOf(facts)
  if (method.name !== methodOfOffer(requirements)) return refuse('invalid_payload')
  const settled = network.assets.get(lowerHex(requirements.asset))
  const asset = settled && method.takes(settled) ? settled : undefined
  const notTaken =
    asset === undefined ? 'unsupported_asset' : terms && checkTerms(requirements, terms)
  const mismatch = method.checkTerms(facts, requirements)
  if (mismatch !== undefined) return refuse(notTaken ?? mismatch)
  if (facts.payer === facts.payTo) return refuse('self_send_not_allowed')
  if (asset === undefined || notTaken !== undefined)
    return (
      (await verifyOnEarlierTerms(context, { ...presented, payment, network, asset, payer })) ??
      refuse(notTaken ?? 'unsupported_asset')
    )

  const isNew = purpose !== 'verify' && !terms?.purchase?.redeemOnly
  const candidate = { ...presented, payment, network, asset, payer }
  return isNew
    ? verifyNew(context, candidate)
    : verifyRecorded(context, candidate, await context.ledger.payments.find(key))
}

interface Candidate extends PresentedPayment, Pick<VerifiedPayment, 'network' | 'asset' | 'payer'> {
  readonly payment: ReadablePayment
}

/**
 * Verifies a payment whose payee or token the merchant does not take any more.
 *
 * @returns `undefined` unless it is recorded on those terms, for this very purchase.
 */
async function verifyOnEarlierTerms(
  context: VerifyContext,
  candidate: Omit<Candidate, 'asset'> & { readonly asset: SettlementAsset | undefined },
): Promise<VerifiedPayment | Refusal | undefined> {
  const { payment, terms, refundOf } = candidate
  const asset = candidate.asset ?? assetAsOffered(payment)
  if (terms === undefined || asset === undefined) return undefined
  const record = await context.ledger.payments.find(payment.key)
  if (!isGoodOnEarlierTerms(record, ledgerEntryOf(payment, terms, refundOf))) return undefined
  const redeemed = { ...candidate, asset, terms: redeemingOnly(terms) }
  return verifyRecorded(context, redeemed, record)
}

/**
 * Verifies a payment that is about to be reserved as if the ledger did not know it: its reservation finds out
 * whether it does. Only where it would be refused, its record is looked up.
 */
async function verifyNew(
  context: VerifyContext,
  candidate: Candidate,
): Promise<VerifiedPayment | Refusal> {
  let failure: unknown
  const verified = await verifyRecorded(context, candidate, undefined).catch((error: unknown) => {
    failure = error
  })
  if (verified !== undefined && !isRefusal(verified)) return verified
  const record = await context.ledger.payments.find(candidate.payment.key)
  if (record !== undefined) return verifyRecorded(context, candidate, record)
  if (verified === undefined) throw failure
  return verified
}

/** Verifies a payment with the record that the ledger has of it, if it has one. */
async function verifyRecorded(
  context: VerifyContext,
  candidate: Candidate,
  record: LedgerRecord | undefined,
): Promise<VerifiedPayment | Refusal> {
  const { payment, terms, purpose, network, asset, payer, refundOf, onSubmitted } = candidate
  const { key, facts } = payment
  const entry = ledgerEntryOf(payment, terms, refundOf)
  const purchase = purchaseOf({ entry, terms })
  const refuseKnown = (refused: Reason): Refusal => ({
    refused,
    payer,
    ...(record && refusalDetails(record, purchase, refused)),
  })
  const known = checkRecord(record, purchase)
  if (known !== undefined) return refuseKnown(known)
  // A payment that failed, and cannot be sent again now, stays failed.
  const refuse = (refused: Reason, message?: string): Refusal =>
    record?.state === 'failed' ? refuseKnown(record.reason) : { refused, message, payer }
  // A transaction that is out decides for itself whether it was in time.
  const isSubmitted = record !== undefined && record.state !== 'failed'
  const time = { now: context.nowSeconds(), validitySeconds: validityOf(candidate, network) }
  const late = isSubmitted ? undefined : checkTimeWindow(facts, time)
  if (late !== undefined) return refuse(late)
  const tooLong = isSubmitted ? undefined : explainTooLong(facts, payment.requirements, time.now)
  if (tooLong !== undefined) return refuse('invalid_payload', tooLong)
  if (!isSubmitted && terms?.purchase?.redeemOnly) return refuse('quote_expired')

  const named = methodOf(facts).callerOf?.(facts)
  if (!isSubmitted && named !== undefined && (await findCaller(network, named)) === undefined)
    return refuse('upto_facilitator_mismatch')

  const trustRecent = purpose !== 'verify'
  const isRefund = refundOf !== undefined
  const unchecked = { key, facts, isRefund, isSubmitted, trustRecent }
  const found = await checkSigned(context.recent, { network, asset }, unchecked)
  if (typeof found === 'string') return refuse(found)
  const { checked, ...signed } = found
  const gas = checked?.limit?.gas ?? checked?.simulation.gas ?? 0n
  const uncarried = uncarriedGas(gas, entry, asset.decimals)
  const isTaken = network.projectGas.mayTake(entry.project, uncarried)
  if (!(await isTaken)) return refuse('settlement_too_expensive')
  const transfer = { facts, isRefund, ...signed }
  const spend = { key, asset, facts, checked }
  const verified = {
    ...spend,
    transfer,
    network,
    payment,
    terms,
    payer,
    entry,
    isSubmitted,
    onSubmitted,
  }
  const shortage = isSubmitted ? undefined : await findShortage(network, spend, purpose)
  if (shortage === undefined) return verified
  const { notCovered, notAllowed } = methodOf(facts).reasons
  return refuse(shortage === 'balance' ? notCovered : notAllowed)
}

/**
 * What the payer lacks for a payment, on top of all that is pending; one that is to be reserved is counted
 * with it.
 *
 * Its gas is counted when it is sent: until then a stranger could reserve it for any time, and would
 * stand in the way of others.
 */
function findShortage(
  { pendingSpend }: SettlementNetwork,
  spend: Spend,
  purpose: PresentedPayment['purpose'],
): Promise<Shortage | undefined> {
  return purpose === 'verify' ? pendingSpend.shortageOf(spend) : pendingSpend.take(spend)
}

/** How much longer an authorization must be valid (s): to be settled, and for a handler before. */
function validityOf(
  { payment, terms, purpose }: PresentedPayment,
  { chain }: SettlementNetwork,
): number {
  const margin = settleMarginSeconds(chain.network)
  if (purpose === 'settle') return margin
  const { maxTimeoutSeconds } = payment.requirements
  return Math.max(margin, terms?.minValiditySeconds ?? usualValiditySeconds(maxTimeoutSeconds))
}
