import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import type { RouterContext } from '../context.js'
import type { Operations } from '../openapi/operation.js'
import type { OpenApiDocument } from '../openapi/write-document.js'
import { tagOf, type Publication } from '../respond-document.js'

const compress = promisify(gzip)

/** Documents that are kept. There are more than a few only if requests name several hosts. */
const MAX_KEPT = 32

/** Where a document is read. */
export interface DocumentPlace {
  /** URL where the gateway is mounted. */
  readonly root: string
  /** URL of the app that it is mounted in. */
  readonly app: string
}

/**
 * Writes the OpenAPI document for those who ask for it.
 *
 * Nothing is loaded or made before the first request for it: an app that only charges for its routes
 * pays nothing for the description of the API.
 */
export class DocumentPublisher {
  readonly #context: RouterContext
  readonly #kept = new LRUCache<string, Promise<Publication>>({ max: MAX_KEPT })
  #document: Promise<OpenApiDocument> | undefined

  constructor(context: RouterContext) {
    this.#context = context
  }

  /** The document, with the URLs of its reader. */
  publish(place: DocumentPlace): Promise<Publication> {
    const key = JSON.stringify([place.root, place.app])
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const made = this.#publish(place)
    this.#kept.set(key, made)
    made.catch(() => this.#kept.delete(key))
    return made
  }

  async #publish({ root, app }: DocumentPlace): Promise<Publication> {
    this.#document ??= this.#write()
    // After a failure, the next reader loads it again.
    this.#document.catch(() => (this.#document = undefined))
    const document = await this.#document
    const { openapi, info, paths, ...parts } = document
    const servers = [{ url: root, description: 'This gateway.' }]
    const placed = { openapi, info, servers, paths: withServers(paths, app), ...parts }
    const body = JSON.stringify(placed)
    // Weak, since it names the compressed bytes as well.
    const tag = `W/${tagOf(body)}`
    return { type: 'application/json', body, compressed: await compress(body), tag }
  }

  async #write(): Promise<OpenApiDocument> {
    const { mounted = [], hasProbes, identifyMerchant } = this.#context
    const [{ describeApi }, { writeDocument }, probes, ...others] = await Promise.all([
      import('../openapi/describe-api.js'),
      import('../openapi/write-document.js'),
      hasProbes?.() === true ? describeProbes() : undefined,
      ...mounted.map((api) => api.describe?.()),
    ])
    const operations = Object.assign({}, describeApi(), ...others, probes)
    return writeDocument({ operations, hasSessions: identifyMerchant !== undefined })
  }
}

async function describeProbes(): Promise<Operations> {
  return (await import('../openapi/operations/probe-operations.js')).probeOperations
}

/** Sets the server of the operations that belong to the app, not to the gateway's mount. */
function withServers(paths: OpenApiDocument['paths'], app: string): OpenApiDocument['paths'] {
  const servers = [{ url: app, description: 'The app, unless it mounts the probes elsewhere.' }]
  return Object.fromEntries(
    Object.entries(paths).map(([path, item]) => [
      path,
      PROBES.includes(path) ? { servers, ...item } : item,
    ]),
  )
}

const PROBES: readonly string[] = ['/livez', '/readyz']
