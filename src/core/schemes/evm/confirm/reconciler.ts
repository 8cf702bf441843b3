import { LRUCache } from 'lru-cache'
import { growingTo } from '../../../../shared/growing-to.js'
import { ChainError } from '../../../../shared/errors.js'
import { SUBMITTED_PAGE, type LedgerRecord } from '../../../../ledger/index.js'
import { paymentFields } from '../../../../ledger/payment-fields.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import { Concluder } from './concluder.js'
import {
  isUnpaid,
  OPEN,
  type Decision,
  type Outcome,
  type SubmittedPayment,
} from '../transfer/decision.js'
import { Follower, type FollowerOptions } from './follower.js'
import { findOutcome } from './outcome.js'
import { judgeRefunded } from './refunded-payment.js'
import { ReorgWatch } from './reorg-watch.js'
import { world } from '../../../../shared/world.js'

/** Records that a round checks side by side: no more requests than that are under way. */
const ROUND_WIDTH = 4

/** Rounds that skip a record before it is checked again: doubled each time, up to this. */
const MOST_ROUNDS_SKIPPED = 16

/** How soon the next round starts after a reorganisation (ms). */
const AFTER_REORG_MS = 2000

const REMEMBERED = 100_000

export interface ReconcilerOptions extends Omit<FollowerOptions, 'byChainId' | 'concluder'> {
  /** By CAIP-2 id. */
  readonly networks: ReadonlyMap<string, SettlementNetwork>
  readonly reconcileIntervalMs: number
}

/** A record that rounds check less and less often. */
interface Revisit {
  /** Checked once in this many rounds. */
  readonly every: number
  /** Rounds until the next check. */
  left: number
}

type SubmittedRecord = LedgerRecord & SubmittedPayment

/**
 * Finds out what became of transactions; nothing else does.
 *
 * It works from the ledger's records alone, whichever process made them: this one, one that ended, or one
 * beside it. It starts with a round over all that the ledger lists as submitted, and starts another when the
 * locks of a dead process were freed.
 */
export class Reconciler {
  readonly concluder: Concluder
  readonly follower: Follower
  readonly reorgWatch: ReorgWatch
  readonly #options: ReconcilerOptions
  readonly #byChainId: ReadonlyMap<number, SettlementNetwork>
  readonly #revisits = new LRUCache<string, Revisit>(growingTo(REMEMBERED))
  #round: Promise<void> | undefined
  /** Starts a round early, after a reorganisation. */
  #soon: NodeJS.Timeout | undefined

  constructor(options: ReconcilerOptions) {
    this.#options = options
    const { networks, ledger, closed, reconcileIntervalMs } = options
    this.#byChainId = new Map(
      [...networks.values()].map((network) => [network.chain.network.chainId, network] as const),
    )
    const shared = { ...options, byChainId: this.#byChainId }
    this.concluder = new Concluder(shared)
    this.follower = new Follower({ ...shared, concluder: this.concluder })
    this.reorgWatch = new ReorgWatch(shared, this.concluder)
    for (const network of this.#byChainId.values())
      network.relayers.judgePaymentsBy(
        async (id) => (await judgeRefunded(options, network, id)).kind,
      )
    const timer = world.setInterval(() => this.#startRound(), reconcileIntervalMs)
    timer.unref()
    closed.addEventListener('abort', () => world.clearInterval(timer))
    ledger.payments.onFreed(() => void Promise.resolve(this.#round).then(() => this.#startRound()))
    this.#startRound()
  }

  #startRound(): void {
    const { closed, logger, reconcileIntervalMs } = this.#options
    if (closed.aborted || this.#round !== undefined) return
    this.#round = this.#reconcile()
      .catch((error: unknown) => {
        if (!closed.aborted) logger.warn('Open payments could not be looked after.', { error })
      })
      .finally(() => {
        this.#round = undefined
        world.clearTimeout(this.#soon)
        if (this.reorgWatch.hasRecentReorg && reconcileIntervalMs > AFTER_REORG_MS)
          this.#soon = world.setTimeout(() => this.#startRound(), AFTER_REORG_MS).unref()
      })
  }

  async #reconcile(): Promise<void> {
    const unreachable = new Set<SettlementNetwork>()
    let page: readonly LedgerRecord[] = []
    do {
      page = await this.#options.ledger.payments.listSubmitted({ after: page.at(-1) })
      await this.#revisitAll(page.filter(isSubmitted), unreachable)
    } while (page.length === SUBMITTED_PAGE)
    await this.reorgWatch.check()
  }

  /** Checks records, a few side by side. */
  async #revisitAll(
    submitted: readonly SubmittedRecord[],
    unreachable: Set<SettlementNetwork>,
  ): Promise<void> {
    const records = submitted.values()
    const work = async (): Promise<void> => {
      for (const record of records) {
        const network = this.#byChainId.get(record.chainId)
        if (this.#options.closed.aborted) return
        if (network === undefined || unreachable.has(network)) continue
        await this.#revisit(network, record).catch((error: unknown) => {
          if (!(error instanceof ChainError)) throw error
          // Its other records wait for the next round.
          unreachable.add(network)
        })
      }
    }
    await Promise.all(Array.from({ length: ROUND_WIDTH }, work))
  }

  /** Checks one record of the ledger, in a round. @throws {@link ChainError} where no node answers. */
  async #revisit(network: SettlementNetwork, record: SubmittedRecord): Promise<void> {
    const { id } = record
    const past = this.#revisits.get(id)
    if (this.follower.isFollowing(id) || (past !== undefined && past.left-- > 0)) return
    const found = await findOutcome(network, record, this.#options.nowSeconds()).catch(
      (error: unknown): Outcome => {
        if (!(error instanceof ChainError)) return this.follower.openAfterBug(record, error)
        if (error.code !== 'chain_refused') throw error
        // It may still answer for other records.
        if (past === undefined)
          this.#options.logger.warn(
            'A payment stays pending: the node refuses to say what became of it. Use another node for this network.',
            { ...paymentFields(record), transaction: record.submission.transaction, error },
          )
        return OPEN
      },
    )
    // The owner of its lock may be sending it again.
    if (record.locked && !record.ownerSilent && isUnpaid(found)) return
    const outcome = found.kind === 'open' ? found : await this.#concludeFound(record, found)
    if (outcome.kind !== 'open') return void this.#revisits.delete(id)
    if (past === undefined && outcome.forgottenBlock !== undefined)
      this.#options.logger.warn(
        'A payment stays pending: the node has forgotten the state of its block. Use an archive node for this network until it is decided.',
        {
          ...paymentFields(record),
          transaction: record.submission.transaction,
          block: Number(outcome.forgottenBlock),
        },
      )
    // A locked record is being sent now, here or elsewhere: its sender may still withdraw it.
    if (record.locked) return
    // Lists omit the bytes.
    const whole = await this.#options.ledger.payments.find(record)
    if (whole !== undefined && isSubmitted(whole)) {
      await this.follower.sendAgain(network, whole)
      // Its process may be dead: nobody else waits for its receipt.
      if (past === undefined) void this.follower.follow(whole, { isUnknown: true })
    }
    const every = Math.min((past?.every ?? 0.5) * 2, MOST_ROUNDS_SKIPPED)
    this.#revisits.set(id, { every, left: every - 1 })
  }

  async #concludeFound(record: SubmittedRecord, found: Decision): Promise<Outcome> {
    return this.concluder
      .conclude(record, found)
      .catch((error: unknown) => this.follower.openAfterBug(record, error))
  }
}

function isSubmitted(record: LedgerRecord): record is SubmittedRecord {
  return record.state === 'submitted'
}
