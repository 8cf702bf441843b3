/** Which transfer of a transaction paid for which permit. Permit2 itself logs nothing. */
import { parseTransaction } from 'viem/utils'
import { addressWord, callsIn } from '../../../chain/abi.js'
import type { Chain } from '../../../chain/chain.js'
import type { Call, Log, Receipt } from '../../../chain/types.js'
import { ChainError } from '../../../errors.js'
import type { LedgerEntry } from '../../../ledger/index.js'
import { amountOf } from '../../../ledger/record.js'
import { lowerHex, sameHex } from '../../../protocol/hex.js'
import type { Hex } from '../../../protocol/payment.js'
import type { Decision } from '../confirm/decision.js'
import { transferId } from '../confirm/transfer-id.js'
import { isMove, transfersOfUses } from '../erc3009/transfer-log.js'
import { wordOf } from '../reads.js'
import type { JudgedPayment } from '../transfer-method.js'
import { isUsedIn, nonceBitmapCall, readSettleCall, type SettleCall } from './calls.js'
import { findSpender, isSettlement } from './contracts.js'

/** Blocks whose state every node has. Older ones are only with archives. */
const KEPT_BLOCKS = 64n

/**
 * Tells whether a transaction paid the merchant, and by which transfer.
 *
 * The spender logs that it had a payment made, the token that it moved the amount before that. Which of
 * equal payments it was follows from the calls of the transaction; where some of these failed, from the
 * nonces that were used up in its block; where even that does not tell, from what the ledger has not granted yet.
 *
 * @throws {@link ChainError}
 */
export async function judgePermit(
  chain: Chain,
  receipt: Receipt,
  payment: JudgedPayment,
): Promise<Decision> {
  const { transaction } = receipt
  const unpaid = { kind: 'failed', reason: 'invalid_transaction_state', transaction } as const
  if (!receipt.succeeded) return unpaid
  const [first, ...others] = settledTransfers(receipt, payment).map((log) =>
    transferId(receipt, log),
  )
  if (first === undefined)
    return findSpender(receipt.to) === undefined
      ? unpaid
      : { kind: 'failed', reason: 'invalid_exact_evm_transfer_event_mismatch', transaction }
  const paid = { kind: 'paid', transaction, transfer: first } as const
  const raw = bytesOf(payment, transaction)
  if (others.length === 0 && raw !== undefined && hasOneCall(raw, payment)) return paid

  const found = [first, ...others]
  const call = raw === undefined ? await chain.getCall(transaction) : parseTransaction(raw)
  const { rivals, isAll } = rivalsIn(call, payment)
  const isOwn = ({ nonce }: Pick<SettleCall, 'nonce'>): boolean => sameHex(nonce, payment.nonce)
  const isCalled = rivals.some(isOwn)
  if (!isCalled && isAll) return unpaid
  const paidAs = (index: number): Decision => ({ ...paid, transfer: found[index] ?? first })
  if (isCalled && isAll && rivals.length === found.length) return paidAs(rivals.findIndex(isOwn))

  const asked = isCalled ? rivals : [payment]
  const uses = await usedInBlock(
    chain,
    receipt,
    asked.map(({ nonce }) => ({ ...payment, nonce })),
  )
  const used = asked.filter((_rival, index) => uses[index])
  const index = used.findIndex(isOwn)
  if (index < 0) return unpaid
  if (isCalled && isAll && used.length === found.length) return paidAs(index)
  return others.length === 0 ? paid : { ...paid, others }
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

/** Calls that would make a payment of the same amount, with different nonces, and whether there can be no more. */
function rivalsIn(
  call:
    { readonly to?: Call['to'] | null | undefined; readonly data?: Hex | undefined } | undefined,
  payment: LedgerEntry,
): { readonly rivals: readonly SettleCall[]; readonly isAll: boolean } {
  const calls = call?.to && call.data ? callsIn({ to: call.to, data: call.data }) : []
  const settled = calls.map(readSettleCall)
  const rivals = new Map<Hex, SettleCall>()
  for (const one of settled)
    if (one !== undefined && isEqual(one, payment)) rivals.set(lowerHex(one.nonce), one)
  const isAll = calls.length > 0 && settled.every((one) => one !== undefined)
  return { rivals: [...rivals.values()], isAll }
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
): Promise<readonly boolean[]> {
  const readAt = async (block?: bigint): Promise<readonly boolean[]> => {
    const words = await chain.callMany(keys.map(nonceBitmapCall), block)
    return keys.map(({ nonce }, index) => isUsedIn(wordOf(words[index]) ?? 0n, nonce))
  }
  try {
    const [after, before] = await Promise.all([readAt(blockNumber), readAt(blockNumber - 1n)])
    return after.map((isUsed, index) => isUsed && before[index] !== true)
  } catch (error) {
    if (!(error instanceof ChainError) || error.code !== 'chain_refused') throw error
    // The node may have forgotten the state of that block; it has the one of now.
    if ((await chain.getBlockNumber()) < blockNumber + KEPT_BLOCKS) throw error
    return readAt()
  }
}
