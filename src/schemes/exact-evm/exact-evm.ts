import { setMaxListeners } from 'node:events'
import type { LedgerStore } from '../../ledger/ledger.js'
import type { Logger } from '../../logger.js'
import { checkRecord, refusalDetails } from '../check-record.js'
import type { EventBus } from '../events.js'
import { isRefusal } from '../scheme.js'
import type {
  PresentedPayment,
  Refusal,
  Reservation,
  Scheme,
  SchemeSupport,
  Verified,
} from '../scheme.js'
import { Reconciler } from './confirm/reconciler.js'
import { leavePayment } from './pending-payments.js'
import { logLedgerFailure, Settlement, type SettleContext } from './settle/reservation.js'
import { resumeReservation } from './settle/resume.js'
import type { SettlementNetwork } from './settlement-network.js'
import {
  createRecentlyVerified,
  purchaseOf,
  verifyPayment,
  type VerifiedPayment,
} from './verify/verify.js'

/** Milliseconds between two rounds over the payments whose outcome is not known. */
const RECONCILE_INTERVAL_MS = 30_000

/** Options of {@link ExactEvm}. */
export interface ExactEvmOptions {
  /** By CAIP-2 id. */
  readonly networks: ReadonlyMap<string, SettlementNetwork>
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly logger: Logger
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** Milliseconds a settlement is waited for before it is answered as pending. */
  readonly settleTimeoutMs: number
  /** Milliseconds between two rounds over all payments that are open. @defaultValue 30000 */
  readonly reconcileIntervalMs?: number | undefined
  /** Ends work in the background. */
  readonly closed: AbortSignal
}

/**
 * The scheme `exact` on EVM networks: one ERC-3009 transfer of exactly the amount.
 *
 * It starts by reconciling what the ledger lists as open, and does so again and again.
 */
export class ExactEvm implements Scheme {
  readonly #context: SettleContext

  constructor(options: ExactEvmOptions) {
    const { closed, now, reconcileIntervalMs = RECONCILE_INTERVAL_MS } = options
    // Each payment under way listens to it: Node takes more than ten listeners for a leak.
    setMaxListeners(0, closed)
    const nowSeconds = (): bigint => BigInt(Math.floor(now() / 1000))
    const reconciler = new Reconciler({ ...options, nowSeconds, reconcileIntervalMs })
    this.#context = { ...options, nowSeconds, reconciler, recent: createRecentlyVerified() }
  }

  /** As {@link Scheme.verify}. */
  async verify(presented: PresentedPayment): Promise<Verified | Refusal> {
    const first = await verifyPayment(this.#context, presented)
    // Only a payment that the ledger knows is refused with its transaction.
    const isKnown = isRefusal(first) && first.transaction !== undefined
    const verified = isKnown ? await this.#verifyAgain(presented, first) : first
    if (isRefusal(verified)) return verified
    const { payer } = verified
    const isCovered = await this.#isCovered(verified, presented)
    if (!isCovered) return { refused: 'insufficient_funds', payer }
    return { payer, reserve: () => this.#reserve(verified) }
  }

  /** As {@link Scheme.supported}. */
  supported(): SchemeSupport {
    const { networks } = this.#context
    const signers = [...networks.values()].flatMap(({ relayers }) => relayers.addresses)
    return { networks: [...networks.keys()], signers: { 'eip155:*': [...new Set(signers)] } }
  }

  /** A payment that failed may have been paid after all: then it is verified as it stands now. */
  async #verifyAgain(
    presented: PresentedPayment,
    refusal: Refusal,
  ): Promise<VerifiedPayment | Refusal> {
    const { key } = presented.payment
    const record = key && (await this.#context.ledger.find(key))
    if (record?.state !== 'failed') return refusal
    await this.#context.reconciler.review(record)
    return verifyPayment(this.#context, presented)
  }

  /**
   * Whether the payer's balance covers a payment beside all that is pending; one that is to be reserved
   * is counted with it.
   *
   * Its gas is counted when it is sent: until then a stranger could reserve it for any time, and would
   * stand in the way of others.
   */
  async #isCovered(verified: VerifiedPayment, { purpose }: PresentedPayment): Promise<boolean> {
    const { core, isSubmitted } = verified
    if (isSubmitted) return true
    return purpose === 'verify'
      ? core.pendingSpend.covers(verified)
      : core.pendingSpend.take(verified)
  }

  async #reserve(verified: VerifiedPayment): Promise<Reservation | Refusal> {
    const { ledger } = this.#context
    const { core, key, payer, isSubmitted } = verified
    const redeemOnly = verified.terms?.purchase?.redeemOnly
    const reserveReady = async () => {
      if (!isSubmitted) await core.relayers.requireReady()
      return ledger.reserve(verified.entry)
    }
    const record = await reserveReady().catch((error: unknown) => {
      if (!isSubmitted) leavePayment(core, key)
      throw error
    })
    const isKept = record === undefined && !redeemOnly
    if (!isKept && !isSubmitted) leavePayment(core, key)
    if (record === undefined) {
      if (!redeemOnly) return new Settlement(this.#context, verified)
      // What was open when it was verified has been released since.
      await logLedgerFailure(this.#context, ledger.release(key))
      return { refused: 'quote_expired', payer }
    }
    const purchase = purchaseOf(verified)
    const refused = checkRecord(record, purchase)
    if (refused !== undefined)
      return { refused, payer, ...refusalDetails(record, purchase, refused) }
    return resumeReservation(this.#context, verified)
  }
}
