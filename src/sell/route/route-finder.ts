import { readDeclaration } from '../../core/catalogue/declaration.js'
import type { AdvertisedPrice, DeclaredRoute } from '../discovery/declared-routes.js'
import { ConfigError } from '../../shared/errors.js'
import { parsePrice } from '../../shared/money/price.js'
import { visible } from '../../shared/protocol/visible-text.js'
import { MerchantRoutes, type MerchantRoutesContext } from './merchant-routes.js'
import { checkOptions } from './options.js'
import type { MerchantFunction, ProtectOptions } from './options.js'
import { readPriceRange } from './price-range.js'
import type { RequestView } from './request-view.js'
import { PaidRoute } from './route.js'
import { nameOfRoute, RouteWarnings } from './route-warnings.js'
import { readDeclaredPrice, type DeclaredPrice } from './up-to-price.js'

/**
 * Finds the route that a request pays, and with it the merchant. Called once for each request.
 *
 * It gives `undefined` while there is no merchant that could be paid.
 */
export type FindRoute = (view: RequestView) => PaidRoute | Promise<PaidRoute | undefined>

export interface ProtectedRoute extends DeclaredRoute {
  readonly find: FindRoute
}

/**
 * Declares a route, for one merchant or for many.
 *
 * @throws `ConfigError` for a price or an option that cannot work.
 */
export function declareRoute(
  context: MerchantRoutesContext,
  price: DeclaredPrice,
  given: ProtectOptions = {},
): ProtectedRoute {
  checkOptions(given)
  // What is free is for those who sign in.
  const options = given.signIn === true ? { ...given, allowFree: true } : given
  const declaration = readDeclaration(options)
  const find = routeFinder({ ...context, declaration }, price, options)
  const { skip, chargeIf, allowFree = false } = options
  const mayBeFree = skip !== undefined || chargeIf !== undefined || allowFree
  return { find, options, declaration, mayBeFree, price: () => advertise(find, price, options) }
}

/** The price of a route for everybody: of its merchant, unless each request has its own. */
async function advertise(
  find: FindRoute,
  declared: DeclaredPrice,
  { merchant, allowFree = false, priceRange }: ProtectOptions,
): Promise<AdvertisedPrice> {
  if (typeof merchant === 'function') {
    const { price, maximum } = readDeclaredPrice(declared)
    const terms = maximum ? { isMaximum: true } : {}
    const range = readPriceRange(priceRange, { price }, 'USD')
    if (typeof price === 'function') return { range, ...terms }
    return { price: parsePrice(price, { defaultCurrency: 'USD', allowFree }), ...terms }
  }
  // This merchant does not depend on the request.
  const route = await Promise.resolve(find({} as RequestView)).catch(() => undefined)
  return route?.advertised ?? {}
}

function routeFinder(
  context: MerchantRoutesContext,
  price: DeclaredPrice,
  options: ProtectOptions,
): FindRoute {
  const warnings = new RouteWarnings(context.logger, options.description)
  const { merchant, ...others } = options
  if (merchant === undefined || isFixed(context, merchant)) {
    const route = new PaidRoute({ ...context, warnings }, price, {
      ...others,
      ...(merchant && { merchant }),
    })
    return () => route
  }
  const routes = new MerchantRoutes({ ...context, warnings }, { price, options: others })
  if (typeof merchant === 'string') return () => routes.find(merchant)
  return async (view) => routes.find(await choose(context, merchant, view))
}

/** Tells whether a merchant cannot change: one that is kept in the ledger may appear and change later. */
function isFixed(
  { directory }: MerchantRoutesContext,
  merchant: string | MerchantFunction,
): merchant is string {
  if (typeof merchant === 'function') return false
  return !directory.isOpen || directory.isConfigured(merchant)
}

/** Longest id of a project that an error repeats. */
const MAX_SHOWN = 80

/**
 * Asks the app who is paid for a request.
 *
 * @throws `ConfigError` if that is no project; and whatever the app's function throws.
 */
async function choose(
  { directory }: MerchantRoutesContext,
  merchant: MerchantFunction,
  view: RequestView,
): Promise<string> {
  const id: unknown = await merchant(view.req)
  if (typeof id !== 'string')
    throw new ConfigError(
      'merchant',
      `its function must return the id of a project, at ${nameOfRoute(view)}`,
      'invalid_type',
    )
  if (directory.find(id) === undefined) await directory.whenLoaded()
  if (directory.find(id) !== undefined || !directory.isLoaded) return id
  throw new ConfigError(
    'merchant',
    `its function returned '${visible(id, MAX_SHOWN)}', which is the id of no project`,
    'unknown_project',
  )
}
