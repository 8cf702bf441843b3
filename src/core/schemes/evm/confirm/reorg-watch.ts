import { LRUCache } from 'lru-cache'
import { parseTransaction } from 'viem/utils'
import { growingTo } from '../../../../shared/growing-to.js'
import { keccakHex } from '../../../../shared/crypto/keccak.js'
import { isOutsideFailure } from '../../../../shared/errors.js'
import type { LedgerEntry, LedgerRecord, Submission } from '../../../../ledger/index.js'
import { isRefundRecord, type RefundRecord } from '../../../../ledger/refunds.js'
import { paymentFields } from '../../../../ledger/payment-fields.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import type { Concluder, ConfirmContext } from './concluder.js'
import type { PaidDecision } from '../transfer/decision.js'
import { readUses } from './nonce-state.js'
import { findUse } from './outcome.js'
import { judgeRefunded } from './refunded-payment.js'
import { resendPayment, type DroppedPayment } from './resend.js'
import { world } from '../../../../shared/world.js'

/** How long a settled payment is watched (ms): reorganisations reach back no further. */
const WATCH_MS = 180_000

/**
 * How far back the first check looks (ms): for payments that were settled, and dropped while no
 * process watched; and for those that failed, and may be paid after all.
 */
const LOOK_BACK_MS = { settled: 3_600_000, failed: 86_400_000 }

/** How long checks are more frequent after a drop (ms). */
const RECENT_REORG_MS = 120_000

/** How far two queries of the ledger overlap (ms): its clock is not ours. */
const OVERLAP_MS = 10_000

/** Payments that are checked in one request. */
const BATCH = 200

/** Payments that are watched; beyond that, the oldest are forgotten. */
const MAX_WATCHED = 20_000

/** Payments remembered: those that can no longer change, and those that were announced. */
const REMEMBERED = 20_000

/** How long after `validBefore` a use of the authorization may still be found (s). */
const LATE_SECONDS = 120n

type FinalRecord = Extract<LedgerRecord, { state: 'settled' | 'failed' }>

type SentRefund = RefundRecord & { readonly submission: Submission }

interface Watched extends DroppedPayment {
  /** When the watch ends, by `world.elapsed()`. */
  readonly until: number
}

/**
 * Watches payments that are final in the ledger, but not yet on the chain.
 *
 * A receipt is believed when it is first seen: no request waits for confirmations. If the chain drops
 * the transaction later, the relayer sends it again. A payment also counts as failed as soon as its
 * transaction has, though its authorization can be used until it lapses.
 */
export class ReorgWatch {
  readonly #options: ConfirmContext
  readonly #concluder: Concluder
  /** By record. */
  readonly #watched = new Map<string, Watched>()
  /** Records that can no longer change. */
  readonly #decided = new LRUCache<string, true>(growingTo(REMEMBERED))
  /** When the ledger was last asked, by `world.elapsed()`. */
  #checkedAt: number | undefined

  constructor(options: ConfirmContext, concluder: Concluder) {
    this.#options = options
    this.#concluder = concluder
  }

  /** Whether the next check should be soon: a payment was dropped lately, and is not known to be back. */
  get hasRecentReorg(): boolean {
    const since = world.elapsed() - RECENT_REORG_MS
    return [...this.#watched.values()].some(
      ({ drops, droppedAt }) => drops > 0 && droppedAt > since,
    )
  }

  /**
   * Watches what became final since the last check, whichever process recorded it, and asks the chain
   * about all that is watched. What a reorganisation dropped is sent again.
   */
  async check(): Promise<void> {
    await this.#watchAllFinal()
    for (const network of this.#options.byChainId.values()) {
      const all = [...this.#watched.values()].filter((one) => one.network === network)
      for (let start = 0; start < all.length; start += BATCH)
        await this.#checkBatch(network, all.slice(start, start + BATCH))
    }
  }

  /** Checks whether the authorization of a payment that failed was used after all. */
  async review(record: LedgerRecord): Promise<void> {
    const network = this.#options.byChainId.get(record.chainId)
    if (network === undefined || record.state !== 'failed') return
    if (this.#decided.has(record.id) || this.#hasLapsed(record)) return
    const [isUsed] = await readUses(network.chain, [record])
    if (isUsed !== true) return
    await this.#findPayment(toWatched(network, record, 0), record)
  }

  async #watchAllFinal(): Promise<void> {
    const startedAt = world.elapsed()
    const sinceMs =
      this.#checkedAt === undefined ? Infinity : startedAt - this.#checkedAt + OVERLAP_MS
    await this.#watchFinal('settled', Math.min(sinceMs, WATCH_MS))
    if (this.#checkedAt === undefined) await this.#watchFinal('settled', LOOK_BACK_MS.settled, 0)
    await this.#watchFinal('failed', Math.min(sinceMs, LOOK_BACK_MS.failed))
    this.#checkedAt = startedAt
  }

  /** @param watchMs - How long they are watched; each is checked once in any case. */
  async #watchFinal(
    state: FinalRecord['state'],
    withinMs: number,
    watchMs = WATCH_MS,
  ): Promise<void> {
    const { byChainId, ledger } = this.#options
    const newestFirst = await ledger.payments.listFinal({ state, withinMs, limit: MAX_WATCHED })
    for (const entry of newestFirst.toReversed()) {
      const network = byChainId.get(entry.chainId)
      if (network === undefined || this.#watched.get(entry.id)?.entry.state === state) continue
      if (this.#decided.has(entry.id) || this.#hasLapsed(entry)) continue
      this.#watched.set(entry.id, toWatched(network, entry, world.elapsed() + watchMs))
      const [oldest] = this.#watched.keys()
      if (oldest !== undefined && this.#watched.size > MAX_WATCHED) this.#watched.delete(oldest)
    }
  }

  async #checkBatch(network: SettlementNetwork, batch: readonly Watched[]): Promise<void> {
    const entries = batch.map(({ entry }) => entry)
    const uses = await readUses(network.chain, entries)
    for (const [index, one] of batch.entries()) {
      const isUsed = uses[index]
      const checked =
        one.entry.state === 'settled'
          ? this.#checkSettled(one, isUsed)
          : this.#checkFailed(one, isUsed)
      const goesOn = await checked.catch((error: unknown) => {
        // One record must not end the watch of all others.
        const level = isOutsideFailure(error) ? 'warn' : 'error'
        const fields = { ...paymentFields(one.entry), error }
        this.#options.logger[level]('A payment could not be looked after.', fields)
        return true
      })
      if (!goesOn) this.#watched.delete(one.entry.id)
    }
  }

  /** @returns Whether it stays watched. */
  async #checkSettled(one: Watched, isUsed: boolean | undefined): Promise<boolean> {
    const { ledger, logger } = this.#options
    const isOver = world.elapsed() > one.until
    if (isUsed === undefined || (isUsed && one.drops === 0)) return !isOver
    const record = await ledger.payments.find(one.entry)
    if (record?.state !== 'settled') return false
    if (isUsed) {
      if (!(await this.#findPayment(one, record))) return true
      one.drops = 0
      return !isOver
    }
    const { transaction } = record
    const fields = { ...paymentFields(record), transaction }
    if (this.#hasLapsed(record)) {
      logger.error('A settled payment was undone by the chain, and has lapsed.', fields)
      return false
    }
    // A stranger's transaction is not ours to send. It may be back until the authorization lapses.
    if (!hasBytes(record)) return true
    if (one.drops === 0) one.droppedAt = world.elapsed()
    one.drops += 1
    // Nothing is given back of a payment that is gone: it may never be made again.
    if (isRefundRecord(record) && !(await this.#mayPayBack(one, record))) return true
    logger.warn('A settled payment was undone by the chain and is sent again.', fields)
    await resendPayment(ledger, one, record)
    return true
  }

  /**
   * Whether the payment of a dropped refund is on the chain. Otherwise the relayer looks after the refund's
   * nonce: it may count it as mined.
   */
  async #mayPayBack({ network }: Watched, refund: SentRefund): Promise<boolean> {
    const { chain } = network
    const payment = await judgeRefunded(this.#options, network, refund.refundOf)
    if (payment.kind === 'paid') return true
    const { relayer } = refund.submission
    const account = { chainId: chain.network.chainId, relayer }
    await this.#options.ledger.relayers.noteMinedNonce(account, await chain.getMinedNonce(relayer))
    return false
  }

  /** @returns Whether it stays watched. */
  async #checkFailed(one: Watched, isUsed: boolean | undefined): Promise<boolean> {
    if (isUsed !== true) return !this.#hasLapsed(one.entry)
    const record = await this.#options.ledger.payments.find(one.entry)
    return record?.state === 'failed' && !(await this.#findPayment(one, record))
  }

  /** Finds out which transaction used an authorization. @returns Whether that is known. */
  async #findPayment(one: Watched, record: FinalRecord): Promise<boolean> {
    const use = await findUse(one.network, { ...record, submission: knownOf(one, record) })
    if (use.kind === 'open') return false
    if (use.kind === 'paid') {
      await this.#correct(one, record, use)
      return true
    }
    const fields = { ...paymentFields(record), transaction: use.transaction }
    const { logger } = this.#options
    this.#decided.set(record.id, true)
    if (record.state === 'settled')
      logger.error('A settled payment was undone, and its authorization used up.', fields)
    return true
  }

  /** Records that the merchant was paid by another transaction than the one in the record. */
  async #correct({ network }: Watched, record: FinalRecord, paid: PaidDecision): Promise<void> {
    const { ledger, logger } = this.#options
    const { transaction } = paid
    const fields = { ...paymentFields(record), transaction }
    let isGranted = false
    for (const transfer of [paid.transfer, ...(paid.others ?? [])])
      isGranted ||= await ledger.payments.markSettledLate(record, transaction, transfer)
    if (!isGranted) {
      this.#decided.set(record.id, true)
      logger.error('A transfer was to pay for a second payment.', fields)
      return
    }
    if (record.state === 'settled' || !this.#concluder.announcePaid(network, record, paid)) return
    logger.warn('A payment that had failed was paid after all.', fields)
  }

  /** Whether an authorization can no longer be used, and was not used just now. */
  #hasLapsed({ validBefore }: LedgerEntry): boolean {
    return this.#options.nowSeconds() > validBefore + LATE_SECONDS
  }
}

function toWatched(network: SettlementNetwork, entry: Watched['entry'], until: number): Watched {
  return { network, entry, until, drops: 0, droppedAt: 0, resentAs: [] }
}

function hasBytes<T extends FinalRecord>(
  record: T,
): record is T & { readonly submission: Submission; readonly transaction: Hex } {
  const { raw = '0x' } = record.submission ?? {}
  // Once a stranger's transaction had paid, an empty one may have taken the nonce of ours.
  return raw !== '0x' && parseTransaction(raw).data !== undefined
}

/** Every transaction of ours that may have paid. */
function knownOf({ resentAs }: Watched, record: FinalRecord): Submission | undefined {
  const { submission, transaction } = record
  if (submission === undefined || transaction === undefined) return undefined
  const replaces = [...resentAs, transaction, ...(submission.replaces ?? [])]
  return { ...submission, transaction: keccakHex(submission.raw), replaces }
}
