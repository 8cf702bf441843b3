/** The paid routes of a gateway, by their middleware: what the app's documents say about them. */
import type { ParsedPrice } from '../../shared/money/price.js'
import type { ProtectOptions } from '../route/options.js'
import type { PaymentRequirements } from '../../shared/protocol/payment.js'
import type { Declaration, DescribingOptions } from '../../core/catalogue/declaration.js'
import type { PriceRange } from '../route/price-range.js'

export interface AdvertisedPrice {
  /** `undefined` if it depends on the request. */
  readonly price?: ParsedPrice | undefined
  /** Its range, where it depends on the request and its function names one. */
  readonly range?: PriceRange | undefined
  /** Whether the price is the most that may be charged. @defaultValue false */
  readonly isMaximum?: boolean | undefined
  /** The entries of `accepts`, where they are the same for every request. */
  readonly entries?: readonly PaymentRequirements[] | undefined
  /** Name of who is paid. */
  readonly seller?: string | undefined
}

export interface DeclaredRoute {
  readonly options: DescribingOptions & Pick<ProtectOptions, 'protocols'>
  readonly declaration: Declaration | undefined
  /** Whether some requests pass unpaid, or their answers are given away, by an option of the route. */
  readonly mayBeFree: boolean
  /** Its price now. Never rejects. */
  readonly price: () => Promise<AdvertisedPrice>
}

/** On paid middleware, and on a wrapper that copies its properties: finds the middleware that was declared. */
const FIND = Symbol('x402')

/**
 * Marks paid middleware.
 *
 * @param find - Which paid middleware it calls: the test kit's calls one for each gateway. @defaultValue itself
 */
export function markPaid(middleware: object, find = (): readonly object[] => [middleware]): void {
  Object.assign(middleware, { [FIND]: find })
}

export class DeclaredRoutes {
  readonly #routes = new WeakMap<object, DeclaredRoute>()
  isEmpty = true

  add(middleware: object, route: DeclaredRoute): void {
    markPaid(middleware)
    this.#routes.set(middleware, route)
    this.isEmpty = false
  }

  /** Finds a declared route by what an app has in place of its middleware. */
  find(handler: { [FIND]?: () => readonly object[] }): DeclaredRoute | undefined {
    const all = (handler[FIND]?.() ?? []).map((middleware) => this.#routes.get(middleware))
    return all.find((route) => route !== undefined)
  }
}
