import { addressOfKey } from '../../shared/crypto/address-of-key.js'
import type { Broadcast, FeeValues } from '../chain/types.js'
import { ChainError } from '../../shared/errors.js'
import type { PendingRelayer, Submission } from '../../ledger/index.js'
import { lockLost } from '../../ledger/record.js'
import type { Address, Hex } from '../../shared/protocol/payment.js'
import { gasPriceTooHigh } from './errors.js'
import { feesWithin } from './fees.js'
import { RelayerFunds, type FundsRead } from './funds.js'
import { isForNow, Refusals } from './refusals.js'
import { Resubmitter, type ResubmitterOptions } from './resubmitter.js'
import { createTransactionSigner, type TransactionSigner } from './sign-transaction.js'
import { LostLocks, type SendResult, type Sign, type TransactionRequest } from './transaction.js'
import { world } from '../../shared/world.js'

/** How often an unknown broadcast is looked up, and how long before the second time (ms); doubled each time. */
const LOCATE_MS = { first: 50, attempts: 6 }

/** Longest pause between two attempts while the node refuses for the moment (ms). */
const LONGEST_PAUSE_MS = 1000

/** How long callers fail fast after failed lookups (ms). */
const LOCATE_PAUSE_MS = 1000

export interface RelayerOptions extends Pick<
  ResubmitterOptions,
  'chain' | 'ledger' | 'judgePayment' | 'maxFeePerGas' | 'stuckMs' | 'logger'
> {
  readonly privateKey: Hex
  /**
   * How long the next transaction waits while the node refuses an earlier one for the moment (ms). After
   * that it is written down behind it.
   */
  readonly refusedMs: number
  /** Whether other settlements wait until the node has the transaction that is being sent. */
  readonly isAwaited: () => boolean
  /** Called with each reading of the balance. */
  readonly onFunds?: (read: FundsRead) => void
  /** Ends work in the background. */
  readonly closed: AbortSignal
}

/**
 * One account that sends transactions. Other processes may send from it too.
 *
 * The ledger hands out its account nonces, each together with its signed transaction. This process
 * broadcasts one after the other, while any number of them is pending.
 */
export class Relayer {
  readonly address: Address
  /** The account's gas money, as last read. */
  readonly funds: RelayerFunds
  readonly #options: RelayerOptions
  readonly #signTransaction: TransactionSigner
  readonly #refusals: Refusals
  readonly #resubmitter: Resubmitter
  /** The chain's next account nonce when it was last asked; `undefined` when it must be asked again. */
  #leastNonce: number | undefined
  /** Transactions of this process that are not known to be mined, by account nonce. */
  readonly #pending = new Map<number, Submission>()
  /** A transaction that the node may not have: its answer was lost, or it refused for the moment. */
  #unknown: Submission | undefined
  /** When it may be looked up again, by `world.elapsed()`. */
  #retryAfter = 0
  #queued = 0
  /** The end of the work that was queued last. Never rejects. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: RelayerOptions) {
    const { chain, privateKey, onFunds } = options
    const address = addressOfKey(privateKey)
    this.#options = options
    this.address = address
    this.funds = new RelayerFunds({ chain, address, onRead: onFunds })
    this.#signTransaction = createTransactionSigner(privateKey)
    this.#refusals = new Refusals({ ...options, address })
    this.#resubmitter = new Resubmitter({
      ...options,
      address,
      refusals: this.#refusals,
      sign: this.#sign,
    })
  }

  /** Transactions of this process that are being sent or are pending. */
  get load(): number {
    return this.#queued + this.#pending.size
  }

  /** Whether the next transaction waits for an earlier one, which the node may not have. */
  get hasUnknown(): boolean {
    return this.#unknown !== undefined
  }

  /** Resolves when nothing keeps the next transaction waiting. Never rejects. */
  async whenReady(): Promise<void> {
    if (this.#unknown !== undefined) await this.#last
  }

  /**
   * Signs a call with the next account nonce, writes it down and gives it to the node.
   *
   * @returns `undefined` if nothing was done: the node does not say whether it has an earlier one.
   * @throws {@link LostLocks}
   */
  send(request: TransactionRequest): Promise<SendResult | undefined> {
    this.#queued++
    return this.#inTurn(() => this.#sendNext(request)).finally(() => {
      this.#queued--
    })
  }

  /** Replaces a transaction that the node rejected as too cheap. */
  async reprice(submission: Submission): Promise<SendResult> {
    const { chain } = this.#options
    await chain.getFees('fresh')
    const next = await this.#resubmitter.reprice(submission)
    // Another process may have replaced it already.
    if (next === undefined) return { kind: 'unknown', submission }
    return this.#broadcast(next)
  }

  /** Makes sure that the next account nonce is not below the chain's. */
  refreshNonce(): void {
    this.#leastNonce = undefined
  }

  /** All hashes under which a transaction may be mined, to this process's knowledge. */
  transactionsOf(submission: Submission): readonly Hex[] {
    return this.#resubmitter.hashesOf(submission)
  }

  /** Marks a transaction as mined, and with it every earlier one. */
  finish(transaction: Hex): void {
    for (const submission of this.#pending.values())
      if (this.transactionsOf(submission).includes(transaction))
        return this.#forgetBelow(submission.accountNonce + 1)
  }

  /**
   * Looks after the account's transactions if they are claimed for this process.
   *
   * @param pending - What the ledger knows of them; `undefined` if all are mined.
   */
  async lookAfter(pending: PendingRelayer | undefined): Promise<void> {
    if (pending?.isClaimed === true)
      this.#forgetBelow(await this.#resubmitter.check({ ...pending, relayer: this.address }))
    else if (pending !== undefined) this.#forgetBelow(pending.minedNonce)
    else if (this.#queued === 0) this.#pending.clear()
  }

  #forgetBelow(minedNonce: number): void {
    for (const nonce of this.#pending.keys()) if (nonce < minedNonce) this.#pending.delete(nonce)
    if ((this.#unknown?.accountNonce ?? minedNonce) < minedNonce) this.#unknown = undefined
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  readonly #sign: Sign = async ({ call, gas }, accountNonce, fees) => {
    const { chainId } = this.#options.chain.network
    const signed = await this.#signTransaction({ chainId, accountNonce, call, gas, fees })
    return { ...signed, relayer: this.address, accountNonce }
  }

  async #sendNext(request: TransactionRequest): Promise<SendResult | undefined> {
    const { chain, maxFeePerGas } = this.#options
    if (!(await this.#resolveUnknown())) return undefined
    const [leastNonce, current] = await Promise.all([this.#chooseLeastNonce(), chain.getFees()])
    const fees = feesWithin(current, maxFeePerGas)
    if (fees === undefined) throw gasPriceTooHigh(chain)
    const submission = await this.#writeDown(request, leastNonce, fees)
    await request.onStored?.(submission)
    return this.#broadcast(submission)
  }

  async #writeDown(
    request: TransactionRequest,
    leastNonce: number,
    fees: FeeValues,
  ): Promise<Submission> {
    const { chain, ledger } = this.#options
    const account = { chainId: chain.network.chainId, relayer: this.address }
    let written: Submission | undefined
    const write = async (): Promise<void> => {
      const lost = await ledger.relayers.submitNext(account, leastNonce, async (accountNonce) => {
        written = await this.#sign(request, accountNonce, fees)
        return { submission: written, members: request.members(written, stored) }
      })
      if (lost.length > 0) throw new LostLocks(new Map(lost.map((key) => [key, lockLost()])))
    }
    const stored = write()
    await stored
    if (written !== undefined) return written
    throw new Error('A transaction was written down without a signature.')
  }

  /** Reads the chain's next nonce at first. */
  async #chooseLeastNonce(): Promise<number> {
    if (this.#leastNonce !== undefined) return this.#leastNonce
    const { chain, ledger } = this.#options
    const nonce = await chain.getPendingNonce(this.address)
    await ledger.relayers.lowerNonce(
      { chainId: chain.network.chainId, relayer: this.address },
      nonce,
    )
    return (this.#leastNonce = nonce)
  }

  async #broadcast(submission: Submission): Promise<SendResult> {
    const broadcast = await this.#options.chain
      .broadcastSync(
        submission,
        () => this.#queued > 1 || this.#options.isAwaited() || this.#options.closed.aborted,
      )
      .catch((error: unknown): Broadcast => {
        // Whatever went wrong, the transaction may be out: it never counts as unsent.
        this.#report(error)
        return { kind: 'unknown' }
      })
    this.#refusals.report(broadcast)
    this.#pending.set(submission.accountNonce, submission)
    if (broadcast.kind === 'unknown' || isForNow(broadcast)) {
      this.#unknown = submission
      void this.#inTurn(() => this.#resolveUnknown()).catch(this.#report)
    }
    return { ...broadcast, submission }
  }

  /** @returns Whether the next transaction may be sent. */
  async #resolveUnknown(): Promise<boolean> {
    const one = this.#unknown
    if (one === undefined) return true
    if (world.elapsed() < this.#retryAfter) return false
    const end = world.elapsed() + this.#options.refusedMs
    let pauseMs = LOCATE_MS.first
    for (let unanswered = 0; ;) {
      const found = await this.#locate(one).catch(unknownIfUnreachable)
      // It may have been mined meanwhile. One that is refused for long is left to the resubmitter: what
      // comes next is at least written down behind it.
      const isOver = found === 'decided' || (found === 'refused' && world.elapsed() > end)
      if (isOver || this.#unknown !== one) {
        if (this.#unknown === one) this.#unknown = undefined
        return true
      }
      if (found === 'unknown') unanswered++
      if (unanswered === LOCATE_MS.attempts || this.#options.closed.aborted) break
      await world.sleep(pauseMs)
      pauseMs = Math.min(pauseMs * 2, found === 'refused' ? LONGEST_PAUSE_MS : Infinity)
    }
    this.#retryAfter = world.elapsed() + LOCATE_PAUSE_MS
    return false
  }

  /** Finds out whether the node has a transaction, or takes or rejects it now. */
  async #locate({ transaction, raw }: Submission): Promise<'decided' | 'refused' | 'unknown'> {
    const { chain } = this.#options
    if (await chain.hasTransaction(transaction)) return 'decided'
    const broadcast = this.#refusals.report(await chain.broadcast(raw))
    if (isForNow(broadcast)) return 'refused'
    return broadcast.kind === 'unknown' ? 'unknown' : 'decided'
  }

  readonly #report = (error: unknown): void => {
    const fields = { network: this.#options.chain.network.caip2, relayer: this.address, error }
    this.#options.logger.error('A transaction could not be sent.', fields)
  }
}

function unknownIfUnreachable(error: unknown): 'unknown' {
  if (error instanceof ChainError) return 'unknown'
  throw error
}
