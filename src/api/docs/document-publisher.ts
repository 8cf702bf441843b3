import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Description } from '../serve/define-endpoint.js'
import type { OpenApiDocument } from '../openapi/write-document.js'
import { tagOf, type Publication } from '../serve/respond-document.js'

const compress = promisify(gzip)

/**
 * Most documents that are kept compressed. There are more than a few only if requests name several hosts, which
 * strangers choose: compressing is the most work, and is not done for each of them.
 */
const MAX_COMPRESSED = 8

/** Placeholders for the URLs of a reader. */
const ROOT = 'https://root.invalid'
const APP = 'https://app.invalid'

export interface DocumentPlace {
  /** URL where the gateway is mounted. */
  readonly root: string
  /** URL of the app that it is mounted in. */
  readonly app: string
}

/** The subject of a description. */
export interface PublisherOptions {
  readonly endpoints: readonly Description[]
  /** Whether the app has the gateway's probes, somewhere. */
  readonly hasProbes: () => boolean
  /** Whether sessions of the console open endpoints. */
  readonly hasSessions: boolean
}

/**
 * Writes the OpenAPI document for those who ask for it.
 *
 * Nothing is loaded or made before the first request for it: an app that only charges for its routes
 * pays nothing for the description of the API.
 */
export class DocumentPublisher {
  readonly #options: PublisherOptions
  readonly #compressed = new Map<string, Promise<Buffer>>()
  #template: Promise<Template> | undefined

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /** The document, with the URLs of its reader. */
  async publish({ root, app }: DocumentPlace): Promise<Publication> {
    this.#template ??= this.#write().then(templateOf)
    // After a failure, the next reader loads it again.
    this.#template.catch(() => (this.#template = undefined))
    const { text, tag } = await this.#template
    const place = JSON.stringify([root, app])
    const body = text.replaceAll(ROOT, () => escaped(root)).replaceAll(APP, () => escaped(app))
    return {
      type: 'application/json',
      body,
      compressed: await this.#compress(place, body),
      // Weak, since it names the compressed bytes as well.
      tag: `W/${tagOf(tag + place)}`,
    }
  }

  #compress(place: string, body: string): Promise<Buffer> | undefined {
    const kept = this.#compressed.get(place)
    if (kept !== undefined || this.#compressed.size >= MAX_COMPRESSED) return kept
    const made = compress(body)
    this.#compressed.set(place, made)
    return made
  }

  async #write(): Promise<OpenApiDocument> {
    const { endpoints, hasProbes, hasSessions } = this.#options
    const { writeDocument } = await import('../openapi/write-document.js')
    return writeDocument({ endpoints, hasProbes: hasProbes(), hasSessions })
  }
}

/** A document without the URLs of its reader. */
interface Template {
  readonly text: string
  readonly tag: string
}

function templateOf({ openapi, info, paths, ...parts }: OpenApiDocument): Template {
  const servers = [{ url: ROOT, description: 'This gateway.' }]
  const text = JSON.stringify({ openapi, info, servers, paths: withServers(paths, APP), ...parts })
  return { text, tag: tagOf(text) }
}

/** A text, as it is written within a text of JSON. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

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
