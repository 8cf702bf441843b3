import { parseTransaction } from 'viem'
import type { Broadcast, Chain } from '../../chain/chain.js'
import type { ConcludedEntry, Ledger, Submission } from '../../ledger/ledger.js'
import type { Hex } from '../../protocol/payment.js'
import type { NetworkCore } from './network-core.js'

/**
 * Looks in a row that find a payment dropped before it is sent under another count: where it cannot be
 * mined under its own, and in any case. A node that lags behind may take a used count for a dropped
 * transaction's.
 */
const DROPS_BEFORE_NEW = 2
const DROPS_BEFORE_STUCK = 4

/** Times it is sent under another count: its payer may have no money left. */
const MOST_SENT_ANEW = 5

/** A settled payment that the chain may have dropped. */
export interface Dropped {
  readonly core: NetworkCore
  readonly entry: ConcludedEntry
  /** Looks in a row that found it dropped. */
  drops: number
  /** Hashes under which it was sent anew, newest first. */
  sentAnew: readonly Hex[]
}

/**
 * Hands a transaction over again, or its call under another count: the authorization in it can pay only
 * once, however often it is sent.
 *
 * @throws {@link ChainError}, {@link LedgerError} or {@link RelayerError}
 */
export async function sendAgain(
  ledger: Ledger,
  dropped: Dropped,
  submission: Submission,
): Promise<void> {
  const { core, entry, drops } = dropped
  const { chain, relayers } = core
  for (const transaction of dropped.sentAnew) if (await isOnItsWay(chain, transaction)) return
  const broadcast = await chain.broadcast(submission.raw)
  if (drops < DROPS_BEFORE_NEW || dropped.sentAnew.length >= MOST_SENT_ANEW) return
  if (drops < DROPS_BEFORE_STUCK && !(await isBarred(chain, submission, broadcast))) return

  const { to, data, gas } = parseTransaction(submission.raw)
  if (!to || !data || !gas) return
  await relayers.send({
    call: { to, data },
    gas,
    writeAhead: async ({ transaction }) => {
      await ledger.correct(entry, transaction)
      dropped.sentAnew = [transaction, ...dropped.sentAnew]
    },
    takeBack: async () => undefined,
  })
}

/** Whether a transaction is mined and has paid, or may be mined yet. */
async function isOnItsWay(chain: Chain, transaction: Hex): Promise<boolean> {
  const receipt = await chain.getReceipt(transaction)
  return receipt?.succeeded ?? (await chain.hasTransaction(transaction))
}

/** Whether a transaction's count was used by another, or one before it is missing. */
async function isBarred(
  chain: Chain,
  { relayer, transactionCount }: Submission,
  broadcast: Broadcast,
): Promise<boolean> {
  if (broadcast.outcome === 'rejected') return broadcast.because === 'stale_transaction_count'
  return (await chain.getTransactionCount(relayer)) < transactionCount
}
