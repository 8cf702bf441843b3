/** The steps of a purchase. */
import type { Wallet } from '../browser/use-wallets.js'
import { data } from './data.js'
import { deliver, leave, type Delivery } from './deliver.js'
import { forget, keep, readKept, update, type KeptPayment } from './kept-payment.js'
import type { PageDocument, PageOffer } from '../../sell/paywall/page-data.js'
import { LINK_ENDED, presentPayment, type Presented } from './present-payment.js'
import { settledFacts, transactionUrl, type Settled } from './receipt-facts.js'
import { isPermit2, NotSigned, signPayment } from './sign-payment.js'
import { messageOf, text } from './texts.js'

export interface Notice {
  readonly message: string
  /** @defaultValue `'bad'` */
  readonly tone?: 'good' | 'wait' | 'bad' | undefined
  /** Where to get the token. */
  readonly funds?: { readonly url: string; readonly label: string } | undefined
  /** URL of the transaction. */
  readonly transaction?: string | undefined
}

export type Phase =
  | { readonly kind: 'offer'; readonly notice?: Notice | undefined }
  | { readonly kind: 'busy'; readonly step: string; readonly transaction?: string | undefined }
  /** A kept payment may still be settled, or its purchase can be shown again. */
  | { readonly kind: 'kept'; readonly payment: KeptPayment; readonly notice?: Notice | undefined }
  | {
      readonly kind: 'delivered'
      readonly delivery: Delivery
      /** `undefined` if the seller gave it for nothing. */
      readonly payment: KeptPayment | undefined
    }

/** When to explain why the response takes longer (ms). */
const EXPLAINED_AFTER_MS = 2000

/** Keeps a notice while the page reloads. */
const NOTICE_KEY = 'x402-notice'

/** Runs purchases and reports each phase. */
export class Purchases {
  #document: PageDocument = data.document
  /** The payment in whose place the buyer wants to pay anew. */
  #before: KeptPayment | undefined
  readonly #show: (phase: Phase) => void

  constructor(show: (phase: Phase) => void) {
    this.#show = show
  }

  /** Asks for a signature and presents the payment. */
  async pay({ provider, info }: Wallet, offer: PageOffer): Promise<void> {
    const terms = this.#document.accepts[offer.entry]
    if (terms === undefined || this.#isPaidElsewhere()) return
    const purchase = { provider, wallet: info.name, document: this.#document, terms, offer }
    let payment: KeptPayment
    try {
      payment = await signPayment(purchase, (step) => this.#show({ kind: 'busy', step }))
    } catch (error) {
      return this.#show({ kind: 'offer', notice: whyNotSigned(error) })
    }
    // While the wallet asked, another tab may have paid. This signature is not sent, and lapses.
    if (this.#isPaidElsewhere()) return
    keep(payment)
    await this.present(payment)
  }

  async present(payment: KeptPayment): Promise<void> {
    this.#show({ kind: 'busy', step: text('verifying') })
    const explaining = setTimeout(() => {
      const { network } = payment.receipt
      this.#show({ kind: 'busy', step: text('settling', { network }) })
    }, EXPLAINED_AFTER_MS)
    const kept = { ...payment, isPresented: true }
    update(kept)
    const presented = await presentPayment(payment.header).finally(() => clearTimeout(explaining))
    await this.#goOn(kept, payment.isPresented === true ? withDoubt(presented) : presented)
  }

  /** Goes back to the offer. The payment is kept until another one takes its place. */
  payAnew(payment: KeptPayment): void {
    this.#before = payment
    this.#show({ kind: 'offer' })
  }

  /** Removes what was bought from this browser. */
  remove(payment: KeptPayment): void {
    this.#before = undefined
    forget(payment)
    if (data.isLink || data.offers.length === 0) return location.reload()
    this.#show({ kind: 'offer' })
  }

  /** Shows the payment of another tab, if there is one: two signed at the same time would both be charged. */
  #isPaidElsewhere(): boolean {
    const payment = readKept()
    if (payment === undefined || payment.header === this.#before?.header) return false
    this.#show({ kind: 'kept', payment })
    return true
  }

  async #goOn(payment: KeptPayment, presented: Presented): Promise<void> {
    switch (presented.kind) {
      case 'lost':
        return this.#show({ kind: 'kept', payment, notice: brokenConnection() })
      case 'open':
        return this.#wait(payment, presented)
      case 'refused':
        return this.#refuse(payment, presented)
      case 'seller_failed': {
        const { response, transaction } = presented
        const { status } = response
        if (transaction !== undefined)
          return this.#end(payment, transaction, text('sellerFailedPaid', { status }))
        forget(payment, this.#before)
        return this.#show({ kind: 'offer', notice: { message: text('sellerFailed', { status }) } })
      }
      case 'bought':
        return this.#deliver(payment, presented)
    }
  }

  async #deliver(
    payment: KeptPayment,
    { response, transaction, isSettled, charged }: Extract<Presented, { kind: 'bought' }>,
  ): Promise<void> {
    this.#show({ kind: 'busy', step: text('receiving') })
    const paid = settled(payment, { transaction, charged })
    if (data.isLink) {
      const isRedirect = response.type === 'opaqueredirect'
      // Something else than the gateway may have answered.
      if (!isRedirect && !isSettled && transaction === undefined)
        return this.#show({ kind: 'kept', payment, notice: { message: text('unavailable') } })
      this.#end(paid, transaction)
      if (isRedirect) leave(paid, false)
      return
    }
    try {
      const delivery = await deliver(response, paid, isSettled)
      if ('bytes' in delivery)
        update({ ...paid, received: delivery.bytes > data.maxStoredBytes ? 'once' : 'again' })
      // Nothing was charged: the payment would buy again what it has just got for nothing.
      const isUncharged = !isSettled && transaction === undefined && delivery.kind !== 'leaving'
      const isFree = isUncharged || charged === '0'
      if (isFree) forget(payment, this.#before)
      this.#show({ kind: 'delivered', delivery, payment: isFree ? undefined : paid })
    } catch {
      this.#show({ kind: 'kept', payment: paid, notice: brokenConnection() })
    }
  }

  #wait(
    payment: KeptPayment,
    { code, transaction, againAfterMs }: Extract<Presented, { kind: 'open' }>,
  ): void {
    const message = messageOf(code) ?? text('unavailable')
    const url = transactionUrl({ ...payment.receipt, transaction })
    if (againAfterMs === undefined)
      return this.#show({
        kind: 'kept',
        payment,
        notice: { message, tone: 'wait', transaction: url },
      })
    this.#show({ kind: 'busy', step: message, transaction: url })
    setTimeout(() => void this.present(payment), againAfterMs)
  }

  /** Goes back to the offer. A new offer makes the page reload. */
  #refuse(
    payment: KeptPayment,
    { code, transaction, isPaid, document }: Extract<Presented, { kind: 'refused' }>,
  ): void {
    const known = messageOf(code) ?? text('wrongSetup')
    // In the seller's own words.
    const reason = code === 'payment_declined' ? document?.errorMessage : undefined
    const message = reason === undefined ? known : `${known} ${reason}`
    if (isPaid) return this.#end(payment, transaction, message)
    // The server has forgotten what it knew of a purchase that was received.
    if (payment.received !== undefined) return this.#end(payment, undefined, text('answerGone'))
    forget(payment, this.#before)
    if (LINK_ENDED.includes(code)) return location.reload()
    if (document !== undefined && !isSameOffer(document, this.#document)) return loadAgain()
    this.#document = document ?? this.#document
    const url = transactionUrl({ ...payment.receipt, transaction })
    this.#show({ kind: 'offer', notice: { message, transaction: url } })
  }

  /** Ends a payment that was settled and buys nothing more. Its receipt is kept. */
  #end(payment: KeptPayment, transaction: string | undefined, message?: string): void {
    const ended = { ...settled(payment, { transaction }), received: 'once' } as const
    update(ended)
    const url = transactionUrl(ended.receipt)
    const notice = message === undefined ? undefined : { message, transaction: url }
    this.#show({ kind: 'kept', payment: ended, notice })
  }
}

function brokenConnection(): Notice {
  return { message: text('connectionLost'), tone: 'wait' }
}

function settled(payment: KeptPayment, facts: Settled): KeptPayment {
  return { ...payment, receipt: settledFacts(payment.receipt, facts) }
}

/** Refusals because of the current offer or merchant. They do not mean that the payment was never settled. */
const OF_THE_OFFER: readonly string[] = [
  'invalid_payment_requirements',
  'pay_to_mismatch',
  'resource_mismatch',
  'quote_mismatch',
  'quote_expired',
  'price_changed',
  'unsupported_asset',
  'unsupported_scheme',
  'invalid_network',
  'merchant_paused',
]

/**
 * Judges a payment that was presented before with unknown outcome: only a refusal of the payment itself
 * ends it. An error of the seller, or another price, does not mean that nothing was charged the first time.
 */
function withDoubt(presented: Presented): Presented {
  const { kind, transaction } = { transaction: undefined, ...presented }
  if (transaction !== undefined) return presented
  const isUnknown =
    kind === 'seller_failed' ||
    (presented.kind === 'refused' &&
      (OF_THE_OFFER.includes(presented.code) || messageOf(presented.code) === undefined))
  return isUnknown
    ? { kind: 'open', code: 'server_busy', transaction, againAfterMs: undefined }
    : presented
}

/** Wallets may fail in their own ways. */
function whyNotSigned(error: unknown): Notice {
  if (!(error instanceof NotSigned))
    return { message: text('walletFailed', { message: String(error) }) }
  return { message: error.message, funds: error.lacking && fundsFor(error.lacking) }
}

/** Where to get the token of an offer, if the seller or the token's issuer says so. */
export function fundsFor({ source, testnet, symbol }: PageOffer): Notice['funds'] {
  if (source === undefined) return undefined
  return { url: source, label: testnet ? text('faucet') : text('onRamp', { symbol }) }
}

export function firstPhase(): Phase {
  const { error } = data.document
  const payment = readKept()
  // The buyer of a link that is paid already finds the purchase in place of the refusal.
  const isBought = data.offers.length === 0 && payment?.received !== undefined
  const refusal = (isBought ? undefined : messageOf(error)) ?? takeNotice()
  const notice = refusal === undefined ? undefined : { message: refusal }
  return payment === undefined ? { kind: 'offer', notice } : { kind: 'kept', payment, notice }
}

/** Whether another payment may be signed: the kept one can no longer be settled. */
export function allowsAnother({ received, validBefore }: KeptPayment, nowSeconds: number): boolean {
  return received !== undefined || nowSeconds > validBefore + LAPSED_SECONDS
}

/** How far the clocks of chain and server may differ (s). */
const LAPSED_SECONDS = 60

function isSameOffer(one: PageDocument, other: PageDocument): boolean {
  const terms = ({ accepts }: PageDocument): string =>
    JSON.stringify(
      accepts.map((entry) => [
        ...[entry.scheme, entry.network, entry.asset, entry.amount, entry.payTo],
        isPermit2(entry),
      ]),
    )
  return terms(one) === terms(other)
}

function loadAgain(): void {
  try {
    sessionStorage.setItem(NOTICE_KEY, 'priceChanged')
  } catch {
    // Without storage, the new offer speaks for itself.
  }
  location.reload()
}

function takeNotice(): string | undefined {
  try {
    const key = sessionStorage.getItem(NOTICE_KEY)
    sessionStorage.removeItem(NOTICE_KEY)
    return key === null ? undefined : text(key)
  } catch {
    return undefined
  }
}
