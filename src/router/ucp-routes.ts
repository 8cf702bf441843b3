import express, { type RequestHandler, type Response, type Router } from 'express'
import { LRUCache } from 'lru-cache'
import { sha256 } from '../crypto/sha256.js'
import type { NetworkNameStyle } from '../protocol/networks.js'
import { documentUrl, HANDLER_VERSION, type Handler, type HandlerDocument } from '../ucp/handler.js'
import { renderSpecification } from '../ucp/render.js'
import { handlerSchema } from '../ucp/schema/handler-schema.js'
import { instrumentSchema } from '../ucp/schema/instrument-schema.js'
import { docsUrlOf } from './docs-url.js'
import { RequestProblem } from '../http/respond-problem.js'

/** What the handler's public documents need from the gateway. */
export interface UcpRoutesContext {
  readonly handlerId: string
  readonly networkNames: NetworkNameStyle
  readonly publicUrl: string | undefined
  readonly docsUrl: string | undefined
}

const HOUR = 3600
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/** How long caches may keep the current document, and the document of a version. */
const CURRENT = `public, max-age=${HOUR}`
const DATED = `public, max-age=${YEAR}, immutable`

/**
 * For documents that contain the `Host` of their request: a shared cache would serve a host that an
 * attacker chose to everyone.
 */
const UNCONFIGURED = 'private, no-store'

/** The media type of each document, and how it is rendered. */
const DOCUMENTS: Readonly<
  Record<HandlerDocument, readonly [string, (handler: Handler, version?: string) => string]>
> = {
  'schema.json': ['application/json', (...of) => JSON.stringify(handlerSchema(...of))],
  'instrument_schema.json': [
    'application/json',
    (...of) => JSON.stringify(instrumentSchema(...of)),
  ],
  'gateway.md': ['text/markdown', (handler) => renderSpecification(handler)],
}

/** A rendered document. */
interface Publication {
  readonly type: string
  readonly text: string
  readonly tag: string
}

/** Rendered documents that are kept. There are more than a few only if requests name several hosts. */
const MAX_KEPT = 32

/** `/ucp/*`: the handler's public documents, current and by version; the latter never change. */
export function ucpRoutes(context: UcpRoutesContext): Router {
  const { handlerId: id, networkNames, docsUrl: configured = context.publicUrl } = context
  const cached = (cacheControl: string): string =>
    configured === undefined ? UNCONFIGURED : cacheControl
  const kept = new LRUCache<string, Publication>({ max: MAX_KEPT })
  const publication = (name: HandlerDocument, docsUrl: string, version?: string): Publication => {
    const key = documentUrl({ id, docsUrl }, name, version)
    const found = kept.get(key)
    if (found !== undefined) return found
    const [type, write] = DOCUMENTS[name]
    const text = write({ id, networkNames, docsUrl }, version)
    const tag = sha256(text, 'base64url').slice(0, 27)
    const made = { type, text, tag: `"${tag}"` }
    kept.set(key, made)
    return made
  }

  const router = express.Router()
  for (const name of Object.keys(DOCUMENTS) as HandlerDocument[]) {
    router.get(`/${name}`, (_req, res) => {
      respondDocument(res, publication(name, docsUrlOf(res)), cached(CURRENT))
    })
    router.get(`/:version/${name}`, (req, res) => {
      const { version } = req.params
      if (version !== HANDLER_VERSION)
        throw new RequestProblem(
          'not_found',
          `There is no such version of the handler; there is ${HANDLER_VERSION}.`,
        )
      respondDocument(res, publication(name, docsUrlOf(res), version), cached(DATED))
    })
  }
  return router
}

/** Lets scripts of any origin read the documents, which contain no secrets. */
export const allowAnyOrigin: RequestHandler = (_req, res, next) => {
  res.set({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Allow-Methods': 'GET, HEAD, OPTIONS',
    'Access-Control-Allow-Headers': '*',
    'Access-Control-Expose-Headers': 'ETag',
    'Access-Control-Max-Age': String(DAY),
  })
  next()
}

/** Responds with a document, or with 304 if the client has it. */
function respondDocument(
  res: Response,
  { type, text, tag }: Publication,
  cacheControl: string,
): void {
  res.set({ 'Cache-Control': cacheControl, ETag: tag })
  if (hasDocument(res.req.get('if-none-match'), tag)) return void res.status(304).end()
  res.type(type).send(text)
}

/**
 * Tells whether `If-None-Match` names a tag (RFC 9110 §13.1.2).
 *
 * Express's own comparison ignores the tag if the request has `Cache-Control: no-cache`, which Node's
 * `fetch` adds.
 */
function hasDocument(known: string | undefined, tag: string): boolean {
  const tags = known?.split(',').map((one) => one.trim().replace(/^W\//, '')) ?? []
  return tags.includes(tag) || tags.includes('*')
}
