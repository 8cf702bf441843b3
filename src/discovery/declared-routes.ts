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
  /** Whether some requests pass unpaid, or their answers are given away, by an option of the route. */
  readonly mayBeFree: boolean
  /** Its price now. Never rejects. */
  readonly price: () => Promise<AdvertisedPrice>
}

/** The declared routes of one gateway, by their middleware. */
export type DeclaredRoutes = WeakMap<object, DeclaredRoute>

/** The paid middleware that other middleware calls: the test kit's calls one for each gateway. */
const called = new WeakMap<object, () => readonly object[]>()

/** Notes which paid middleware another one calls. */
export function noteCalled(middleware: object, find: () => readonly object[]): void {
  called.set(middleware, find)
}

/** Finds a declared route by its middleware, or by one that calls it. */
export function findDeclared(
  declared: DeclaredRoutes,
  middleware: object,
): DeclaredRoute | undefined {
  const all = [middleware, ...(called.get(middleware)?.() ?? [])]
  return all.map((one) => declared.get(one)).find((route) => route !== undefined)
}
