import { ChainError, isLedgerError } from '../../errors.js'
import type { Address } from '../../protocol/payment.js'
import type { Flight, Flights } from './flights.js'
import type { RelayerOptions, Sign } from './relayer.js'
import { offerFees, raiseFees } from './relayer-fees.js'

/** Milliseconds between two looks at transactions that are on their way. */
const TENDING_MS = { usual: 5000, inDoubt: 1000 }

/** Gas of a transaction that only uses up a count. */
const PLAIN_GAS = 21_000n

/** Looks after transactions that are on their way. */
export interface Tending {
  /** Looks now and then, for as long as there are any. */
  start(): void
  /** Reports what went wrong meanwhile. */
  report(error: unknown): void
}

/** What looking after an account's transactions takes. */
export interface TendingOptions extends RelayerOptions {
  readonly address: Address
  readonly flights: Flights
  readonly sign: Sign
  /** Does something that is handed to the node after all that was asked for before. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>
  readonly settleDoubts: () => Promise<boolean>
}

/**
 * Makes sure that every transaction is mined in the end.
 *
 * One that the node has forgotten is handed over again; one that is stuck, while blocks go by without
 * it, is replaced under the same count at a higher price; a gap before it, as a reorganisation leaves
 * it, is filled.
 */
export function createTending(options: TendingOptions): Tending {
  const { chain, address, flights, logger, stuckMs, mayUse, inTurn, sign, maxFeePerGas } = options
  let timer: NodeJS.Timeout | undefined

  const report = (error: unknown): void => {
    const isOutside = error instanceof ChainError || isLedgerError(error)
    logger[isOutside ? 'warn' : 'error']('Transactions could not be looked after.', {
      relayer: address,
      error,
    })
  }

  const start = (): void => {
    if (timer !== undefined || options.closed.aborted || flights.size() === 0) return
    const usual = flights.inDoubt() ? TENDING_MS.inDoubt : TENDING_MS.usual
    timer = setTimeout(
      () => {
        void tend()
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

  const tend = async (): Promise<void> => {
    if (options.closed.aborted || !mayUse()) return
    if (flights.inDoubt()) await inTurn(options.settleDoubts)
    const mined = await chain.getMinedCount(address)
    flights.noteMinedCount(mined)
    const [first] = flights.all()
    if (first === undefined) return
    const [block, isThere] = await Promise.all([
      chain.getBlockNumber(),
      chain.hasTransaction(first.submission.transaction),
    ])
    await inTurn(async () => {
      if (!mayUse()) return
      await fillGap(mined)
      if (!flights.has(first)) return
      if (isStuck(first, block)) await replaceWaiting(first)
      else if (!isThere) await handOverAgain()
    })
  }

  const isStuck = (flight: Flight, block: bigint): boolean => {
    const { seenWaitingAt, pricedAt } = flight
    if (seenWaitingAt === undefined) flights.change(flight, { seenWaitingAt: block })
    if (seenWaitingAt === undefined || block <= seenWaitingAt) return false
    return performance.now() - pricedAt >= stuckMs
  }

  const handOverAgain = async (): Promise<void> => {
    for (const { submission } of flights.all()) await chain.broadcast(submission.raw)
  }

  /** Replaces the first, and those behind it that offer less than one offers now. */
  const replaceWaiting = async (first: Flight): Promise<void> => {
    const fees = await chain.getFees()
    const isFirst = ({ submission }: Flight): boolean =>
      submission.transactionCount === first.submission.transactionCount
    for (const flight of flights.all()) {
      const isCheap = flight.offer.maxFeePerGas < fees.maxFeePerGas
      if (isCheap || isFirst(flight)) await replace(flight)
    }
  }

  const replace = async (flight: Flight): Promise<void> => {
    const { dispatch, submission } = flight
    const offer = raiseFees(flight.offer, await chain.getFees(), maxFeePerGas)
    if (offer === undefined) return logger.warn('Gas is too dear to replace a stuck transaction.')
    const { transactionCount, transaction, replaces = [] } = submission
    const next = {
      ...(await sign(dispatch, transactionCount, offer)),
      replaces: [transaction, ...replaces],
    }
    try {
      await dispatch.writeAhead(next)
    } catch (error) {
      // It may have been written down, and another process may send it.
      const known = [...new Set([...replaces, next.transaction])]
      flights.change(flight, { submission: { ...submission, replaces: known } })
      throw error
    }
    flights.change(flight, {
      submission: next,
      offer,
      pricedAt: performance.now(),
      seenWaitingAt: undefined,
    })
    if (!mayUse()) return
    await chain.broadcast(next.raw)
  }

  /** Fills the counts between those that are mined and those that wait. */
  const fillGap = async (mined: number): Promise<void> => {
    const [first] = flights.all()
    if (first === undefined || first.submission.transactionCount <= mined) return
    const pending = await chain.getTransactionCount(address)
    for (let count = pending; count < first.submission.transactionCount; count++)
      await chain.broadcast(flights.minedUnder(count)?.submission.raw ?? (await plain(count)))
  }

  /** A transaction that moves nothing. */
  const plain = async (count: number) => {
    const fees = await chain.getFees()
    const offer = offerFees(fees, maxFeePerGas) ?? fees
    const call = { to: address, data: '0x' } as const
    const { raw } = await sign({ call, gas: PLAIN_GAS }, count, offer)
    return raw
  }

  return { start, report }
}
