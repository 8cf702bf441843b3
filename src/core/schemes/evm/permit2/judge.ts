/** Finds the transfer that paid for a permit. Permit2 itself logs nothing. */
import { parseTransaction } from 'viem/utils'
import { addressWord, callsIn, MULTICALL3 } from '../../../chain/abi.js'
import type { Chain } from '../../../chain/chain.js'
import type { Call, Log, Receipt } from '../../../chain/types.js'
import { ChainError } from '../../../../shared/errors.js'
import { UNPAID, type LedgerEntry } from '../../../../ledger/index.js'
import { amountOf } from '../../../../ledger/record.js'
import { lowerHex, sameHex } from '../../../../shared/protocol/hex.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import type { Reason } from '../../../../shared/protocol/reasons.js'
import { MAY_HAVE_PAID, OPEN, type FailedDecision, type Outcome } from '../transfer/decision.js'
import { transferId } from '../transfer/transfer-id.js'
import { isTransferCall } from '../erc3009/token-calls.js'
import { isMove, transfersOfUses } from '../erc3009/transfer-log.js'
import { wordOf } from '../transfer/reads.js'
import type { JudgedPayment, JudgingNetwork } from '../transfer/transfer-method.js'
import { isUsedIn, nonceBitmapCall, readSettleCall, type SettleCall } from './calls.js'
import { findSpender, isSettlement } from './contracts.js'
import { findTransfers } from './find-transfers.js'

/** Transactions that are asked which of equal payments they have made. */
const MOST_OTHERS = 100

/** How many of the latest blocks every node has the state of. Older state needs an archive node. */
const KEPT_BLOCKS = 64n

/**
 * Tells whether a transaction paid the merchant, and by which transfer.
 *
 * Only a call of this very payment can have paid it: the spender's log does not say which payment it had
 * made, and the token's is the same for any transfer. Where some of equal calls failed, the nonces that were
 * used up in the block of a transaction of ours tell which; where the node has forgotten that block, the other
 * transactions that have paid some of them; where even that does not, what the ledger has not granted yet.
 *
 * A stranger's transaction counts where its bytes leave no doubt: all calls are known, and none of the equal
 * ones failed. A payment through a contract whose calls we cannot read buys nothing here: {@link MAY_HAVE_PAID}.
 */
export async function judgePermit(
  network: JudgingNetwork,
  receipt: Receipt,
  payment: JudgedPayment,
): Promise<Outcome> {
  const judged = await judgeWithoutState(network, receipt, payment)
  if ('kind' in judged) return judged
  return judgeByUses(receipt, payment, await readUses(network, receipt, { payment, ...judged }))
}

/** Calls that would make equal payments, some of which were made, by these transfers. */
interface EqualCalls {
  readonly rivals: readonly SettleCall[]
  /** Whether all rivals are known to have used up their nonces in this very transaction's block. */
  readonly isExact?: boolean
  /** Names of the transfers, in the order of the calls. */
  readonly found: readonly string[]
}

/** Tells it from receipt and calls alone, as far as they do. @throws {@link ChainError} */
async function judgeWithoutState(
  network: JudgingNetwork,
  receipt: Receipt,
  payment: JudgedPayment,
): Promise<Outcome | EqualCalls> {
  const judged = judgeByReceipt(network, receipt, payment)
  if ('kind' in judged) return judged
  const { transaction } = receipt
  const raw = bytesOf(payment, transaction)
  const call = raw === undefined ? await network.chain.getCall(transaction) : parseTransaction(raw)
  // The node has the receipt, but not its transaction yet.
  if (!call?.to || !call.data) return OPEN
  const calls = callsIn({ to: call.to, data: call.data }, judged.executors)
  return judgeByCalls(network, payment, { ...judged, calls })
}

/** Transfers of a transaction, one of which may have made the payment. */
interface FoundTransfers extends Pick<EqualCalls, 'found'>, Pick<Receipt, 'transaction'> {
  readonly isOurs: boolean
  /** Contracts whose calls can be read, beside Multicall3. */
  readonly executors: readonly Address[]
}

function judgeByReceipt(
  { relayers }: JudgingNetwork,
  receipt: Receipt,
  payment: JudgedPayment,
): Outcome | FoundTransfers {
  const { transaction, sender, to } = receipt
  if (!receipt.succeeded) return unpaid(transaction)
  const isDirect = findSpender(to) !== undefined
  const isOurs = [...relayers.addresses, payment.submission?.relayer ?? '0x'].some((one) =>
    sameHex(one, sender),
  )
  // Our relayers send lists of calls to nothing but executors, also to those of earlier relayers.
  const executors = isOurs ? [to] : relayers.executor ? [relayers.executor.address] : []
  const found = settledTransfers(receipt, payment).map((log) => transferId(receipt, log))
  const [transfer] = found
  if (transfer === undefined)
    return isDirect
      ? { kind: 'failed', reason: 'invalid_exact_evm_transfer_event_mismatch', transaction }
      : unpaid(transaction)
  if (!isDirect && ![MULTICALL3, ...executors].some((one) => sameHex(one, to)))
    return unpaid(transaction, MAY_HAVE_PAID)
  const raw = bytesOf(payment, transaction)
  return isOurs && found.length === 1 && raw !== undefined && hasOneCall(raw, payment)
    ? { kind: 'paid', transaction, transfer }
    : { transaction, found, isOurs, executors }
}

function judgeByCalls(
  { assets }: JudgingNetwork,
  payment: LedgerEntry,
  { transaction, found, isOurs, calls }: FoundTransfers & { readonly calls: readonly Call[] },
): Outcome | EqualCalls {
  const rivals = rivalsIn(calls, payment)
  if (!isOurs && !calls.every((one) => isKnownCall(one, payment, assets)))
    return unpaid(transaction, MAY_HAVE_PAID)
  const own = rivals.findIndex(isCallOf(payment))
  if (own < 0) return unpaid(transaction)
  const transfer = rivals.length === found.length ? found[own] : undefined
  if (transfer !== undefined) return { kind: 'paid', transaction, transfer }
  return isOurs ? { rivals, found } : unpaid(transaction, MAY_HAVE_PAID)
}

/** Tells by the calls whose nonces are used up which of the transfers is the payment's. */
function judgeByUses(
  { transaction, blockNumber }: Receipt,
  payment: LedgerEntry,
  { rivals, found, isExact }: EqualCalls,
): Outcome {
  const own = rivals.findIndex(isCallOf(payment))
  if (own < 0) return unpaid(transaction)
  const [transfer = '', ...others] = found
  const paid = { kind: 'paid', transaction, transfer } as const
  if (rivals.length === found.length) return { ...paid, transfer: found[own] ?? transfer }
  // Others may have been used before, by nothing that we can read.
  if (!isExact) return { kind: 'open', forgottenBlock: blockNumber }
  return others.length === 0 ? paid : { ...paid, others }
}

function unpaid(transaction: Hex, reason: Reason = UNPAID): FailedDecision {
  return { kind: 'failed', reason, transaction }
}

/** Leaves out the calls that have not used up their nonces, or certainly not here. @throws {@link ChainError} */
async function readUses(
  network: JudgingNetwork,
  receipt: Receipt,
  { payment, rivals, found }: EqualCalls & { readonly payment: JudgedPayment },
): Promise<EqualCalls> {
  const keys = rivals.map(({ nonce }) => ({ ...payment, nonce }))
  const { uses, isExact } = await usedInBlock(network.chain, receipt, keys)
  const used = rivals.filter((_rival, index) => uses[index])
  const isClear = isExact || used.length <= found.length
  const elsewhere = { payment, rivals: used }
  const left = isClear ? used : await withoutPaidElsewhere(network, receipt, elsewhere)
  return { rivals: left, found, isExact }
}

/** Leaves out the calls whose payment another transaction has certainly made. @throws {@link ChainError} */
async function withoutPaidElsewhere(
  network: JudgingNetwork,
  { transaction }: Receipt,
  { payment, rivals }: Pick<EqualCalls, 'rivals'> & { readonly payment: JudgedPayment },
): Promise<readonly SettleCall[]> {
  const { chain } = network
  const { transactions } = await findTransfers(chain, payment)
  const others = transactions.toReversed().filter((one) => !sameHex(one.transaction, transaction))
  const isElsewhere = new Set<SettleCall>()
  for (const one of others.slice(0, MOST_OTHERS)) {
    const receipt = await chain.getReceipt(one.transaction)
    if (receipt === undefined) continue
    for (const rival of rivals) {
      const key = { ...payment, nonce: rival.nonce, submission: undefined }
      const judged = await judgeWithoutState(network, receipt, key)
      if ('kind' in judged && judged.kind === 'paid') isElsewhere.add(rival)
    }
  }
  return rivals.filter((rival) => !isElsewhere.has(rival))
}

function isCallOf({ nonce }: LedgerEntry): (call: SettleCall) => boolean {
  return (call) => sameHex(call.nonce, nonce)
}

/**
 * The transfers by which spenders may have made a payment: one before each of their events.
 *
 * Each event ends what its spender has done: a transfer that belongs to it is after the event before.
 */
function settledTransfers(receipt: Receipt, payment: LedgerEntry): readonly Log[] {
  const ofOthers = transfersOfUses(receipt, payment)
  const found: Log[] = []
  let moves: Log[] = []
  for (const log of receipt.logs) {
    if (isMove(log, payment) && !ofOthers.has(log)) moves.push(log)
    if (!isSettlement(log)) continue
    // A token that moved the same amount twice did not do what was permitted.
    if (moves.length === 1) found.push(...moves)
    moves = []
  }
  return found
}

/** The bytes of a payment's own transaction, where it is the one that was mined. */
function bytesOf({ submission }: JudgedPayment, transaction: Hex): Hex | undefined {
  if (submission === undefined || submission.raw === '0x') return undefined
  return sameHex(submission.transaction, transaction) ? submission.raw : undefined
}

/** Whether a transaction calls a spender once for this payer and payee: both stand side by side in the call. */
function hasOneCall(raw: Hex, { from, payTo }: LedgerEntry): boolean {
  const both = addressWord(from) + addressWord(payTo)
  const at = raw.indexOf(both)
  return at >= 0 && raw.indexOf(both, at + 1) < 0
}

/** Calls that would make a payment of the same amount, with different nonces. */
function rivalsIn(calls: readonly Call[], payment: LedgerEntry): readonly SettleCall[] {
  const rivals = new Map<Hex, SettleCall>()
  for (const call of calls) {
    const one = readSettleCall(call)
    if (one !== undefined && isEqual(one, payment)) rivals.set(lowerHex(one.nonce), one)
  }
  return [...rivals.values()]
}

/** Whether a call does nothing but move one of our tokens by a signature. */
function isKnownCall(
  call: Call,
  { asset }: LedgerEntry,
  assets: JudgingNetwork['assets'],
): boolean {
  const settled = readSettleCall(call)
  const token = settled?.token ?? call.to
  if (!sameHex(token, asset) && !assets.has(lowerHex(token))) return false
  return settled !== undefined || isTransferCall(call)
}

function isEqual({ token, payer, payee, amount }: SettleCall, payment: LedgerEntry): boolean {
  return (
    sameHex(token, payment.asset) &&
    sameHex(payer, payment.from) &&
    sameHex(payee, payment.payTo) &&
    amount === amountOf(payment)
  )
}

/** Which nonces were used up in the block of a transaction, and not before. @throws {@link ChainError} */
async function usedInBlock(
  chain: Chain,
  { blockNumber }: Receipt,
  keys: readonly LedgerEntry[],
): Promise<{ readonly uses: readonly boolean[]; readonly isExact: boolean }> {
  const readAt = async (block?: bigint): Promise<readonly boolean[]> => {
    const words = await chain.callMany(keys.map(nonceBitmapCall), block)
    return keys.map(({ nonce }, index) => isUsedIn(wordOf(words[index]) ?? 0n, nonce))
  }
  try {
    const [after, before] = await Promise.all([readAt(blockNumber), readAt(blockNumber - 1n)])
    return { uses: after.map((isUsed, index) => isUsed && before[index] !== true), isExact: true }
  } catch (error) {
    if (!(error instanceof ChainError) || error.code !== 'chain_refused') throw error
    // The node may have forgotten the state of that block; it has the one of now.
    if ((await chain.getBlockNumber()) < blockNumber + KEPT_BLOCKS) throw error
    return { uses: await readAt(), isExact: false }
  }
}
