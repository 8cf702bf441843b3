import { LRUCache } from 'lru-cache'
import { isLedgerError } from '../../../errors.js'
import { recordId, type LedgerEntry, type LedgerStore } from '../../../ledger/ledger.js'
import type { Logger } from '../../../logger.js'
import type { EventBus } from '../../events.js'
import { entryEvent } from '../../payment-event.js'
import { endPayment } from '../pending-payments.js'
import type { SettlementNetwork } from '../settlement-network.js'
import { isUnpaid, type Decision, type SubmittedPayment } from './decision.js'

/** Payments that are remembered as announced. */
const REMEMBERED = 100_000

/** What concluding payments takes. */
export interface ConcluderOptions {
  /** By chain id. */
  readonly cores: ReadonlyMap<number, SettlementNetwork>
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly logger: Logger
}

/** A payment whose outcome is known; one that a stranger paid may have no transaction of ours. */
export type ConcludedPayment = LedgerEntry & Partial<Pick<SubmittedPayment, 'submission'>>

/** Writes down what the chain has decided of a payment, and announces it once. */
export class Concluder {
  readonly #options: ConcluderOptions
  /** Ids of payments whose outcome was announced. */
  readonly #announced = new LRUCache<string, true>({ max: REMEMBERED })

  constructor(options: ConcluderOptions) {
    this.#options = options
  }

  /**
   * Writes down what the chain has decided, and announces it once.
   *
   * @returns What holds now: a transfer that has paid for another record pays for no second one.
   */
  async conclude(payment: ConcludedPayment, decided: Decision): Promise<Decision> {
    const { cores, logger } = this.#options
    let decision = decided
    const id = recordId(payment)
    const isNews = !this.#announced.has(id)
    this.#announced.set(id, true)
    try {
      decision = await this.#write(payment, decision)
    } catch (error) {
      if (!isLedgerError(error)) {
        this.#announced.delete(id)
        throw error
      }
      // The chain's decision holds. The record stays submitted: a later round writes it down.
      logger.error('The ledger missed what became of a payment.', { error })
    }
    const core = cores.get(payment.chainId)
    if (isNews && core !== undefined) this.#announce(core, payment, decision)
    return decision
  }

  /** @returns What the ledger makes of the decision. @throws {@link LedgerError} */
  async #write(payment: ConcludedPayment, decision: Decision): Promise<Decision> {
    const { ledger, logger } = this.#options
    const { transaction } = decision
    if (decision.kind === 'failed') {
      await ledger.markFailed(payment, { transaction, reason: decision.reason })
      return decision
    }
    if (await ledger.markSettled(payment, transaction, decision.transfer)) return decision
    logger.error('A transfer was to pay for a second payment.', { transaction })
    const reason = 'invalid_exact_evm_transfer_event_mismatch'
    return this.#write(payment, { kind: 'failed', reason, transaction })
  }

  #announce(core: SettlementNetwork, payment: ConcludedPayment, decision: Decision): void {
    const { events } = this.#options
    const { transaction } = decision
    endPayment(core, payment)
    if (decision.kind === 'paid') core.payers.notePaid(payment.from)
    else if (isUnpaid(decision)) core.payers.noteFailed(payment.from, transaction)
    const event = entryEvent(core.chain.network, payment)
    if (decision.kind === 'paid') events.emit('settled', { ...event, transaction })
    else events.emit('failed', { ...event, transaction, reason: decision.reason })
  }
}
