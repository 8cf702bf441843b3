import { aggregate, execute, MULTICALL3 } from '../chain/abi.js'
import { RelayerError } from '../../shared/errors.js'
import type { PaymentKey, KeyedSubmission, Submission } from '../../ledger/index.js'
import { batchGasLimit, executorGasLimit } from './batch-gas.js'
import type { Address } from '../../shared/protocol/payment.js'
import type { ExpectedCalls } from './expected-calls.js'
import {
  LostLocks,
  type BatchMember,
  type QueuedMember,
  type SendResult,
  type SentTransaction,
  type TransactionRequest,
} from './transaction.js'
import { world } from '../../shared/world.js'

/** Most settlements that share a transaction. */
const MAX_MEMBERS = 20

/** Most gas of a shared transaction; no network's limit for one (EIP-7825) is near it. */
const MAX_BATCH_GAS = 6_000_000n

/**
 * Short compared with a block. Another transaction right after this one would take more gas, and more of node and
 * ledger.
 */
const GATHER_MS = 4

export interface BatcherOptions {
  readonly send: (request: TransactionRequest) => Promise<SendResult>
  /** Most transactions that may be on their way to the node at the same time. */
  readonly maxSending: number
  /** Resolves when a transaction may be sent: not while each relayer waits for the node to take one. */
  readonly whenReady: () => Promise<unknown>
  /** Whether calls without an executor can share a transaction: whether the network has Multicall3. */
  readonly canBatch: () => Promise<boolean>
  /** The next transaction waits for them a moment. */
  readonly expected: ExpectedCalls
  /** How long a transaction waits for expected settlements (ms). @defaultValue 4 */
  readonly gatherMs?: number | undefined
}

/**
 * Sends settlements, several in one transaction when they come at once: the group commit of databases. The
 * calls are made by Multicall3, or by the executor that members name.
 *
 * A settlement that comes alone, with none expected, is sent alone, at once: nothing waits when idle. Those
 * that come while a transaction is being sent share the next one, and those that are being verified then are
 * waited for, for a moment. Each call may fail by itself; the logs show which one did.
 */
export class Batcher {
  readonly #options: BatcherOptions
  /** Settlements that wait for a transaction, oldest first. */
  #waiting: QueuedMember[] = []
  /** Transactions that are being sent. */
  #sending = 0
  #isFlushing = false

  constructor(options: BatcherOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** Sends a settlement. One that the node rejected is unknown: its bytes may have gone further. */
  send(member: BatchMember): Promise<SentTransaction> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ member, resolve, reject })
      if (this.#waiting.length >= MAX_MEMBERS) this.#options.expected.endWait()
      this.#flushSoon()
    })
  }

  #flushSoon(): void {
    if (this.#isFlushing || this.#waiting.length === 0) return
    this.#isFlushing = true
    // At the end of this turn of the event loop: what came in it goes together.
    world.setImmediate(() => void this.#flush())
  }

  async #flush(): Promise<void> {
    const { canBatch, whenReady, maxSending, expected, gatherMs = GATHER_MS } = this.#options
    // Calls that come meanwhile share the transaction, and are checked right before it is sent.
    if (this.#sending < maxSending) await whenReady()
    const hasMulticall = await canBatch()
    const [first] = this.#waiting
    const isShared = first !== undefined && batchOf(first, hasMulticall) !== first
    const gathers = isShared && this.#waiting.length < MAX_MEMBERS
    if (gathers && this.#sending < maxSending) await expected.wait(gatherMs)
    this.#isFlushing = false
    while (this.#waiting.length > 0 && this.#sending < maxSending) {
      this.#sending++
      void this.#sendBatch(this.#takeBatch(hasMulticall)).finally(() => {
        this.#sending--
        this.#flushSoon()
      })
    }
  }

  #takeBatch(hasMulticall: boolean): readonly QueuedMember[] {
    const waiting = this.#waiting
    const [first] = waiting
    let gas = 0n
    const fits = ({ member }: QueuedMember): boolean => (gas += member.gas) <= MAX_BATCH_GAS
    const shared = first && batchOf(first, hasMulticall)
    const batch =
      shared === first || (first?.member.gas ?? 0n) > MAX_BATCH_GAS
        ? waiting.slice(0, 1)
        : waiting
            .filter((one) => batchOf(one, hasMulticall) === shared)
            .slice(0, MAX_MEMBERS)
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
    await this.#attempt(members)
  }

  /** Sends one transaction for all, or one for each where they cannot share one. */
  async #attempt(all: readonly QueuedMember[]): Promise<void> {
    try {
      const sent = await this.#options.send({
        ...requestOf(all.map(({ member }) => member)),
        members: (submission, stored) => toMembers(all, submission, stored),
      })
      // The node may reject it because of one member.
      const isRefused =
        sent.kind === 'rejected' && (sent.cause === 'never_valid' || sent.cause === 'other')
      if (isRefused && all.length > 1) return await this.#attemptEach(all)
      const { submission } = sent
      const kind = sent.kind === 'accepted' ? 'accepted' : 'unknown'
      for (const { resolve } of all) resolve({ kind, submission })
    } catch (error) {
      if (error instanceof LostLocks) return this.#attemptWithout(error, all)
      if (exceedsFunds(error) && all.length > 1) return this.#attemptEach(all)
      for (const { reject } of all) reject(error)
    }
  }

  /** Nothing was recorded, because of those members alone: the others are sent without them. */
  async #attemptWithout({ lost }: LostLocks, all: readonly QueuedMember[]): Promise<void> {
    const left = all.filter(({ member }) => !lost.has(member.key))
    for (const one of all) if (!left.includes(one)) one.reject(lost.get(one.member.key))
    if (left.length > 0) await this.#attempt(left)
  }

  async #attemptEach(all: readonly QueuedMember[]): Promise<void> {
    for (const one of all) await this.#attempt([one])
  }
}

/** What a settlement shares a transaction with: all those of one contract, or itself alone. */
function batchOf(one: QueuedMember, hasMulticall: boolean): Address | QueuedMember {
  const { isAlone, sender, via } = one.member
  if (isAlone === true) return one
  if (via !== undefined) return via.address
  return sender === undefined && hasMulticall ? MULTICALL3 : one
}

/** The transaction of calls that share it, or of a single one. */
export function requestOf(
  members: readonly Pick<BatchMember, 'call' | 'gas' | 'gasShare' | 'sender' | 'via'>[],
): Pick<TransactionRequest, 'call' | 'gas' | 'senders'> {
  const executed = members.flatMap(({ call, gas, via }) => (via ? [{ call, gas, via }] : []))
  const [first] = executed
  if (first !== undefined) {
    const data = execute(executed.map(({ call, via }) => ({ ...call, gas: via.callGas })))
    return { call: { to: first.via.address, data }, gas: executorGasLimit(executed, data) }
  }
  const [only] = members
  if (only !== undefined && members.length === 1) {
    const { call, gas, sender } = only
    return { call, gas, senders: sender && [sender] }
  }
  const data = aggregate(members.map(({ call }) => call))
  return { call: { to: MULTICALL3, data }, gas: batchGasLimit(members, data) }
}

/** No relayer can pay for all of them at once; one may be able to pay for each. */
function exceedsFunds(error: unknown): boolean {
  return error instanceof RelayerError && error.code === 'relayer_without_funds'
}

/** Writes each settlement down in the ledger. @throws {@link LostLocks} */
function toMembers(
  all: readonly QueuedMember[],
  submission: Submission,
  stored: Promise<void>,
): readonly KeyedSubmission[] {
  const lost = new Map<PaymentKey, unknown>()
  const members: KeyedSubmission[] = []
  for (const { member } of all) {
    try {
      const { key, charged } = member
      members.push({ key, charged, submission: member.toSubmission(submission) })
    } catch (error) {
      lost.set(member.key, error)
    }
  }
  if (lost.size > 0) throw new LostLocks(lost)
  // The settlement itself reports a failure to its caller.
  stored.catch(() => undefined)
  for (const { member } of all) member.onWriteAhead(submission, stored)
  return members
}
