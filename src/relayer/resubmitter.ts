import { ChainError, isLedgerError } from '../errors.js'
import type { Address } from '../protocol/payment.js'
import type { PendingTransaction, PendingTransactions } from './pending-transactions.js'
import type { RelayerOptions, Sign } from './relayer.js'
import { feesWithin, bumpFees } from './relayer-fees.js'

/** Milliseconds between two looks at transactions that are on their way. */
const CHECK_INTERVAL_MS = { usual: 5000, unknown: 1000 }

/** Gas of a transaction that only uses up a count. */
const EMPTY_TRANSACTION_GAS = 21_000n

/** Looks after transactions that are on their way. */
export interface Resubmitter {
  /** Looks now and then, for as long as there are any. */
  start(): void
  /** Reports what went wrong meanwhile. */
  report(error: unknown): void
}

/** What looking after an account's transactions takes. */
export interface ResubmitterOptions extends RelayerOptions {
  readonly address: Address
  readonly pending: PendingTransactions
  readonly sign: Sign
  /** Does something that is handed to the node after all that was asked for before. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>
  readonly resolveUnknown: () => Promise<boolean>
}

/**
 * Makes sure that every transaction is mined in the end.
 *
 * One that the node has forgotten is handed over again; one that is stuck, while blocks go by without
 * it, is replaced under the same count at a higher price; a gap before it, as a reorganisation leaves
 * it, is filled.
 */
export function createResubmitter(options: ResubmitterOptions): Resubmitter {
  const { chain, address, pending, logger, stuckMs, mayUse, inTurn, sign, maxFeePerGas } = options
  let timer: NodeJS.Timeout | undefined

  const report = (error: unknown): void => {
    const isOutside = error instanceof ChainError || isLedgerError(error)
    logger[isOutside ? 'warn' : 'error']('Transactions could not be looked after.', {
      relayer: address,
      error,
    })
  }

  const start = (): void => {
    if (timer !== undefined || options.closed.aborted || pending.size() === 0) return
    const usual = pending.hasUnknown() ? CHECK_INTERVAL_MS.unknown : CHECK_INTERVAL_MS.usual
    timer = setTimeout(
      () => {
        void check()
          .catch(report)
          .finally(() => {
            timer = undefined
            start()
          })
      },
      Math.min(usual, stuckMs / 3),
    )
    timer.unref()
  }

  const check = async (): Promise<void> => {
    if (options.closed.aborted || !mayUse()) return
    if (pending.hasUnknown()) await inTurn(options.resolveUnknown)
    const mined = await chain.getMinedNonce(address)
    pending.noteMinedNonce(mined)
    const [first] = pending.all()
    if (first === undefined) return
    const [block, isThere] = await Promise.all([
      chain.getBlockNumber(),
      chain.hasTransaction(first.submission.transaction),
    ])
    await inTurn(async () => {
      if (!mayUse()) return
      await fillNonceGap(mined)
      if (!pending.has(first)) return
      if (isStuck(first, block)) await replacePending(first)
      else if (!isThere) await rebroadcastAll()
    })
  }

  const isStuck = (flight: PendingTransaction, block: bigint): boolean => {
    const { seenWaitingAt, pricedAt } = flight
    if (seenWaitingAt === undefined) pending.update(flight, { seenWaitingAt: block })
    if (seenWaitingAt === undefined || block <= seenWaitingAt) return false
    return performance.now() - pricedAt >= stuckMs
  }

  const rebroadcastAll = async (): Promise<void> => {
    for (const { submission } of pending.all()) await chain.broadcast(submission.raw)
  }

  /** Replaces the first, and those behind it that offer less than one offers now. */
  const replacePending = async (first: PendingTransaction): Promise<void> => {
    const fees = await chain.getFees()
    const isFirst = ({ submission }: PendingTransaction): boolean =>
      submission.accountNonce === first.submission.accountNonce
    for (const flight of pending.all()) {
      const isCheap = flight.fees.maxFeePerGas < fees.maxFeePerGas
      if (isCheap || isFirst(flight)) await replace(flight)
    }
  }

  const replace = async (flight: PendingTransaction): Promise<void> => {
    const { request, submission } = flight
    const fees = bumpFees(flight.fees, await chain.getFees(), maxFeePerGas)
    if (fees === undefined) return logger.warn('Gas is too dear to replace a stuck transaction.')
    const { accountNonce, transaction, replaces = [] } = submission
    const next = {
      ...(await sign(request, accountNonce, fees)),
      replaces: [transaction, ...replaces],
    }
    try {
      await request.writeAhead(next)
    } catch (error) {
      // It may have been written down, and another process may send it.
      const known = [...new Set([...replaces, next.transaction])]
      pending.update(flight, { submission: { ...submission, replaces: known } })
      throw error
    }
    pending.update(flight, {
      submission: next,
      fees,
      pricedAt: performance.now(),
      seenWaitingAt: undefined,
    })
    if (!mayUse()) return
    await chain.broadcast(next.raw)
  }

  /** Fills the counts between those that are mined and those that wait. */
  const fillNonceGap = async (mined: number): Promise<void> => {
    const [first] = pending.all()
    if (first === undefined || first.submission.accountNonce <= mined) return
    const next = await chain.getPendingNonce(address)
    for (let nonce = next; nonce < first.submission.accountNonce; nonce++)
      await chain.broadcast(
        pending.minedAt(nonce)?.submission.raw ?? (await emptyTransaction(nonce)),
      )
  }

  /** A transaction that moves nothing. */
  const emptyTransaction = async (nonce: number) => {
    const current = await chain.getFees()
    const fees = feesWithin(current, maxFeePerGas) ?? current
    const call = { to: address, data: '0x' } as const
    const { raw } = await sign({ call, gas: EMPTY_TRANSACTION_GAS }, nonce, fees)
    return raw
  }

  return { start, report }
}
