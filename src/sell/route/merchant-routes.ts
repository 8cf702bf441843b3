/** Routes whose merchant is looked up for each request. */
import { LRUCache } from 'lru-cache'
import type { Merchant } from '../../core/merchants/project.js'
import type { ProjectDirectory } from '../../core/merchants/project-directory.js'
import { parsePrice } from '../../shared/money/price.js'
import type { RouteOptions } from './options.js'
import { MOST_PREPARED, newDocuments } from './prepared-payment-required.js'
import { PaidRoute, type RouteContext } from './route.js'
import { readDeclaredPrice, type DeclaredPrice } from './up-to-price.js'
import { world } from '../../shared/world.js'

/** How often the same route is reported (ms): every request could cause a report. */
const REPORT_EVERY_MS = 60_000

/** Merchants of one route that are kept prepared. */
const MAX_PREPARED = 256

export interface MerchantRoutesContext extends RouteContext {
  readonly directory: ProjectDirectory
}

export interface RouteDeclaration {
  readonly price: DeclaredPrice
  readonly options: Omit<RouteOptions, 'merchant'>
}

/** A route, prepared for the terms of one merchant, or why it does not fit them. */
type PreparedRoute = { readonly merchant: Merchant } & (
  { readonly route: PaidRoute } | { readonly error: unknown }
)

/**
 * The same route for several merchants, each with a {@link PaidRoute} of its own: no document or quote of
 * one is used for another. A merchant's route is prepared anew when its project changes.
 */
export class MerchantRoutes {
  readonly #context: MerchantRoutesContext
  readonly #declared: RouteDeclaration
  readonly #prepared = new LRUCache<string, PreparedRoute>({ max: MAX_PREPARED })
  #reportedAt = -Infinity

  /** @throws `ConfigError` for a price that cannot work with any merchant. */
  constructor(context: MerchantRoutesContext, declared: RouteDeclaration) {
    const { options } = declared
    const { price } = readDeclaredPrice(declared.price)
    if (typeof price !== 'function')
      parsePrice(price, { defaultCurrency: 'USD', allowFree: options.allowFree ?? false })
    this.#context = { ...context, documents: newDocuments(MOST_PREPARED.ofMerchants) }
    this.#declared = declared
  }

  /**
   * Finds the route of a merchant with its present terms. A request keeps the route that it has found.
   *
   * @returns `undefined` while the project has no merchant.
   * @throws `ConfigError` if the price or an option does not fit the merchant.
   */
  async find(project: string): Promise<PaidRoute | undefined> {
    const { directory } = this.#context
    if (directory.findMerchant(project) === undefined) await directory.whenLoaded()
    const merchant = directory.findMerchant(project)
    if (merchant === undefined) return this.#report(project)
    const known = this.#prepared.get(project)
    const prepared = known?.merchant === merchant ? known : this.#prepare(merchant)
    if (prepared !== known) this.#prepared.set(project, prepared)
    if ('error' in prepared) throw prepared.error
    return prepared.route
  }

  #report(project: string): undefined {
    if (world.elapsed() - this.#reportedAt < REPORT_EVERY_MS) return
    this.#reportedAt = world.elapsed()
    this.#context.logger.error('A paid route has no merchant: create it, or name another.', {
      project,
      code: 'merchant_not_configured',
    })
  }

  #prepare(merchant: Merchant): PreparedRoute {
    const { price, options } = this.#declared
    const merchants = new Map([[merchant.project, merchant]])
    try {
      return { merchant, route: new PaidRoute({ ...this.#context, merchants }, price, options) }
    } catch (error) {
      return { merchant, error }
    }
  }
}
