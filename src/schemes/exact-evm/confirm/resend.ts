import { parseTransaction } from 'viem/utils'
import { addressWord, callsIn } from '../../../chain/abi.js'
import type { Broadcast, Call, Chain } from '../../../chain/chain.js'
import type { FinalEntry, LedgerStore, LedgerRecord, Submission } from '../../../ledger/ledger.js'
import { keccakHex } from '../../../crypto/keccak.js'
import { lowerHex, sameHex } from '../../../protocol/hex.js'
import type { Hex } from '../../../protocol/payment.js'
import { adoptBatch } from './adopt-batch.js'
import type { SettlementNetwork } from '../settlement-network.js'

/**
 * Checks in a row that find a payment dropped before it is sent with a new account nonce: one check
 * may have asked a node that lags behind.
 */
const DROPS_BEFORE_NEW_NONCE = 2

/** Milliseconds after which that is done though the old nonce could still be mined. */
const STUCK_MS = 60_000

/** Times it is sent with a new nonce: its payer may have no money left. */
const MAX_RESENDS = 5

/** A settled payment that the chain may have dropped. */
export interface DroppedPayment {
  readonly core: SettlementNetwork
  readonly entry: FinalEntry
  /** Checks in a row that found it dropped. */
  drops: number
  /** When the first of these was, by `performance.now()`. */
  droppedAt: number
  /** Hashes of the transactions that sent it again, newest first. */
  resentAs: readonly Hex[]
}

/** The ledger's record of it. */
type SentRecord = Extract<LedgerRecord, { transaction: Hex }> & { readonly submission: Submission }

/**
 * Rebroadcasts a transaction, or sends the payment's own call with a new account nonce: its
 * authorization can pay only once, however often it is sent.
 *
 * Members of a batch are each sent again alone: only what a record names is known to have paid it.
 *
 * @throws {@link ChainError}, {@link LedgerError} or {@link RelayerError}
 */
export async function resendPayment(
  ledger: LedgerStore,
  dropped: DroppedPayment,
  { transaction, submission }: SentRecord,
): Promise<void> {
  const { core, entry } = dropped
  const { chain, relayers } = core
  const others = [transaction, ...dropped.resentAs].filter((one) => one !== submission.transaction)
  for (const other of others) if (await isWaiting(chain, other)) return
  // The record may name a later transaction; these bytes are of the first one.
  const original = { ...submission, transaction: keccakHex(submission.raw) }
  await adoptBatch(ledger, entry.chainId, original)
  const broadcast = await chain.broadcast(submission.raw)
  if (dropped.drops < DROPS_BEFORE_NEW_NONCE || dropped.resentAs.length >= MAX_RESENDS) return
  const isStuck = performance.now() - dropped.droppedAt > STUCK_MS
  if (!isStuck && !(await isNonceTaken(chain, submission, broadcast))) return

  const call = ownCall(entry, { raw: submission.raw, from: relayers.addresses[0] })
  const limit = call && (await core.gasLimits.estimate(call))
  // By that node's state it is paid after all, or its payer has no money left.
  if (call === undefined || typeof limit !== 'object') return
  await relayers.sendAlone({
    call,
    ...limit,
    members: () => [],
    onStored: async (sent) => {
      await ledger.markSettledLate(entry, sent.transaction)
      dropped.resentAs = [sent.transaction, ...dropped.resentAs]
    },
  })
}

/** The call of one payment, among all calls of a transaction. */
function ownCall(
  { asset, from: payer, nonce }: FinalEntry,
  { raw, from }: { readonly raw: Hex; readonly from: Hex },
): Call | undefined {
  const { to, data } = parseTransaction(raw)
  if (!to || !data) return undefined
  const own = callsIn({ to, data }).find(
    (one) =>
      sameHex(one.to, asset) &&
      lowerHex(one.data).includes(addressWord(payer)) &&
      lowerHex(one.data).includes(nonce.slice(2)),
  )
  return own && { from, ...own }
}

/** Whether a transaction is with the node, and not mined yet. */
async function isWaiting(chain: Chain, transaction: Hex): Promise<boolean> {
  if ((await chain.getReceipt(transaction)) !== undefined) return false
  return chain.hasTransaction(transaction)
}

/** Whether a transaction's nonce was used by another, or a transaction before it is missing. */
async function isNonceTaken(
  chain: Chain,
  { relayer, accountNonce }: Submission,
  broadcast: Broadcast,
): Promise<boolean> {
  if (broadcast.kind === 'rejected') return broadcast.cause === 'stale_nonce'
  return (await chain.getPendingNonce(relayer)) < accountNonce
}
