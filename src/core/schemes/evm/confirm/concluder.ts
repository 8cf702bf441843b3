import { LRUCache } from 'lru-cache'
import { growingTo } from '../../../../shared/growing-to.js'
import { isLedgerError } from '../../../../shared/errors.js'
import { recordId, type LedgerEntry, type LedgerStore } from '../../../../ledger/index.js'
import { isRefundEntry } from '../../../../ledger/refunds.js'
import { paymentFields } from '../../../../ledger/payment-fields.js'
import type { Logger } from '../../../../shared/logger.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import { entryEvent, type EventBus } from '../../events.js'
import { endPayment } from '../network/pending-payments.js'
import { uncarriedGas } from '../network/project-gas.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import type { JudgedPayment } from '../transfer/transfer-method.js'
import { isUnpaid, type Decision, type PaidDecision } from '../transfer/decision.js'

/** Payments that are remembered as announced. */
const REMEMBERED = 100_000

export interface ConfirmContext {
  readonly byChainId: ReadonlyMap<number, SettlementNetwork>
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly logger: Logger
  /** Unix time in seconds. */
  readonly nowSeconds: () => bigint
}

/** Whether a request that waits for its outcome writes down itself that a payment was paid. */
export type TakesPaid = (paid: PaidDecision) => boolean

/** Writes down what the chain has decided of a payment, and announces it once. */
export class Concluder {
  readonly #options: ConfirmContext
  /** Outcomes that were announced: a payment that failed may be sent again, and have another one. */
  readonly #announced = new LRUCache<string, true>(growingTo(REMEMBERED))

  constructor(options: ConfirmContext) {
    this.#options = options
  }

  /**
   * Writes down what the chain has decided, and announces it once.
   *
   * @param takes - Tells whether its caller writes down that it was paid, with the delivery.
   * @returns What holds now: a transfer that has paid for another record pays for no second one.
   */
  async conclude(payment: JudgedPayment, decided: Decision, takes?: TakesPaid): Promise<Decision> {
    const { byChainId, logger } = this.#options
    let decision = decided
    const id = outcomeId(payment, decided)
    const isNews = this.#isNews(id)
    try {
      // Where it may have been another transfer, only the ledger can tell.
      const isTaken =
        decision.kind === 'paid' && decision.others === undefined && takes?.(decision) === true
      if (!isTaken) decision = { ...(await this.#write(payment, decision)), lost: decided.lost }
    } catch (error) {
      if (!isLedgerError(error)) {
        this.#announced.delete(id)
        throw error
      }
      // The chain's decision holds. The record stays submitted: a later round writes it down.
      logger.error('The ledger missed what became of a payment.', {
        ...paymentFields(payment),
        error,
      })
    }
    const network = byChainId.get(payment.chainId)
    if (isNews && network !== undefined) this.#announce(network, payment, decision)
    return decision
  }

  /** Announces a payment that had failed and was paid after all, unless that was announced before. */
  announcePaid(
    network: SettlementNetwork,
    payment: JudgedPayment,
    decision: PaidDecision,
  ): boolean {
    const isNews = this.#isNews(outcomeId(payment, decision))
    if (isNews) this.#announce(network, payment, decision)
    return isNews
  }

  #isNews(id: string): boolean {
    const isNews = !this.#announced.has(id)
    // Also one that is known: it stays among the last that were concluded.
    this.#announced.set(id, true)
    return isNews
  }

  /** @returns What the ledger makes of the decision. @throws {@link LedgerError} */
  async #write(payment: JudgedPayment, decision: Decision): Promise<Decision> {
    const { ledger, logger } = this.#options
    const { transaction } = decision
    if (decision.kind === 'failed') {
      await ledger.payments.markFailed(payment, { transaction, reason: decision.reason })
      return decision
    }
    for (const transfer of [decision.transfer, ...(decision.others ?? [])])
      if (await ledger.payments.markSettled(payment, transaction, transfer))
        return { kind: 'paid', transaction, transfer }
    logger.error('A transfer was to pay for a second payment.', {
      ...paymentFields(payment),
      transaction,
    })
    const reason = 'invalid_exact_evm_transfer_event_mismatch'
    return this.#write(payment, { kind: 'failed', reason, transaction })
  }

  #announce(network: SettlementNetwork, payment: JudgedPayment, decision: Decision): void {
    const { events } = this.#options
    const { transaction, lost } = decision
    if (decision.kind === 'paid') network.payers.countPaid(payment, transaction)
    else if (lost !== undefined || isUnpaid(decision))
      network.payers.countFailed(payment, lost ?? transaction)
    endPayment(network, payment)
    const { gas, wei } = network.gasShares.charge(lost ?? transaction)
    if (wei > 0n) network.onGas?.(payment.project, wei)
    const isPaid = decision.kind === 'paid'
    const asset = tokenOf(network, payment)
    network.projectGas.count(
      payment.project,
      isPaid ? uncarriedGas(gas, payment, asset?.decimals) : gas,
    )
    const event = { transaction, ...entryEvent(network.chain.network, payment, asset) }
    // Listeners count income.
    if (isRefundEntry(payment)) {
      const refund = { refund: recordId(payment), ...event }
      if (isPaid) events.emit('refundSettled', refund)
      else events.emit('refundFailed', { reason: decision.reason, ...refund })
    } else if (isPaid) events.emit('settled', event)
    else events.emit('failed', { reason: decision.reason, ...event })
  }
}

export function tokenOf({ assets }: SettlementNetwork, { asset }: Pick<LedgerEntry, 'asset'>) {
  return assets.get(lowerHex(asset))
}

function outcomeId(payment: JudgedPayment, decision: Decision): string {
  return `${recordId(payment)} ${decision.kind === 'paid' ? 'paid' : decision.transaction}`
}
