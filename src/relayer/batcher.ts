import { aggregate, MULTICALL3 } from '../chain/abi.js'
import { RelayerError } from '../errors.js'
import type { AuthorizationKey, LedgerStore, Submission } from '../ledger/ledger.js'
import type { Hex } from '../protocol/payment.js'
import { batchGasLimit, type GasShare } from './batch-gas.js'
import type { TransactionRequest, SendResult, RejectedTransaction } from './relayer.js'
import { LostLocks, writeAhead } from './write-ahead.js'

/** Settlements that share a transaction at most. */
const MAX_MEMBERS = 20

/** Gas that a transaction may take together: no network's limit for one (EIP-7825), nor near it. */
const MAX_BATCH_GAS = 6_000_000n

/** Gas that Multicall3 takes, for a transaction and for each call in it, where none was measured. */
const MULTICALL_GAS = { base: 30_000n, sendEach: 5000n }

/** A settlement that may share its transaction. */
export interface BatchMember extends Pick<TransactionRequest, 'call' | 'gas'> {
  readonly key: AuthorizationKey
  /** Whether it must not share a transaction with others. @defaultValue false */
  readonly isAlone?: boolean | undefined
  /** What it takes of the gas of a transaction that it shares, where that was measured. */
  readonly gasShare?: GasShare | undefined
  /** Looks once more, right before it is sent, whether it still may be; throws where it may not. */
  readonly recheck?: (() => Promise<void>) | undefined
  /**
   * Tells what its record is to say of a transaction, before that is sent; asked again, later, with
   * each transaction that is to replace the first. Throws when it must not be sent any more.
   */
  readonly toSubmission: (submission: Submission) => Submission
  /** Is told that the first transaction, or another in its place, is being written down. */
  readonly onWriteAhead: (submission: Submission, stored: Promise<void>) => void
  /** Whether its record may be forgotten where nothing was sent: nobody was told of its transaction. */
  readonly canForget: () => boolean
}

/** Options of {@link createBatcher}. */
export interface BatcherOptions {
  readonly ledger: Pick<LedgerStore, 'find' | 'submitTogether' | 'withdrawTogether'>
  /** Sends one transaction. */
  readonly send: (request: TransactionRequest) => Promise<SendResult>
  /** Transactions that may be on their way to the node side by side. */
  readonly maxInFlight: () => number
  /** Whether calls can share a transaction: whether the network has Multicall3. */
  readonly canBatch: () => Promise<boolean>
}

/** Sends settlements, several in one transaction where they come at once. */
export interface Batcher {
  /** What is rejected was taken back. */
  send(member: BatchMember): Promise<SendResult>
  /** Settlements that wait for a transaction. */
  readonly waiting: number
}

/**
 * Lets settlements that come at once share a transaction, as databases commit in groups.
 *
 * One that comes alone goes alone, at once. What comes while a transaction is being sent gathers, and
 * goes out together as soon as that has ended: no timer, and nothing waits when idle. Calls in one
 * transaction may fail each by itself; its logs tell which did.
 */
export function createBatcher(options: BatcherOptions): Batcher {
  const { ledger, send, maxInFlight, canBatch } = options
  let waiting: QueuedMember[] = []
  let sending = 0
  let isFlushing = false

  const take = (most: number): QueuedMember[] => {
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
    waiting = waiting.filter((one) => !batch.includes(one))
    return batch
  }

  const flush = async (): Promise<void> => {
    const most = (await canBatch()) ? MAX_MEMBERS : 1
    isFlushing = false
    while (waiting.length > 0 && sending < maxInFlight()) {
      sending++
      void sendChecked(take(most)).finally(() => {
        sending--
        flushSoon()
      })
    }
  }

  const flushSoon = (): void => {
    if (isFlushing || waiting.length === 0) return
    isFlushing = true
    // At the end of this turn of the event loop: what came in it goes together.
    setImmediate(() => void flush())
  }

  /** Leaves out what may no longer be sent as it was asked for. Never rejects. */
  const sendChecked = async (all: readonly QueuedMember[]): Promise<void> => {
    const checks = await Promise.allSettled(all.map(async ({ member }) => member.recheck?.()))
    const good = all.filter((one, index) => {
      const check = checks[index]
      if (check?.status === 'rejected') one.reject(check.reason)
      return check?.status !== 'rejected'
    })
    if (good.length > 0) await sendTogether(good)
  }

  /** Never rejects: each of them is told by itself. */
  const sendTogether = async (all: readonly QueuedMember[]): Promise<void> => {
    const failures = await attempt(all)
    if (failures.length === 0) return
    const isForgotten = await forget(failures).catch(() => false)
    for (const failure of failures) tellFailure(failure, isForgotten)
  }

  /**
   * @param before - Hashes that their records may name, though they were not sent.
   * @returns Those for which nothing was sent; the others are told.
   */
  const attempt = async (
    all: readonly QueuedMember[],
    before: readonly Hex[] = [],
  ): Promise<readonly Failure[]> => {
    const written = [...before]
    const failed = (error: unknown): Failure[] => all.map((one) => ({ one, written, error }))
    const writeRecords = async (submission: Submission): Promise<void> => {
      // The answer to a write may be lost: it counts from here on.
      written.push(submission.transaction)
      await writeAhead(ledger, all, submission)
    }
    try {
      const sent = await send({ ...batchRequest(all), writeAhead: writeRecords })
      if (sent.kind !== 'rejected') {
        for (const { resolve } of all) resolve(sent)
        return []
      }
      if (sent.cause === 'other' && all.length > 1) return await each(all, written)
      return all.map((one) => ({ one, written, rejected: sent }))
    } catch (error) {
      // Only those could not be written down: the rest goes without them.
      if (error instanceof LostLocks) return goWithout(error, all, written.slice(0, -1))
      return exceedsFunds(error) && all.length > 1 ? each(all, written) : failed(error)
    }
  }

  const goWithout = async (
    { lost }: LostLocks,
    all: readonly QueuedMember[],
    written: readonly Hex[],
  ): Promise<readonly Failure[]> => {
    const left = all.filter((one) => !lost.has(one))
    const failures = [...lost].map(([one, error]) => ({ one, written, error }))
    const isKnown = written.length > 0
    if (!isKnown) for (const failure of failures) tellFailure(failure, true)
    const others = left.length === 0 ? [] : await attempt(left, written)
    return isKnown ? [...failures, ...others] : others
  }

  const each = async (
    all: readonly QueuedMember[],
    written: readonly Hex[],
  ): Promise<readonly Failure[]> => {
    const failures: Failure[] = []
    for (const one of all) failures.push(...(await attempt([one], written)))
    return failures
  }

  /**
   * Forgets what was written down and not sent; of all of them, or of none: the bytes that one record
   * keeps may be sent again, and pay for all.
   *
   * @returns Whether nothing is left of it.
   */
  const forget = async (failures: readonly Failure[]): Promise<boolean> => {
    if (!failures.every(({ one }) => one.member.canForget())) return false
    const hashes = new Set(failures.flatMap(({ written }) => written))
    // The oldest first: those are shared by the most.
    for (const hash of hashes) {
      const named = failures.filter(({ written }) => written.includes(hash))
      await ledger.withdrawTogether(
        named.map(({ one }) => one.member.key),
        hash,
      )
    }
    return true
  }

  return {
    send: (member) =>
      new Promise((resolve, reject) => {
        waiting.push({ member, resolve, reject })
        flushSoon()
      }),
    get waiting() {
      return waiting.length
    },
  }
}

/** A settlement, and who waits for it. */
export interface QueuedMember {
  readonly member: BatchMember
  readonly resolve: (sent: SendResult) => void
  readonly reject: (error: unknown) => void
}

/** A settlement for which nothing was sent. */
interface Failure {
  readonly one: QueuedMember
  /** Hashes that its record may name, oldest first. */
  readonly written: readonly Hex[]
  /** What the node said; else `error` says why it was not asked. */
  readonly rejected?: RejectedTransaction
  readonly error?: unknown
}

function tellFailure({ one, rejected, error }: Failure, isForgotten: boolean): void {
  if (rejected === undefined) one.reject(error)
  else if (isForgotten) one.resolve(rejected)
  // Its record stays, and with it the bytes: they may be sent again.
  else one.resolve({ kind: 'unknown', submission: rejected.submission })
}

function batchRequest(all: readonly QueuedMember[]): Pick<TransactionRequest, 'call' | 'gas'> {
  const [only] = all
  if (only !== undefined && all.length === 1)
    return { call: only.member.call, gas: only.member.gas }
  const data = aggregate(all.map(({ member }) => member.call))
  const shares = all.flatMap(({ member }) => member.gasShare ?? [])
  const gas =
    shares.length === all.length
      ? batchGasLimit(shares, data)
      : all.reduce(
          (sum, { member }) => sum + member.gas + MULTICALL_GAS.sendEach,
          MULTICALL_GAS.base,
        )
  return { call: { to: MULTICALL3, data }, gas }
}

/** No relayer can pay for all of them at once; perhaps for one. */
function exceedsFunds(error: unknown): boolean {
  return error instanceof RelayerError && error.code === 'relayer_without_funds'
}
