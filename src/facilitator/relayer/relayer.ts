import { setTimeout as sleep } from 'node:timers/promises'
import { privateKeyToAddress } from 'viem/accounts'
import type { Broadcast, Call, Chain, GasOffer, RejectionCause } from '../../chain/chain.js'
import { ChainError } from '../../errors.js'
import type { Submission } from '../../ledger/ledger.js'
import type { Logger } from '../../logger.js'
import type { Address, Hex } from '../../protocol/payment.js'
import { createFlights, type Flight } from './flights.js'
import { offerFees } from './relayer-fees.js'
import { gasPriceTooHigh } from './relayer-errors.js'
import { createTransactionSigner } from './sign-transaction.js'
import { createTending } from './tend-flights.js'

/** Milliseconds between two attempts to find a transaction again; doubled each time. */
const DOUBT_MS = { first: 50, attempts: 6 }

/** Milliseconds for which it is not tried again to find it: whoever waits is told so at once. */
const DOUBT_PAUSE_MS = 1000

/** A call that is to be sent as a transaction. */
export interface Dispatch {
  readonly call: Call
  readonly gas: bigint
  /**
   * Writes the transaction down; when it throws, nothing is sent. Asked again, later, with each
   * transaction that is to replace the first.
   */
  readonly writeAhead: (submission: Submission) => Promise<void>
}

/** What became of a transaction. */
export type Dispatched = HandedOver | Rejected

/** A node was given it; `unknown` when its answer was lost. */
interface HandedOver {
  readonly outcome: 'accepted' | 'unknown'
  readonly submission: Submission
}

/** No node has it and none will get it. */
export interface Rejected {
  readonly outcome: 'rejected'
  readonly because: RejectionCause | 'lease'
  readonly submission: Submission
}

/** Nothing was written down, and nothing sent. */
export interface Unsent {
  readonly outcome: 'unsent'
  /** The lease has ended, or an earlier transaction must first be found again. */
  readonly because: 'lease' | 'doubt'
}

/** One account that sends transactions. */
export interface Relayer {
  readonly address: Address
  /** Transactions that wait to be sent or mined. */
  readonly load: number
  /** Whether an earlier transaction, to which no answer came, must be found before the next. */
  readonly inDoubt: boolean
  /** Signs a call under the next transaction count and hands it to the node. */
  send(dispatch: Dispatch): Promise<Dispatched | Unsent>
  /** All hashes that were sent under the count of a transaction. */
  transactionsOf(submission: Submission): readonly Hex[]
  /** Takes note that a transaction is mined. */
  noteMined(transaction: Hex): void
}

/** Options of {@link createRelayer}. */
export interface RelayerOptions {
  readonly chain: Chain
  readonly privateKey: Hex
  /** Most that is offered for gas, in wei. */
  readonly maxFeePerGas?: bigint | undefined
  /** Milliseconds after which a transaction that is not mined is replaced. */
  readonly stuckMs: number
  /** Whether this process may send from the account now. */
  readonly mayUse: () => boolean
  /** Whether others wait for a transaction to be with the node. */
  readonly isAwaited: () => boolean
  readonly logger: Logger
  readonly closed: AbortSignal
}

/** Signs under a count, at a price. */
export type Sign = (
  dispatch: Pick<Dispatch, 'call' | 'gas'>,
  transactionCount: number,
  offer: GasOffer,
) => Promise<Submission>

/**
 * Makes a relayer.
 *
 * It keeps its own transaction count, which no two payments share: transactions are signed and handed
 * to the node one after the other, while any number of them waits to be mined. The count is asked of
 * the chain at first, and again after a transaction was rejected. A transaction to which no answer
 * came is found again, or handed over again, before the next is sent: no gap is ever left.
 */
export function createRelayer(options: RelayerOptions): Relayer {
  const { chain, privateKey, maxFeePerGas: cap, mayUse, isAwaited } = options
  const address = privateKeyToAddress(privateKey)
  const flights = createFlights()
  let nextCount: number | undefined
  let queued = 0
  let last: Promise<unknown> = Promise.resolve()
  let hopelessUntil = 0

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work, work)
    last = turn.catch(() => undefined)
    return turn
  }

  const signTransaction = createTransactionSigner(privateKey)
  const sign: Sign = async ({ call, gas }, transactionCount, offer) => {
    const { chainId } = chain.network
    const signed = await signTransaction({ chainId, transactionCount, call, gas, offer })
    return { ...signed, relayer: address, transactionCount }
  }

  /** Finds out whether the node has a transaction, and hands it over where it has not. */
  const locate = async ({ submission }: Flight): Promise<'there' | 'gone' | 'unknown'> => {
    const { transaction, raw } = submission
    if (await chain.hasTransaction(transaction)) return 'there'
    if (!mayUse()) return 'unknown'
    const broadcast = await chain.broadcast(raw)
    if (broadcast.outcome !== 'rejected')
      return broadcast.outcome === 'accepted' ? 'there' : 'unknown'
    if (broadcast.because === 'insufficient_gas_funds') return 'unknown'
    // It got too cheap: as one that is stuck it is replaced.
    if (broadcast.because === 'fee_too_low') return 'there'
    // Its count may have been used: by itself, or by another, and then it will never be mined.
    return (await chain.hasTransaction(transaction)) ? 'there' : 'gone'
  }

  const settleDoubt = async (flight: Flight): Promise<boolean> => {
    let pauseMs = DOUBT_MS.first
    for (let attempt = 1; ; attempt++) {
      const found = await locate(flight).catch(unknownWhereAway)
      if (found === 'there') flights.change(flight, { inDoubt: false })
      if (found === 'gone') {
        // What became of its payment is found out from the chain: it stays as it was written down.
        flights.remove(flight)
        nextCount = undefined
      }
      if (found !== 'unknown') return true
      if (attempt === DOUBT_MS.attempts || options.closed.aborted) return false
      await sleep(pauseMs)
      pauseMs *= 2
    }
  }

  /** @returns Whether every transaction is known to be with the node. */
  const settleDoubts = async (): Promise<boolean> => {
    if (!flights.inDoubt()) return true
    if (performance.now() < hopelessUntil) return false
    for (const flight of flights.all()) {
      if (!flight.inDoubt || (await settleDoubt(flight))) continue
      hopelessUntil = performance.now() + DOUBT_PAUSE_MS
      return false
    }
    return true
  }

  const tending = createTending({ ...options, address, flights, sign, inTurn, settleDoubts })

  const countNext = async (): Promise<number> =>
    nextCount ?? Math.max(await chain.getTransactionCount(address), flights.nextCount())

  const sendNext = async (dispatch: Dispatch): Promise<Dispatched | Unsent> => {
    if (!mayUse()) return { outcome: 'unsent', because: 'lease' }
    if (!(await settleDoubts())) return { outcome: 'unsent', because: 'doubt' }
    const [transactionCount, fees] = await Promise.all([countNext(), chain.getFees()])
    const offer = offerFees(fees, cap)
    if (offer === undefined) throw gasPriceTooHigh(chain)
    const submission = await sign(dispatch, transactionCount, offer)
    await dispatch.writeAhead(submission)
    if (!mayUse()) return { outcome: 'rejected', because: 'lease', submission }

    // A count that was given out is never given out again before the chain was asked.
    nextCount = undefined
    const broadcast = await chain
      .broadcastSync(submission, () => queued > 1 || isAwaited())
      .catch((error: unknown): Broadcast => {
        // Whatever went wrong, it may be out: it is never taken for unsent.
        tending.report(error)
        return { outcome: 'unknown' }
      })
    if (broadcast.outcome === 'rejected') return { ...broadcast, submission }
    nextCount = transactionCount + 1
    const inDoubt = broadcast.outcome === 'unknown'
    flights.add({ dispatch, submission, offer, inDoubt, pricedAt: performance.now() })
    if (inDoubt) void inTurn(settleDoubts).catch(tending.report)
    tending.start()
    return { ...broadcast, submission }
  }

  return {
    address,
    get load() {
      return queued + flights.size()
    },
    get inDoubt() {
      return flights.inDoubt()
    },
    async send(dispatch) {
      queued++
      try {
        return await inTurn(() => sendNext(dispatch))
      } finally {
        queued--
      }
    },
    transactionsOf: (submission) => flights.transactionsOf(submission),
    noteMined: (transaction) => flights.noteMined(transaction),
  }
}

function unknownWhereAway(error: unknown): 'unknown' {
  if (error instanceof ChainError) return 'unknown'
  throw error
}
