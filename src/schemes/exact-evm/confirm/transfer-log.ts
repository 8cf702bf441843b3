/** Which transfer of a transaction paid for which authorization. */
import { createHash } from 'node:crypto'
import { numberToHex, padHex } from 'viem/utils'
import { AUTHORIZATION_USED, MULTICALL3, TRANSFER } from '../../../chain/abi.js'
import type { Log, Receipt } from '../../../chain/chain.js'
import type { AuthorizationKey, LedgerEntry } from '../../../ledger/ledger.js'
import { lowerHex } from '../authorization.js'
import type { Decision } from './outcome.js'

/**
 * Tells from a transaction's logs whether it paid the merchant, and by which transfer.
 *
 * Success of the transaction is not enough: some tokens return without moving funds. It counts as
 * paid only with exactly one `AuthorizationUsed` of this authorization, and one matching `Transfer`
 * of our asset that belongs to it.
 */
export function judgeLogs(receipt: Receipt, payment: LedgerEntry): Decision {
  const { transaction, blockHash } = receipt
  if (!receipt.succeeded) return { failed: 'invalid_transaction_state', transaction }
  const uses = usesOf(receipt, payment)
  const [use] = uses
  // Multicall3 lets each of them be reverted by itself, or even all of them.
  const isShared = lowerHex(receipt.to) === lowerHex(MULTICALL3)
  if (use === undefined && isShared) return { failed: 'invalid_transaction_state', transaction }
  const transfer = use && uses.length === 1 ? transferOf(receipt, payment, use) : undefined
  if (transfer === undefined)
    return { failed: 'invalid_exact_evm_transfer_event_mismatch', transaction }
  // A reorganisation may move the transaction to another block, and its logs to other places.
  const place = receipt.logs.indexOf(transfer)
  return { paid: transaction, transfer: transferId(lowerHex(transaction + blockHash), place) }
}

/** The logs that tell that an authorization was used. */
export function usesOf(receipt: Receipt, { asset, from, nonce }: AuthorizationKey): readonly Log[] {
  return receipt.logs.filter(
    (log) =>
      lowerHex(log.address) === lowerHex(asset) &&
      hasTopics(log, [AUTHORIZATION_USED, padHex(from), nonce]),
  )
}

/**
 * Finds the transfer that belongs to the use of an authorization.
 *
 * A payer may use several authorizations in one transaction, and each pays only by its own transfer:
 * the first of his after the use where the token logs the use first (ERC-3009's reference, Circle's
 * FiatToken), else the last before it. One order is taken for the whole transaction, so that no
 * transfer ever belongs to two uses.
 */
function transferOf(receipt: Receipt, payment: LedgerEntry, use: Log): Log | undefined {
  const { asset, from, payTo, value } = payment
  const uses: Log[] = []
  /** His transfers: before the first use, and after each. */
  const runs: Log[][] = [[]]
  for (const log of receipt.logs) {
    if (lowerHex(log.address) !== lowerHex(asset)) continue
    if (hasTopics(log, [TRANSFER, padHex(from)])) runs.at(-1)?.push(log)
    if (!hasTopics(log, [AUTHORIZATION_USED, padHex(from)])) continue
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
  // What moved the same money twice did not do as it was authorized.
  return nearest !== undefined && isMove(nearest) && run.filter(isMove).length === 1
    ? nearest
    : undefined
}

/** Names a transfer log. */
function transferId(mined: string, place: number): string {
  return createHash('sha256').update(`${mined}:${place}`).digest('hex').slice(0, 32)
}

function hasTopics(log: Log, topics: readonly string[]): boolean {
  return topics.every((topic, index) => log.topics[index]?.toLowerCase() === topic)
}
