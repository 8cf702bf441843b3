import { LRUCache } from 'lru-cache'
import { GatewayError } from '../../../errors.js'
import type { LedgerStore, LedgerEntry, LedgerRecord, Submission } from '../../../ledger/ledger.js'
import type { Logger } from '../../../logger.js'
import type { Hex } from '../../../protocol/payment.js'
import type { EventBus } from '../../events.js'
import { keccakHex } from '../../../crypto/keccak.js'
import { describeEntry } from '../describe.js'
import type { SettlementNetwork } from '../settlement-network.js'
import { authorizationStateCall, findUse, toIsUsed, type Decision } from './outcome.js'
import { resendPayment, type DroppedPayment } from './resend.js'

/** Milliseconds for which a settled payment is looked at: reorganisations reach back no further. */
const WATCH_MS = 180_000

/**
 * Milliseconds that a start looks back: for payments that were settled, and undone while nobody looked
 * for long enough; and for those that failed, and may be paid all the same.
 */
const LOOK_BACK_MS = { settled: 3_600_000, failed: 86_400_000 }

/** Milliseconds for which what was dropped is looked at more often. */
const RECENT_REORG_MS = 120_000

/** Milliseconds by which two looks at the ledger overlap: its clock is not ours. */
const OVERLAP_MS = 10_000

/** Payments that are looked at in one request. */
const BATCH = 200

/** Payments that are looked at; beyond, the oldest are let go. */
const MAX_WATCHED = 20_000

/** Looks after payments that are final in the ledger, but not on the chain. */
export interface ReorgWatch {
  /**
   * Takes up what became final since the last look, whoever wrote it down, and looks at the chain.
   * What a reorganisation dropped is handed over again.
   *
   * @throws {@link ChainError}, {@link LedgerError}
   */
  check(): Promise<void>
  /** Whether the next look should be soon: something was dropped lately, and is not known to be back. */
  readonly hasRecentReorg: boolean
  /**
   * Looks whether the authorization of a payment that failed was used after all.
   *
   * @throws {@link ChainError}, {@link LedgerError}
   */
  review(record: LedgerRecord): Promise<void>
}

/** Options of {@link createReorgWatch}. */
export interface ReorgWatchOptions {
  /** By chain id. */
  readonly cores: ReadonlyMap<number, SettlementNetwork>
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly logger: Logger
  /** Unix time in seconds. */
  readonly now: () => bigint
}

type FinalRecord = Extract<LedgerRecord, { state: 'settled' | 'failed' }>

interface Watched extends DroppedPayment {
  /** By the process's own monotonic clock. */
  readonly until: number
}

/** Payments remembered: those that nothing more can come of, and those announced. */
const REMEMBERED = 100_000

/**
 * A receipt is believed when it is first seen: no request waits for confirmations. Should the chain
 * forget the transaction later, the relayer sends it again. Likewise a payment is taken to have failed
 * with its transaction, though its authorization can be used until it lapses.
 */
export function createReorgWatch(options: ReorgWatchOptions): ReorgWatch {
  const { cores, ledger, events, logger, now } = options
  const watched = new Map<string, Watched>()
  const decided = new LRUCache<string, true>({ max: REMEMBERED })
  const corrected = new LRUCache<string, true>({ max: REMEMBERED })
  let checkedAt: number | undefined

  /** @param watchMs - For which they are looked at; once, in any case. */
  const watchFinal = async (
    state: FinalRecord['state'],
    withinMs: number,
    watchMs = WATCH_MS,
  ): Promise<void> => {
    const newestFirst = await ledger.listFinal({ state, withinMs, limit: MAX_WATCHED })
    for (const entry of newestFirst.toReversed()) {
      const core = cores.get(entry.chainId)
      if (core === undefined || watched.get(entry.id)?.entry.state === state) continue
      if (decided.has(entry.id) || hasLapsed(entry, now())) continue
      const until = performance.now() + watchMs
      watched.set(entry.id, { core, entry, until, drops: 0, droppedAt: 0, resentAs: [] })
      const [oldest] = watched.keys()
      if (oldest !== undefined && watched.size > MAX_WATCHED) watched.delete(oldest)
    }
  }

  const watchAllFinal = async (): Promise<void> => {
    const startedAt = performance.now()
    const sinceMs = checkedAt === undefined ? Infinity : startedAt - checkedAt + OVERLAP_MS
    await watchFinal('settled', Math.min(sinceMs, WATCH_MS))
    if (checkedAt === undefined) await watchFinal('settled', LOOK_BACK_MS.settled, 0)
    await watchFinal('failed', Math.min(sinceMs, LOOK_BACK_MS.failed))
    checkedAt = startedAt
  }

  /** The merchant was paid by another transaction than the one in the record. */
  const correct = async (
    { core }: Watched,
    record: FinalRecord,
    { paid: transaction, transfer }: Extract<Decision, { paid: Hex }>,
  ): Promise<void> => {
    if (!(await ledger.markSettledLate(record, transaction, transfer))) {
      decided.set(record.id, true)
      logger.error('A transfer was to pay for a second payment.', { transaction })
      return
    }
    if (record.state === 'settled' || corrected.has(record.id)) return
    corrected.set(record.id, true)
    logger.warn('A payment that had failed was paid all the same.', { transaction })
    events.emit('settled', { ...describeEntry(core.chain.network, record), transaction })
  }

  /** Finds out by which transaction an authorization was used. @returns Whether that is known. */
  const findPayment = async (one: Watched, record: FinalRecord): Promise<boolean> => {
    const use = await findUse(one.core, { ...record, submission: knownOf(one, record) })
    if (use === 'open') return false
    if ('paid' in use) await correct(one, record, use)
    else {
      decided.set(record.id, true)
      const { transaction } = use
      if (record.state === 'settled')
        logger.error('A settled payment was undone, and its authorization used up.', {
          transaction,
        })
    }
    return true
  }

  /** @returns Whether it is looked at once more. */
  const checkSettled = async (one: Watched, isUsed: boolean | undefined): Promise<boolean> => {
    const isOver = performance.now() > one.until
    if (isUsed === undefined || (isUsed && one.drops === 0)) return !isOver
    const record = await ledger.find(one.entry)
    if (record?.state !== 'settled') return false
    if (isUsed) {
      if (!(await findPayment(one, record))) return true
      one.drops = 0
      return !isOver
    }
    const { transaction } = record
    if (hasLapsed(record, now())) {
      logger.error('A settled payment was undone by the chain, and has lapsed.', { transaction })
      return false
    }
    // A stranger's transaction is not ours to send.
    if (!hasBytes(record)) return !isOver
    if (one.drops === 0) one.droppedAt = performance.now()
    one.drops += 1
    logger.warn('A settled payment was undone by the chain and is sent again.', { transaction })
    await resendPayment(ledger, one, record)
    return true
  }

  /** @returns Whether it is looked at once more. */
  const checkFailed = async (one: Watched, isUsed: boolean | undefined): Promise<boolean> => {
    if (isUsed !== true) return !hasLapsed(one.entry, now())
    const record = await ledger.find(one.entry)
    return record?.state === 'failed' && !(await findPayment(one, record))
  }

  const checkBatch = async (core: SettlementNetwork, batch: readonly Watched[]): Promise<void> => {
    const states = await core.chain.callMany(
      batch.map(({ entry }) => authorizationStateCall(entry)),
    )
    for (const [index, one] of batch.entries()) {
      const lookAt = one.entry.state === 'settled' ? checkSettled : checkFailed
      const goesOn = await lookAt(one, toIsUsed(states[index])).catch((error: unknown) => {
        if (!(error instanceof GatewayError)) throw error
        logger.warn('A payment could not be looked after.', { error })
        return true
      })
      if (!goesOn) watched.delete(one.entry.id)
    }
  }

  return {
    async check() {
      await watchAllFinal()
      const byCore = new Map<SettlementNetwork, Watched[]>()
      for (const one of watched.values())
        byCore.set(one.core, [...(byCore.get(one.core) ?? []), one])
      for (const [core, all] of byCore)
        for (let start = 0; start < all.length; start += BATCH)
          await checkBatch(core, all.slice(start, start + BATCH))
    },
    get hasRecentReorg() {
      const since = performance.now() - RECENT_REORG_MS
      return [...watched.values()].some(({ drops, droppedAt }) => drops > 0 && droppedAt > since)
    },
    async review(record) {
      const core = cores.get(record.chainId)
      if (core === undefined || record.state !== 'failed') return
      if (decided.has(record.id) || hasLapsed(record, now())) return
      const [state] = await core.chain.callMany([authorizationStateCall(record)])
      if (toIsUsed(state) !== true) return
      const one = { core, entry: record, until: 0, drops: 0, droppedAt: 0, resentAs: [] }
      await findPayment(one, record)
    },
  }
}

/** Seconds beyond `validBefore` in which a use of the authorization may still be found. */
const LATE_SECONDS = 120n

/** Whether nobody can use an authorization any more, nor has just used it. */
function hasLapsed({ validBefore }: LedgerEntry, now: bigint): boolean {
  return now > validBefore + LATE_SECONDS
}

/** Whether its transaction is known, byte by byte. */
function hasBytes<T extends FinalRecord>(
  record: T,
): record is T & { readonly submission: Submission } {
  return record.submission !== undefined && record.submission.raw !== '0x'
}

/** Every transaction of ours that may have paid. */
function knownOf({ resentAs }: Watched, record: FinalRecord): Submission | undefined {
  const { submission, transaction } = record
  if (submission === undefined) return undefined
  const replaces = [...resentAs, transaction, ...(submission.replaces ?? [])]
  return { ...submission, transaction: keccakHex(submission.raw), replaces }
}
