import { setMaxListeners } from 'node:events'
import type { LedgerRecord } from '../../../ledger/index.js'
import { isRefundEntry } from '../../../ledger/refunds.js'
import { checkRecord, purchaseOf, refusalDetails } from '../check-record.js'
import { isRefusal, RefundRefused } from '../scheme.js'
import type {
  PresentedPayment,
  Refusal,
  Reservation,
  Scheme,
  SchemeFormat,
  SchemeSupport,
  Verified,
} from '../scheme.js'
import { logLedgerFailure } from '../settled-reservation.js'
import { Reconciler, type ReconcilerOptions } from './confirm/reconciler.js'
import { facilitatorOfRelayers } from './formats.js'
import { methodOf } from './transfer-methods.js'
import { findCaller } from './network/find-caller.js'
import { leavePayment } from './network/pending-payments.js'
import { EvmReservation, type SettleContext } from './settle/evm-reservation.js'
import { createRecentlyVerified } from './verify/check-signed.js'
import { verifyPayment, type VerifiedPayment } from './verify/verify.js'

/** How often open payments are checked (ms). */
const RECONCILE_INTERVAL_MS = 30_000

export interface EvmContextOptions
  extends
    Omit<ReconcilerOptions, 'nowSeconds' | 'reconcileIntervalMs'>,
    Pick<SettleContext, 'beforeSettle' | 'shares'> {
  /** Milliseconds since the epoch. */
  readonly now: () => number
  /** How long a settlement may take before it is answered as pending (ms). */
  readonly settleTimeoutMs: number
  /** How often open payments are checked (ms). @defaultValue 30000 */
  readonly reconcileIntervalMs?: number | undefined
}

/**
 * Opens what all schemes on EVM networks share.
 *
 * It starts by reconciling what the ledger lists as open, and does so again and again.
 */
export function openEvmContext(options: EvmContextOptions): SettleContext {
  const { closed, now, reconcileIntervalMs = RECONCILE_INTERVAL_MS } = options
  // Each payment under way listens to it: Node takes more than ten listeners for a leak.
  setMaxListeners(0, closed)
  const nowSeconds = (): bigint => BigInt(Math.floor(now() / 1000))
  const reconciler = new Reconciler({ ...options, nowSeconds, reconcileIntervalMs })
  return { ...options, nowSeconds, reconciler, recent: createRecentlyVerified() }
}

/** A scheme on EVM networks: one transfer of the amount, or of what is charged of it. */
export class EvmScheme implements Scheme {
  readonly format: SchemeFormat
  readonly #context: SettleContext

  constructor(context: SettleContext, format: SchemeFormat) {
    this.#context = context
    this.format = format
  }

  async verify(presented: PresentedPayment): Promise<Verified | Refusal> {
    const network = this.#context.networks.get(presented.payment.network?.caip2 ?? '')
    const isVerifiedOnly = presented.purpose === 'verify'
    const end = isVerifiedOnly ? undefined : network?.relayers.expected.begin()
    const verified = await this.#verify(presented).catch((error: unknown) => {
      end?.()
      throw error
    })
    if (!isRefusal(verified))
      return { payer: verified.payer, reserve: () => this.#reserve(verified).finally(end) }
    end?.()
    return verified
  }

  supported(): SchemeSupport {
    const { networks } = this.#context
    const signers = [...networks.values()].flatMap(({ relayers }) => relayers.addresses)
    const extra = Object.fromEntries(
      [...networks].map(([id, { relayers }]) => [
        id,
        { facilitatorAddress: facilitatorOfRelayers(relayers.addresses, relayers.executor) },
      ]),
    )
    return {
      networks: [...networks.keys()],
      ...(this.format.isMetered && { extra }),
      signers: { 'eip155:*': [...new Set(signers)] },
    }
  }

  async #verify(presented: PresentedPayment): Promise<VerifiedPayment | Refusal> {
    const first = await verifyPayment(this.#context, presented)
    // Only a payment that the ledger knows is refused with its transaction.
    const isFailed =
      isRefusal(first) && first.transaction !== undefined && first.refused !== 'settlement_pending'
    return isFailed ? this.#verifyAgain(presented, first) : first
  }

  /**
   * A payment that failed may have been paid after all: then it is verified as it stands now. Another
   * request may have found that out while this one was verified.
   */
  async #verifyAgain(
    presented: PresentedPayment,
    refusal: Refusal,
  ): Promise<VerifiedPayment | Refusal> {
    const { ledger, reconciler } = this.#context
    const { key } = presented.payment
    const record = key && (await ledger.payments.find(key))
    if (record === undefined) return refusal
    await reconciler.reorgWatch.review(record)
    return verifyPayment(this.#context, presented)
  }

  /** @returns The record as it stands once the chain was asked about it again. */
  async #review(record: LedgerRecord): Promise<LedgerRecord> {
    const { reconciler, ledger } = this.#context
    await reconciler.reorgWatch.review(record)
    return (await ledger.payments.find(record)) ?? record
  }

  /** Whether it can be sent, unless it was sent before. */
  async #requireReady({ network, key, transfer: { facts } }: VerifiedPayment): Promise<void> {
    const named = methodOf(facts).callerOf?.(facts)
    const caller = named && (await findCaller(network, named))
    const senders = caller?.sender && [caller.sender]
    await network.relayers.requireReady(senders).catch(async (error: unknown) => {
      if ((await this.#context.ledger.payments.find(key)) === undefined) throw error
    })
  }

  /** @returns The record that exists already. @throws {@link RefundRefused} */
  async #reserveEntry({ entry }: VerifiedPayment): Promise<LedgerRecord | undefined> {
    const { ledger } = this.#context
    if (!isRefundEntry(entry)) return ledger.payments.reserve(entry)
    const reservation = await ledger.refunds.reserveRefund(entry)
    switch (reservation.kind) {
      case 'reserved':
        return undefined
      case 'known':
        return reservation.record
      case 'not_refundable':
      case 'payment_in_use':
      case 'exceeds_payment':
      case 'too_many_refunds':
        throw new RefundRefused(reservation)
    }
  }

  async #reserve(verified: VerifiedPayment): Promise<Reservation | Refusal> {
    const { ledger } = this.#context
    const { network, key, payer, isSubmitted } = verified
    const redeemOnly = verified.terms?.purchase?.redeemOnly
    let record: LedgerRecord | undefined
    try {
      if (!isSubmitted) await this.#requireReady(verified)
      record = await this.#reserveEntry(verified)
    } catch (error) {
      if (!isSubmitted) leavePayment(network, verified.entry)
      throw error
    }
    if (record?.state === 'failed') return this.#takeAgain(verified, record)
    const isKept = record === undefined && !redeemOnly
    if (!isKept && !isSubmitted) leavePayment(network, verified.entry)
    if (record === undefined) {
      if (!redeemOnly) return new EvmReservation(this.#context, verified).taken()
      // What was open when it was verified has been released since.
      await logLedgerFailure({ ...this.#context, ...verified }, ledger.payments.release(key))
      return { refused: 'quote_expired', payer }
    }
    return this.#resume(verified, record)
  }

  /** Takes up a payment that is known, if its record allows it. */
  async #resume(verified: VerifiedPayment, record: LedgerRecord): Promise<Reservation | Refusal> {
    const purchase = purchaseOf(verified)
    const refused = checkRecord(record, purchase)
    return refused === undefined
      ? new EvmReservation(this.#context, verified).resume()
      : { refused, payer: verified.payer, ...refusalDetails(record, purchase, refused) }
  }

  /** Takes a payment that has failed, if it may be sent again or was paid after all. */
  async #takeAgain(
    verified: VerifiedPayment,
    record: LedgerRecord,
  ): Promise<Reservation | Refusal> {
    const { network, isSubmitted } = verified
    let taken: Reservation | Refusal | undefined
    try {
      taken = await this.#resume(verified, await this.#review(record))
      return taken
    } finally {
      // Only what will be sent goes on counting against its payer's balance.
      if (!isSubmitted && !(taken instanceof EvmReservation)) leavePayment(network, verified.entry)
    }
  }
}
