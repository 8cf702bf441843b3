import type { Request, Response } from 'express'
import { BazaarWriter, type Bazaar } from '../../core/catalogue/bazaar.js'
import type { Catalogue } from '../../core/catalogue/catalogue.js'
import type { Declaration } from '../../core/catalogue/declaration.js'
import type { AdvertisedPrice } from '../discovery/declared-routes.js'
import { ConfigError, isFacilitatorError, isRateError } from '../../shared/errors.js'
import type { FacilitatorCore } from '../../core/facilitator/facilitator.js'
import { metersNothing, type RemoteCallers } from '../../core/facilitator/remote-callers.js'
import { publicRootOf } from '../../shared/http/public-url.js'
import type { PaymentDetails } from '../../ledger/payment-details.js'
import { hashOf, type RedeemWithoutProof } from '../../ledger/purchase.js'
import type { Logger } from '../../shared/logger.js'
import { chooseMerchant } from '../../core/merchants/choose-merchant.js'
import { findAcceptedAsset, type Merchant } from '../../core/merchants/project.js'
import { Quoter, type Quote, type QuoteStyle } from '../../core/merchants/quote.js'
import { signQuote, type QuoteSubject } from '../../core/merchants/signed-quote.js'
import type { PermitDomains } from '../../shared/money/permit-domains.js'
import { parsePrice, type ParsedPrice, type Price } from '../../shared/money/price.js'
import type { RateSource } from '../../shared/money/rates.js'
import type { NetworkNameStyle } from '../../shared/protocol/networks.js'
import {
  type PaymentFlow,
  type PaymentRequirements,
  type ResourceInfo,
} from '../../shared/protocol/payment.js'
import type { DecodedPayload } from '../../shared/protocol/decoded-payment.js'
import { sameMethod } from '../../shared/protocol/same-offer.js'
import type { MerchantTerms, PurchaseTerms } from '../../core/schemes/scheme.js'
import { bodyFingerprint } from './body-fingerprint.js'
import { checkConvertible, checkSmallest, explainUnquotable, isFree } from './checked-price.js'
import { clientLimitWords } from './client-limits.js'
import { headerBytesOf, ownHeaderBytes, TYPICAL_URL, type HeaderSizes } from './header-size.js'
import { offerOf, pricedMethod, type Offer, type SigningContext } from './offer.js'
import { Meter, type MeteredPayment } from './meter.js'
import { checkValidity, DEFAULT_MAX_HELD_BYTES } from './options.js'
import type { PriceFunction, ProtectOptions } from './options.js'
import { NOT_PAID, paymentRequired, type AskedPayment } from './payment-required.js'
import type { RoutePaywall } from '../paywall/options.js'
import { openPaywall, type Paywall, type PaywallContext } from '../paywall/paywall.js'
import { preparePaymentRequired } from './prepared-payment-required.js'
import type { PreparedDocuments, RespondUnpaid } from './prepared-payment-required.js'
import { bringsPayment } from './read-payment.js'
import { RouteWarnings } from './route-warnings.js'
import {
  askedPriceOf,
  priceName,
  referenceOf,
  routeDetails,
  routeOf,
  soldAt,
} from './record-details.js'
import type { DescribedPayment } from './record-details.js'
import { checkDefaultCharge, checkFlow, readDeclaredPrice, type DeclaredPrice } from './up-to.js'

/** Dependencies of {@link PaidRoute}. */
export interface RouteContext extends SigningContext, PaywallContext {
  readonly facilitator: Pick<FacilitatorCore, 'formats'>
  /** Callers of metered payments elsewhere. @defaultValue no remote facilitator settles */
  readonly callers?: RemoteCallers | undefined
  readonly merchants: ReadonlyMap<string, Merchant>
  readonly rates: RateSource
  /** Whether any source of rates is configured. */
  readonly hasRates: boolean
  readonly networkNames: NetworkNameStyle
  readonly publicUrl?: string | undefined
  readonly logger: Logger
  /** Tokens that take signed approvals. @defaultValue none is known */
  readonly permits?: PermitDomains | undefined
  /** Room for prepared 402s. @defaultValue each route has room of its own */
  readonly documents?: PreparedDocuments | undefined
  /** Warnings of the declared route. @defaultValue none yet */
  readonly warnings?: RouteWarnings | undefined
  /** Notes how large the headers of its 402s are. @defaultValue not noted */
  readonly headerSizes?: HeaderSizes | undefined
  /** Lists what was sold. @defaultValue nothing is listed */
  readonly catalogue?: Pick<Catalogue, 'note'> | undefined
  /** What the route says about itself. @defaultValue nothing */
  readonly declaration?: Declaration | undefined
}

/** Options of a route whose merchant is known. */
export type RouteOptions = Omit<ProtectOptions, 'merchant' | 'paywall'> & {
  readonly merchant?: string
  readonly paywall?: RoutePaywall | undefined
}

/** A purchase, as a request asks for it. */
export type RequestedPurchase = Pick<PurchaseTerms, 'method' | 'url' | 'route' | 'price' | 'body'>

/** A price, and how it was asked. */
interface AskedPrice {
  readonly price: ParsedPrice
  readonly askedPrice: string
}

/** What a route answers without looking at a request. */
interface Prepared {
  /** That of `permits` then. */
  readonly version: number | undefined
  readonly quotes: readonly Quote[]
  readonly respondUnpaid: RespondUnpaid | undefined
}

/** A route that charges. Everything that does not depend on a request is checked and prepared. */
export class PaidRoute {
  readonly merchant: Merchant
  readonly paymentFlow: PaymentFlow
  readonly maxHeldBytes: number
  readonly chargeIf: ProtectOptions['chargeIf']
  readonly minValiditySeconds: number | undefined
  readonly warnings: RouteWarnings
  readonly redeemWithoutProof: RedeemWithoutProof
  /** Whether buyers of x402 version 1 are served, too. */
  readonly v1: boolean
  /** The page for browsers; `undefined` if they get JSON. */
  readonly paywall: Paywall | undefined
  readonly #context: RouteContext
  readonly #options: RouteOptions
  readonly #price: PriceFunction | AskedPrice
  readonly #earlierPrices: readonly string[]
  /** Whether the price is the most that may be charged. */
  readonly isMaximum: boolean
  /** What is then charged if the handler does not say it. */
  readonly #defaultCharge: ParsedPrice | undefined
  /** Writes what its resource takes and gives; `undefined` if the route declares nothing. */
  readonly #bazaar: BazaarWriter | undefined
  readonly #quoter: Quoter
  readonly #style: QuoteStyle
  /** What was prepared for a fixed price to which no rate applies. */
  #prepared: Prepared | undefined

  /** @throws `ConfigError` for options or a price that cannot work. */
  constructor(context: RouteContext, declared: DeclaredPrice, options: RouteOptions = {}) {
    this.#context = context
    this.#options = options
    const { price, maximum } = readDeclaredPrice(declared)
    this.isMaximum = maximum !== undefined
    this.merchant = chooseMerchant(context.merchants, options.merchant)
    checkValidity(options, this.merchant)
    this.v1 = options.v1 ?? this.merchant.v1
    this.paywall = openPaywall(context, this.merchant, options.paywall)
    this.#quoter = new Quoter(this.merchant, context.rates, context.facilitator.formats)
    const { maxTimeoutSeconds, paymentFlow } = options
    const { networkNames } = context
    this.#style = { networkNames, maxTimeoutSeconds, paymentFlow, isMaximum: this.isMaximum }
    if (this.isMaximum) checkFlow(options)
    this.#defaultCharge = this.#parseDefault(maximum?.defaultCharge)
    this.warnings = context.warnings ?? new RouteWarnings(context.logger, options.description)
    const { declaration } = context
    this.#bazaar =
      declaration && new BazaarWriter(declaration, (bytes) => this.warnings.warnOfBazaar(bytes))
    this.#price = typeof price === 'function' ? price : this.#read(price)
    const { currency: defaultCurrency } = this.merchant
    this.#earlierPrices = (options.earlierPrices ?? []).map((one) =>
      priceName(parsePrice(one, { defaultCurrency, option: 'earlierPrices' })),
    )
    const accepts = this.#quoteFixed()
    this.#prepared = this.#prepare(accepts)
    if (this.respondUnpaid && accepts)
      this.#noteHeader(
        headerBytesOf({
          resource: this.#resourceAt(TYPICAL_URL),
          accepts,
          bazaar: this.#bazaar?.write('GET', undefined),
        }),
      )
    this.paymentFlow = paymentFlow ?? 'authorization'
    this.chargeIf = options.chargeIf
    this.maxHeldBytes = options.maxHeldBytes ?? DEFAULT_MAX_HELD_BYTES
    // With `upfront`, the authorization need not outlive the handler.
    this.minValiditySeconds =
      options.minValiditySeconds ?? (paymentFlow === 'upfront' ? 0 : undefined)
    this.redeemWithoutProof = options.redeemWithoutProof ?? this.merchant.redeemWithoutProof
  }

  /** Its price, for the app's OpenAPI document. */
  get advertised(): AdvertisedPrice {
    const { name: seller } = this.merchant
    const terms = { seller, ...(this.isMaximum && { isMaximum: true }) }
    if (typeof this.#price === 'function') return terms
    const entries = this.#fixedQuotes?.map(({ entry }) => entry)
    return { price: this.#price.price, entries, ...terms }
  }

  /** Responds to a request without a payment, if that response is the same for every request. */
  get respondUnpaid(): RespondUnpaid | undefined {
    return this.#current?.respondUnpaid
  }

  /** The quotes of a fixed price to which no rate applies. */
  get #fixedQuotes(): readonly Quote[] | undefined {
    return this.#current?.quotes
  }

  /** Written again where a token has turned out to take signed approvals. */
  get #current(): Prepared | undefined {
    const version = this.#context.permits?.version
    if (this.#prepared !== undefined && this.#prepared.version !== version)
      this.#prepared = this.#prepare(this.#quoteFixed())
    return this.#prepared
  }

  #prepare(accepts: readonly PaymentRequirements[] | undefined): Prepared | undefined {
    return (
      accepts && {
        version: this.#context.permits?.version,
        quotes: accepts.map((entry) => ({ entry })),
        respondUnpaid: this.#prepareUnpaid(accepts),
      }
    )
  }

  /** Whether the price is fixed. */
  get hasFixedPrice(): boolean {
    return typeof this.#price !== 'function'
  }

  get hasEarlierPrices(): boolean {
    return this.#earlierPrices.length > 0
  }

  /**
   * The declared price that a payment buys at: that which its quote or its record names, if it is the route's own or
   * one of `earlierPrices`; else its own. An app may choose between routes by anything in a request.
   */
  priceFor(req: Request, named?: string): string {
    if (named !== undefined && this.#earlierPrices.includes(named)) return named
    if (typeof this.#price !== 'function') return priceName(this.#price.price)
    const quotedFor = this.#quoteFor(req)
    return quotedFor === undefined ? FUNCTION : `${FUNCTION} ${hashOf(quotedFor)}`
  }

  /**
   * Quotes what a request costs; `undefined` if it is free.
   *
   * @throws `RateError` if there is no rate, and `FacilitatorError` if nobody is known who could meter the payment,
   * unless the request presents one, whose quote may still be valid; and whatever a price function throws.
   */
  async offer(req: Request): Promise<Offer | undefined> {
    const { price, askedPrice } = await this.#ask(req)
    if (isFree(price)) return undefined
    const resource = this.#resourceAt(this.#urlOf(req))
    const { paywall, v1 } = this
    const onWritten = (headerBytes: number): void =>
      this.#noteHeader(ownHeaderBytes(headerBytes, resource.url), req)
    const bazaar = this.#bazaarOf(req)
    // Once the request is over, Express has taken its route away.
    const at = { method: pricedMethod(req), route: routeOf(req) }
    const onSold = (entry: PaymentRequirements): void =>
      this.#noteSale(at, { resource, bazaar, entry })
    const shown = { askedPrice, price, paywall, v1, onWritten, bazaar, onSold }
    if (this.#fixedQuotes !== undefined)
      return { ...shown, ...offerOf(resource, this.#fixedQuotes) }
    try {
      const quotes = await this.#quote(price)
      this.#warnOfLimits(
        quotes.map(({ entry }) => entry),
        req,
      )
      const signed = quotes.map((quote) => this.#sign(quote, req, resource))
      return { ...shown, ...offerOf(resource, await Promise.all(signed)) }
    } catch (error) {
      if (!isRateError(error) && !isFacilitatorError(error)) throw error
      if (error.code === 'amount_out_of_range')
        throw new ConfigError('price', error.message, 'invalid_price')
      if (!bringsPayment(req)) throw error
      return { paywall, v1, bazaar, onSold, ...offerOf(resource, [], error) }
    }
  }

  /**
   * Names what a quote is signed for; `undefined` if it is not signed, because the body has no fingerprint.
   *
   * @throws `ConfigError` if the route's `quoteFor` returns anything but a string.
   */
  quotedRequest(req: Request, resource: ResourceInfo): QuoteSubject['request'] | undefined {
    const body = bodyFingerprint(req)
    if (body === undefined) return undefined
    // A quote of a fixed price names the price itself.
    const priced = this.hasFixedPrice ? 'fixed' : this.priceFor(req)
    const route = [pricedMethod(req), soldAt(req), priced, 'at', this.merchant.project]
    return [...route, resource.url, req.originalUrl, body]
  }

  #quoteFor(req: Request): string | undefined {
    if (this.#options.quoteFor === undefined) return undefined
    const quotedFor: unknown = this.#options.quoteFor(req)
    if (typeof quotedFor === 'string') return quotedFor
    throw new ConfigError('quoteFor', 'must return a string', 'invalid_type')
  }

  /** The purchase of a payment. What was charged for one body does not pay for the answer to another. */
  purchaseOf(
    req: Request,
    asked: Pick<RequestedPurchase, 'url' | 'price'>,
    { format }: Pick<DecodedPayload, 'format'>,
  ): RequestedPurchase {
    const bought = { method: pricedMethod(req), route: soldAt(req), ...asked }
    return format?.bindsBody === true ? { ...bought, body: bodyFingerprint(req) } : bought
  }

  /** The merchant's terms, for one purchase. @throws `ConfigError` */
  termsOf(req: Request, bought: RequestedPurchase, payment: DescribedPayment): MerchantTerms {
    const { merchant, redeemWithoutProof, minValiditySeconds } = this
    const { appliedRate, redeemOnly } = payment
    const purchase = { ...bought, client: req.ip ?? '', redeemOnly }
    const details = this.#detailsOf(req, payment)
    return { appliedRate, details, purchase, ...merchant, redeemWithoutProof, minValiditySeconds }
  }

  /** Details of a request, for the record of its payment. @throws `ConfigError` */
  #detailsOf(req: Request, payment: DescribedPayment): PaymentDetails {
    const reference = referenceOf(this.#options, req)
    return { reference, ...routeDetails(this.merchant, req, payment) }
  }

  /** Writes the entry of `accepts` for an amount that was offered before; `undefined` if not taken now. */
  entryFor(accepted: PaymentRequirements): PaymentRequirements | undefined {
    const asset = findAcceptedAsset(this.merchant, accepted)
    const { scheme, amount } = accepted
    const entries =
      asset && this.#quoter.entries({ scheme, asset, amount: BigInt(amount) }, this.#style)
    return entries?.find((entry) => sameMethod(entry, accepted))
  }

  async #quote(price: ParsedPrice): Promise<readonly Quote[]> {
    if (this.#callers === undefined) return this.#quoter.quote(price, this.#style)
    await this.#callers.learn()
    const quotes = await this.#quoter.quote(price, this.#style)
    if (quotes.length > 0) return quotes
    throw metersNothing(this.merchant.accepts.map(({ network }) => network))
  }

  /** The callers of its payments; `undefined` where offers depend on nobody elsewhere. */
  get #callers(): RemoteCallers | undefined {
    return this.isMaximum ? this.#context.callers : undefined
  }

  async #ask(req: Request): Promise<AskedPrice> {
    return typeof this.#price === 'function' ? this.#read(await this.#price(req)) : this.#price
  }

  /** Opens the meter of a payment; `undefined` if the price is fixed. */
  openMeter(res: Response, payment: MeteredPayment): Meter | undefined {
    if (!this.isMaximum) return undefined
    const { merchant } = this
    return new Meter(payment, { res, merchant, defaultCharge: this.#defaultCharge })
  }

  #parseDefault(charge: Price | undefined): ParsedPrice | undefined {
    if (charge === undefined) return undefined
    const defaultCurrency = this.merchant.currency
    const option = 'defaultCharge'
    const parsed = parsePrice(charge, { defaultCurrency, allowFree: true, option })
    checkSmallest(parsed, this.merchant, option)
    return parsed
  }

  #read(value: Price): AskedPrice {
    const price = this.#parse(value)
    checkDefaultCharge(this.#defaultCharge, price, this.merchant)
    return { price, askedPrice: askedPriceOf(value, price) }
  }

  #parse(value: unknown): ParsedPrice {
    const { allowFree = false } = this.#options
    const price = parsePrice(value, { defaultCurrency: this.merchant.currency, allowFree })
    checkSmallest(price, this.merchant)
    return price
  }

  /**
   * The entries of a fixed price; `undefined` for any other price, and if a rate has to be applied, or the facilitator
   * elsewhere to be asked.
   */
  #quoteFixed(): readonly PaymentRequirements[] | undefined {
    if (typeof this.#price === 'function') return undefined
    if (!this.#context.hasRates) checkConvertible(this.#price.price, this.merchant)
    try {
      const accepts = this.#quoter.quoteFixed(this.#price.price, this.#style)
      if (this.#callers !== undefined) return undefined
      if (accepts !== undefined) this.#warnOfLimits(accepts)
      return accepts
    } catch (error) {
      // At declaration, the currency is the developer's mistake.
      if (!isRateError(error)) throw error
      const message = explainUnquotable(error, this.#price.price, this.merchant)
      throw new ConfigError('price', message, 'invalid_price')
    }
  }

  /** Warns of entries that official clients do not pay by default. */
  #warnOfLimits(accepts: readonly PaymentRequirements[], req?: Request): void {
    const { project } = this.merchant
    if (this.warnings.has('client_limits', project)) return
    const words = clientLimitWords(this.merchant, accepts)
    if (words !== undefined) this.warnings.warn('client_limits', { req, words, project })
  }

  #noteHeader(headerBytes: number, req?: Request): void {
    this.#context.headerSizes?.note(this.merchant.project, headerBytes)
    this.warnings.warnOfHeader(headerBytes, req)
  }

  #prepareUnpaid(accepts: readonly PaymentRequirements[]): RespondUnpaid | undefined {
    if (typeof this.#price === 'function' || isFree(this.#price.price)) return undefined
    const { price } = this.#price
    const { v1 } = this
    const askedAt = (url: string, req: Request): AskedPayment => ({
      resource: this.#resourceAt(url),
      accepts,
      bazaar: this.#bazaarOf(req),
      v1,
    })
    const urlOf = (req: Request): string => this.#urlOf(req)
    const { documents } = this.#context
    const variantOf = this.#bazaar && ((req: Request) => `${pricedMethod(req)} ${routeOf(req)}`)
    const respondJson = preparePaymentRequired({ askedAt, urlOf, variantOf, documents })
    if (this.paywall === undefined) return respondJson
    return this.paywall.before(respondJson, (req) => {
      return { document: paymentRequired(askedAt(urlOf(req), req), { error: NOT_PAID }), price }
    })
  }

  /** Signs a quote, if the route signs it and the request's body has a fingerprint. */
  async #sign(quote: Quote, req: Request, resource: ResourceInfo): Promise<Quote> {
    const isFunction = typeof this.#price === 'function'
    const isSigned = isFunction ? this.#options.quoteFor : quote.applied
    if (isSigned === undefined) return quote
    const request = this.quotedRequest(req, resource)
    if (request === undefined) return quote
    const { quotes, now } = this.#context
    return signQuote(quotes, quote, { request, now: now() })
  }

  /** The URL that is paid for. */
  #urlOf(req: Request): string {
    return this.#options.resourceUrl?.(req) ?? requestUrl(req, this.#context.publicUrl)
  }

  #resourceAt(url: string): ResourceInfo {
    const { description = '', mimeType, tags } = this.#options
    return {
      url,
      description,
      ...(mimeType !== undefined && { mimeType }),
      ...(tags !== undefined && { tags }),
    }
  }

  #bazaarOf(req: Request): Bazaar | undefined {
    return this.#bazaar?.write(pricedMethod(req), routeOf(req))
  }

  #noteSale(
    { method, route }: { readonly method: string; readonly route: string | undefined },
    {
      resource,
      bazaar,
      entry,
    }: { resource: ResourceInfo; bazaar: Bazaar | undefined; entry: PaymentRequirements },
  ): void {
    const { catalogue, publicUrl } = this.#context
    const { project, listed } = this.merchant
    const { resourceUrl } = this.#options
    // Without a route, the path may hold a buyer's own values. It has been delivered: nothing may fail here.
    if (listed === false || (route === undefined && resourceUrl === undefined)) return
    // Without `publicUrl`, the buyer has named the host: the catalogue's reader names another.
    const url = resourceUrl === undefined ? `${publicUrl ?? ''}${route}` : resource.url
    catalogue?.note({ project, method, resource: { ...resource, url }, bazaar, entry })
  }
}

/** The declared price of a function, in records and quotes. */
const FUNCTION = 'function'

/** The URL of a request, as its client sees it. */
function requestUrl(req: Request, publicUrl: string | undefined): string {
  // A request line may contain an absolute URL (RFC 9112 §3.2.2).
  const path = req.originalUrl.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, '')
  return publicRootOf(req, publicUrl) + path
}
