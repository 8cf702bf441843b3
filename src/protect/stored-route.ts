/** Routes whose merchant may be made, changed and removed while the gateway runs. */
import { RETRY_AFTER_SECONDS } from '../http/problem-status.js'
import type { Merchant } from '../merchants/project.js'
import type { ProjectDirectory } from '../merchants/project-directory.js'
import type { Price } from '../money/price.js'
import { checkOptions, type PriceFunction, type ProtectOptions } from './options.js'
import type { Exchange } from './payment-attempt.js'
import { respondOptions } from './respond-options.js'
import { respondRouteProblem } from './respond.js'
import { PaidRoute, type RouteContext } from './route.js'

/** Milliseconds between two reports of the same route: anyone can ask for it. */
const REPORT_EVERY_MS = 60_000

/** What such routes need from the gateway. */
export interface StoredRouteContext extends RouteContext {
  readonly directory: ProjectDirectory
}

/** Options that name a merchant. */
export type StoredOptions = ProtectOptions & { readonly merchant: string }

/** Tells whether a route names a merchant that the configuration does not have, and the ledger may. */
export function isStoredMerchant(
  { directory }: StoredRouteContext,
  options: ProtectOptions | undefined,
): options is StoredOptions {
  const { merchant } = options ?? {}
  return typeof merchant === 'string' && directory.isOpen && !directory.isConfigured(merchant)
}

/** A route of a merchant that is looked up for each request. It is prepared anew when that changes. */
export class StoredRoute {
  readonly #context: StoredRouteContext
  readonly #price: Price | PriceFunction
  readonly #options: StoredOptions
  #prepared: { readonly merchant: Merchant; readonly make: () => PaidRoute } | undefined
  #reportedAt = -Infinity

  /** @throws `ConfigError` for options that cannot work with any merchant. */
  constructor(context: StoredRouteContext, price: Price | PriceFunction, options: StoredOptions) {
    checkOptions(options)
    this.#context = context
    this.#price = price
    this.#options = options
  }

  /**
   * Finds the route as it is now. It stays as it is for the request that has found it.
   *
   * @returns `undefined` while there is no such merchant.
   * @throws `ConfigError` if the price or an option does not fit the merchant.
   */
  async find(): Promise<PaidRoute | undefined> {
    const { directory } = this.#context
    const { merchant: id } = this.#options
    if (directory.findMerchant(id) === undefined) await directory.whenLoaded()
    const merchant = directory.findMerchant(id)
    if (merchant === undefined) return undefined
    if (this.#prepared?.merchant !== merchant)
      this.#prepared = { merchant, make: once(() => this.#prepare(merchant)) }
    return this.#prepared.make()
  }

  /** Responds to a request while there is no merchant that could be paid. */
  async respondWithout({ req, res, next }: Exchange): Promise<void> {
    if ((await this.#options.skip?.(req)) === true) return next()
    if (req.method === 'OPTIONS') return respondOptions(req, res)
    const { merchant: project } = this.#options
    if (performance.now() - this.#reportedAt >= REPORT_EVERY_MS) {
      this.#reportedAt = performance.now()
      this.#context.logger.error('A paid route has no merchant: create it, or name another.', {
        project,
        code: 'merchant_not_configured',
      })
    }
    res.set('Retry-After', String(RETRY_AFTER_SECONDS))
    respondRouteProblem(res, {
      code: 'merchant_not_configured',
      detail: 'Nobody can be paid for this resource at present; nothing was charged.',
    })
  }

  #prepare(merchant: Merchant): PaidRoute {
    const merchants = new Map([[merchant.project, merchant]])
    return new PaidRoute({ ...this.#context, merchants }, this.#price, this.#options)
  }
}

/** Runs a function at most once; what it has thrown is thrown again. */
function once<T>(make: () => T): () => T {
  let result: { readonly value: T } | { readonly error: unknown } | undefined
  return () => {
    try {
      result ??= { value: make() }
    } catch (error) {
      result = { error }
    }
    if ('error' in result) throw result.error
    return result.value
  }
}
