import { setTimeout as sleep } from 'node:timers/promises'
import { privateKeyToAddress } from 'viem/accounts'
import type { Broadcast, Call, Chain, FeeValues, RejectionCause } from '../chain/chain.js'
import { ChainError } from '../errors.js'
import type { Submission } from '../ledger/ledger.js'
import type { Logger } from '../logger.js'
import type { Address, Hex } from '../protocol/payment.js'
import { createPendingTransactions, type PendingTransaction } from './pending-transactions.js'
import { feesWithin } from './relayer-fees.js'
import { gasPriceTooHigh } from './relayer-errors.js'
import { createTransactionSigner } from './sign-transaction.js'
import { createResubmitter } from './resubmitter.js'

/** Milliseconds between two attempts to find a transaction again; doubled each time. */
const LOCATE_MS = { first: 50, attempts: 6 }

/** Milliseconds for which it is not tried again to find it: whoever waits is told so at once. */
const LOCATE_PAUSE_MS = 1000

/** A call that is to be sent as a transaction. */
export interface TransactionRequest {
  readonly call: Call
  readonly gas: bigint
  /**
   * Writes the transaction down; when it throws, nothing is sent. Asked again, later, with each
   * transaction that is to replace the first.
   */
  readonly writeAhead: (submission: Submission) => Promise<void>
}

/** What became of a transaction. */
export type SendResult = SentTransaction | RejectedTransaction

/** A node was given the transaction; `unknown` when its answer was lost. */
type SentTransaction =
  | { readonly kind: 'accepted'; readonly submission: Submission }
  | { readonly kind: 'unknown'; readonly submission: Submission }

/** No node has it and none will get it. */
export interface RejectedTransaction {
  readonly kind: 'rejected'
  readonly cause: RejectionCause | 'lease'
  readonly submission: Submission
}

/** Nothing was written down, and nothing sent. */
export interface UnsentTransaction {
  readonly kind: 'unsent'
  /** The lease has ended, or an earlier transaction must first be found again. */
  readonly cause: 'lease' | 'unknown'
}

/** One account that sends transactions. */
export interface Relayer {
  readonly address: Address
  /** Transactions that wait to be sent or mined. */
  readonly load: number
  /** Whether an earlier transaction, to which no answer came, must be found before the next. */
  readonly hasUnknown: boolean
  /** Signs a call under the next transaction count and hands it to the node. */
  send(request: TransactionRequest): Promise<SendResult | UnsentTransaction>
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
  request: Pick<TransactionRequest, 'call' | 'gas'>,
  accountNonce: number,
  fees: FeeValues,
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
  const pending = createPendingTransactions()
  let nextNonce: number | undefined
  let queued = 0
  let last: Promise<unknown> = Promise.resolve()
  let retryAfter = 0

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work, work)
    last = turn.catch(() => undefined)
    return turn
  }

  const signTransaction = createTransactionSigner(privateKey)
  const sign: Sign = async ({ call, gas }, accountNonce, fees) => {
    const { chainId } = chain.network
    const signed = await signTransaction({ chainId, accountNonce, call, gas, fees })
    return { ...signed, relayer: address, accountNonce }
  }

  /** Finds out whether the node has a transaction, and hands it over where it has not. */
  const locate = async ({
    submission,
  }: PendingTransaction): Promise<'there' | 'gone' | 'unknown'> => {
    const { transaction, raw } = submission
    if (await chain.hasTransaction(transaction)) return 'there'
    if (!mayUse()) return 'unknown'
    const broadcast = await chain.broadcast(raw)
    if (broadcast.kind !== 'rejected') return broadcast.kind === 'accepted' ? 'there' : 'unknown'
    if (broadcast.cause === 'insufficient_gas_funds') return 'unknown'
    // It got too cheap: as one that is stuck it is replaced.
    if (broadcast.cause === 'fee_too_low') return 'there'
    // Its count may have been used: by itself, or by another, and then it will never be mined.
    return (await chain.hasTransaction(transaction)) ? 'there' : 'gone'
  }

  const resolveOne = async (flight: PendingTransaction): Promise<boolean> => {
    let pauseMs = LOCATE_MS.first
    for (let attempt = 1; ; attempt++) {
      const found = await locate(flight).catch(unknownIfUnreachable)
      if (found === 'there') pending.update(flight, { isUnknown: false })
      if (found === 'gone') {
        // What became of its payment is found out from the chain: it stays as it was written down.
        pending.remove(flight)
        nextNonce = undefined
      }
      if (found !== 'unknown') return true
      if (attempt === LOCATE_MS.attempts || options.closed.aborted) return false
      await sleep(pauseMs)
      pauseMs *= 2
    }
  }

  /** @returns Whether every transaction is known to be with the node. */
  const resolveUnknown = async (): Promise<boolean> => {
    if (!pending.hasUnknown()) return true
    if (performance.now() < retryAfter) return false
    for (const flight of pending.all()) {
      if (!flight.isUnknown || (await resolveOne(flight))) continue
      retryAfter = performance.now() + LOCATE_PAUSE_MS
      return false
    }
    return true
  }

  const resubmitter = createResubmitter({
    ...options,
    address,
    pending,
    sign,
    inTurn,
    resolveUnknown,
  })

  const chooseNonce = async (): Promise<number> =>
    nextNonce ?? Math.max(await chain.getPendingNonce(address), pending.nextNonce())

  const sendNext = async (request: TransactionRequest): Promise<SendResult | UnsentTransaction> => {
    if (!mayUse()) return { kind: 'unsent', cause: 'lease' }
    if (!(await resolveUnknown())) return { kind: 'unsent', cause: 'unknown' }
    const [accountNonce, current] = await Promise.all([chooseNonce(), chain.getFees()])
    const fees = feesWithin(current, cap)
    if (fees === undefined) throw gasPriceTooHigh(chain)
    const submission = await sign(request, accountNonce, fees)
    await request.writeAhead(submission)
    if (!mayUse()) return { kind: 'rejected', cause: 'lease', submission }

    // A count that was given out is never given out again before the chain was asked.
    nextNonce = undefined
    const broadcast = await chain
      .broadcastSync(submission, () => queued > 1 || isAwaited())
      .catch((error: unknown): Broadcast => {
        // Whatever went wrong, it may be out: it is never taken for unsent.
        resubmitter.report(error)
        return { kind: 'unknown' }
      })
    if (broadcast.kind === 'rejected') return { ...broadcast, submission }
    nextNonce = accountNonce + 1
    const isUnknown = broadcast.kind === 'unknown'
    pending.add({ request, submission, fees, isUnknown, pricedAt: performance.now() })
    if (isUnknown) void inTurn(resolveUnknown).catch(resubmitter.report)
    resubmitter.start()
    return { ...broadcast, submission }
  }

  return {
    address,
    get load() {
      return queued + pending.size()
    },
    get hasUnknown() {
      return pending.hasUnknown()
    },
    async send(request) {
      queued++
      try {
        return await inTurn(() => sendNext(request))
      } finally {
        queued--
      }
    },
    transactionsOf: (submission) => pending.transactionsOf(submission),
    noteMined: (transaction) => pending.noteMined(transaction),
  }
}

function unknownIfUnreachable(error: unknown): 'unknown' {
  if (error instanceof ChainError) return 'unknown'
  throw error
}
