/** The keys under which the answer to a payment is kept. */
import { claimantsOf } from '../../core/facilitator/claimant.js'
import type { ReservingFacilitator } from '../../core/facilitator/facilitator.js'
import { deliveredAnswer } from '../../ledger/delivered-answer.js'
import { recordId, type LedgerStore } from '../../ledger/index.js'
import { ledgerEntryOf } from '../../ledger/ledger-entry.js'
import { fingerprintOf, idempotencyKey } from '../../ledger/once/fingerprint.js'
import { claimKey, noteOnceSent, type KeyClaim, type OnceContext } from '../../ledger/once/once.js'
import type { WaitingRequest } from '../../ledger/once/wait.js'
import { isReadable } from '../../shared/protocol/decoded-payment.js'
import { isUnpaid } from '../respond/stored-response.js'
import type { Exit } from './exits.js'
import type { PresentedAttempt } from './presented-attempt.js'

/** Dependencies of {@link claimAnswerKeys}. */
interface AnswerKeysContext extends OnceContext {
  readonly facilitator: Pick<ReservingFacilitator, 'formats'>
}

/**
 * Claims the keys of a payment, once no other request has them.
 *
 * @returns How the request ends if it does not get them. Otherwise the caller ends them.
 * @throws `LedgerError`
 */
export async function claimAnswerKeys(
  context: AnswerKeysContext,
  attempt: PresentedAttempt,
): Promise<AnswerKeys | Extract<Exit, { kind: 'repeated' | 'busy' | 'conflict' }>> {
  const request = await paymentIdKey(context, attempt)
  const id = await claimKey(context, request)
  if (id.kind !== 'claimed') return id
  try {
    const charge = await claimKey(context, chargedKey(attempt))
    if (charge.kind === 'claimed')
      return new AnswerKeys(id.claim, charge.claim, () => noteOnceSent(context, request))
    await id.claim.abandon()
    return charge
  } catch (error) {
    await id.claim.pause()
    throw error
  }
}

/** The keys of a payment, claimed for one request. */
export class AnswerKeys {
  /** The payment's id, under which its payer may ask for the answer again. */
  readonly #id: KeyClaim
  /** Of a payment up to a maximum: keeps the answer that was charged for, until it goes out. */
  readonly #charge: KeyClaim
  readonly #noteSent: () => void
  /** Set once what was paid for is given. */
  #given: { readonly answer: string | undefined } | undefined

  constructor(id: KeyClaim, charge: KeyClaim, noteSent: () => void) {
    this.#id = id
    this.#charge = charge
    this.#noteSent = noteSent
  }

  /** Whether the payment has an id, so that its answer may be asked for again. */
  get hasId(): boolean {
    return this.#id.hasKey
  }

  /** Whether an earlier request was to charge for the answer that it kept. */
  get isCharged(): boolean {
    return this.#charge.kept !== undefined
  }

  /** The answer that an earlier request has kept for this payment. */
  get kept(): string | undefined {
    return (this.#charge.kept ?? this.#id.kept)?.answer
  }

  /**
   * Binds the id to the payer, who is verified by now.
   *
   * @returns Whether no other payment of the payer has it.
   * @throws `LedgerError`
   */
  claimVerified(): Promise<boolean> {
    return this.#id.claimVerified()
  }

  /** Keeps an answer until its charge is taken and it goes out. @returns Whether the store has certainly done so. */
  keepCharged(answer: string): Promise<boolean> {
    return this.#charge.keep({ answer })
  }

  /** Keeps the answer that is about to be delivered, for that delivery alone. */
  async keepPaid(answer: string, delivery: string | undefined): Promise<void> {
    await this.#id.keep({ answer, delivery })
  }

  /** Keeps again what an earlier request kept: it may be all that this payment still buys. */
  async keepEarlier(): Promise<void> {
    await this.#id.keep(this.#id.kept)
  }

  /** Frees the id: nothing was paid under it. */
  release(): Promise<void> {
    return this.#id.abandon()
  }

  /**
   * The payment is pending: the same one may be presented again.
   *
   * @param made - Serializes what its handler has made. If the price is another one by then, this is what it has bought.
   */
  async pause(made?: () => string | undefined): Promise<void> {
    if (made !== undefined && this.hasId) {
      const answer = made()
      await this.#id.keep(answer === undefined ? this.#id.kept : { answer })
    }
    await this.#id.pause()
  }

  /** Frees the id, and drops what was kept until it is paid for: that will never be. */
  async refuse({ forgetsCharge }: { readonly forgetsCharge: boolean }): Promise<void> {
    if (forgetsCharge) await this.#charge.forget()
    const { kept } = this.#id
    if (kept !== undefined && isUnpaid(kept.answer)) await this.#id.keep(undefined)
    await this.release()
  }

  /** Finds the answer of an earlier request that died while it delivered it. From now on, it is the final one. */
  async repeatDelivered(
    ledger: Pick<LedgerStore, 'payments' | 'refunds'>,
    { key }: PresentedAttempt['payment'],
  ): Promise<string | undefined> {
    const stored = await deliveredAnswer(ledger, this.#id.kept, key)
    if (stored !== undefined) await this.#id.finish(stored)
    return stored
  }

  /** What was paid for goes out: `answer` is the final one, if any is stored, and nothing else is kept. */
  give(answer: string | undefined): void {
    this.#given = { answer }
  }

  /** Ends both keys, once the request is answered. */
  async end(): Promise<void> {
    const given = this.#given
    if (given?.answer !== undefined) await this.#id.finish(given.answer)
    await (given === undefined ? this.#charge.letGo() : this.#charge.forget())
    if (this.#id.isFinished) this.#noteSent()
    await this.#id.pause()
  }
}

/**
 * The key under which the payment's response is stored: the payment's id, in the scope of project, payer,
 * method, resource, route and declared price. Ids may be guessed: nobody takes one from another payer, see
 * {@link claimantsOf}. `originalUrl` counts because a route's own `resourceUrl` may leave parts out.
 */
async function paymentIdKey(
  { facilitator }: { readonly facilitator: Pick<ReservingFacilitator, 'formats'> },
  { req, res, project, payment, bought }: PresentedAttempt,
): Promise<WaitingRequest | undefined> {
  const id = payment.paymentId.ok ? payment.paymentId.value : undefined
  if (id === undefined) return undefined
  const { presented, verified } = await claimantsOf(facilitator, payment)
  const { url = '', route = '', price = '' } = bought
  const resource = [req.method, url, req.originalUrl, route, price]
  // Extensions may be added when it is presented again.
  const { extensions: _extensions, ...signed } = payment.payload
  const keyOf = (claimant: string): string =>
    idempotencyKey('resource', project, claimant, ...resource, id)
  return {
    key: keyOf(presented),
    verifiedKey: verified && keyOf(verified),
    fingerprint: fingerprintOf(signed),
    project,
    res,
  }
}

/**
 * The key under which the response is kept that a payment up to a maximum was charged for: the payment, in
 * the scope of what it buys. Its nonce alone would not do: a payer may sign it again for another token, of
 * which as many units are worth less. A stranger who has only seen the payment on chain does not know the offer's
 * id, and holds nobody up. A payment has one key, however it is written: every key may keep a response. The response
 * is only given to a request that may reserve the payment.
 */
function chargedKey({
  req,
  res,
  project,
  payment,
  bought,
}: PresentedAttempt): WaitingRequest | undefined {
  if (!isReadable(payment) || payment.format?.isMetered !== true) return undefined
  const entry = ledgerEntryOf(payment, { project, purchase: bought })
  const { resource = '', price = '', offer = '' } = entry.purchase ?? {}
  const signed = [recordId(entry), entry.asset, entry.value.toString(), offer, price]
  const key = idempotencyKey('charged', project, ...signed, resource, req.method, req.originalUrl)
  return { key, fingerprint: key, project, res }
}
