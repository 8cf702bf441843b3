import { LRUCache } from 'lru-cache'
import type { Chain } from '../chain/chain.js'
import type { Receipt } from '../chain/types.js'
import { ChainError, isLedgerError } from '../../shared/errors.js'
import type { LedgerStore, Submission } from '../../ledger/index.js'
import type { PaymentKey } from '../../shared/protocol/payment-key.js'
import type { Address, Hex } from '../../shared/protocol/payment.js'
import { Batcher, type BatcherOptions } from './batcher.js'
import { earlierUnknown, withoutFunds } from './errors.js'
import { Executor } from './executor.js'
import { ExpectedCalls } from './expected-calls.js'
import type { Relayer } from './relayer.js'
import { Relayers, type RelayersOptions } from './relayers.js'
import type { JudgePayment } from './resubmitter.js'
import type {
  BatchMember,
  RejectedTransaction,
  SendResult,
  SentTransaction,
  TransactionRequest,
} from './transaction.js'
import { world } from '../../shared/world.js'

/** How often a transaction is priced again because the base fee had risen. */
const MAX_REPRICINGS = 3

/** How often pending transactions are checked (ms). */
const LOOK_INTERVAL_MS = 500

/** How often it is logged at most that this fails (ms). */
const LOG_MS = 60_000

/** Transactions that are remembered as reported: every payment of a batch reads its receipt. */
const REPORTED = 10_000

export interface GasSpent {
  readonly relayer: Address
  /** Gas used times its price. Some networks charge a further fee, in no common field of receipts. */
  readonly wei: bigint
}

export interface RelayerPoolOptions
  extends Omit<RelayersOptions, 'isAwaited' | 'judgePayment'>, Pick<BatcherOptions, 'gatherMs'> {
  /** Called once for each transaction of one of the accounts whose receipt is read. */
  readonly onSpent?: (spent: GasSpent) => void
  /** Whether calls are also sent through the executor. @defaultValue false */
  readonly executor?: boolean | undefined
}

class Attempts {
  readonly tried = new Set<Relayer>()
  isNonceRefreshed = false
}

/** Sends the transactions of one network. */
export class RelayerPool {
  /** Payments that are about to be sent: the next transaction waits a moment, so that they share it. */
  readonly expected = new ExpectedCalls()
  readonly addresses: readonly [Address, ...Address[]]
  /** The accounts, each with what is known of its gas money, in the order of their keys. */
  readonly accounts: readonly Pick<Relayer, 'address' | 'funds' | 'load'>[]
  /** The executor that the relayers may call; absent where that is turned off. */
  readonly executor: Executor | undefined
  readonly #chain: Chain
  readonly #ledger: LedgerStore
  readonly #relayers: Relayers
  readonly #batcher: Batcher
  readonly #onSpent: RelayerPoolOptions['onSpent']
  readonly #reported = new LRUCache<Hex, true>({ max: REPORTED })
  #judgePayment: JudgePayment = () => Promise.resolve('open')
  /** Whether transactions are being looked after now. */
  #isLooking = false
  /** When it was logged last that this failed, by `world.elapsed()`. */
  #loggedAt = -Infinity

  constructor(options: RelayerPoolOptions) {
    const { chain, ledger, closed } = options
    this.#chain = chain
    this.#ledger = ledger
    this.#onSpent = options.onSpent
    this.#relayers = new Relayers({
      ...options,
      isAwaited: () => this.#batcher.waiting > 0,
      judgePayment: (payment) => this.#judgePayment(payment),
    })
    this.addresses = this.#relayers.addresses
    if (options.executor) this.executor = new Executor({ chain, relayers: this.addresses })
    this.accounts = this.#relayers.all
    this.#batcher = new Batcher({
      send: (request) => this.sendAlone(request),
      maxSending: this.addresses.length,
      expected: this.expected,
      gatherMs: options.gatherMs,
      whenReady: () => Promise.race(this.#relayers.all.map((relayer) => relayer.whenReady())),
      canBatch: () => chain.hasMulticall().catch(() => false),
    })
    const timer = world.setInterval(() => void this.#lookAfter(options), LOOK_INTERVAL_MS)
    timer.unref()
    closed.addEventListener('abort', () => world.clearInterval(timer), { once: true })
  }

  /**
   * Makes sure that a settlement could be sent now.
   *
   * @param senders - The relayers that may send it. @defaultValue all
   * @throws {@link RelayerError} `relayer_without_funds`, `gas_price_too_high`;
   * {@link LedgerError} and {@link ChainError} when they could not be asked.
   */
  async requireReady(senders?: readonly Address[]): Promise<void> {
    await this.#relayers.withLeastBusy({ senders }, () => undefined)
  }

  /**
   * Chooses the relayer to estimate a call for, where the result may depend on the sender.
   *
   * @throws As {@link RelayerPool.requireReady}.
   */
  async chooseSender(): Promise<Address> {
    const address = await this.#relayers.withLeastBusy({}, (relayer) => relayer.address)
    return address ?? this.addresses[0]
  }

  /**
   * Sends a call from the least busy relayer that can, in one transaction with others that come at
   * the same time.
   *
   * @throws As {@link RelayerPool.requireReady}. What was written down before that may be mined.
   */
  send(member: BatchMember): Promise<SentTransaction> {
    return this.#batcher.send(member)
  }

  /**
   * Sends a call in a transaction of its own, from one relayer after the other until a node has it
   * or no other relayer would do better.
   *
   * @throws As {@link RelayerPool.requireReady}. What was written down before that may be mined.
   */
  async sendAlone(request: TransactionRequest): Promise<SendResult> {
    const attempts = new Attempts()
    let last: SendResult | undefined
    for (;;) {
      const attempt = await this.#trySend(request, attempts.tried)
      if (attempt === undefined) throw this.#whyNotSent(request, last)
      const { relayer } = attempt
      last = attempt.sent && (await this.#repriced(attempt.sent, relayer))
      if (last === undefined) attempts.tried.add(relayer)
      else if (last.kind !== 'rejected') return last
      else if (last.cause === 'not_now' || (await this.#mayBeBroadcast(last)))
        return { kind: 'unknown', submission: last.submission }
      else if (!this.#mayRetry(last, relayer, attempts)) return last
    }
  }

  /** Sets who is asked about the payment of a refund that may have to be sent again. */
  judgePaymentsBy(judge: JudgePayment): void {
    this.#judgePayment = judge
  }

  /** Whether a transaction was sent for a payment of this ledger other than `except`, or may have paid it. */
  knowsTransaction(transaction: Hex, except?: PaymentKey): Promise<boolean> {
    return this.#ledger.payments.knowsTransaction(transaction, except)
  }

  /** All hashes under which a transaction may be mined: several where it was replaced. */
  transactionsOf(submission: Submission): readonly Hex[] {
    const { transaction, replaces = [] } = submission
    const relayer = this.#relayers.find(submission.relayer)
    return relayer?.transactionsOf(submission) ?? [transaction, ...replaces]
  }

  /** Ends a mined transaction: its relayer is less busy. */
  finish(receipt: Receipt): void {
    const relayer = this.#relayers.find(receipt.sender)
    if (relayer === undefined) return
    const { transaction, sender, gasUsed, gasPrice, l1Fee } = receipt
    relayer.finish(transaction)
    if (this.#reported.has(transaction)) return
    this.#reported.set(transaction, true)
    this.#onSpent?.({ relayer: sender, wei: gasUsed * gasPrice + l1Fee })
  }

  #trySend(request: TransactionRequest, tried: ReadonlySet<Relayer>) {
    const { senders } = request
    return this.#relayers.withLeastBusy({ tried, senders }, async (relayer) => ({
      relayer,
      sent: await relayer.send(request),
    }))
  }

  /** Prices a transaction again for as long as the node rejects it as too cheap. */
  async #repriced(first: SendResult, relayer: Relayer): Promise<SendResult> {
    let sent = first
    for (let times = 0; times < MAX_REPRICINGS; times++) {
      if (sent.kind !== 'rejected' || sent.cause !== 'fee_too_low') return sent
      sent = await relayer.reprice(sent.submission)
    }
    return sent
  }

  #mayBeBroadcast({ submission }: RejectedTransaction): Promise<boolean> {
    return this.#chain.hasTransaction(submission.transaction).catch(() => true)
  }

  /** Prepares another attempt after a rejection. @returns Whether it may succeed. */
  #mayRetry({ cause }: RejectedTransaction, relayer: Relayer, attempts: Attempts): boolean {
    switch (cause) {
      case 'insufficient_gas_funds':
        relayer.funds.deny()
        attempts.tried.add(relayer)
        return true
      case 'stale_nonce': {
        // Its key is used without the ledger: the nonce is read from the chain, once.
        const isFirst = !attempts.isNonceRefreshed
        attempts.isNonceRefreshed = true
        relayer.refreshNonce()
        return isFirst
      }
      case 'fee_too_low':
      case 'not_now':
      case 'never_valid':
      case 'other':
        return false
    }
  }

  #whyNotSent({ senders }: TransactionRequest, last: SendResult | undefined): Error {
    return last === undefined
      ? earlierUnknown(this.#chain)
      : withoutFunds(this.#chain, senders ?? this.addresses)
  }

  /** Looks after transactions, unless that is under way. */
  async #lookAfter({ logger, closed }: RelayerPoolOptions): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      await this.#relayers.lookAfter()
    } catch (error) {
      const isOutside = error instanceof ChainError || isLedgerError(error)
      // It is tried twice a second, and succeeds whenever nothing is pending.
      if (world.elapsed() - this.#loggedAt < LOG_MS || closed.aborted) return
      this.#loggedAt = world.elapsed()
      logger[isOutside ? 'warn' : 'error']('Pending transactions could not be checked.', {
        network: this.#chain.network.caip2,
        error,
      })
    } finally {
      this.#isLooking = false
    }
  }
}
