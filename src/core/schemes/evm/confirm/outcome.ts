/** Finding out, from the chain, what became of a payment. */
import type { Receipt } from '../../../chain/types.js'
import type { Submission } from '../../../../ledger/index.js'
import { REMOTE_SUBMISSION } from '../../../../ledger/record-transaction.js'
import { lowerHex, sameHex } from '../../../../shared/protocol/hex.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import { methodOf } from '../transfer-methods.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import type { JudgedPayment } from '../transfer/transfer-method.js'
import {
  MAY_HAVE_PAID,
  OPEN,
  type FailedDecision,
  type Outcome,
  type SubmittedPayment,
} from '../transfer/decision.js'
import { readNonce } from './nonce-state.js'

/**
 * How far the chain must be beyond `validBefore` before an authorization counts as lapsed (s):
 * a reorganisation may set the chain's clock back by a few blocks.
 */
const LAPSE_MARGIN_SECONDS = 30n

/** How long to wait beyond `validBefore` where the chain's own clock cannot be read (s). */
const CLOCKLESS_LAPSE_SECONDS = 3600n

/**
 * Finds out what became of a payment, from the chain and its ledger record alone.
 *
 * @param now - Unix time in seconds; used only where the chain's own clock cannot be read.
 * @throws {@link ChainError} when the node could not be asked.
 */
export async function findOutcome(
  network: SettlementNetwork,
  payment: SubmittedPayment,
  now: bigint,
): Promise<Outcome> {
  for (const transaction of transactionsOf(network, payment.submission)) {
    const receipt = await network.chain.getReceipt(transaction)
    if (receipt !== undefined) return judgeReceipt(network, payment, receipt)
  }
  const { isUsed, time } = await readNonce(network.chain, payment)
  if (isUsed === true) return findUse(network, payment)
  const lapsesAt = payment.validBefore + LAPSE_MARGIN_SECONDS
  const isLapsed =
    isUsed === false &&
    (time === undefined ? now > lapsesAt + CLOCKLESS_LAPSE_SECONDS : time > lapsesAt)
  if (!isLapsed) return OPEN
  const { transaction } = payment.submission
  const reason = methodOf(payment).reasons.tooLate
  return { kind: 'failed', reason, transaction }
}

/** Tells what the receipt of a payment's own transaction decides. @throws {@link ChainError} */
export async function judgeReceipt(
  network: SettlementNetwork,
  payment: SubmittedPayment,
  receipt: Receipt,
): Promise<Outcome> {
  network.relayers.finish(receipt)
  network.payers.addReceipt(receipt)
  network.gasShares.add(receipt)
  const method = methodOf(payment)
  const decided = await method.judge(network, receipt, payment)
  if (decided.kind !== 'failed' || method.usedIn(receipt, payment)) return decided
  const { payers, chain } = network
  const isForestalled =
    payers.blamesFactory(payment) && (await chain.getCode(payment.from)) !== '0x'
  if (isForestalled) payers.excuse(receipt.transaction)
  // Another transaction may have used the authorization first: then the merchant is paid by that.
  const { isUsed } = await readNonce(network.chain, payment)
  const use = isUsed === true ? await findUse(network, payment) : undefined
  if (use?.kind === 'open') return use
  if (use?.kind === 'paid' || use?.reason === MAY_HAVE_PAID)
    return { ...use, lost: receipt.transaction }
  // Receipt and state must be of the same chain: it may have been reorganised in between.
  const again = await network.chain.getReceipt(receipt.transaction)
  return again?.blockHash === receipt.blockHash ? decided : OPEN
}

/**
 * Tells whether a transaction will never be mined: another one used its account nonce.
 *
 * This happens to a transaction that was recorded, but not sent before its process was killed, when
 * the next process starts at the same nonce; and to one that a reorganisation dropped.
 */
export async function isSuperseded(
  network: SettlementNetwork,
  payment: SubmittedPayment,
): Promise<boolean> {
  const { submission } = payment
  // A facilitator may never send what it was asked to. An authorization pays once, no matter who sends it.
  const isOwn = submission.relayer !== REMOTE_SUBMISSION.relayer
  if (isOwn && (await network.chain.getMinedNonce(submission.relayer)) <= submission.accountNonce)
    return false
  for (const transaction of transactionsOf(network, submission))
    if ((await network.chain.getReceipt(transaction)) !== undefined) return false
  // The node may have mined it, and not have its receipt yet.
  return (await readNonce(network.chain, payment)).isUsed === false
}

/**
 * Finds the transaction that used an authorization, and tells whether it paid the merchant.
 *
 * A stranger's transaction pays like any other. So does one that a relayer of ours sent for another
 * record of this ledger: both shared a transaction, and a killed process left this record behind. One
 * of our relayers' that this ledger does not know does not count: another ledger answers for it.
 */
export async function findUse(
  network: SettlementNetwork,
  payment: JudgedPayment,
): Promise<Outcome> {
  const uses = await methodOf(payment).findUses(network.chain, payment)
  let failed: FailedDecision | undefined
  let isKnown = uses.isComplete
  for (const found of uses.transactions) {
    const receipt = await network.chain.getReceipt(found)
    if (receipt === undefined) return OPEN
    const outcome = await judgeUse(network, payment, receipt)
    if (outcome.kind === 'paid') return outcome
    if (outcome.kind === 'open') isKnown = false
    else if (uses.ruleOut === undefined) failed = outcome
    else uses.ruleOut(receipt, outcome.reason === MAY_HAVE_PAID)
  }
  if (!isKnown) return OPEN
  for (const transaction of uses.mayHavePaid?.() ?? [])
    if (!(await network.relayers.knowsTransaction(lowerHex(transaction), payment)))
      return { kind: 'failed', reason: MAY_HAVE_PAID, transaction }
  const { transaction = '0x' } = payment.submission ?? {}
  return failed ?? { ...USED_OTHERWISE, transaction }
}

/** Used up by something else than a payment of ours, or cancelled. */
const USED_OTHERWISE = { kind: 'failed', reason: 'invalid_exact_evm_nonce_already_used' } as const

/** Tells whether a transaction that used an authorization has paid for this record. */
async function judgeUse(
  network: SettlementNetwork,
  payment: JudgedPayment,
  receipt: Receipt,
): Promise<Outcome> {
  const { transaction, sender } = receipt
  const { submission } = payment
  const own = submission && [...transactionsOf(network, submission), ...(submission.failed ?? [])]
  const isOwn = own?.includes(lowerHex(transaction)) === true
  const isOurRelayers = network.relayers.addresses.some((address) => sameHex(address, sender))
  const counts =
    isOwn || !isOurRelayers || (await network.relayers.knowsTransaction(lowerHex(transaction)))
  // A facilitator with the same relayers may have sent it for this very record.
  if (!counts && submission?.relayer === REMOTE_SUBMISSION.relayer) return OPEN
  const judged = counts && (await methodOf(payment).judge(network, receipt, payment))
  if (judged && (judged.kind !== 'failed' || judged.reason === MAY_HAVE_PAID)) return judged
  return { ...USED_OTHERWISE, transaction }
}

/** The hashes under which a transaction may be mined: more than one, where it was replaced. */
export function transactionsOf(
  { relayers }: SettlementNetwork,
  submission: Submission,
): readonly Hex[] {
  const { transaction, replaces = [] } = submission
  const known = [transaction, ...replaces, ...relayers.transactionsOf(submission)].map(lowerHex)
  // What a remote facilitator was asked to send before this process settled here has no hash: its authorization tells.
  return [...new Set(known)].filter((hash) => hash !== REMOTE_SUBMISSION.transaction)
}
