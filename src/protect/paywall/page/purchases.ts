/** The steps of a purchase. */
import type { Wallet } from '../../../browser/use-wallets.js'
import { data } from './data.js'
import { deliver, type Delivery } from './deliver.js'
import { keep, readKept, type KeptPayment } from './kept-payment.js'
import type { PageDocument } from './page-data.js'
import { presentPayment, type Presented } from './present-payment.js'
import { NotSigned, signPayment } from './sign-payment.js'
import { messageOf, text } from './texts.js'

export interface Notice {
  readonly message: string
  readonly faucet?: string | undefined
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
      readonly transaction: string | undefined
    }

/** When to explain why the response takes longer (ms). */
const EXPLAINED_AFTER_MS = 2000

/** Keeps a notice while the page reloads. */
const NOTICE_KEY = 'x402-notice'

/** Runs purchases and reports each phase. */
export class Purchases {
  #document: PageDocument = data.document
  readonly #show: (phase: Phase) => void

  constructor(show: (phase: Phase) => void) {
    this.#show = show
  }

  /** Asks for a signature and presents the payment. */
  async pay({ provider, info }: Wallet, choice: number): Promise<void> {
    const terms = this.#document.accepts[choice]
    const offer = data.offers[choice]
    if (terms === undefined || offer === undefined) return
    const purchase = { provider, wallet: info.name, document: this.#document, terms, offer }
    let payment: KeptPayment
    try {
      payment = await signPayment(purchase, (step) => this.#show({ kind: 'busy', step }))
    } catch (error) {
      return this.#show({ kind: 'offer', notice: whyNotSigned(error) })
    }
    keep(payment)
    await this.present(payment)
  }

  /** Presents a signed payment. */
  async present(payment: KeptPayment): Promise<void> {
    this.#show({ kind: 'busy', step: text('verifying') })
    const explaining = setTimeout(() => {
      this.#show({ kind: 'busy', step: text('settling', { network: payment.network }) })
    }, EXPLAINED_AFTER_MS)
    const kept = { ...payment, isPresented: true }
    keep(kept)
    const presented = await presentPayment(payment.header).finally(() => clearTimeout(explaining))
    await this.#goOn(kept, payment.isPresented === true ? withDoubt(presented) : presented)
  }

  forget(): void {
    keep(undefined)
    this.#show({ kind: 'offer' })
  }

  async #goOn(payment: KeptPayment, presented: Presented): Promise<void> {
    const { explorer } = payment
    switch (presented.kind) {
      case 'lost':
        return this.#show({ kind: 'kept', payment, notice: { message: text('connectionLost') } })
      case 'open':
        return this.#wait(payment, presented)
      case 'refused':
        return this.#refuse(presented, explorer)
      case 'seller_failed': {
        keep(undefined)
        const { response, transaction } = presented
        const key = transaction === undefined ? 'sellerFailed' : 'sellerFailedPaid'
        const message = text(key, { status: response.status })
        const url = transactionUrl(explorer, transaction)
        return this.#show({ kind: 'offer', notice: { message, transaction: url } })
      }
      case 'bought':
        return this.#deliver(payment, presented)
    }
  }

  async #deliver(
    payment: KeptPayment,
    { response, transaction }: Extract<Presented, { kind: 'bought' }>,
  ): Promise<void> {
    this.#show({ kind: 'busy', step: text('receiving') })
    try {
      const delivery = await deliver(response)
      // Text is still arriving: its view forgets the payment at the end.
      if (delivery.kind !== 'leaving' && delivery.kind !== 'text') keep(undefined)
      const url = transactionUrl(payment.explorer, transaction)
      this.#show({ kind: 'delivered', delivery, transaction: url })
    } catch {
      this.#show({ kind: 'kept', payment, notice: { message: text('connectionLost') } })
    }
  }

  #wait(
    payment: KeptPayment,
    { code, transaction, againAfterMs }: Extract<Presented, { kind: 'open' }>,
  ): void {
    const message = messageOf(code) ?? text('unavailable')
    const url = transactionUrl(payment.explorer, transaction)
    if (againAfterMs === undefined)
      return this.#show({ kind: 'kept', payment, notice: { message, transaction: url } })
    this.#show({ kind: 'busy', step: message, transaction: url })
    setTimeout(() => void this.present(payment), againAfterMs)
  }

  /** Goes back to the offer. A new offer makes the page reload. */
  #refuse(
    { code, transaction, document }: Extract<Presented, { kind: 'refused' }>,
    explorer: string | undefined,
  ): void {
    keep(undefined)
    const message = messageOf(code) ?? text('wrongSetup')
    if (document !== undefined && !isSameOffer(document, this.#document)) return loadAgain()
    this.#document = document ?? this.#document
    const url = transactionUrl(explorer, transaction)
    this.#show({ kind: 'offer', notice: { message, transaction: url } })
  }
}

/** Refusals because of the current offer. They do not mean that the payment was never settled. */
const OF_THE_OFFER: readonly string[] = [
  'invalid_payment_requirements',
  'pay_to_mismatch',
  'resource_mismatch',
  'quote_mismatch',
  'quote_expired',
  'unsupported_asset',
  'unsupported_scheme',
  'invalid_network',
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
  if (error instanceof NotSigned) return { message: error.message, faucet: error.faucet }
  return { message: text('walletFailed', { message: String(error) }) }
}

export function firstPhase(): Phase {
  const payment = readKept()
  const { error } = data.document
  const refusal = messageOf(error) ?? takeNotice()
  const notice = refusal === undefined ? undefined : { message: refusal }
  return payment === undefined ? { kind: 'offer', notice } : { kind: 'kept', payment, notice }
}

/** Whether another payment may be signed: the kept one can no longer be settled. */
export function allowsAnother(
  { isDelivered, validBefore }: KeptPayment,
  nowSeconds: number,
): boolean {
  return isDelivered || nowSeconds > validBefore + LAPSED_SECONDS
}

/** How far the clocks of chain and server may differ (s). */
const LAPSED_SECONDS = 60

function isSameOffer(one: PageDocument, other: PageDocument): boolean {
  const terms = ({ accepts }: PageDocument): string =>
    JSON.stringify(
      accepts.map(({ network, asset, amount, payTo }) => [network, asset, amount, payTo]),
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

function transactionUrl(
  explorer: string | undefined,
  transaction: string | undefined,
): string | undefined {
  if (explorer === undefined || !/^0x[0-9a-f]{64}$/i.test(transaction ?? '')) return undefined
  return `${explorer}/tx/${transaction}`
}
