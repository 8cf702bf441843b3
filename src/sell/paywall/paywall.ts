import type { Request, Response } from 'express'
import { ANSWERS_KEPT_MS, MAX_STORED_BYTES } from '../../ledger/once/store.js'
import type { Logger } from '../../shared/logger.js'
import type { Merchant } from '../../core/merchants/project.js'
import type { Quote } from '../../core/quotes/quote.js'
import type { Asset } from '../../shared/money/assets.js'
import type { ParsedPrice } from '../../shared/money/price.js'
import { encodeHeader, PAYMENT_REQUIRED } from '../../shared/protocol/headers.js'
import { UPTO, type PaymentRequired } from '../../shared/protocol/payment.js'
import { exposeHeaders } from '../respond/respond.js'
import type { RequestView } from '../route/request-view.js'
import { describeOffers } from './describe-offers.js'
import { formatFiat, formatToken } from './format-price.js'
import { resolvePaywall } from './options.js'
import type { CheckedPaywall, ResolvedPaywall, RoutePaywall } from './options.js'
import { setPageHeaders } from './page-headers.js'
import { pageFiles, type PageFiles } from './page-files.js'
import { PAYMENT_COOKIE } from './payment-cookie.js'
import { isPreview, varyByAccept } from './prefers-html.js'
import { isForPerson } from './problem-page.js'
import { renderPage } from './render-page.js'
import type { PaywallTextKey, PaywallTexts } from './texts/paywall-texts.js'
import { fill, localeOf, textsOf } from './texts/languages.js'
import { messageOf } from './texts/message-of.js'
import { world } from '../../shared/world.js'

/** Shared by all pages of a gateway. */
export interface PaywallContext {
  /** The gateway's option. */
  readonly paywall: CheckedPaywall
  /** Milliseconds since the epoch. */
  readonly now: () => number
  readonly logger: Logger
}

/** A 402, or a 400 to an unreadable payment, to show as a page. Without offers, it says why nothing can be paid. */
export interface ShownPayment {
  readonly document: PaymentRequired
  /** `undefined` if the offer is an amount of tokens without a price. */
  readonly price: ParsedPrice | undefined
  /** The quotes of the document's entries, in their order. @defaultValue no rate was applied */
  readonly quotes?: readonly Pick<Quote, 'applied'>[] | undefined
  /** @defaultValue 402 */
  readonly status?: number | undefined
  /** Of the payment of a link. @defaultValue nothing was refunded */
  readonly refund?: ShownRefund | undefined
}

/** What was refunded of a payment (atomic units). */
export interface ShownRefund {
  readonly refunded: bigint
  readonly paid: bigint
  readonly token: Pick<Asset, 'decimals' | 'symbol'>
}

const messageKeys: Readonly<Record<string, PaywallTextKey>> = messageOf

/** A route's page for browsers, instead of a 402 in JSON. */
export class Paywall {
  readonly #context: PaywallContext
  readonly #merchant: Merchant
  readonly #options: ResolvedPaywall
  #hasReported = false

  constructor(context: PaywallContext, merchant: Merchant, options: ResolvedPaywall) {
    this.#context = context
    this.#merchant = merchant
    this.#options = options
  }

  /** Makes the 402 to a request without a payment: the page for browsers, JSON for programs. */
  before(
    respondJson: (view: RequestView, res: Response) => void,
    shownTo: (view: RequestView) => ShownPayment,
  ): (view: RequestView, res: Response) => void {
    return (view, res) => {
      varyByAccept(res)
      if (this.isWantedBy(res)) this.respond(res, shownTo(view))
      else respondJson(view, res)
    }
  }

  /** Whether to show the page instead of JSON. */
  isWantedBy(res: Response): boolean {
    if (!isForPerson(res)) return false
    if (pageFiles() !== undefined) return true
    this.#reportMissing()
    return false
  }

  respond(res: Response, shown: ShownPayment): void {
    const files = pageFiles()
    if (files === undefined) throw new Error('The page of the paywall was not built.')
    const nonce = world.randomBytes(16).toString('base64')
    const { document, status = 402 } = shown
    const html = this.#render(res.req, { ...shown, files, nonce })
    const loadsLogo = this.#options.logo?.startsWith('/') ?? false
    exposeHeaders(res)
    setPageHeaders(res, { nonce, loadsLogo })
    // Chat apps show no preview of an error.
    res.statusCode = isPreview(res.req) ? 200 : status
    if (document.accepts.length > 0) res.setHeader(PAYMENT_REQUIRED, encodeHeader(document))
    res.setHeader('Cache-Control', 'no-store')
    res.setHeader('Content-Type', 'text/html; charset=utf-8')
    res.end(html)
  }

  #reportMissing(): void {
    if (this.#hasReported) return
    this.#hasReported = true
    this.#context.logger.warn(
      'The paywall’s files were not found, so browsers get JSON. If you bundle your server, mark express-x402-gateway as external.',
      {},
    )
  }

  #render(req: Request, shown: RenderedPayment): string {
    const { document, price, quotes = [], refund, files, nonce } = shown
    const options = this.#options
    const merchant = this.#merchant
    const locale = options.locale ?? localeOf(req)
    const texts = { ...textsOf(locale), ...options.texts }
    const { resource, accepts, error = '' } = document
    const { chains } = files
    const { upTo } = texts
    const offers = describeOffers(accepts, { merchant, chains, options, locale, quotes, upTo })
    const amount = price && formatFiat(price, merchant, locale)
    // A route has either a price or a maximum.
    const isMaximum = accepts.some(({ scheme }) => scheme === UPTO)
    const refusal = messageKeys[error]
    const seller = options.name ?? merchant.name ?? hostOf(resource.url)
    return renderPage({
      files,
      nonce,
      options,
      texts,
      resource,
      notice: refusal && fill(texts[refusal], { seller }),
      refund: refund && fill(refundWords(refund, texts, locale), { seller }),
      data: {
        messages: messageOf,
        now: Math.floor(this.#context.now() / 1000),
        cookie: PAYMENT_COOKIE,
        maxStoredBytes: MAX_STORED_BYTES,
        storedSeconds: ANSWERS_KEPT_MS / 1000,
        document,
        offers,
        locale,
        texts,
        title: resource.description || (accepts.length > 0 ? texts.heading : texts.notAvailable),
        price: isMaximum && amount !== undefined ? fill(upTo, { amount }) : amount,
        seller,
        isLink: options.isLink ?? false,
        canRepeat: req.method === 'GET' || req.method === 'HEAD',
      },
    })
  }
}

/** A payment to show, and what the page is written with. */
interface RenderedPayment extends ShownPayment {
  readonly files: PageFiles
  readonly nonce: string
}

/** Says that a payment was refunded, or how much of it. */
function refundWords({ refunded, paid, token }: ShownRefund, texts: PaywallTexts, locale: string) {
  const write = (units: bigint): string => formatToken(String(units), token, locale)
  if (refunded >= paid) return texts.refunded
  return fill(texts.refundedPart, { refunded: write(refunded), amount: write(paid) })
}

/** Makes the page of a route; `undefined` if browsers get JSON too. */
export function openPaywall(
  context: PaywallContext,
  merchant: Merchant,
  ofRoute: RoutePaywall | undefined,
): Paywall | undefined {
  const options = resolvePaywall(ofRoute, context.paywall, merchant.branding)
  return options && new Paywall(context, merchant, options)
}

/** A resource may be something other than a URL. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url
}
