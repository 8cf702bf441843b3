import { encodeFunctionData, padHex, size } from 'viem/utils'
import {
  AUTHORIZATION_CANCELED,
  AUTHORIZATION_USED,
  MULTICALL3,
  multicall3Abi,
  tokenAbi,
} from '../../../chain/abi.js'
import type { CallResult, Chain, Receipt } from '../../../chain/chain.js'
import type { AuthorizationKey, LedgerEntry, Submission } from '../../../ledger/ledger.js'
import type { Hex } from '../../../protocol/payment.js'
import type { Reason } from '../../../protocol/reasons.js'
import { lowerHex } from '../authorization.js'
import type { SettlementNetwork } from '../settlement-network.js'
import { judgeLogs, usesOf } from './transfer-log.js'

/** Blocks in which the use of an authorization is looked for: recent ones first, then more. */
const LOOK_BACK_BLOCKS = [200n, 2000n, 9999n, 100_000n, 1_000_000n] as const

/**
 * Seconds by which the chain must be beyond `validBefore` before an authorization counts as lapsed:
 * a reorganisation may set the chain's clock back by a few blocks.
 */
const LAPSE_MARGIN_SECONDS = 30n

/** Seconds to wait beyond `validBefore` where the chain's own clock cannot be read. */
const CLOCKLESS_LAPSE_SECONDS = 3600n

/** A payment whose transaction was written down: all that finding its outcome takes. */
export type SubmittedPayment = LedgerEntry & { readonly submission: Submission }

/** What the chain has decided of a payment: which transaction paid it, or why none will. */
export type Decision =
  | {
      readonly paid: Hex
      /** Names the transfer log that paid: the ledger gives it to one record. */
      readonly transfer: string
    }
  | { readonly failed: Reason; readonly transaction: Hex }

/** A decision, or that there is none yet. */
export type Outcome = Decision | 'open'

/**
 * Finds out what became of a payment, from the chain and its ledger record alone.
 *
 * @param now - Unix time in seconds; counts only where the chain's own clock cannot be read.
 * @throws {@link ChainError} when the node could not be asked.
 */
export async function findOutcome(
  core: SettlementNetwork,
  payment: SubmittedPayment,
  now: bigint,
): Promise<Outcome> {
  for (const transaction of transactionsOf(core, payment.submission)) {
    const receipt = await core.chain.getReceipt(transaction)
    if (receipt !== undefined) return judgeReceipt(core, payment, receipt)
  }
  const { isUsed, time } = await readAuthorization(core.chain, payment)
  if (isUsed === true) return findUse(core, payment)
  const lapsesAt = payment.validBefore + LAPSE_MARGIN_SECONDS
  const isLapsed =
    isUsed === false &&
    (time === undefined ? now > lapsesAt + CLOCKLESS_LAPSE_SECONDS : time > lapsesAt)
  if (!isLapsed) return 'open'
  const { transaction } = payment.submission
  return { failed: 'invalid_exact_evm_payload_authorization_valid_before', transaction }
}

/** Tells what the receipt of a payment's own transaction decides. */
export async function judgeReceipt(
  core: SettlementNetwork,
  payment: SubmittedPayment,
  receipt: Receipt,
): Promise<Outcome> {
  core.relayers.noteMined(receipt)
  core.payers.noteReceipt(receipt)
  const decided = judgeLogs(receipt, payment)
  if ('paid' in decided) return decided
  const { transaction } = receipt
  if (usesOf(receipt, payment).length > 0) return decided
  // Somebody may have been faster with the same authorization: the merchant is paid all the same.
  const { isUsed } = await readAuthorization(core.chain, payment)
  if (isUsed !== true) {
    // Both must be of the same chain: it may have been reorganised in between.
    const again = await core.chain.getReceipt(transaction)
    return again?.blockHash === receipt.blockHash ? decided : 'open'
  }
  const use = await findUse(core, payment)
  return use === 'open' || 'paid' in use ? use : decided
}

/**
 * Tells whether a transaction will never be mined: its count was used by another.
 *
 * So it is with what was written down, but not sent before its process was killed, where the next one
 * began with the same count; and with what a reorganisation dropped.
 *
 * @throws {@link ChainError}
 */
export async function isSuperseded(
  core: SettlementNetwork,
  payment: SubmittedPayment,
): Promise<boolean> {
  const { submission } = payment
  const mined = await core.chain.getMinedNonce(submission.relayer)
  if (mined <= submission.accountNonce) return false
  for (const transaction of transactionsOf(core, submission))
    if ((await core.chain.getReceipt(transaction)) !== undefined) return false
  // A node may have mined it, and not have its receipt at hand.
  return (await readAuthorization(core.chain, payment)).isUsed === false
}

/**
 * Finds the transaction that used an authorization, and tells whether it paid the merchant.
 *
 * A stranger's is a payment like any other. So is one that a relayer of ours sent for this ledger, though
 * not for this record: they shared a transaction, and the record was left behind by a process that was
 * killed. One that this ledger does not know is not: another ledger answers for it.
 */
export async function findUse(
  core: SettlementNetwork,
  payment: LedgerEntry & { readonly submission?: Submission | undefined },
): Promise<Outcome> {
  const transaction = await findUsingTransaction(core.chain, payment)
  const receipt = transaction && (await core.chain.getReceipt(transaction))
  if (receipt === undefined) return 'open'
  const own: readonly string[] = payment.submission ? transactionsOf(core, payment.submission) : []
  const isOwn = own.includes(lowerHex(receipt.transaction))
  const sender = lowerHex(receipt.sender)
  const isOurRelayers = core.relayers.addresses.some((address) => lowerHex(address) === sender)
  const counts =
    isOwn || !isOurRelayers || (await core.relayers.knowsTransaction(lowerHex(receipt.transaction)))
  const judged = judgeLogs(receipt, payment)
  return counts && 'paid' in judged
    ? judged
    : { failed: 'invalid_exact_evm_nonce_already_used', transaction: receipt.transaction }
}

async function findUsingTransaction(
  chain: Chain,
  { asset: address, from, nonce }: AuthorizationKey,
): Promise<Hex | undefined> {
  for (const blocks of LOOK_BACK_BLOCKS) {
    for (const event of [AUTHORIZATION_USED, AUTHORIZATION_CANCELED]) {
      const topics = [event, padHex(from), nonce]
      const [transaction] = await chain.findTransactions({ address, topics, blocks })
      if (transaction !== undefined) return transaction
    }
  }
  return undefined
}

/** What the chain says of an authorization, at one block. */
interface AuthorizationState {
  /** Used or cancelled; unknown where the token does not say. */
  readonly isUsed: boolean | undefined
  /** The block's time, in Unix seconds; unknown where there is no Multicall3. */
  readonly time: bigint | undefined
}

async function readAuthorization(chain: Chain, key: AuthorizationKey): Promise<AuthorizationState> {
  const clock = encodeFunctionData({
    abi: multicall3Abi,
    functionName: 'getCurrentBlockTimestamp',
  })
  const [state, time] = await chain.callMany([
    authorizationStateCall(key),
    { to: MULTICALL3, data: clock },
  ])
  return { isUsed: toIsUsed(state), time: wordOf(time) }
}

/** Asks whether an authorization was used or cancelled. */
export function authorizationStateCall({ asset: to, from, nonce }: AuthorizationKey) {
  const functionName = 'authorizationState'
  return { to, data: encodeFunctionData({ abi: tokenAbi, functionName, args: [from, nonce] }) }
}

/** The answer to {@link authorizationStateCall}. */
export function toIsUsed(result: CallResult | undefined): boolean | undefined {
  const word = wordOf(result)
  return word === undefined ? undefined : word !== 0n
}

/** One 32-byte word that a contract returned, as a number. */
export function wordOf(result: CallResult | undefined): bigint | undefined {
  return result?.ok && size(result.data) === 32 ? BigInt(result.data) : undefined
}

/** The hashes under which a transaction may be mined: more than one, where it was replaced. */
export function transactionsOf(
  { relayers }: SettlementNetwork,
  submission: Submission,
): readonly Hex[] {
  const { transaction, replaces = [] } = submission
  const known = [transaction, ...replaces, ...relayers.transactionsOf(submission)]
  return [...new Set(known.map(lowerHex))]
}
