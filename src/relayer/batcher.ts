import { aggregate, MULTICALL3 } from '../chain/abi.js'
import { RelayerError } from '../errors.js'
import type { LedgerStore, Submission } from '../ledger/ledger.js'
import type { Hex } from '../protocol/payment.js'
import { batchGasLimit } from './batch-gas.js'
import type {
  BatchMember,
  QueuedMember,
  RejectedTransaction,
  SendResult,
  TransactionRequest,
} from './transaction.js'
import { LostLocks, writeAhead } from './write-ahead.js'

/** Most settlements that share a transaction. */
const MAX_MEMBERS = 20

/** Most gas of a shared transaction; no network's limit for one (EIP-7825) is near it. */
const MAX_BATCH_GAS = 6_000_000n

/** Options of {@link Batcher}. */
export interface BatcherOptions {
  readonly ledger: Pick<LedgerStore, 'find' | 'submitTogether' | 'withdrawTogether'>
  /** Sends one transaction. */
  readonly send: (request: TransactionRequest) => Promise<SendResult>
  /** Most transactions that may be on their way to the node at the same time. */
  readonly maxInFlight: () => number
  /** Whether calls can share a transaction: whether the network has Multicall3. */
  readonly canBatch: () => Promise<boolean>
}

/**
 * Sends settlements, several in one Multicall3 transaction when they come at once: the group commit
 * of databases.
 *
 * A settlement that comes alone is sent alone, at once. Those that come while a transaction is being
 * sent share the next one: there is no timer, and nothing waits when idle. Each call may fail by
 * itself; the logs show which one did.
 */
export class Batcher {
  readonly #options: BatcherOptions
  /** Settlements that wait for a transaction, oldest first. */
  #waiting: QueuedMember[] = []
  /** Transactions that are being sent. */
  #sending = 0
  /** Whether a flush is scheduled. */
  #isFlushing = false

  constructor(options: BatcherOptions) {
    this.#options = options
  }

  /** How many settlements wait for a transaction. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Sends a settlement. The record of one that is rejected was withdrawn. */
  send(member: BatchMember): Promise<SendResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ member, resolve, reject })
      this.#flushSoon()
    })
  }

  #flushSoon(): void {
    if (this.#isFlushing || this.#waiting.length === 0) return
    this.#isFlushing = true
    // At the end of this turn of the event loop: what came in it goes together.
    setImmediate(() => void this.#flush())
  }

  async #flush(): Promise<void> {
    const { canBatch, maxInFlight } = this.#options
    const most = (await canBatch()) ? MAX_MEMBERS : 1
    this.#isFlushing = false
    while (this.#waiting.length > 0 && this.#sending < maxInFlight()) {
      this.#sending++
      void this.#sendBatch(this.#takeBatch(most)).finally(() => {
        this.#sending--
        this.#flushSoon()
      })
    }
  }

  /** Takes the settlements of the next transaction off the queue. */
  #takeBatch(most: number): readonly QueuedMember[] {
    const waiting = this.#waiting
    const [first] = waiting
    let gas = 0n
    const fits = ({ member }: QueuedMember): boolean => (gas += member.gas) <= MAX_BATCH_GAS
    const batch =
      first === undefined || first.member.isAlone || first.member.gas > MAX_BATCH_GAS
        ? waiting.slice(0, 1)
        : waiting
            .filter(({ member }) => !member.isAlone)
            .slice(0, most)
            .filter(fits)
    this.#waiting = waiting.filter((one) => !batch.includes(one))
    return batch
  }

  /** Sends those members that may still be sent. Never rejects: every caller gets its own result. */
  async #sendBatch(batch: readonly QueuedMember[]): Promise<void> {
    const checks = await Promise.allSettled(batch.map(async ({ member }) => member.recheck?.()))
    const members = batch.filter((one, index) => {
      const check = checks[index]
      if (check?.status === 'rejected') one.reject(check.reason)
      return check?.status !== 'rejected'
    })
    if (members.length === 0) return
    const failures = await this.#attempt(members)
    if (failures.length === 0) return
    const isWithdrawn = await this.#withdraw(failures).catch(() => false)
    for (const failure of failures) reportFailure(failure, isWithdrawn)
  }

  /**
   * Sends one transaction for all, and resolves them if it went out.
   *
   * @param before - Hashes that the records may name though they were not sent.
   * @returns Those for which nothing was sent.
   */
  async #attempt(
    all: readonly QueuedMember[],
    before: readonly Hex[] = [],
  ): Promise<readonly Failure[]> {
    const written = [...before]
    try {
      const sent = await this.#options.send({
        ...batchRequest(all),
        writeAhead: async (submission: Submission): Promise<void> => {
          // The answer to a write may be lost: the record may name the hash from here on.
          written.push(submission.transaction)
          await writeAhead(this.#options.ledger, all, submission)
        },
      })
      if (sent.kind !== 'rejected') {
        for (const { resolve } of all) resolve(sent)
        return []
      }
      if (sent.cause === 'other' && all.length > 1) return await this.#attemptEach(all, written)
      return all.map((one) => ({ kind: 'rejected', one, written, rejection: sent }))
    } catch (error) {
      // Only those could not be recorded, and nothing was: the others are sent without them.
      if (error instanceof LostLocks) return this.#attemptWithout(error, all, written.slice(0, -1))
      if (exceedsFunds(error) && all.length > 1) return this.#attemptEach(all, written)
      return all.map((one) => ({ kind: 'error', one, written, error }))
    }
  }

  async #attemptWithout(
    { lost }: LostLocks,
    all: readonly QueuedMember[],
    written: readonly Hex[],
  ): Promise<readonly Failure[]> {
    const left = all.filter((one) => !lost.has(one))
    const failures = [...lost].map(([one, error]): Failure => ({
      kind: 'error',
      one,
      written,
      error,
    }))
    const mayBeRecorded = written.length > 0
    if (!mayBeRecorded) for (const failure of failures) reportFailure(failure, true)
    const others = left.length === 0 ? [] : await this.#attempt(left, written)
    return mayBeRecorded ? [...failures, ...others] : others
  }

  async #attemptEach(
    all: readonly QueuedMember[],
    written: readonly Hex[],
  ): Promise<readonly Failure[]> {
    const failures: Failure[] = []
    for (const one of all) failures.push(...(await this.#attempt([one], written)))
    return failures
  }

  /**
   * Withdraws records of transactions that were not sent: all of them or none, since the bytes that
   * one record keeps may be sent again, and pay for all.
   *
   * @returns Whether all were withdrawn.
   */
  async #withdraw(failures: readonly Failure[]): Promise<boolean> {
    if (!failures.every(({ one }) => one.member.canForget())) return false
    const hashes = new Set(failures.flatMap(({ written }) => written))
    // The oldest first: those are shared by the most.
    for (const hash of hashes) {
      const named = failures.filter(({ written }) => written.includes(hash))
      const keys = named.map(({ one }) => one.member.key)
      await this.#options.ledger.withdrawTogether(keys, hash)
    }
    return true
  }
}

/** A settlement for which nothing was sent: the node rejected it, or it was not asked. */
type Failure = {
  readonly one: QueuedMember
  /** Hashes that its record may name, oldest first. */
  readonly written: readonly Hex[]
} & (
  | { readonly kind: 'rejected'; readonly rejection: RejectedTransaction }
  | { readonly kind: 'error'; readonly error: unknown }
)

function reportFailure(failure: Failure, isWithdrawn: boolean): void {
  const { one } = failure
  if (failure.kind === 'error') one.reject(failure.error)
  else if (isWithdrawn) one.resolve(failure.rejection)
  // The record stays, and with it the bytes: they may be sent again.
  else one.resolve({ kind: 'unknown', submission: failure.rejection.submission })
}

function batchRequest(all: readonly QueuedMember[]): Pick<TransactionRequest, 'call' | 'gas'> {
  const members = all.map(({ member }) => member)
  const [only] = members
  if (only !== undefined && members.length === 1) return { call: only.call, gas: only.gas }
  const data = aggregate(members.map(({ call }) => call))
  return { call: { to: MULTICALL3, data }, gas: batchGasLimit(members, data) }
}

/** No relayer can pay for all of them at once; one may be able to pay for each. */
function exceedsFunds(error: unknown): boolean {
  return error instanceof RelayerError && error.code === 'relayer_without_funds'
}
