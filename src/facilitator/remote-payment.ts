import { onAbort } from '../http/on-abort.js'
import type { LedgerEntry, LedgerRecord, LedgerStore } from '../ledger/ledger.js'
import { paymentFields } from '../ledger/payment-fields.js'
import { REMOTE_SUBMISSION } from '../ledger/record-transaction.js'
import type { RedeemWithoutProof } from '../ledger/purchase.js'
import type { Logger } from '../logger.js'
import { unsettledResponse } from '../protocol/reason-words.js'
import type { Address, Hex, SettleResponse } from '../protocol/payment.js'
import { checkBuyer } from '../schemes/check-record.js'
import type { Refusal, Reservation } from '../schemes/scheme.js'
import { hashOrNone } from './remote-results.js'

/** A payment that a remote facilitator settles. */
export interface RemotePaymentOptions {
  readonly ledger: LedgerStore
  readonly logger: Logger
  readonly entry: LedgerEntry
  /** With its checksum. */
  readonly payer: Address
  /** As its requirements name it. */
  readonly network: string
  readonly redeemWithoutProof: RedeemWithoutProof | undefined
  /** Ends the wait for an answer: the gateway closes. */
  readonly closed: AbortSignal | undefined
  /** Asks the facilitator to settle it. */
  readonly ask: () => Promise<SettleResponse>
}

/** A reservation, in the ledger here, of a payment that a remote facilitator settles. */
export class RemotePayment implements Reservation {
  readonly payer: Address
  readonly #options: RemotePaymentOptions

  constructor(options: RemotePaymentOptions) {
    this.payer = options.payer
    this.#options = options
  }

  /** Has the facilitator settle it. */
  settle(): Promise<SettleResponse> {
    return this.#settleBy(this.#options.ask)
  }

  /** As {@link Reservation.release}. */
  release(): Promise<void> {
    return this.#options.ledger.release(this.#options.entry)
  }

  /** As {@link Reservation.markDelivered}. */
  markDelivered(): Promise<void> {
    return this.#options.ledger.markDelivered(this.#options.entry)
  }

  /** As {@link Reservation.reopen}. */
  reopen(): Promise<void> {
    return this.#options.ledger.unlock(this.#options.entry)
  }

  /** As {@link Reservation.undeliver}. */
  undeliver(): Promise<void> {
    return this.#options.ledger.undeliver(this.#options.entry)
  }

  /**
   * Takes up a payment that was sent there before, and whose outcome was not known or whose payer got
   * nothing for it. Of many requests that present it at once, one gets it.
   */
  async resume(record: LedgerRecord): Promise<Reservation | Refusal> {
    const { ledger, entry } = this.#options
    const { payer } = this
    if (!(await ledger.relock(entry))) return { refused: 'duplicate_settlement', payer }
    const unlock = (): Promise<void> => ledger.unlock(entry)
    // It may have changed before it was locked.
    const locked = await ledger.find(entry).catch(async (error: unknown) => {
      await this.#logFailure(unlock())
      throw error
    })
    const refused = locked && checkBuyer(locked, this.#options)
    if (refused !== undefined) {
      await this.#logFailure(unlock())
      return { refused, payer }
    }
    const response = await this.#outcomeOf(locked ?? record)
    if (!response.success) {
      const { errorReason, errorMessage: message, transaction, settledBy } = response
      const sent = transaction || undefined
      return { refused: errorReason, message, payer, transaction: sent, settledBy }
    }
    return {
      payer,
      settle: async () => response,
      release: unlock,
      markDelivered: () => this.markDelivered(),
      reopen: unlock,
      undeliver: () => this.undeliver(),
    }
  }

  async #outcomeOf(record: LedgerRecord): Promise<SettleResponse> {
    const { network } = this.#options
    const { payer } = this
    if (record.state === 'settled')
      return { success: true, transaction: record.transaction, network, payer }
    return this.#settleBy(() => this.#askAgain())
  }

  /** Asks for a payment that may be settled there already. */
  async #askAgain(): Promise<SettleResponse> {
    const { ask, network } = this.#options
    const response = await ask()
    if (response.success) return response
    // Our own first request settled it, though the response was lost: this record was open, and the
    // facilitator names the transaction only to the buyer of this very purchase.
    if (response.errorReason === 'invalid_exact_evm_nonce_already_used' && response.settledBy)
      return { success: true, transaction: response.settledBy, network, payer: this.payer }
    // It may still be at work on that request.
    return response.errorReason === 'duplicate_settlement'
      ? unsettledResponse({ ...response, reason: 'settlement_pending' })
      : response
  }

  /** Settles what is locked in this ledger for the caller, and records the outcome. */
  async #settleBy(ask: () => Promise<SettleResponse>): Promise<SettleResponse> {
    const { ledger, entry } = this.#options
    // If this process ends before the response is here, its successor must know that it asked.
    await ledger.submit(entry, REMOTE_SUBMISSION).catch(async (error: unknown) => {
      await this.#logFailure(ledger.release(entry))
      throw error
    })
    const response = await this.#untilClosed(ask()).catch(async (error: unknown) => {
      // It may have settled: the same payment, presented again, asks anew.
      await this.#logFailure(ledger.unlock(entry))
      throw error
    })
    if (response.success) await this.#logFailure(ledger.markSettled(entry, hashIn(response)))
    else if (response.errorReason === 'settlement_pending')
      await this.#logFailure(ledger.unlock(entry))
    else await this.#logFailure(ledger.withdraw(entry, REMOTE_SUBMISSION.transaction))
    return response
  }

  /** Waits for an answer; once the gateway closes, the outcome is unknown. */
  async #untilClosed(answering: Promise<SettleResponse>): Promise<SettleResponse> {
    const { closed, network } = this.#options
    if (closed === undefined) return answering
    const { payer } = this
    let remove: (() => void) | undefined
    const pending = new Promise<SettleResponse>((resolve) => {
      const reason = 'settlement_pending'
      remove = onAbort(closed, () =>
        resolve(unsettledResponse({ reason, transaction: '', network, payer })),
      )
    })
    return Promise.race([answering, pending]).finally(remove)
  }

  /** Waits for a write to the ledger of what is decided already, and logs its failure. */
  async #logFailure(written: Promise<unknown>): Promise<void> {
    await written.catch((error: unknown) =>
      this.#options.logger.error('The ledger missed what became of a payment.', {
        ...paymentFields(this.#options.entry),
        error,
      }),
    )
  }
}

/** The hash that a response names: a facilitator of the app's own may name anything. */
function hashIn({ transaction }: SettleResponse): Hex {
  return (hashOrNone(transaction) as Hex | undefined) ?? REMOTE_SUBMISSION.transaction
}
