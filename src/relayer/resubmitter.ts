import type { Chain } from '../chain/chain.js'
import { ChainError, isLedgerError } from '../errors.js'
import type { Logger } from '../logger.js'
import type { Address, Hex } from '../protocol/payment.js'
import { bumpFees, feesWithin } from './fees.js'
import type { PendingTransaction, PendingTransactions } from './pending-transactions.js'
import type { Sign } from './transaction.js'

/** Milliseconds between two checks: `unknown` while the node's answer to a broadcast is missing. */
const CHECK_INTERVAL_MS = { usual: 5000, unknown: 1000 }

/** Gas of a transaction that does nothing but use a nonce. */
const EMPTY_TRANSACTION_GAS = 21_000n

/** Options of {@link Resubmitter}. */
export interface ResubmitterOptions {
  readonly chain: Chain
  readonly address: Address
  readonly pending: PendingTransactions
  readonly sign: Sign
  /** Most wei per gas that a transaction may offer. */
  readonly maxFeePerGas?: bigint | undefined
  /** Milliseconds after which a transaction that is not mined is replaced. */
  readonly stuckMs: number
  /** Whether this process may send from the account now. */
  readonly mayUse: () => boolean
  /** Runs work after all work of the account that was queued before. */
  readonly inTurn: <T>(work: () => Promise<T>) => Promise<T>
  /** Finds out what became of broadcasts without an answer. @returns Whether all are known now. */
  readonly resolveUnknown: () => Promise<boolean>
  readonly logger: Logger
  /** Ends the checks. */
  readonly closed: AbortSignal
}

/**
 * Makes sure that every pending transaction of an account is mined in the end.
 *
 * Polls while transactions are pending. One that the node no longer has is rebroadcast. One that is
 * stuck while blocks are mined is replaced with higher fees. A nonce gap before the first one, left
 * by a reorganisation, is filled.
 */
export class Resubmitter {
  readonly #options: ResubmitterOptions
  /** The next check, from its scheduling to its end. */
  #timer: NodeJS.Timeout | undefined

  constructor(options: ResubmitterOptions) {
    this.#options = options
  }

  /** Schedules the next check, unless one is scheduled or nothing is pending. */
  start(): void {
    const { closed, pending, stuckMs } = this.#options
    if (this.#timer !== undefined || closed.aborted || pending.size === 0) return
    const interval = pending.hasUnknown ? CHECK_INTERVAL_MS.unknown : CHECK_INTERVAL_MS.usual
    this.#timer = setTimeout(() => this.#onTimer(), Math.min(interval, stuckMs / 3))
    this.#timer.unref()
  }

  /** Logs a failure of background work: a warning where the chain or the ledger failed. */
  report(error: unknown): void {
    const { logger, address } = this.#options
    const isOutside = error instanceof ChainError || isLedgerError(error)
    logger[isOutside ? 'warn' : 'error']('Pending transactions could not be checked.', {
      relayer: address,
      error,
    })
  }

  #onTimer(): void {
    void this.#check()
      .catch((error: unknown) => this.report(error))
      .finally(() => {
        this.#timer = undefined
        this.start()
      })
  }

  async #check(): Promise<void> {
    const { chain, address, pending, closed, mayUse, inTurn, resolveUnknown } = this.#options
    if (closed.aborted || !mayUse()) return
    if (pending.hasUnknown) await inTurn(resolveUnknown)
    const minedNonce = await chain.getMinedNonce(address)
    pending.noteMinedNonce(minedNonce)
    const [first] = pending.all()
    if (first === undefined) return
    const [block, isThere] = await Promise.all([
      chain.getBlockNumber(),
      chain.hasTransaction(first.submission.transaction),
    ])
    await inTurn(async () => {
      if (!mayUse()) return
      await this.#fillNonceGap(minedNonce)
      if (!pending.has(first)) return
      if (this.#isStuck(first, block)) await this.#replaceUnderpriced(first)
      else if (!isThere) await this.#rebroadcastAll()
    })
  }

  /** Whether blocks were mined without the transaction for long enough. */
  #isStuck(one: PendingTransaction, block: bigint): boolean {
    const { pending, stuckMs } = this.#options
    const { seenWaitingAt, pricedAt } = one
    if (seenWaitingAt === undefined) pending.update(one, { seenWaitingAt: block })
    if (seenWaitingAt === undefined || block <= seenWaitingAt) return false
    return performance.now() - pricedAt >= stuckMs
  }

  async #rebroadcastAll(): Promise<void> {
    const { chain, pending } = this.#options
    for (const { submission } of pending.all()) await chain.broadcast(submission.raw)
  }

  /** Replaces the first transaction, and later ones that offer less than a new one would. */
  async #replaceUnderpriced(first: PendingTransaction): Promise<void> {
    const { chain, pending } = this.#options
    const fees = await chain.getFees()
    for (const one of pending.all()) {
      const isFirst = one.submission.accountNonce === first.submission.accountNonce
      if (isFirst || one.fees.maxFeePerGas < fees.maxFeePerGas) await this.#replace(one)
    }
  }

  async #replace(one: PendingTransaction): Promise<void> {
    const { chain, pending, sign, maxFeePerGas, mayUse, logger } = this.#options
    const { request, submission } = one
    const fees = bumpFees(one.fees, await chain.getFees(), maxFeePerGas)
    if (fees === undefined) return logger.warn('Gas costs too much to replace a stuck transaction.')
    const { accountNonce, transaction, replaces = [] } = submission
    const next = {
      ...(await sign(request, accountNonce, fees)),
      replaces: [transaction, ...replaces],
    }
    try {
      await request.writeAhead(next)
    } catch (error) {
      // The record may have been written, and another process may send its transaction.
      const known = [...new Set([...replaces, next.transaction])]
      pending.update(one, { submission: { ...submission, replaces: known } })
      throw error
    }
    const pricedAt = performance.now()
    pending.update(one, { submission: next, fees, pricedAt, seenWaitingAt: undefined })
    if (!mayUse()) return
    await chain.broadcast(next.raw)
  }

  /** Sends a transaction for every nonce between the mined ones and the first pending one. */
  async #fillNonceGap(minedNonce: number): Promise<void> {
    const { chain, address, pending } = this.#options
    const [first] = pending.all()
    if (first === undefined || first.submission.accountNonce <= minedNonce) return
    const next = await chain.getPendingNonce(address)
    for (let nonce = next; nonce < first.submission.accountNonce; nonce++)
      await chain.broadcast(
        pending.minedAt(nonce)?.submission.raw ?? (await this.#emptyTransaction(nonce)),
      )
  }

  /** Signs a transaction that moves nothing. */
  async #emptyTransaction(nonce: number): Promise<Hex> {
    const { chain, address, sign, maxFeePerGas } = this.#options
    const current = await chain.getFees()
    const fees = feesWithin(current, maxFeePerGas) ?? current
    const call = { to: address, data: '0x' } as const
    const { raw } = await sign({ call, gas: EMPTY_TRANSACTION_GAS }, nonce, fees)
    return raw
  }
}
