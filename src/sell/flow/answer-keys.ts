/** The keys under which the answer to a payment is kept. */
import { claimantsOf } from '../../core/facilitator/claimant.js'
import type { ReservingFacilitator } from '../../core/facilitator/facilitator.js'
import { recordId } from '../../ledger/index.js'
import { ledgerEntryOf } from '../../ledger/ledger-entry.js'
import { fingerprintOf, idempotencyKey } from '../../ledger/once/fingerprint.js'
import { claimKey, type KeyClaim, type OnceContext } from '../../ledger/once/once.js'
import type { WaitingRequest } from '../../ledger/once/wait.js'
import { isReadable } from '../../shared/protocol/decoded-payment.js'
import type { Exit } from './exits.js'
import type { PresentedAttempt } from './paid-call.js'

interface AnswerKeysContext extends OnceContext {
  readonly facilitator: Pick<ReservingFacilitator, 'formats'>
}

/**
 * Claims the keys of a payment, once no other request has them.
 *
 * @param res - Waits for the answer, where that is a response of HTTP.
 * @returns How the request ends if it does not get them. Otherwise the caller ends them.
 */
export async function claimAnswerKeys(
  context: AnswerKeysContext,
  attempt: PresentedAttempt,
  res?: WaitingRequest['res'],
): Promise<AnswerKeys | Extract<Exit, { kind: 'repeated' | 'busy' | 'conflict' }>> {
  const claim = (request: WaitingRequest | undefined) =>
    claimKey(context, request && { ...request, ...(res && { res }) })
  const id = await claim(await paymentIdKey(context, attempt))
  if (id.kind !== 'claimed') return id
  try {
    const charge = await claim(chargedKey(attempt))
    if (charge.kind === 'claimed') return new AnswerKeys(id.claim, charge.claim)
    await id.claim.abandon()
    return charge
  } catch (error) {
    await id.claim.end()
    throw error
  }
}

export class AnswerKeys {
  /** The payment's id, under which its payer may ask for the answer again. */
  readonly id: KeyClaim
  /** Of a payment up to a maximum: keeps the answer that was charged for, until it goes out. */
  readonly charge: KeyClaim
  #given: { readonly answer: string | undefined } | undefined

  constructor(id: KeyClaim, charge: KeyClaim) {
    this.id = id
    this.charge = charge
  }

  /** The answer that an earlier request has kept for this payment. */
  get kept(): string | undefined {
    return (this.charge.kept ?? this.id.kept)?.answer
  }

  /** What was paid for goes out. @param answer - The final one, if it may be given again. */
  give(answer: string | undefined): void {
    this.#given = { answer }
  }

  /** Ends both, once the request is answered: nothing is kept for a payment that has bought its answer. */
  async end(): Promise<void> {
    const given = this.#given
    if (given?.answer !== undefined) await this.id.finish(given.answer)
    await (given === undefined ? this.charge.letGo() : this.charge.forget())
    await this.id.end()
  }
}

/**
 * The key under which the payment's response is stored: the payment's id, in the scope of project, payer,
 * method, resource, route and declared price. Ids may be guessed: nobody takes one from another payer, see
 * {@link claimantsOf}. The URL itself counts because a route's own `resourceUrl` may leave parts out.
 */
async function paymentIdKey(
  { facilitator }: AnswerKeysContext,
  { caller, project, payment, bought }: PresentedAttempt,
): Promise<WaitingRequest | undefined> {
  const id = payment.paymentId.ok ? payment.paymentId.value : undefined
  if (id === undefined) return undefined
  const { presented, verified } = await claimantsOf(facilitator, payment)
  const { view } = caller
  const { url = '', route = '', price = '' } = bought
  const resource = [view.method, url, view.url, route, price]
  // Extensions may be added when it is presented again.
  const { extensions: _extensions, ...signed } = payment.payload
  const keyOf = (claimant: string): string =>
    idempotencyKey('resource', project, claimant, ...resource, id)
  return {
    key: keyOf(presented),
    verifiedKey: verified && keyOf(verified),
    fingerprint: fingerprintOf(signed),
    project,
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
  caller: { view },
  project,
  payment,
  bought,
}: PresentedAttempt): WaitingRequest | undefined {
  if (!isReadable(payment) || payment.format?.isMetered !== true) return undefined
  const entry = ledgerEntryOf(payment, { project, purchase: bought })
  const { resource = '', price = '', offer = '' } = entry.purchase ?? {}
  const signed = [recordId(entry), entry.asset, entry.value.toString(), offer, price]
  const key = idempotencyKey('charged', project, ...signed, resource, view.method, view.url)
  return { key, fingerprint: key, project }
}
