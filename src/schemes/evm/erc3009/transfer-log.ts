/** Which transfer of a transaction paid for which authorization. */
import { numberToHex, padHex } from 'viem/utils'
import { AUTHORIZATION_USED, MULTICALL3, TRANSFER } from '../../../chain/abi.js'
import type { Log, Receipt } from '../../../chain/types.js'
import type { LedgerEntry } from '../../../ledger/index.js'
import { lowerHex, sameHex } from '../../../protocol/hex.js'
import type { Decision } from '../confirm/decision.js'
import { transferId } from '../confirm/transfer-id.js'

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
  const uses = usesOf(receipt, payment)
  const [use] = uses
  // Within Multicall3 each call may revert by itself, or even all of them.
  if (use === undefined && sameHex(receipt.to, MULTICALL3)) return unpaid
  const transfer = use && uses.length === 1 ? transferOf(receipt, payment, use) : undefined
  if (transfer === undefined)
    return { kind: 'failed', reason: 'invalid_exact_evm_transfer_event_mismatch', transaction }
  return { kind: 'paid', transaction, transfer: transferId(receipt, transfer) }
}

/** The logs of an authorization's use. */
export function usesOf(receipt: Receipt, key: LedgerEntry): readonly Log[] {
  return logsOfPayer(receipt, key).filter((log) =>
    hasTopics(log, [AUTHORIZATION_USED, padHex(key.from), key.nonce]),
  )
}

/**
 * A token's logs about a payer, in their order: in `AuthorizationUsed` and `Transfer` the payer is the
 * first indexed argument.
 */
function logsOfPayer(
  { logs }: Receipt,
  { asset, from }: Pick<LedgerEntry, 'asset' | 'from'>,
): readonly Log[] {
  const payer = padHex(from)
  return logs.filter(
    ({ address, topics }) => sameHex(address, asset) && sameHex(topics[1] ?? '', payer),
  )
}

/**
 * Finds the transfer that belongs to the use of an authorization.
 *
 * A payer may use several authorizations in one transaction, and each pays only by its own transfer.
 * Where the token logs the use first (ERC-3009's reference, Circle's FiatToken), that is the payer's
 * first transfer after the use; otherwise the last one before it. One order holds for the whole
 * transaction, so no transfer ever belongs to two uses.
 */
function transferOf(receipt: Receipt, payment: LedgerEntry, use: Log): Log | undefined {
  const { from, payTo, value } = payment
  const uses: Log[] = []
  /** The payer's transfers: before the first use, and after each use. */
  const runs: Log[][] = [[]]
  for (const log of logsOfPayer(receipt, payment)) {
    if (hasTopics(log, [TRANSFER])) runs.at(-1)?.push(log)
    if (!hasTopics(log, [AUTHORIZATION_USED])) continue
    uses.push(log)
    runs.push([])
  }
  const isFilled = (run: readonly Log[]): boolean => run.length > 0
  const isUseFirst = runs.slice(1).every(isFilled) || !runs.slice(0, -1).every(isFilled)
  const index = uses.indexOf(use)
  const run = (isUseFirst ? runs[index + 1] : runs[index]) ?? []
  const isMove = (log: Log): boolean =>
    hasTopics(log, [TRANSFER, padHex(from), padHex(payTo)]) &&
    lowerHex(log.data) === numberToHex(value, { size: 32 })
  const nearest = run.at(isUseFirst ? 0 : -1)
  // A token that moved the same amount twice did not do what was authorized.
  return nearest !== undefined && isMove(nearest) && run.filter(isMove).length === 1
    ? nearest
    : undefined
}

function hasTopics(log: Log, topics: readonly string[]): boolean {
  return topics.every((topic, index) => log.topics[index]?.toLowerCase() === topic)
}
