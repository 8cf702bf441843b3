/** The paid routes of a gateway, by their middleware: what the app's documents say about them. */
import type { ParsedPrice } from '../money/price.js'
import type { PaymentRequirements } from '../protocol/payment.js'
import type { Declaration, DescribingOptions } from './declaration.js'

export interface AdvertisedPrice {
  /** `undefined` if it depends on the request. */
  readonly price?: ParsedPrice | undefined
  /** Whether the price is the most that may be charged. @defaultValue false */
  readonly isMaximum?: boolean | undefined
  /** The entries of `accepts`, where they are the same for every request. */
  readonly entries?: readonly PaymentRequirements[] | undefined
  /** Name of who is paid. */
  readonly seller?: string | undefined
}

/** A route as it was declared. */
export interface DeclaredRoute {
  readonly options: DescribingOptions
  readonly declaration: Declaration | undefined
  /** Its price now. Never rejects. */
  readonly price: () => Promise<AdvertisedPrice>
}

/** Finds a declared route by its middleware. */
export type DeclaredRoutes = WeakMap<object, DeclaredRoute>
