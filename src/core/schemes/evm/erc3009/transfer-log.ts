/** Finds the transfer that paid for an authorization. */
import { numberToHex, padHex } from 'viem/utils'
import { AUTHORIZATION_USED, MULTICALL3, TRANSFER } from '../../../chain/abi.js'
import type { Log, Receipt } from '../../../chain/types.js'
import type { LedgerEntry } from '../../../../ledger/index.js'
import { amountOf } from '../../../../ledger/record.js'
import { lowerHex, sameHex } from '../../../../shared/protocol/hex.js'
import type { Decision } from '../transfer/decision.js'
import { transferId } from '../transfer/transfer-id.js'
import { isSettlement } from '../permit2/contracts.js'

/**
 * Tells from a transaction's logs whether it paid the merchant, and by which transfer.
 *
 * A successful transaction is not enough: some tokens return without moving funds. It counts as paid
 * only with exactly one `AuthorizationUsed` of this authorization, and one matching `Transfer` of our
 * asset that belongs to it.
 */
export function judgeLogs(receipt: Receipt, payment: LedgerEntry): Decision {
  const { transaction } = receipt
  const unpaid = { kind: 'failed', reason: 'invalid_transaction_state', transaction } as const
  if (!receipt.succeeded) return unpaid
  const runs = runsOf(receipt, payment)
  const uses = runs.uses.filter((log) => isUseOf(log, payment))
  const [use] = uses
  // Within Multicall3 each call may revert by itself, or even all of them.
  if (use === undefined && sameHex(receipt.to, MULTICALL3)) return unpaid
  const transfer = use && uses.length === 1 ? transferOf(runs, payment, use) : undefined
  if (transfer === undefined)
    return { kind: 'failed', reason: 'invalid_exact_evm_transfer_event_mismatch', transaction }
  return { kind: 'paid', transaction, transfer: transferId(receipt, transfer) }
}

export function usesOf(receipt: Receipt, key: UsedAuthorization): readonly Log[] {
  return runsOf(receipt, key).uses.filter((log) => isUseOf(log, key))
}

function isUseOf({ topics }: Log, { nonce }: UsedAuthorization): boolean {
  return topics[2]?.toLowerCase() === nonce
}

export function transfersOfUses(receipt: Receipt, payer: TokenPayer): ReadonlySet<Log> {
  const runs = runsOf(receipt, payer)
  return new Set(runs.uses.flatMap((use) => nearestOf(runs, use).transfer ?? []))
}

type UsedAuthorization = Pick<LedgerEntry, 'asset' | 'from' | 'nonce'>

type TokenPayer = Pick<LedgerEntry, 'asset' | 'from'>

/**
 * Tells a token's logs about a payer. In `AuthorizationUsed` and `Transfer` the payer is the first indexed
 * argument.
 */
function logsOf({ asset, from }: TokenPayer): (log: Log) => boolean {
  const [token, payer] = [lowerHex(asset), lowerHex(padHex(from))]
  return ({ address, topics }) => topics[1]?.toLowerCase() === payer && lowerHex(address) === token
}

/** A payer's transfers between two of its uses. */
interface Run {
  readonly transfers: Log[]
  /** How many of them were followed by the event of a payment by Permit2. */
  settled: number
}

interface Runs {
  readonly uses: readonly Log[]
  /** Before the first use, and after each use. */
  readonly runs: readonly Run[]
  readonly isUseFirst: boolean
}

/** A payer's uses of authorizations, and its transfers, in their order. */
function runsOf({ logs }: Receipt, payer: TokenPayer): Runs {
  const uses: Log[] = []
  let run: Run = { transfers: [], settled: 0 }
  const runs = [run]
  let last: Log | undefined
  const isOfPayer = logsOf(payer)
  for (const log of logs) {
    const isTransfer = hasTopics(log, [TRANSFER])
    if (isTransfer) last = log
    else if (isSettlement(log) && last !== undefined && run.transfers.at(-1) === last) run.settled++
    if (!isOfPayer(log)) continue
    if (isTransfer) run.transfers.push(log)
    if (!hasTopics(log, [AUTHORIZATION_USED])) continue
    uses.push(log)
    runs.push((run = { transfers: [], settled: 0 }))
  }
  const isFilled = ({ transfers, settled }: Run): boolean => transfers.length > settled
  const isUseFirst = runs.slice(1).every(isFilled) || !runs.slice(0, -1).every(isFilled)
  return { uses, runs, isUseFirst }
}

/**
 * Finds the transfer that belongs to the use of an authorization, and those around it.
 *
 * A payer may use several authorizations in one transaction, and each pays only by its own transfer.
 * Where the token logs the use first (ERC-3009's reference, Circle's FiatToken), that is the payer's
 * first transfer after the use; otherwise the last one before it. One order holds for the whole
 * transaction, so no transfer ever belongs to two uses.
 */
function nearestOf(
  { uses, runs, isUseFirst }: Runs,
  use: Log,
): { readonly transfer: Log | undefined; readonly run: Run | undefined } {
  const index = uses.indexOf(use)
  const run = isUseFirst ? runs[index + 1] : runs[index]
  return { transfer: run?.transfers.at(isUseFirst ? 0 : -1), run }
}

function transferOf(runs: Runs, payment: LedgerEntry, use: Log): Log | undefined {
  const { transfer, run } = nearestOf(runs, use)
  if (transfer === undefined || run === undefined || !isMove(transfer, payment)) return undefined
  // A token that moved the same amount twice did not do what was authorized. Permit2 may have moved it as well.
  const moves = run.transfers.filter((log) => isMove(log, payment)).length
  return moves <= 1 + run.settled ? transfer : undefined
}

/** Whether a log moves exactly what a payment takes, from its payer to its payee. */
export function isMove(log: Log, payment: LedgerEntry): boolean {
  const { from, payTo } = payment
  return (
    sameHex(log.address, payment.asset) &&
    hasTopics(log, [TRANSFER, padHex(from), padHex(payTo)]) &&
    lowerHex(log.data) === numberToHex(amountOf(payment), { size: 32 })
  )
}

function hasTopics(log: Log, topics: readonly string[]): boolean {
  return topics.every((topic, index) => log.topics[index]?.toLowerCase() === topic)
}
