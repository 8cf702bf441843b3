import { Router, type RequestHandler } from 'express'

/** A part that is loaded when it is first used. If that fails, the next use tries again. */
export class Lazy<T> {
  readonly #load: () => Promise<T>
  #loaded: Promise<T> | undefined

  constructor(load: () => Promise<T>) {
    this.#load = load
  }

  get(): Promise<T> {
    return (this.#loaded ??= this.#load().catch((error: unknown) => {
      this.#loaded = undefined
      throw error
    }))
  }

  get loaded(): Promise<T> | undefined {
    return this.#loaded
  }
}

/** A router whose routes are loaded at once, in the background; requests that come before wait for them. */
export function lazyRouter(load: () => Promise<RequestHandler>): Router {
  let loaded: RequestHandler | undefined
  const routes = new Lazy(async () => (loaded = await load()))
  // Each request that waits reports the failure.
  routes.get().catch(() => undefined)
  return Router().use(function loadRoutes(req, res, next) {
    if (loaded !== undefined) return loaded(req, res, next)
    void routes.get().then((handler) => handler(req, res, next), next)
  })
}
