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
  /** Names a header of its payment, for the developer of a client: `PAYMENT-SIGNATURE header`. */
  placeOf(header: string): string
  /** The credentials of MPP of a call without headers. @defaultValue those in `Authorization` */
  readonly credentials?: readonly string[]
  /** Of a call that no URL describes: fingerprint of its arguments, which its offer names and its payment echoes. */
  readonly argumentsHash?: string | undefined
  /** Its body, as the app has parsed it. */
  readonly body: unknown
  readonly isRead: boolean
  /** The request itself, for the app's own functions alone. */
  readonly req: Request
}

/** Looks at a request, once. Express takes its route and its mount away when it is over. */
export function viewOf(req: Request): RequestView {
  return new ExpressView(req)
}

/**
 * A request of Express. As a class it shares its getters and finds its route on demand: with an object literal a
 * 402 took 1.15 times the CPU (Node 20).
 */
class ExpressView implements RequestView {
  readonly mount: string
  readonly #expressRoute: Request['route']
  readonly #app: Request['app']

  constructor(readonly req: Request) {
    this.mount = req.baseUrl
    this.#expressRoute = req.route
    this.#app = req.app
  }

  get method() {
    return this.req.method
  }

  get url() {
    return this.req.originalUrl
  }

  get route() {
    const { path } = (this.#expressRoute ?? {}) as { readonly path?: unknown }
    if (typeof path !== 'string') return undefined
    return mountOf(this.#app, this.#expressRoute, this.mount) + path
  }

  get soldAt() {
    return this.route ?? this.mount + String(this.#expressRoute?.path ?? '')
  }

  get origin() {
    return publicRootOf(this.req, undefined)
  }

  get path() {
    return this.req.baseUrl + this.req.path
  }

  get ip() {
    return this.req.ip ?? ''
  }

  get body(): unknown {
    return this.req.body
  }

  get isRead() {
    return this.req.readableEnded
  }

  header(name: string) {
    return this.req.get(name)
  }

  placeOf(header: string) {
    return `${header} header`
  }
}

/** The method that a request is charged for: `HEAD` costs the same as `GET`. */
export function pricedMethod({ method }: Pick<RequestView, 'method'>): string {
  return method === 'HEAD' ? 'GET' : method
}

/** Paths of the router of each Express route: as many as the app has. */
const mounts = new WeakMap<object, string | undefined>()

/** Where the router of a route is mounted; with the values of parameters, where its pattern cannot be read. */
function mountOf(app: Request['app'], route: Request['route'], baseUrl: string): string {
  if (baseUrl !== '' && !mounts.has(route)) {
    const [mount, other] = findMounts(app, route)
    mounts.set(route, other === undefined ? mount : undefined)
  }
  const mount = mounts.get(route)
  // Express leaves the route of an earlier handler on the request of a later middleware.
  return mount?.split('/').length === baseUrl.split('/').length ? mount : baseUrl
}
