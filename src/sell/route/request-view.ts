/** A request to a paid route, as the gateway sees it. */
import type { Request } from 'express'
import { findMounts } from '../discovery/express-routes.js'
import { publicRootOf } from '../../shared/http/public-url.js'

/** What a route may know of a request, whatever carries it. */
export interface RequestView {
  readonly method: string
  /** Its path and query, or an absolute URL, as its client asked for it. */
  readonly url: string
  /** Scheme and host, as its client sees them. */
  readonly origin: string
  /** The same path, without the query, which may hold what is secret. */
  readonly path: string
  /** The pattern of its route, with the paths of its routers; `undefined` if it has none. */
  readonly route: string | undefined
  /** Where the router of that route, or the middleware, is mounted. */
  readonly mount: string
  /** Names what sells it: its route, or the path that a middleware is mounted at. */
  readonly soldAt: string
  readonly ip: string
  header(name: string): string | undefined
  /** Its body, as the app has parsed it. */
  readonly body: unknown
  /** Whether its body was read to the end. */
  readonly isRead: boolean
  /** The request itself, for the app's own functions alone. */
  readonly req: Request
}

/** Looks at a request, once. Express takes route and mount away when it is over. */
export function viewOf(req: Request): RequestView {
  const { baseUrl: mount } = req
  const route = routeOf(req)
  return {
    req,
    method: req.method,
    url: req.originalUrl,
    route,
    mount,
    soldAt: route ?? mount + String(req.route?.path ?? ''),
    header: (name) => req.get(name),
    get origin() {
      return publicRootOf(req, undefined)
    },
    get path() {
      return req.baseUrl + req.path
    },
    get ip() {
      return req.ip ?? ''
    },
    get body(): unknown {
      return req.body
    },
    get isRead() {
      return req.readableEnded
    },
  }
}

/** The method that a request is charged for: `HEAD` costs the same as `GET`. */
export function pricedMethod({ method }: Pick<RequestView, 'method'>): string {
  return method === 'HEAD' ? 'GET' : method
}

/** Paths of the router of each Express route: as many as the app has. */
const mounts = new WeakMap<object, string | undefined>()

function routeOf(req: Request): string | undefined {
  const { path } = (req.route ?? {}) as { readonly path?: unknown }
  return typeof path === 'string' ? mountOf(req) + path : undefined
}

/** Where the router of a route is mounted; with the values of parameters, where its pattern cannot be read. */
function mountOf({ route, baseUrl, app }: Request): string {
  if (baseUrl !== '' && !mounts.has(route)) {
    const [mount, other] = findMounts(app, route)
    mounts.set(route, other === undefined ? mount : undefined)
  }
  const mount = mounts.get(route)
  // Express leaves the route of an earlier handler on the request of a later middleware.
  return mount?.split('/').length === baseUrl.split('/').length ? mount : baseUrl
}
