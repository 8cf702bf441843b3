/** Makes the documents of an app, from the paid routes that Express has. Loaded with the first request for one. */
import { LRUCache } from 'lru-cache'
import { ConfigError } from '../../shared/errors.js'
import type { Logger } from '../../shared/logger.js'
import type { DeclaredRoutes } from './declared-routes.js'
import { findRoutes } from './express-routes.js'
import { writeLlms, writeWellKnown } from './llms.js'
import { writeOpenApi, type DescribedApp, type OpenApiDocument } from './openapi.js'

/** How long a document is kept (ms): routes and prices may be added. */
const KEPT_MS = 5000

/** Apps whose documents are kept. */
const MAX_APPS = 16

/** Stands for the root URL. Where none is configured, strangers name it: documents are not made again for each. */
const ROOT = new URL('http://x402-root.invalid')

export interface AppDocuments {
  readonly openapi: OpenApiDocument
  /** By path. */
  readonly bodies: ReadonlyMap<string, { readonly type: string; readonly body: string }>
}

export interface DescriberOptions {
  readonly declaredRoutes: DeclaredRoutes
  readonly logger: Logger
}

export class AppDescriber {
  readonly #options: DescriberOptions
  readonly #made = new LRUCache<object, Promise<AppDocuments | undefined>>({
    max: MAX_APPS,
    ttl: KEPT_MS,
  })
  #first: object | undefined
  readonly #said = new Set<string>()

  constructor(options: DescriberOptions) {
    this.#options = options
  }

  /** The document at a path; `undefined` if it is another path, or the app has no paid route. */
  async describe(app: object, root: string, path: string) {
    this.#first ??= app
    const made = this.#made.get(app) ?? this.#make(app, ROOT.origin)
    if (!this.#made.has(app)) this.#made.set(app, made)
    // A failure is not kept.
    made.catch(() => this.#made.delete(app))
    const document = (await made)?.bodies.get(path)
    if (document === undefined) return undefined
    const body = document.body.replaceAll(ROOT.origin, () => root)
    return { ...document, body: body.replaceAll(ROOT.host, () => new URL(root).host) }
  }

  /**
   * Makes the OpenAPI document of an app.
   *
   * @throws `ConfigError` if no app is given, and none was described before.
   */
  async openapi(app = this.#first, root = 'http://localhost'): Promise<OpenApiDocument> {
    if (app === undefined)
      throw new ConfigError(
        'openapi',
        'does not know the app before gateway.discovery() was asked: pass it, gateway.openapi(app)',
        'missing_option',
      )
    const documents = await this.#make(app, root)
    return documents?.openapi ?? writeOpenApi({ root, routes: [] })
  }

  async #make(app: object, root: string): Promise<AppDocuments | undefined> {
    const { declaredRoutes } = this.#options
    const { routes, unread } = findRoutes(app, declaredRoutes)
    for (const what of unread) this.#warn(what)
    if (routes.length === 0 && !declaredRoutes.isEmpty) this.#warn('any paid route')
    if (routes.length === 0) return undefined
    const priced = routes.map(async (one) => ({ ...one, price: await one.route.price() }))
    return write({ root, routes: await Promise.all(priced) })
  }

  #warn(what: string): void {
    if (this.#said.has(what)) return
    this.#said.add(what)
    this.#options.logger.warn(
      `The OpenAPI document cannot list ${what}. Mount routers at plain paths, and gateway.discovery() in each app of its own. A function that wraps middleware must copy its properties: Object.assign(wrapper, middleware). In NestJS, mount it in main.ts: app.use('/path', x402Protect('$0.01')).`,
    )
  }
}

function write(app: DescribedApp): AppDocuments {
  const openapi = writeOpenApi(app)
  const json = (document: object) => ({
    type: 'application/json; charset=utf-8',
    body: JSON.stringify(document),
  })
  return {
    openapi,
    bodies: new Map([
      ['/openapi.json', json(openapi)],
      ['/.well-known/x402', json(writeWellKnown(app))],
      ['/llms.txt', { type: 'text/plain; charset=utf-8', body: writeLlms(app) }],
    ]),
  }
}
