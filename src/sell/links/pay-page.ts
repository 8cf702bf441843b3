/** `/pay/{id}`: a payment link, a paid resource like any other. */
import type { NextFunction, RequestHandler, Response } from 'express'
import { LRUCache } from 'lru-cache'
import { isConfigError, isOutsideFailure } from '../../shared/errors.js'
import { amountOf, type LedgerStore } from '../../ledger/index.js'
import { STATUS } from '../../shared/http/problem-status.js'
import type { Checkout, CheckoutRefusal, CheckoutStatus } from '../../ledger/checkouts.js'
import { findAcceptedAsset, type Merchant } from '../../core/merchants/project.js'
import { parsePrice } from '../../shared/money/price.js'
import { callerOf, type Exchange } from '../flow/exchange.js'
import { outsideFailure } from '../flow/exits.js'
import { handlePaidRequest } from '../flow/handle-paid-request.js'
import { respondExit } from '../flow/respond-exit.js'
import { paymentRequired } from '../route/payment-required.js'
import { openPaywall, type ShownRefund } from '../paywall/paywall.js'
import { varyByAccept } from '../paywall/prefers-html.js'
import { nameSeller, openProblemPage, showProblem } from '../paywall/problem-page.js'
import { MOST_PREPARED, newDocuments } from '../route/prepared-payment-required.js'
import { bringsPayment } from '../route/version-2.js'
import { respondRouteProblem } from '../respond/respond.js'
import { viewOf } from '../route/request-view.js'
import { PaidRoute } from '../route/route.js'
import { RouteWarnings } from '../route/route-warnings.js'
import type { PaidRoutesContext } from '../flow/x402-protect.js'
import { reservedPayment, respondPaid, returnUrlOf } from './paid-answer.js'

/** Dependencies of {@link createPayPage}. */
export interface PayPageContext extends PaidRoutesContext {
  readonly ledger: LedgerStore
}

/** Links, also those that were cut, or copied with what follows them. Other paths below `/pay` are left to the app. */
const PATH = /^\/pay\/(co_[0-9a-f]{4}[^/]{0,60})\/?$/

/** Payment links that are kept prepared. */
const MAX_PREPARED = 256

/** Why a payment link cannot be paid, for people and programs. */
const PROBLEMS = {
  paid: {
    code: 'checkout_paid',
    detail:
      'This payment link has been paid by another payment. Should yours have been charged as well, ask the seller for a refund.',
  },
  expired: {
    code: 'checkout_expired',
    detail: 'This payment link has expired; nothing was charged. Ask the seller for a new one.',
  },
  canceled: {
    code: 'checkout_canceled',
    detail: 'The seller has canceled this payment link; nothing was charged.',
  },
  in_progress: {
    code: 'checkout_in_progress',
    detail:
      'Another payment of this link is under way; yours was not charged. Present the same payment again later.',
  },
} as const satisfies Readonly<Record<CheckoutRefusal, object>>

/** A payment link, on the terms of its merchant. */
interface PreparedLink {
  readonly merchant: Merchant
  /** `undefined` if they do not fit. */
  readonly route: PaidRoute | undefined
}

/**
 * Makes the middleware of payment links.
 *
 * A link is charged for by the flow of every paid route. Its handler is what makes it paid once: the payment is
 * reserved by then, and is settled only if it could take the checkout. Otherwise the handler's answer is an error,
 * and the payment is released.
 */
export function createPayPage(context: PayPageContext): RequestHandler {
  const links = new PaymentLinks(context)
  return function payPage(req, res, next) {
    const id = PATH.exec(req.path)?.[1]
    if (id === undefined || (req.method !== 'GET' && req.method !== 'HEAD')) return next()
    links.serve(id, { req, view: viewOf(req), res, next }).catch(next)
  }
}

class PaymentLinks {
  readonly #context: PayPageContext
  readonly #prepared = new LRUCache<string, PreparedLink>({ max: MAX_PREPARED })
  readonly #documents = newDocuments(MOST_PREPARED.ofMerchants)
  readonly #warnings: RouteWarnings

  constructor(context: PayPageContext) {
    this.#context = context
    this.#warnings = new RouteWarnings(context.logger, '/pay/{id}')
  }

  async serve(id: string, exchange: Exchange): Promise<void> {
    await this.#orUnavailable(exchange, async () => {
      const checkout = await this.#context.ledger.checkouts.find(id)
      if (checkout !== undefined) return this.#serve(checkout, exchange)
      // A program may want another handler of the app.
      openProblemPage(undefined, this.#context.paywall)?.meet(exchange.req, exchange.res)
      if (!showProblem(exchange.res, 'not_found')) exchange.next()
    })
  }

  /** Responds with a 503 if the world outside fails. Of a paid request, the payment is released then. */
  async #orUnavailable(exchange: Exchange, serve: () => Promise<void>): Promise<void> {
    try {
      await serve()
    } catch (error) {
      if (!isOutsideFailure(error)) throw error
      respondExit(
        exchange.res,
        outsideFailure(this.#context, error, { caller: callerOf(exchange) }),
      )
    }
  }

  async #serve(checkout: Checkout, exchange: Exchange): Promise<void> {
    const { status } = checkout
    const { req, res, next } = exchange
    const merchant = await this.#merchantOf(checkout)
    const { paywall } = this.#context
    const problemPage = openProblemPage(paywall && lookOf(checkout), paywall)
    problemPage?.meet(req, res)
    if (merchant !== undefined) nameSeller(res, merchant)
    // A payment that has paid it is answered again.
    if (status !== 'open' && !bringsPayment(req)) return this.#tell(res, checkout, merchant)
    const route = merchant && this.#routeOf(checkout, merchant)
    if (route === undefined) return respondExit(res, { kind: 'nobody_paid' })
    const answer = (): Promise<void> =>
      this.#orUnavailable(exchange, () => this.#takeOrRefuse(checkout, exchange))
    const handle: NextFunction = (failure?: unknown) =>
      failure === undefined ? void answer().catch(next) : next(failure)
    const declared = { skip: undefined, declaration: undefined, find: () => route, problemPage }
    await handlePaidRequest(this.#context, declared, { ...exchange, next: handle })
  }

  /** Answers a request whose payment is reserved. */
  async #takeOrRefuse(checkout: Checkout, { req, res }: Exchange): Promise<void> {
    const { ledger, facilitator } = this.#context
    const payment = reservedPayment(req, facilitator.formats)
    const refusal = await ledger.checkouts.take(checkout.id, payment)
    if (refusal !== undefined) return respondRouteProblem(res, PROBLEMS[refusal])
    respondPaid(res, checkout)
  }

  async #merchantOf({ project }: Checkout): Promise<Merchant | undefined> {
    const { directory } = this.#context
    if (directory.findMerchant(project) === undefined) await directory.whenLoaded()
    return directory.findMerchant(project)
  }

  /** Says why a link cannot be paid. Its page also shows a buyer what was bought there. */
  async #tell(res: Response, checkout: Checkout, merchant: Merchant | undefined): Promise<void> {
    const { url, description = '', status } = checkout
    const problem = PROBLEMS[status as Exclude<CheckoutStatus, 'open'>]
    const look = this.#context.paywall && lookOf(checkout)
    const paywall = merchant && openPaywall(this.#context, merchant, look)
    varyByAccept(res)
    if (!merchant || paywall?.isWantedBy(res) !== true) return respondRouteProblem(res, problem)
    const document = paymentRequired(
      { resource: { url, description }, accepts: [] },
      { error: problem.code, message: problem.detail },
    )
    const price = parsePrice(priceOf(checkout), { defaultCurrency: checkout.currency })
    const refund = await this.#refundOf(checkout, merchant)
    paywall.respond(res, { document, price, refund, status: STATUS[problem.code].route })
  }

  /** What was refunded of the payment of a link, if anything was. */
  async #refundOf(checkout: Checkout, merchant: Merchant): Promise<ShownRefund | undefined> {
    const { project, settlement: id } = checkout
    const { payments, refunds } = this.#context.ledger
    const refunded = id && (await refunds.refundedOf([id])).get(id)
    const [payment] = refunded ? await payments.list({ project, id, limit: 1 }) : []
    if (!refunded || payment === undefined) return undefined
    const { chainId, asset } = payment
    const token = findAcceptedAsset(merchant, { network: `eip155:${chainId}`, asset })
    return { refunded, paid: amountOf(payment), token: token ?? { decimals: 0, symbol: asset } }
  }

  /** @returns `undefined` while nobody can be paid: the merchant takes no token for the currency any more. */
  #routeOf(checkout: Checkout, merchant: Merchant): PaidRoute | undefined {
    const { logger } = this.#context
    const { id, project } = checkout
    const known = this.#prepared.get(id)
    if (known?.merchant === merchant) return known.route
    let route: PaidRoute | undefined
    try {
      route = this.#prepare(checkout, merchant)
    } catch (error) {
      if (!isConfigError(error)) throw error
      const fields = { project, checkout: id, error }
      logger.warn(
        'This payment link cannot be paid: its price no longer fits the merchant.',
        fields,
      )
    }
    this.#prepared.set(id, { merchant, route })
    return route
  }

  #prepare(checkout: Checkout, merchant: Merchant): PaidRoute {
    const { project, url, description, reference } = checkout
    const context = {
      ...this.#context,
      merchants: new Map([[project, merchant]]),
      documents: this.#documents,
      warnings: this.#warnings,
      // Anyone with its URL may pay a link, so no catalogue shows it.
      catalogue: undefined,
    }
    return new PaidRoute(context, priceOf(checkout), {
      ...(description !== undefined && { description }),
      ...(reference !== undefined && { reference }),
      resourceUrl: () => url,
      paywall: this.#context.paywall && lookOf(checkout),
    })
  }
}

const priceOf = ({ amount, currency }: Checkout) => ({ amount, currency })

/** The look of its pages. The way back from one that is paid leads to the shop's thanks. */
function lookOf(checkout: Checkout) {
  const { status, cancelUrl } = checkout
  const backUrl = status === 'paid' ? (returnUrlOf(checkout) ?? cancelUrl) : cancelUrl
  return { isLink: true, backUrl }
}
