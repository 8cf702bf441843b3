import { MULTICALL3 } from '../chain/abi.js'
import type { Chain, Receipt } from '../chain/chain.js'
import type { LedgerStore, Submission } from '../ledger/ledger.js'
import type { Address, Hex } from '../protocol/payment.js'
import { Batcher } from './batcher.js'
import { earlierUnknown, withoutFunds, withoutLease } from './errors.js'
import { LeasedRelayers, type LeasedRelayersOptions } from './leased-relayers.js'
import { hashesOf } from './pending-transactions.js'
import type { Relayer } from './relayer.js'
import type {
  BatchMember,
  RejectedTransaction,
  SendResult,
  TransactionRequest,
  UnsentTransaction,
} from './transaction.js'

/** Most times a transaction is priced again because the base fee had risen. */
const MAX_REPRICINGS = 3

/** Most times a transaction is sent again because the lease of its relayer had just ended. */
const MAX_LEASES_LOST = 5

/** Options of {@link RelayerPool}. */
export interface RelayerPoolOptions extends Omit<LeasedRelayersOptions, 'isAwaited'> {
  readonly ledger: LedgerStore
}

/** What was tried so far to send one transaction. */
class Attempts {
  /** Relayers that are not tried again. */
  readonly tried = new Set<Relayer>()
  isNonceRefreshed = false
  leasesLost = 0
  repricings = 0
}

/** Sends the transactions of one network. */
export class RelayerPool {
  readonly #chain: Chain
  readonly #ledger: LedgerStore
  readonly #relayers: LeasedRelayers
  readonly #batcher: Batcher

  constructor(options: RelayerPoolOptions) {
    const { chain, ledger } = options
    this.#chain = chain
    this.#ledger = ledger
    this.#relayers = new LeasedRelayers({
      ...options,
      isAwaited: () => this.#batcher.waiting > 0,
    })
    this.#batcher = new Batcher({
      ledger,
      send: (request) => this.sendAlone(request),
      maxInFlight: () => Math.max(1, this.#relayers.leasedCount),
      canBatch: () => chain.hasCode(MULTICALL3).catch(() => false),
    })
  }

  /** The relayers' accounts, in the order of their keys. */
  get addresses(): readonly [Address, ...Address[]] {
    return this.#relayers.addresses
  }

  /**
   * Makes sure that a settlement could be sent now.
   *
   * @throws {@link RelayerError} `relayer_without_funds`, `relayer_without_lease`,
   * `gas_price_too_high`; {@link LedgerError} and {@link ChainError} when they could not be asked.
   */
  async requireReady(): Promise<void> {
    await this.#relayers.withLeastBusy(new Set(), () => undefined)
  }

  /**
   * Sends a call from the least busy relayer that can, in one transaction with others that come at
   * the same time. The record of one that is rejected was withdrawn.
   *
   * @throws As {@link RelayerPool.requireReady}; nothing was sent then.
   */
  send(member: BatchMember): Promise<SendResult> {
    return this.#batcher.send(member)
  }

  /**
   * Sends a call in a transaction of its own, from one relayer after the other until a node has it
   * or no other relayer would do better. The caller withdraws what `writeAhead` recorded.
   *
   * @throws As {@link RelayerPool.requireReady}; nothing was sent then.
   */
  async sendAlone(request: TransactionRequest): Promise<SendResult> {
    const attempts = new Attempts()
    let last: SendResult | UnsentTransaction | undefined
    for (;;) {
      const attempt = await this.#trySend(request, attempts.tried)
      if (attempt === undefined) throw this.#whyNotSent(last)
      const { relayer, sent } = attempt
      last = sent
      switch (sent.kind) {
        case 'accepted':
        case 'unknown':
          return sent
        case 'unsent':
          if (sent.cause === 'unknown') attempts.tried.add(relayer)
          else this.#countLostLease(attempts)
          break
        case 'rejected':
          // A retry is recorded in its place: only what is not out may be forgotten.
          if (await this.#mayBeBroadcast(sent))
            return { kind: 'unknown', submission: sent.submission }
          if (!(await this.#mayRetry(sent, relayer, attempts))) return sent
      }
    }
  }

  /** Whether a transaction of one of the accounts was sent for a payment of this ledger. */
  knowsTransaction(transaction: Hex): Promise<boolean> {
    return this.#ledger.knowsTransaction(transaction)
  }

  /** All hashes under which a transaction may be mined: several where it was replaced. */
  transactionsOf(submission: Submission): readonly Hex[] {
    return (
      this.#relayers.find(submission.relayer)?.transactionsOf(submission) ?? hashesOf(submission)
    )
  }

  /** Notes that a transaction is mined: its relayer is less busy. */
  noteMined({ sender, transaction }: Receipt): void {
    this.#relayers.find(sender)?.noteMined(transaction)
  }

  #trySend(request: TransactionRequest, tried: ReadonlySet<Relayer>) {
    return this.#relayers.withLeastBusy(tried, async (relayer) => ({
      relayer,
      sent: await relayer.send(request),
    }))
  }

  /** Whether a rejected transaction may be out nevertheless. */
  async #mayBeBroadcast({ cause, submission }: RejectedTransaction): Promise<boolean> {
    return (
      cause !== 'lease' &&
      (await this.#chain.hasTransaction(submission.transaction).catch(() => true))
    )
  }

  /** Prepares another attempt after a rejection. @returns Whether it may succeed. */
  async #mayRetry(
    { cause }: RejectedTransaction,
    relayer: Relayer,
    attempts: Attempts,
  ): Promise<boolean> {
    switch (cause) {
      case 'lease':
        this.#countLostLease(attempts)
        return true
      case 'insufficient_gas_funds':
        relayer.funds.deny()
        attempts.tried.add(relayer)
        return true
      case 'stale_nonce': {
        // Another process sent from this account: the nonce is read again, once.
        const isFirst = !attempts.isNonceRefreshed
        attempts.isNonceRefreshed = true
        return isFirst
      }
      case 'fee_too_low':
        if (++attempts.repricings > MAX_REPRICINGS) return false
        await this.#chain.getFees('fresh')
        return true
      case 'other':
        return false
    }
  }

  /** Another process got the lease; other relayers may be left, or come to this process. */
  #countLostLease(attempts: Attempts): void {
    if (++attempts.leasesLost > MAX_LEASES_LOST) throw withoutLease(this.#chain)
  }

  /** Why no relayer could send. */
  #whyNotSent(last: SendResult | UnsentTransaction | undefined): Error {
    if (last?.kind === 'unsent') return earlierUnknown(this.#chain)
    if (last?.kind === 'rejected' && last.cause === 'insufficient_gas_funds')
      return withoutFunds(this.#chain)
    return withoutLease(this.#chain)
  }
}
