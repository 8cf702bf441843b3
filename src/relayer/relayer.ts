import { setTimeout as sleep } from 'node:timers/promises'
import { privateKeyToAddress } from 'viem/accounts'
import type { Broadcast, Chain } from '../chain/chain.js'
import { ChainError } from '../errors.js'
import type { Submission } from '../ledger/ledger.js'
import type { Address, Hex } from '../protocol/payment.js'
import { gasPriceTooHigh } from './errors.js'
import { feesWithin } from './fees.js'
import { RelayerFunds } from './funds.js'
import { PendingTransactions, type PendingTransaction } from './pending-transactions.js'
import { Resubmitter, type ResubmitterOptions } from './resubmitter.js'
import { createTransactionSigner, type TransactionSigner } from './sign-transaction.js'
import type { SendResult, Sign, TransactionRequest, UnsentTransaction } from './transaction.js'

/** Lookups of an unknown broadcast, and milliseconds before the second; doubled for each further one. */
const LOCATE_MS = { first: 50, attempts: 6 }

/** After failed lookups, callers fail fast for this many milliseconds. */
const LOCATE_PAUSE_MS = 1000

/** Options of {@link Relayer}. */
export interface RelayerOptions extends Pick<
  ResubmitterOptions,
  'chain' | 'maxFeePerGas' | 'stuckMs' | 'mayUse' | 'logger' | 'closed'
> {
  readonly privateKey: Hex
  /** Whether other settlements wait until the node has the transaction that is being sent. */
  readonly isAwaited: () => boolean
  /** Called when the balance pays for few more settlements; once until it has risen. */
  readonly onLow?: (low: { readonly relayer: Address; readonly balance: bigint }) => void
}

/**
 * One account that sends transactions.
 *
 * It keeps its own account nonce, which no two transactions share: they are signed and sent one
 * after the other, while any number of them is pending. The nonce is read from the chain at first,
 * and again after a transaction was rejected. A broadcast whose answer was lost is looked up, or sent
 * again, before the next transaction: no nonce gap is ever left.
 */
export class Relayer {
  /** The account. */
  readonly address: Address
  /** What is known of the account's gas money. */
  readonly funds: RelayerFunds
  readonly #options: RelayerOptions
  readonly #chain: Chain
  readonly #signTransaction: TransactionSigner
  readonly #pending = new PendingTransactions()
  readonly #resubmitter: Resubmitter
  /** The next account nonce; `undefined` when it must be read from the chain. */
  #nextNonce: number | undefined
  /** Sends that have not ended. */
  #queued = 0
  /** The end of the work that was queued last. Never rejects. */
  #last: Promise<unknown> = Promise.resolve()
  /** When unknown broadcasts may be looked up again, by `performance.now()`. */
  #retryAfter = 0

  constructor(options: RelayerOptions) {
    const { chain, privateKey, onLow } = options
    const address = privateKeyToAddress(privateKey)
    this.#options = options
    this.#chain = chain
    this.address = address
    this.funds = new RelayerFunds({
      chain,
      address,
      onLow: (balance) => onLow?.({ relayer: address, balance }),
    })
    this.#signTransaction = createTransactionSigner(privateKey)
    this.#resubmitter = new Resubmitter({
      ...options,
      address,
      pending: this.#pending,
      sign: this.#sign,
      inTurn: (work) => this.#inTurn(work),
      resolveUnknown: () => this.#resolveUnknown(),
    })
  }

  /** Transactions that are being sent or are pending. */
  get load(): number {
    return this.#queued + this.#pending.size
  }

  /** Whether an unknown broadcast must be looked up before the next transaction is sent. */
  get hasUnknown(): boolean {
    return this.#pending.hasUnknown
  }

  /** Signs a call with the next account nonce and gives it to the node. */
  async send(request: TransactionRequest): Promise<SendResult | UnsentTransaction> {
    this.#queued++
    try {
      return await this.#inTurn(() => this.#sendNext(request))
    } finally {
      this.#queued--
    }
  }

  /** All hashes that were sent with the account nonce of a transaction. */
  transactionsOf(submission: Submission): readonly Hex[] {
    return this.#pending.transactionsOf(submission)
  }

  /** Marks a transaction as mined. */
  noteMined(transaction: Hex): void {
    this.#pending.noteMined(transaction)
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  readonly #sign: Sign = async ({ call, gas }, accountNonce, fees) => {
    const { chainId } = this.#chain.network
    const signed = await this.#signTransaction({ chainId, accountNonce, call, gas, fees })
    return { ...signed, relayer: this.address, accountNonce }
  }

  async #sendNext(request: TransactionRequest): Promise<SendResult | UnsentTransaction> {
    const { mayUse, maxFeePerGas } = this.#options
    if (!mayUse()) return { kind: 'unsent', cause: 'lease' }
    if (!(await this.#resolveUnknown())) return { kind: 'unsent', cause: 'unknown' }
    const [accountNonce, current] = await Promise.all([this.#chooseNonce(), this.#chain.getFees()])
    const fees = feesWithin(current, maxFeePerGas)
    if (fees === undefined) throw gasPriceTooHigh(this.#chain)
    const submission = await this.#sign(request, accountNonce, fees)
    await request.writeAhead(submission)
    if (!mayUse()) return { kind: 'rejected', cause: 'lease', submission }

    // A nonce that was used is never used again before the chain was asked.
    this.#nextNonce = undefined
    const broadcast = await this.#broadcast(submission)
    if (broadcast.kind === 'rejected') return { ...broadcast, submission }
    this.#nextNonce = accountNonce + 1
    const isUnknown = broadcast.kind === 'unknown'
    this.#pending.add({ request, submission, fees, isUnknown, pricedAt: performance.now() })
    if (isUnknown) void this.#inTurn(() => this.#resolveUnknown()).catch(this.#report)
    this.#resubmitter.start()
    return { ...broadcast, submission }
  }

  async #chooseNonce(): Promise<number> {
    return (
      this.#nextNonce ??
      Math.max(await this.#chain.getPendingNonce(this.address), this.#pending.nextNonce)
    )
  }

  #broadcast(submission: Submission): Promise<Broadcast> {
    return this.#chain
      .broadcastSync(submission, () => this.#queued > 1 || this.#options.isAwaited())
      .catch((error: unknown): Broadcast => {
        // Whatever went wrong, the transaction may be out: it never counts as unsent.
        this.#report(error)
        return { kind: 'unknown' }
      })
  }

  /** @returns Whether every transaction is known to be with the node. */
  async #resolveUnknown(): Promise<boolean> {
    if (!this.#pending.hasUnknown) return true
    if (performance.now() < this.#retryAfter) return false
    for (const one of this.#pending.all()) {
      if (!one.isUnknown || (await this.#resolveOne(one))) continue
      this.#retryAfter = performance.now() + LOCATE_PAUSE_MS
      return false
    }
    return true
  }

  async #resolveOne(one: PendingTransaction): Promise<boolean> {
    let pauseMs = LOCATE_MS.first
    for (let attempt = 1; ; attempt++) {
      const found = await this.#locate(one.submission).catch(unknownIfUnreachable)
      if (found === 'there') this.#pending.update(one, { isUnknown: false })
      if (found === 'gone') {
        // Its ledger record stays: what became of the call is read from the chain.
        this.#pending.remove(one)
        this.#nextNonce = undefined
      }
      if (found !== 'unknown') return true
      if (attempt === LOCATE_MS.attempts || this.#options.closed.aborted) return false
      await sleep(pauseMs)
      pauseMs *= 2
    }
  }

  /** Finds out whether the node has a transaction, and rebroadcasts it if not. */
  async #locate({ transaction, raw }: Submission): Promise<'there' | 'gone' | 'unknown'> {
    if (await this.#chain.hasTransaction(transaction)) return 'there'
    if (!this.#options.mayUse()) return 'unknown'
    const broadcast = await this.#chain.broadcast(raw)
    if (broadcast.kind !== 'rejected') return broadcast.kind === 'accepted' ? 'there' : 'unknown'
    if (broadcast.cause === 'insufficient_gas_funds') return 'unknown'
    // Fees have risen: the resubmitter replaces it as a stuck one.
    if (broadcast.cause === 'fee_too_low') return 'there'
    // Its nonce may be used: by itself, or by another transaction, and then it is never mined.
    return (await this.#chain.hasTransaction(transaction)) ? 'there' : 'gone'
  }

  readonly #report = (error: unknown): void => this.#resubmitter.report(error)
}

function unknownIfUnreachable(error: unknown): 'unknown' {
  if (error instanceof ChainError) return 'unknown'
  throw error
}
