import { LRUCache } from 'lru-cache'
import { growingTo } from '../../shared/growing-to.js'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { fingerprintOf } from '../../ledger/once/fingerprint.js'
import { ledgerEntryOf } from '../../ledger/ledger-entry.js'
import type { LedgerStore } from '../../ledger/index.js'
import { isGoodOnEarlierTerms } from '../../ledger/purchase.js'
import type { Logger } from '../../shared/logger.js'
import { isReadable } from '../../shared/protocol/decoded-payment.js'
import { isUndecided } from '../../shared/protocol/reason-words.js'
import type { Reason } from '../../shared/protocol/reasons.js'
import { explainTooLong } from '../schemes/explain-too-long.js'
import { checkRecord, purchaseOf, refusalDetails } from '../schemes/check-record.js'
import type { EventBus } from '../schemes/events.js'
import type { PaymentHooks } from '../schemes/payment-hooks.js'
import { checkTerms, redeemingOnly } from '../schemes/scheme.js'
import type {
  PresentedPayment,
  Refusal,
  Reservation,
  Scheme,
  SchemeFormat,
  SchemeFormats,
  Verified,
} from '../schemes/scheme.js'
import type { Facilitator, ReservingFacilitator } from './facilitator.js'
import { createSchemeFacilitator } from './scheme-facilitator.js'
import { RemoteLog, wordsOf } from './remote-log.js'
import { requestOf } from './remote-request.js'
import type { RemoteContext, RemotePayment } from './remote-payment.js'
import { RemoteReservation } from './remote-reservation.js'
import { UnprovenLimit } from './unproven-limit.js'
import { world } from '../../shared/world.js'

export interface RemoteFacilitatorOptions extends PaymentHooks {
  readonly facilitator: Facilitator
  readonly formats: SchemeFormats
  readonly ledger: LedgerStore
  readonly events: EventBus
  readonly logger: Logger
  readonly callers?: RemoteContext['callers']
  /** Milliseconds since the epoch. @defaultValue the clock */
  readonly now?: (() => number) | undefined
  /** Ends the wait for an answer: the gateway closes. */
  readonly closed?: AbortSignal | undefined
  /** Wraps each scheme, so that its payments are watched. @defaultValue not wrapped */
  readonly watch?: (scheme: Scheme) => Scheme
}

/**
 * Makes a facilitator of one that is elsewhere: that one verifies and settles, and the ledger here keeps
 * which request of ours a payment belongs to.
 */
export function createRemoteFacilitator(options: RemoteFacilitatorOptions): ReservingFacilitator {
  const { facilitator, formats, ledger, events, logger, beforeVerify } = options
  const { now = world.now } = options
  const { watch = (scheme: Scheme) => scheme } = options
  const secret = () => ledger.secrets.sharedSecret('remote-facilitator')
  const context = { ...options, now, log: new RemoteLog(logger), secret }
  const schemes = new Map(
    [...formats].map(([name, format]) => [name, watch(new RemoteScheme(context, format))]),
  )
  return {
    ...createSchemeFacilitator({ schemes, events, beforeVerify }),
    supported: () => facilitator.supported(),
  }
}

/** How long a refusal is remembered (ms): long enough that repeating a payment is no flood. */
const REFUSAL_MS = 5000

const MAX_REFUSALS = 4000

/** How long a payer is remembered to lack money (ms): he may be sending himself some. */
const POOR_MS = 2000

/** Reasons that hold for every payment of the same amount. */
const LACKS_MONEY: readonly Reason[] = ['insufficient_funds', 'permit2_insufficient_balance']

/** A scheme whose payments a remote facilitator verifies and settles. */
class RemoteScheme implements Scheme {
  readonly format: SchemeFormat
  readonly #context: RemoteContext
  /** Payments that the payer's own key did not sign: garbage, or of a contract, which only the chain can tell apart. */
  readonly #unproven = new UnprovenLimit({ ofAll: 120, ofClient: 20 })
  /** Payments of payers whose last one was not good: on their way, or refused. */
  readonly #doubtful = new UnprovenLimit({ ofAll: 240, ofClient: 50 })
  /** Payers whose last payment was good. */
  readonly #good = new LRUCache<string, true>(growingTo(MAX_REFUSALS))
  /** Recent refusals, by request; those for want of money also by payer, token and amount. */
  readonly #refused = new LRUCache<string, Refusal>({ ...growingTo(MAX_REFUSALS), ttl: REFUSAL_MS })

  constructor(context: RemoteContext, format: SchemeFormat) {
    this.#context = context
    this.format = format
  }

  async verify({ payment, terms: given, purpose }: PresentedPayment): Promise<Verified | Refusal> {
    const { ledger } = this.#context
    if (!isReadable(payment)) return { refused: 'invalid_payload' }
    const mismatch = given && checkTerms(payment.requirements, given)
    const entry = ledgerEntryOf(payment, given)
    const payer = checksumAddress(entry.from)
    const record = await ledger.payments.find(entry)
    // A payment that was taken on earlier terms still buys the same thing.
    if (mismatch !== undefined && !isGoodOnEarlierTerms(record, entry)) return { refused: mismatch }
    const terms = given && mismatch !== undefined ? redeemingOnly(given) : given
    if (record === undefined && terms?.purchase?.redeemOnly)
      return { refused: 'quote_expired', payer }
    const purchase = purchaseOf({ entry, terms })
    const inTheWay = checkRecord(record, purchase)
    if (record !== undefined && inTheWay !== undefined) {
      const details = refusalDetails(record, purchase, inTheWay)
      return { refused: inTheWay, message: wordsOf(inTheWay), payer, ...details }
    }
    const nowSeconds = BigInt(Math.floor(this.#context.now() / 1000))
    const tooLong =
      record === undefined
        ? explainTooLong(payment.facts, payment.requirements, nowSeconds)
        : undefined
    if (tooLong !== undefined) return { refused: 'invalid_payload', message: tooLong, payer }
    const isSigned = await this.format.isSignedByPayer(payment)
    if (!isSigned) this.#unproven.count(terms?.purchase?.client)
    const remote = { payment, terms, entry, payer, isSigned }
    const reservation = new RemoteReservation(this.#context, remote)
    // To the facilitator, a settled payment is a used one: it is asked to settle again instead. One that failed
    // is unused, and is verified as it stands now.
    const isSent = record?.state === 'submitted' || record?.state === 'settled'
    if (isSent && (isSigned || purpose !== 'verify'))
      return { payer, reserve: () => reservation.resume() }
    const refused = await this.#askToVerify(remote)
    return refused ?? { payer, reserve: () => this.#reserve(remote, reservation) }
  }

  /** As {@link Scheme.supported}, which is asked of the facilitator instead. */
  supported() {
    return { networks: [], signers: {} }
  }

  /** @returns Why the facilitator refuses the payment, if it does. */
  async #askToVerify(remote: RemotePayment): Promise<Refusal | undefined> {
    const { facilitator, log, callers } = this.#context
    const { payer, terms, isSigned } = remote
    const request = requestOf(remote)
    const { payload, requirements } = request
    const { scheme, network, asset, amount } = requirements
    const key = fingerprintOf(request)
    const moneyKey = fingerprintOf([payer, scheme, network, asset, amount])
    const known = this.#refused.get(key) ?? (isSigned ? this.#refused.get(moneyKey) : undefined)
    if (known !== undefined) return known
    const isDoubtful = isSigned && !this.#good.has(payer)
    const takeBack = isDoubtful ? this.#doubtful.count(terms?.purchase?.client) : undefined
    const verified = await facilitator
      .verify(payload, requirements, terms)
      .catch((error: unknown) => {
        takeBack?.()
        throw error
      })
    if (verified.isValid) {
      this.#good.set(payer, true)
      takeBack?.()
      return undefined
    }
    this.#good.delete(payer)
    const { invalidReason, invalidMessage } = verified
    if (invalidReason === 'upto_facilitator_mismatch') callers?.doubt()
    const refusal = { payer, ...log.refusalOf('verify', invalidReason, invalidMessage) }
    if (!isUndecided(invalidReason)) this.#refused.set(key, refusal)
    if (isSigned && LACKS_MONEY.includes(invalidReason))
      this.#refused.set(moneyKey, refusal, { ttl: POOR_MS })
    return refusal
  }

  async #reserve(
    { entry, terms, payer }: RemotePayment,
    reservation: RemoteReservation,
  ): Promise<Reservation | Refusal> {
    const other = await this.#context.ledger.payments.reserve(entry)
    if (other === undefined) {
      const taken = reservation.taken()
      if (!terms?.purchase?.redeemOnly) return taken
      // What was open when it was verified has been released since.
      await taken.release()
      return { refused: 'quote_expired', payer }
    }
    const refused = checkRecord(other, purchaseOf({ entry, terms }))
    return refused === undefined ? reservation.resume() : { refused, payer }
  }
}
