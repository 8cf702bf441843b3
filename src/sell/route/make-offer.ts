/** Where the price of a route becomes an offer: quoted, signed if it may change, prepared if it cannot. */
import { ConfigError, isFacilitatorError, isRateError } from '../../shared/errors.js'
import type { FacilitatorCore } from '../../core/facilitator/facilitator.js'
import { metersNothing, type NetworkCallers } from '../../core/facilitator/remote-callers.js'
import { findAcceptedAsset, type Merchant } from '../../core/merchants/project.js'
import { Quoter, type Quote, type QuoteStyle } from '../../core/quotes/quote.js'
import { signQuote, type QuoteSubject } from '../../core/quotes/signed-quote.js'
import type { PermitDomains } from '../../shared/money/permit-domains.js'
import type { ParsedPrice } from '../../shared/money/price.js'
import type { RateSource } from '../../shared/money/rates.js'
import type { NetworkNameStyle } from '../../shared/protocol/networks.js'
import type { PaymentRequirements, ResourceInfo } from '../../shared/protocol/payment.js'
import { SIGN_IN_WITH_X } from '../../shared/protocol/sign-in.js'
import { sameMethod } from '../../shared/protocol/same-offer.js'
import type { Paywall } from '../paywall/paywall.js'
import { bodyFingerprint } from './body-fingerprint.js'
import { checkConvertible, explainUnquotable, isFree } from './checked-price.js'
import { clientLimitWords } from './client-limits.js'
import { headerBytesOf, ownHeaderBytes, TYPICAL_URL, type HeaderSizes } from './header-size.js'
import { offerOf, type Offer, type SigningContext } from './offer.js'
import { Mpp } from './mpp.js'
import { speaksMpp, type RouteOptions } from './options.js'
import type { PaymentDialect } from './payment-dialect.js'
import { NOT_PAID, paymentRequired, type AskedPayment } from './payment-required.js'
import { preparePaymentRequired } from './prepared-payment-required.js'
import type { PreparedDocuments, RespondUnpaid } from './prepared-payment-required.js'
import { bringsPayment } from './version-2.js'
import { pricedMethod, type RequestView } from './request-view.js'
import type { RoutePrices } from './route-prices.js'
import type { DescribedRequest, RouteResource } from './route-resource.js'
import type { RouteWarnings } from './route-warnings.js'

export interface OffersContext extends SigningContext {
  readonly facilitator: Pick<FacilitatorCore, 'formats'>
  /** Callers of metered payments elsewhere. @defaultValue no remote facilitator settles */
  readonly callers?: NetworkCallers | undefined
  readonly rates: RateSource
  readonly hasRates: boolean
  readonly networkNames: NetworkNameStyle
  readonly publicUrl?: string | undefined
  /** Tokens that take signed approvals. @defaultValue none is known */
  readonly permits?: PermitDomains | undefined
  /** Room for prepared 402s. @defaultValue each route has room of its own */
  readonly documents?: PreparedDocuments | undefined
  /** Notes how large the headers of its 402s are, which may be warned of. @defaultValue they are in no header */
  readonly headerSizes?: HeaderSizes | undefined
}

export interface OfferedParts {
  readonly merchant: Merchant
  readonly options: RouteOptions
  readonly prices: RoutePrices
  readonly resource: RouteResource
  readonly warnings: RouteWarnings
  /** The page for browsers; `undefined` if they get JSON. */
  readonly paywall: Paywall | undefined
  readonly dialects: readonly PaymentDialect[]
}

/** What a route answers without looking at a request. */
interface Prepared {
  /** That of `permits` then. */
  readonly version: number | undefined
  readonly quotes: readonly Quote[]
  readonly respondUnpaid: RespondUnpaid | undefined
}

export class RouteOffers {
  readonly #context: OffersContext
  readonly #parts: OfferedParts
  readonly #quoter: Quoter
  readonly #style: QuoteStyle
  /** What was prepared for a fixed price to which no rate applies. */
  #prepared: Prepared | undefined

  /** @throws `ConfigError` for a price that nothing can be offered for. */
  constructor(context: OffersContext, parts: OfferedParts) {
    const { maxTimeoutSeconds, paymentFlow } = parts.options
    const { networkNames, rates, facilitator } = context
    const { isMaximum } = parts.prices
    this.#context = context
    this.#parts = parts
    this.#quoter = new Quoter(parts.merchant, rates, facilitator.formats)
    this.#style = { networkNames, maxTimeoutSeconds, paymentFlow, isMaximum }
    this.#prepared = this.#prepare()
    if (this.#prepared?.respondUnpaid === undefined) return
    const accepts = this.#prepared.quotes.map(({ entry }) => entry)
    const asked = this.#asked(accepts, TYPICAL_URL, { method: 'GET', route: undefined })
    this.#noteHeader(headerBytesOf(asked))
  }

  /** Responds to a request without a payment, if that response is the same for every request. */
  get respondUnpaid(): RespondUnpaid | undefined {
    return this.#current?.respondUnpaid
  }

  get fixedQuotes(): readonly Quote[] | undefined {
    return this.#current?.quotes
  }

  /** Written again where a token has turned out to take signed approvals. */
  get #current(): Prepared | undefined {
    const version = this.#context.permits?.version
    if (this.#prepared !== undefined && this.#prepared.version !== version)
      this.#prepared = this.#prepare()
    return this.#prepared
  }

  /**
   * Offers what a request asks for; `undefined` if it is free.
   *
   * @throws `RateError` if there is no rate, and `FacilitatorError` if nobody is known who could meter the payment,
   * unless the request presents one, whose quote may still be valid; and whatever a price function throws.
   */
  async make(view: RequestView): Promise<Offer | undefined> {
    const { merchant, options, prices, resource: sold, paywall, warnings } = this.#parts
    const { price, askedPrice } = await prices.ask(view)
    warnings.meet(view)
    if (isFree(price)) return undefined
    const resource = sold.at(sold.urlOf(view), view.argumentsHash)
    const mpp = speaksMpp(options) ? await this.#openMpp(view, resource) : undefined
    const dialects = mpp ? [mpp, ...this.#parts.dialects] : this.#parts.dialects
    const onWritten = (headerBytes: number): void =>
      this.#noteHeader(ownHeaderBytes(headerBytes, resource.url), view)
    const bazaar = sold.bazaarOf(view)
    const onSold = (entry: PaymentRequirements): void =>
      sold.noteSale({ view, merchant, resource, bazaar, entry })
    const { issuer } = this.#context
    const shown = { askedPrice, price, paywall, dialects, onWritten, bazaar, onSold, issuer }
    if (this.fixedQuotes !== undefined) return { ...shown, ...offerOf(resource, this.fixedQuotes) }
    try {
      const quotes = await this.#quote(price)
      this.#warnOfLimits(quotes, view)
      const signed = quotes.map((quote) => this.#sign(quote, view, resource))
      return { ...shown, ...offerOf(resource, await Promise.all(signed)) }
    } catch (error) {
      if (!isRateError(error) && !isFacilitatorError(error)) throw error
      if (error.code === 'amount_out_of_range')
        throw new ConfigError('price', error.message, 'invalid_price')
      const isPaid = bringsPayment(view) || mpp?.credentials.length
      if (!isPaid && view.header(SIGN_IN_WITH_X) === undefined) throw error
      return { price, paywall, dialects, bazaar, onSold, issuer, ...offerOf(resource, [], error) }
    }
  }

  /** Offers nothing: what is asked for costs nothing. */
  unpriced(view: RequestView): Offer {
    const { resource: sold, dialects } = this.#parts
    return { dialects, bazaar: sold.bazaarOf(view), ...offerOf(sold.at(sold.urlOf(view)), []) }
  }

  /** Writes the entry of `accepts` for an amount that was offered before; `undefined` if not taken now. */
  entryFor(accepted: PaymentRequirements): PaymentRequirements | undefined {
    const asset = findAcceptedAsset(this.#parts.merchant, accepted)
    const { scheme, amount } = accepted
    const entries =
      asset && this.#quoter.entries({ scheme, asset, amount: BigInt(amount) }, this.#style)
    return entries?.find((entry) => sameMethod(entry, accepted))
  }

  /**
   * Names what a quote is signed for; `undefined` if it is not signed, because the body has no fingerprint.
   *
   * @throws `ConfigError` if the route's `quoteFor` returns anything but a string.
   */
  signedFor(view: RequestView, resource: ResourceInfo): QuoteSubject['request'] | undefined {
    const { merchant, prices } = this.#parts
    const body = bodyFingerprint(view)
    if (body === undefined) return undefined
    // A quote of a fixed price names the price itself.
    const priced = prices.fixed ? 'fixed' : prices.nameFor(view)
    const route = [pricedMethod(view), view.soldAt, priced, 'at', merchant.project]
    return [...route, resource.url, view.url, body]
  }

  /** Opens MPP for a request, unless its body cannot be compared: a challenge is for one body. */
  async #openMpp(view: RequestView, resource: ResourceInfo): Promise<Mpp | undefined> {
    const request = this.signedFor(view, resource)
    if (request === undefined) return undefined
    const { quotes, facilitator, now, publicUrl } = this.#context
    const key = await quotes.challengeKey()
    // The URL of a tool has no host.
    const url = view.argumentsHash === undefined ? resource.url : publicUrl
    return new Mpp({ key, formats: facilitator.formats, now, url, request }, view)
  }

  /** Signs a quote, if the route signs it and the request's body has a fingerprint. */
  async #sign(quote: Quote, view: RequestView, resource: ResourceInfo): Promise<Quote> {
    const { prices, options } = this.#parts
    const isSigned = prices.fixed ? quote.applied : options.quoteFor
    if (isSigned === undefined) return quote
    const request = this.signedFor(view, resource)
    if (request === undefined) return quote
    const { quotes, now } = this.#context
    return signQuote(quotes, quote, { request, now: now() })
  }

  async #quote(price: ParsedPrice): Promise<readonly Quote[]> {
    if (this.#callers === undefined) return this.#quoter.quote(price, this.#style)
    const networks = this.#parts.merchant.accepts.map(({ network }) => network)
    await this.#callers.learn(networks)
    const quotes = await this.#quoter.quote(price, this.#style)
    if (quotes.length > 0) return quotes
    throw metersNothing(networks)
  }

  /** The callers of its payments; `undefined` where offers depend on nobody elsewhere. */
  get #callers(): NetworkCallers | undefined {
    return this.#parts.prices.isMaximum ? this.#context.callers : undefined
  }

  /** @returns `undefined` if the price is not fixed, a rate has to be applied, or the facilitator elsewhere asked. */
  #prepare(): Prepared | undefined {
    const { merchant, prices, options } = this.#parts
    if (prices.fixed === undefined) return undefined
    const { price } = prices.fixed
    if (!this.#context.hasRates) checkConvertible(price, merchant)
    try {
      const accepts = this.#quoter.quoteFixed(price, this.#style)
      if (this.#callers !== undefined || accepts === undefined) return undefined
      const quotes = accepts.map((entry) => ({ entry }))
      this.#warnOfLimits(quotes)
      const { signIn = false, access } = options
      const isAsked = isFree(price) || signIn || access !== undefined || speaksMpp(options)
      const respondUnpaid = isAsked ? undefined : this.#prepareUnpaid(price, accepts)
      return { version: this.#context.permits?.version, quotes, respondUnpaid }
    } catch (error) {
      // At declaration, the currency is the developer's mistake.
      if (!isRateError(error)) throw error
      throw new ConfigError('price', explainUnquotable(error, price, merchant), 'invalid_price')
    }
  }

  #prepareUnpaid(price: ParsedPrice, accepts: Offer['accepts']): RespondUnpaid {
    const { resource, paywall, warnings } = this.#parts
    const askedAt = (url: string, view: RequestView): AskedPayment => {
      const asked = this.#asked(accepts, url, view)
      warnings.meet(view)
      return asked
    }
    const urlOf = (view: RequestView): string => resource.urlOf(view)
    const variantOf = resource.isDeclared
      ? (view: RequestView) => `${pricedMethod(view)} ${view.route}`
      : undefined
    const { documents } = this.#context
    const respondJson = preparePaymentRequired({ askedAt, urlOf, variantOf, documents })
    if (paywall === undefined) return respondJson
    return paywall.before(respondJson, (view) => {
      return { document: paymentRequired(askedAt(urlOf(view), view), { error: NOT_PAID }), price }
    })
  }

  #asked(accepts: Offer['accepts'], url: string, view: DescribedRequest): AskedPayment {
    const { resource, dialects } = this.#parts
    const { issuer } = this.#context
    const bazaar = resource.bazaarOf(view)
    return { resource: resource.at(url), accepts, bazaar, dialects, issuer }
  }

  #warnOfLimits(quotes: readonly Quote[], view?: RequestView): void {
    const { merchant, warnings } = this.#parts
    const { project } = merchant
    if (warnings.has('client_limits', project)) return
    const words = clientLimitWords(merchant, quotes)
    if (words !== undefined) warnings.warn('client_limits', { view, words, project })
  }

  #noteHeader(headerBytes: number, view?: RequestView): void {
    const { headerSizes } = this.#context
    if (headerSizes === undefined) return
    const { merchant, warnings } = this.#parts
    headerSizes.note(merchant.project, headerBytes)
    warnings.warnOfHeader(headerBytes, view)
  }
}
