import { Router, type RequestHandler } from 'express'

/** A part that is loaded when it is first used. */
export class Lazy<T> {
  readonly #load: () => Promise<T>
  #loaded: Promise<T> | undefined

  constructor(load: () => Promise<T>) {
    this.#load = load
  }

  /** Loads the part, if nobody has. */
  get(): Promise<T> {
    return (this.#loaded ??= this.#load())
  }

  /** The part, if somebody has loaded it. */
  get loaded(): Promise<T> | undefined {
    return this.#loaded
  }
}

/** A router whose routes are loaded at once, in the background; requests that come before wait for them. */
export function lazyRouter(load: () => Promise<RequestHandler>): Router {
  let routes: RequestHandler | undefined
  const loading = load().then((loaded) => (routes = loaded))
  // Each request reports the failure.
  loading.catch(() => undefined)
  return Router().use(function loadRoutes(req, res, next) {
    if (routes !== undefined) return routes(req, res, next)
    loading.then((loaded) => loaded(req, res, next)).catch(next)
  })
}
