import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { ChainError, isLedgerError } from '../../../errors.js'
import { recordId } from '../../../ledger/ledger.js'
import type { LedgerStore, LedgerEntry, LedgerRecord, Submission } from '../../../ledger/ledger.js'
import type { Logger } from '../../../logger.js'
import type { Hex } from '../../../protocol/payment.js'
import type { EventBus } from '../../events.js'
import { adoptBatch } from './adopt-batch.js'
import { describeEntry } from '../describe.js'
import { createReorgWatch } from './reorg-watch.js'
import type { SettlementNetwork } from '../settlement-network.js'
import { findOutcome, judgeReceipt, transactionsOf } from './outcome.js'
import { endPayment } from '../pending-payments.js'
import type { Decision, Outcome, SubmittedPayment } from './outcome.js'

/** Milliseconds before a transaction that is not mined is handed over again; doubled each time. */
const FOLLOW_STEP_MS = { unknown: 1000, accepted: 5000, longest: 10_000 }

/** Milliseconds for which a transaction is followed closely; beyond, rounds are enough. */
const FOLLOW_MS = 120_000

/** Records that a round looks at side by side: no more requests than that are under way. */
const ROUND_WIDTH = 4

/** Rounds that pass by a record before it is looked at again: doubled each time, up to this. */
const MOST_ROUNDS_SKIPPED = 16

/** Milliseconds to the next round where the chain has dropped what was settled. */
const AFTER_REORG_MS = 2000

/** Payments remembered: those announced, and those that rounds come back to later. */
const REMEMBERED = 100_000

/** Options of {@link createReconciler}. */
export interface ReconcilerOptions {
  /** By CAIP-2 id. */
  readonly networks: ReadonlyMap<string, SettlementNetwork>
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly logger: Logger
  /** Unix time in seconds. */
  readonly now: () => bigint
  /** Milliseconds between two rounds. */
  readonly reconcileIntervalMs: number
  /** Ends work in the background. */
  readonly closed: AbortSignal
}

/**
 * Finds out what became of transactions: the one way in which that is done.
 *
 * It goes by the ledger's records alone, whoever made them: this process, one that is gone, or one
 * beside it.
 */
export interface Reconciler {
  /** Looks at the chain once, now. Never rejects. */
  check(payment: SubmittedPayment): Promise<Outcome>
  /**
   * Looks until the outcome is known, and hands the transaction over again and again. Given up after
   * a while, and with the gateway: rounds, or whoever presents the payment, go on. Never rejects.
   *
   * @param sent - Whether the node's answer was lost: it may not have the transaction.
   */
  follow(payment: SubmittedPayment, sent: FollowedTransaction): Promise<Outcome>
  /**
   * Looks whether the authorization of a payment that failed was used after all, and writes that down.
   *
   * @throws {@link ChainError}, {@link LedgerError}
   */
  review(record: LedgerRecord): Promise<void>
  /**
   * Writes down what the chain has decided, and announces it once.
   *
   * @returns What holds now: a transfer that has paid for another record pays for no second one.
   */
  conclude(payment: ConcludedPayment, decision: Decision): Promise<Decision>
}

/** How a payment that is followed was sent. */
export interface FollowedTransaction {
  /** Whether the node's answer was lost. */
  readonly isUnknown: boolean
  /**
   * Sends it once more, where its transaction was mined without it: beside others, of which one may
   * have taken the gas of all.
   *
   * @returns The transaction that went out, if one did.
   */
  readonly resend?: (() => Promise<Submission | undefined>) | undefined
}

/** A payment whose outcome is known; one that a stranger paid may have no transaction of ours. */
type ConcludedPayment = LedgerEntry & Partial<Pick<SubmittedPayment, 'submission'>>

/** Makes a reconciler, which at once looks after all that the ledger lists as submitted. */
export function createReconciler(options: ReconcilerOptions): Reconciler {
  const { networks, ledger, events, logger, now, closed } = options
  const cores = new Map([...networks.values()].map((core) => [core.chain.network.chainId, core]))
  const followed = new Map<string, Promise<Outcome>>()
  /** Of these, those that are being sent again, or were. */
  const resent = new Set<string>()
  const announced = new LRUCache<string, true>({ max: REMEMBERED })
  const revisits = new LRUCache<string, { readonly every: number; left: number }>({
    max: REMEMBERED,
  })
  const reorgWatch = createReorgWatch({ ...options, cores })

  /** @returns What the ledger makes of what the chain has decided. @throws {@link LedgerError} */
  const write = async (payment: ConcludedPayment, decision: Decision): Promise<Decision> => {
    if ('failed' in decision) {
      const { transaction, failed: reason } = decision
      await ledger.markFailed(payment, { transaction, reason })
      return decision
    }
    const { paid: transaction, transfer } = decision
    if (await ledger.markSettled(payment, transaction, transfer)) return decision
    logger.error('A transfer was to pay for a second payment.', { transaction })
    return write(payment, { failed: 'invalid_exact_evm_transfer_event_mismatch', transaction })
  }

  const conclude: Reconciler['conclude'] = async (payment, decided) => {
    let decision = decided
    const id = recordId(payment)
    const isNews = !announced.has(id)
    announced.set(id, true)
    try {
      decision = await write(payment, decision)
    } catch (error) {
      if (!isLedgerError(error)) {
        announced.delete(id)
        throw error
      }
      // What the chain has decided is so. The record stays submitted: a later round writes it down.
      logger.error('The ledger missed what became of a payment.', { error })
    }
    const core = cores.get(payment.chainId)
    if (!isNews || core === undefined) return decision
    endPayment(core, payment)
    if ('paid' in decision) core.payers.notePaid(payment.from)
    else if (isUnpaid(decision)) core.payers.noteFailed(payment.from, decision.transaction)
    const told = describeEntry(core.chain.network, payment)
    if ('paid' in decision) events.emit('settled', { ...told, transaction: decision.paid })
    else {
      const { transaction, failed: reason } = decision
      events.emit('failed', { ...told, transaction, reason })
    }
    return decision
  }

  /** @throws {@link ChainError} */
  const decide = async (core: SettlementNetwork, payment: SubmittedPayment): Promise<Outcome> => {
    const outcome = await findOutcome(core, payment, now())
    return outcome === 'open' ? outcome : conclude(payment, outcome)
  }

  const concludeFound = async (payment: SubmittedPayment, found: Decision): Promise<Outcome> => {
    return conclude(payment, found).catch(openAfterBug(payment))
  }

  /** Whatever else was thrown must not end the process, nor decide a payment. */
  const openAfterBug =
    ({ submission: { transaction } }: SubmittedPayment) =>
    (error: unknown): Outcome => {
      logger.error('A transaction could not be followed.', { transaction, error })
      return 'open'
    }

  const check: Reconciler['check'] = async (payment) => {
    const id = recordId(payment)
    const running = followed.get(id)
    // What became of its transaction before decides nothing while it is sent again.
    if (running !== undefined && resent.has(id)) return running
    const core = cores.get(payment.chainId)
    return core === undefined
      ? 'open'
      : decide(core, payment).catch(openWhereUnreachable).catch(openAfterBug(payment))
  }

  /** Sends once more what failed though its authorization is good, as far as that can be told. */
  const resendFailed = async (outcome: Outcome, resend: FollowedTransaction['resend']) => {
    if (resend === undefined || !isUnpaid(outcome)) return undefined
    return resend().catch((error: unknown) => {
      logger.warn('A payment that failed beside others could not be sent again.', { error })
      return undefined
    })
  }

  /** Hands a transaction over again; its members must all be known, for it pays all of them. */
  const rebroadcast = async (
    { chain }: SettlementNetwork,
    { chainId, submission }: SubmittedPayment,
  ): Promise<void> => {
    try {
      await adoptBatch(ledger, chainId, submission)
    } catch (error) {
      if (!isLedgerError(error)) throw error
      return logger.warn('A transaction is not sent again while the ledger is away.', { error })
    }
    await chain.broadcast(submission.raw)
  }

  const followUntilDecided = async (
    core: SettlementNetwork,
    first: SubmittedPayment,
    { isUnknown, resend }: FollowedTransaction,
  ): Promise<Outcome> => {
    const end = performance.now() + FOLLOW_MS
    let payment = first
    let isResent = false
    const transactions = (): readonly Hex[] => transactionsOf(core, payment.submission)
    let timeoutMs = isUnknown ? FOLLOW_STEP_MS.unknown : FOLLOW_STEP_MS.accepted
    for (;;) {
      const receipt = await core.chain.waitForReceipt(transactions, { timeoutMs, signal: closed })
      if (receipt !== undefined) {
        const judge = (): Promise<Outcome> =>
          judgeReceipt(core, payment, receipt).catch(openWhereUnreachable)
        const judged = await judge()
        if (!isResent && resend !== undefined && isUnpaid(judged)) resent.add(recordId(first))
        const submission = isResent ? undefined : await resendFailed(judged, resend)
        isResent ||= isUnpaid(judged)
        if (submission !== undefined) {
          payment = { ...payment, submission }
          continue
        }
        // Where it would not go once more, somebody may have been faster.
        const outcome = isUnpaid(judged) ? await judge() : judged
        if (outcome !== 'open') return conclude(payment, outcome)
        // It is mined, but who else used its authorization could not be told yet.
        await sleep(timeoutMs, undefined, { signal: closed }).catch(() => undefined)
      }
      if (closed.aborted || performance.now() > end) return 'open'
      // Meanwhile it may have been replaced by one with higher fees, or taken back.
      const record = await ledger.find(payment).catch(() => undefined)
      if (record?.state === 'submitted') payment = record
      const outcome = await decide(core, payment).catch(openWhereUnreachable)
      if (outcome !== 'open') return outcome
      const isOut = record?.state === 'submitted' && receipt === undefined
      if (isOut) await rebroadcast(core, payment)
      timeoutMs = Math.min(timeoutMs * 2, FOLLOW_STEP_MS.longest)
    }
  }

  const follow: Reconciler['follow'] = (payment, sent) => {
    const id = recordId(payment)
    const core = cores.get(payment.chainId)
    const running = followed.get(id)
    if (running !== undefined) return running
    if (core === undefined) return Promise.resolve('open')
    const outcome = followUntilDecided(core, payment, sent)
      .catch(openAfterBug(payment))
      .finally(() => {
        followed.delete(id)
        resent.delete(id)
      })
    followed.set(id, outcome)
    return outcome
  }

  /** Looks after one record of the ledger, in a round. @throws {@link ChainError} */
  const revisit = async (core: SettlementNetwork, record: SubmittedRecord): Promise<void> => {
    const { id } = record
    const past = revisits.get(id)
    if (followed.has(id) || (past !== undefined && past.left-- > 0)) return
    const found = await findOutcome(core, record, now()).catch((error: unknown) => {
      if (error instanceof ChainError) throw error
      return openAfterBug(record)(error)
    })
    // Who holds it may be sending it once more.
    if (record.locked && !record.ownerSilent && isUnpaid(found)) return
    const outcome = found === 'open' ? found : await concludeFound(record, found)
    if (outcome !== 'open') return void revisits.delete(id)
    // What is held is being sent at this moment, by us or beside us: its own sender may take it back.
    if (record.locked) return
    await rebroadcast(core, record)
    const every = Math.min((past?.every ?? 0.5) * 2, MOST_ROUNDS_SKIPPED)
    revisits.set(id, { every, left: every - 1 })
  }

  const reconcile = async (): Promise<void> => {
    const left = (await ledger.listSubmitted()).filter(isSubmitted).values()
    const away = new Set<SettlementNetwork>()
    const work = async (): Promise<void> => {
      for (const record of left) {
        const core = cores.get(record.chainId)
        if (closed.aborted) return
        if (core === undefined || away.has(core)) continue
        await revisit(core, record).catch((error: unknown) => {
          if (!(error instanceof ChainError)) throw error
          // Where a node is away the rest would be asked in vain: the next round does. What it
          // refuses for one record it may well answer for the others.
          if (error.code === 'chain_unreachable' || error.code === 'chain_mismatch') away.add(core)
        })
      }
    }
    await Promise.all(Array.from({ length: ROUND_WIDTH }, work))
    await reorgWatch.check()
  }

  let round: Promise<void> | undefined
  let soon: NodeJS.Timeout | undefined
  const startRound = (): void => {
    if (closed.aborted) return
    round ??= reconcile()
      .catch((error: unknown) => {
        if (!closed.aborted) logger.warn('Open payments could not be looked after.', { error })
      })
      .finally(() => {
        round = undefined
        clearTimeout(soon)
        if (reorgWatch.hasRecentReorg && options.reconcileIntervalMs > AFTER_REORG_MS)
          soon = setTimeout(startRound, AFTER_REORG_MS).unref()
      })
  }
  const timer = setInterval(startRound, options.reconcileIntervalMs)
  timer.unref()
  closed.addEventListener('abort', () => clearInterval(timer))
  startRound()

  return { check, follow, conclude, review: reorgWatch.review }
}

type SubmittedRecord = LedgerRecord & SubmittedPayment

function isSubmitted(record: LedgerRecord): record is SubmittedRecord {
  return record.state === 'submitted'
}

/** Whether a transaction was mined, and the authorization is as unused as it was. */
function isUnpaid(outcome: Outcome): boolean {
  return outcome !== 'open' && 'failed' in outcome && outcome.failed === 'invalid_transaction_state'
}

function openWhereUnreachable(error: unknown): Outcome {
  if (error instanceof ChainError) return 'open'
  throw error
}
