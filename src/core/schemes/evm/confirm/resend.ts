import { parseTransaction } from 'viem/utils'
import { callsIn, isAllOrNothing } from '../../../chain/abi.js'
import type { Chain } from '../../../chain/chain.js'
import { intrinsicGas } from '../../../chain/intrinsic-gas.js'
import type { Broadcast, Call } from '../../../chain/types.js'
import type { FinalEntry, LedgerRecord, LedgerStore, Submission } from '../../../../ledger/index.js'
import { isRefundEntry } from '../../../../ledger/refunds.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import type { PaymentKey } from '../../../../shared/protocol/payment-key.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import { requestOf } from '../../../relayer/batcher.js'
import type { BatchMember } from '../../../relayer/transaction.js'
import { methodOf } from '../transfer-methods.js'
import { findCaller } from '../network/find-caller.js'
import type { GasLimit } from '../network/gas-limits.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import type { SubmittedPayment } from '../transfer/decision.js'
import { isSuperseded } from './outcome.js'
import { world } from '../../../../shared/world.js'

/**
 * Checks in a row that find a payment dropped before it is sent with a new account nonce: one check
 * may have asked a node that lags behind.
 */
const DROPS_BEFORE_NEW_NONCE = 2

/** How long until that is done though the old nonce could still be mined (ms). */
const STUCK_MS = 60_000

/** How often it is sent with a new nonce: its payer may have no money left. */
const MAX_RESENDS = 5

export interface DroppedPayment {
  readonly network: SettlementNetwork
  readonly entry: FinalEntry
  /** Checks in a row that found it dropped. */
  drops: number
  /** When the first of these was, by `world.elapsed()`. */
  droppedAt: number
  /** Hashes of the transactions that sent it again, newest first. */
  resentAs: readonly Hex[]
}

type SentRecord = Extract<LedgerRecord, { state: 'settled' | 'failed' }> & {
  readonly submission: Submission
  readonly transaction: Hex
}

/**
 * Rebroadcasts a transaction, or sends the payment's own call with a new account nonce: its
 * authorization can pay only once, however often it is sent.
 *
 * Members of a batch are each sent again alone: only what a record names is known to have paid it.
 */
export async function resendPayment(
  ledger: LedgerStore,
  dropped: DroppedPayment,
  { transaction, submission }: SentRecord,
): Promise<void> {
  const { network, entry } = dropped
  const { chain, relayers } = network
  const others = [transaction, ...dropped.resentAs].filter((one) => one !== submission.transaction)
  for (const other of others) if (await isWaiting(chain, other)) return
  const broadcast = await chain.broadcast(submission.raw)
  if (dropped.drops < DROPS_BEFORE_NEW_NONCE || dropped.resentAs.length >= MAX_RESENDS) return
  const isStuck = world.elapsed() - dropped.droppedAt > STUCK_MS
  if (!isStuck && !(await isNonceTaken(chain, submission, broadcast))) return

  const again = await prepareAgain(network, entry, submission.raw)
  if (again === undefined) return
  await relayers.sendAlone({
    ...requestOf([again]),
    members: () => [],
    onStored: async (sent) => {
      await ledger.payments.markSettledLate(entry, sent.transaction)
      dropped.resentAs = [sent.transaction, ...dropped.resentAs]
    },
  })
}

/**
 * Sends a payment again whose transaction will never be mined: another one used its account nonce.
 *
 * @returns The transaction that it is in now; `undefined` if it was not sent: it may still be mined, a
 * request is working on it, or its authorization is good no more.
 */
export async function sendSuperseded(
  ledger: LedgerStore,
  network: SettlementNetwork,
  payment: SubmittedPayment,
): Promise<Submission | undefined> {
  const { submission } = payment
  if (submission.raw === '0x' || !(await isSuperseded(network, payment))) return undefined
  const again = await prepareAgain(network, payment, submission.raw)
  if (again === undefined || !(await ledger.payments.relock(payment))) return undefined
  const lock = ledger.payments.lockOf(payment)
  try {
    const record = await ledger.payments.find(payment)
    const isSame =
      record?.state === 'submitted' && record.submission.transaction === submission.transaction
    if (!isSame) return undefined
    const earlier = [submission.transaction, ...(submission.replaces ?? [])]
    const sent = await network.relayers.send({
      key: payment,
      ...again,
      isAlone: again.isAlone || isRefundEntry(payment),
      toSubmission: (next) => ({ ...next, replaces: [...(next.replaces ?? []), ...earlier] }),
      onWriteAhead: () => undefined,
    })
    return sent.submission
  } finally {
    await ledger.payments.unlock(payment, lock)
  }
}

/**
 * The call of one payment, among all calls of a transaction, and the most gas that it takes from any
 * relayer: code of the payer may tell them apart. What an executor has called, it calls again.
 *
 * @returns `undefined` if it would fail: it is paid after all, or its payer has no money left. Also if our
 * relayers may not call its executor any more.
 */
async function prepareAgain(
  { chain, gasLimits, relayers, factories }: SettlementNetwork,
  key: PaymentKey,
  raw: Hex,
): Promise<(GasLimit & Pick<BatchMember, 'call' | 'sender' | 'via'>) | undefined> {
  const { to, data } = parseTransaction(raw)
  if (!to || !data) return undefined
  const calls = callsIn({ to, data }, [to])
  const transfer = calls.find((one) => methodOf(key).pays(one, key))
  if (transfer === undefined) return undefined
  // A reorganisation may have dropped the payer's account as well: it is deployed again, if it still may be.
  const deploys = isAllOrNothing({ to, data }) && (await chain.getCode(key.from)) === '0x'
  if (deploys && !factories.has(lowerHex(calls[0]?.to ?? ''))) return undefined
  const call: Call = deploys ? { to, data } : transfer
  const named = call.from ?? methodOf(key).callerIn?.(call)
  const caller = named && (await findCaller({ relayers }, named))
  if (named !== undefined && caller === undefined) return undefined
  const executor = caller?.executor
  const sender = caller?.sender
  let most: GasLimit | undefined
  for (const from of named ? [named] : relayers.addresses) {
    const limit = await gasLimits.estimate({ ...call, from }, { isSender: !executor })
    if (typeof limit !== 'object') return undefined
    if (most === undefined || limit.gas > most.gas) most = limit
  }
  if (most === undefined || executor === undefined) return most && { call, sender, ...most }
  return { call, ...most, via: { address: executor, callGas: most.gas - intrinsicGas(call.data) } }
}

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
