import type { Receipt } from '../../../chain/types.js'
import { ChainError, isOutsideFailure } from '../../../../shared/errors.js'
import { recordId, type Submission } from '../../../../ledger/index.js'
import { paymentFields } from '../../../../ledger/payment-fields.js'
import { REMOTE_SUBMISSION } from '../../../../ledger/record-transaction.js'
import type { Hex } from '../../../../shared/protocol/payment.js'
import type { SettlementNetwork } from '../network/settlement-network.js'
import type { Concluder, ConfirmContext, TakesPaid } from './concluder.js'
import { isUnpaid, OPEN, type Outcome, type SubmittedPayment } from '../transfer/decision.js'
import { findOutcome, judgeReceipt, transactionsOf } from './outcome.js'
import { judgeRefunded } from './refunded-payment.js'
import { sendSuperseded } from './resend.js'
import { world } from '../../../../shared/world.js'

/** How long to wait before a transaction that is not mined is rebroadcast (ms); doubled each time. */
const FOLLOW_STEP_MS = { unknown: 1000, accepted: 5000, longest: 10_000 }

/** How long a transaction is followed closely (ms); after that, rounds are enough. */
const FOLLOW_MS = 120_000

export interface FollowedTransaction {
  /** Whether the node's answer was lost: it may not have the transaction. */
  readonly isUnknown: boolean
  /**
   * Sends the payment again, where its transaction was mined without it: another member of the batch
   * may have used up the gas of all.
   *
   * @returns The transaction that went out, if one did.
   */
  readonly resend?: (() => Promise<Submission | undefined>) | undefined
  readonly takesPaid?: TakesPaid | undefined
}

export interface FollowerOptions extends ConfirmContext {
  readonly concluder: Concluder
  /** Ends work in the background. */
  readonly closed: AbortSignal
}

/** A payment on its way, while its receipt is waited for. */
interface Following {
  readonly network: SettlementNetwork
  readonly id: string
  /** As the ledger has it now: its transaction may have been replaced. */
  payment: SubmittedPayment
  /** Whether sending it again was tried: that is done once. */
  isResent: boolean
  readonly resend: FollowedTransaction['resend']
  readonly takesPaid: FollowedTransaction['takesPaid']
}

/** Follows transactions of this process until the chain has decided about them. */
export class Follower {
  readonly #options: FollowerOptions
  /** By record: the outcome of each payment that is followed now. */
  readonly #followed = new Map<string, Promise<Outcome>>()
  /** Records, of those followed, that are being sent again, or were. */
  readonly #resent = new Set<string>()

  constructor(options: FollowerOptions) {
    this.#options = options
  }

  isFollowing(id: string): boolean {
    return this.#followed.has(id)
  }

  /** Asks the chain once, now. Never rejects. */
  async check(payment: SubmittedPayment): Promise<Outcome> {
    const id = recordId(payment)
    const running = this.#followed.get(id)
    // While a payment is sent again, the outcome of its earlier transaction decides nothing.
    if (running !== undefined && this.#resent.has(id)) return running
    const network = this.#options.byChainId.get(payment.chainId)
    return network === undefined
      ? OPEN
      : this.#decide(network, payment)
          .catch(openWhereUnreachable)
          .catch((error: unknown) => this.openAfterBug(payment, error))
  }

  /**
   * Waits until the outcome is known, and rebroadcasts the transaction meanwhile. Gives up after
   * {@link FOLLOW_MS} and when the gateway closes. Never rejects.
   */
  follow(payment: SubmittedPayment, sent: FollowedTransaction): Promise<Outcome> {
    const id = recordId(payment)
    const network = this.#options.byChainId.get(payment.chainId)
    const running = this.#followed.get(id)
    if (running !== undefined) return running
    if (network === undefined) return Promise.resolve(OPEN)
    const { resend, takesPaid } = sent
    const following = { network, id, payment, isResent: false, resend, takesPaid }
    const outcome = this.#followUntilDecided(following, sent.isUnknown)
      .catch((error: unknown) => this.openAfterBug(payment, error))
      .finally(() => {
        this.#followed.delete(id)
        this.#resent.delete(id)
      })
    this.#followed.set(id, outcome)
    return outcome
  }

  /** Logs an unexpected error: it must not end the process, nor decide a payment. */
  openAfterBug(payment: SubmittedPayment, error: unknown): Outcome {
    const { transaction } = payment.submission
    const fields = { ...paymentFields(payment), transaction }
    this.#options.logger.error('A transaction could not be followed.', { ...fields, error })
    return OPEN
  }

  /**
   * Sends a transaction's bytes again, or the payment in another one if these can never be mined. Failures
   * are logged.
   */
  async sendAgain(network: SettlementNetwork, payment: SubmittedPayment): Promise<void> {
    const { submission, refundOf } = payment
    const { ledger, logger } = this.#options
    try {
      // A refund waits for its payment, should a reorganisation have dropped that.
      const refunded = refundOf && (await judgeRefunded(this.#options, network, refundOf))
      if (refunded && refunded.kind !== 'paid') return
      if ((await sendSuperseded(ledger, network, payment)) !== undefined) return
    } catch (error) {
      if (!isOutsideFailure(error)) throw error
      // The node is asked again soon.
      if (error instanceof ChainError) return
      const fields = { ...paymentFields(payment), transaction: submission.transaction }
      return logger.warn('A payment could not be sent again.', { ...fields, error })
    }
    if (submission.raw !== REMOTE_SUBMISSION.raw) await network.chain.broadcast(submission.raw)
  }

  async #followUntilDecided(following: Following, isUnknown: boolean): Promise<Outcome> {
    const { ledger, closed } = this.#options
    const { network } = following
    const end = world.elapsed() + FOLLOW_MS
    const transactions = (): readonly Hex[] => transactionsOf(network, following.payment.submission)
    let timeoutMs = isUnknown ? FOLLOW_STEP_MS.unknown : FOLLOW_STEP_MS.accepted
    for (;;) {
      const receipt = await network.chain.waitForReceipt(transactions, {
        timeoutMs,
        signal: closed,
      })
      if (receipt !== undefined) {
        const judged = await this.#judgeMined(following, receipt)
        if (judged === 'resent') continue
        if (judged.kind !== 'open')
          return this.#options.concluder.conclude(following.payment, judged, following.takesPaid)
        // It is mined, but which other transaction used its authorization could not be found yet.
        await world.sleep(timeoutMs, undefined, { signal: closed }).catch(() => undefined)
      }
      if (closed.aborted || world.elapsed() > end) return OPEN
      // Meanwhile it may have been replaced by one with higher fees, or withdrawn.
      const record = await ledger.payments.find(following.payment).catch(() => undefined)
      if (record?.state === 'submitted') following.payment = record
      const outcome = await this.#decide(network, following.payment).catch(openWhereUnreachable)
      if (outcome.kind !== 'open') return outcome
      const isOut = record?.state === 'submitted' && receipt === undefined
      if (isOut) await this.sendAgain(network, following.payment)
      timeoutMs = Math.min(timeoutMs * 2, FOLLOW_STEP_MS.longest)
    }
  }

  /** Judges the receipt of a followed payment; sends it again, once, if it was mined without it. */
  async #judgeMined(following: Following, receipt: Receipt): Promise<Outcome | 'resent'> {
    const { network, payment, resend } = following
    const judge = (): Promise<Outcome> =>
      judgeReceipt(network, payment, receipt).catch(openWhereUnreachable)
    const judged = await judge()
    if (!isUnpaid(judged)) return judged
    if (!following.isResent && resend !== undefined) {
      this.#resent.add(following.id)
      const submission = await this.#resend(resend)
      following.isResent = true
      if (submission !== undefined) {
        following.payment = { ...payment, submission }
        return 'resent'
      }
    }
    following.isResent = true
    // If it cannot be sent again, another transaction may have used its authorization meanwhile.
    return judge()
  }

  /** Sends a payment again whose authorization still seems good. */
  async #resend(
    resend: NonNullable<FollowedTransaction['resend']>,
  ): Promise<Submission | undefined> {
    return resend().catch((error: unknown) => {
      const { logger } = this.#options
      logger.warn('A payment that failed beside others could not be sent again.', { error })
      return undefined
    })
  }

  /** Concludes a payment if the chain has decided. @throws {@link ChainError} */
  async #decide(network: SettlementNetwork, payment: SubmittedPayment): Promise<Outcome> {
    const { concluder, nowSeconds } = this.#options
    const outcome = await findOutcome(network, payment, nowSeconds())
    return outcome.kind === 'open' ? outcome : concluder.conclude(payment, outcome)
  }
}

function openWhereUnreachable(error: unknown): Outcome {
  if (error instanceof ChainError) return OPEN
  throw error
}
