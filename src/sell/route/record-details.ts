/** Names the route of a request. */
import type { Request } from 'express'
import { findMounts } from '../discovery/express-routes.js'

/** Paths of the router of each Express route: as many as the app has. */
const mounts = new WeakMap<object, string | undefined>()

/** The pattern of the Express route, with the paths of its routers. */
export function routeOf(req: Request): string | undefined {
  const { path } = (req.route ?? {}) as { readonly path?: unknown }
  return typeof path === 'string' ? mountOf(req) + path : undefined
}

/** Names what sells a request: its route, or the path that a middleware is mounted at. */
export function soldAt(req: Request): string {
  return routeOf(req) ?? req.baseUrl + String(req.route?.path ?? '')
}

/** Express takes `baseUrl` away once a request is over, when a warning may still name its route. */
interface MountedRequest extends Pick<Request, 'route' | 'app'> {
  readonly baseUrl?: string | undefined
}

/** Where the router of a route is mounted; with the values of parameters, where its pattern cannot be read. */
function mountOf({ route, baseUrl = '', app }: MountedRequest): string {
  if (baseUrl !== '' && !mounts.has(route)) {
    const [mount, other] = findMounts(app, route)
    mounts.set(route, other === undefined ? mount : undefined)
  }
  const mount = mounts.get(route)
  // Express leaves the route of an earlier handler on the request of a later middleware.
  return mount?.split('/').length === baseUrl.split('/').length ? mount : baseUrl
}
