import express, { type RequestHandler, type Response, type Router } from 'express'
import { LRUCache } from 'lru-cache'
import { createHash } from 'node:crypto'
import type { NetworkNameStyle } from '../protocol/networks.js'
import { documentUrl, HANDLER_VERSION, type Handler, type HandlerDocument } from '../ucp/handler.js'
import { renderSpecification } from '../ucp/render.js'
import { handlerSchema } from '../ucp/schema/handler-schema.js'
import { instrumentSchema } from '../ucp/schema/instrument-schema.js'
import { docsUrlOf } from './docs-url.js'
import { RequestProblem } from '../http/respond-problem.js'

/** What the handler's public documents take of their gateway. */
export interface UcpRoutesContext {
  readonly handlerId: string
  readonly networkNames: NetworkNameStyle
  readonly publicUrl: string | undefined
  readonly docsUrl: string | undefined
}

const HOUR = 3600
const DAY = 24 * HOUR
const YEAR = 365 * DAY

/** How long caches may keep a document: whatever is current, and the copy of a version. */
const CURRENT = `public, max-age=${HOUR}`
const DATED = `public, max-age=${YEAR}, immutable`

/**
 * For documents with the root that a request named: a cache would hand whatever a stranger wrote into
 * its `Host` to everybody.
 */
const UNCONFIGURED = 'private, no-store'

/** A document's media type, and its text. */
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

/** A document, ready to be sent. */
interface Publication {
  readonly type: string
  readonly text: string
  readonly tag: string
}

/** Documents that are kept; several only where requests name several roots. */
const MAX_KEPT = 32

/** `/ucp/*`: the handler's public documents, and the copy of each version that never changes. */
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
    const tag = createHash('sha256').update(text).digest('base64url').slice(0, 27)
    const made = { type, text, tag: `"${tag}"` }
    kept.set(key, made)
    return made
  }

  const router = express.Router()
  for (const name of Object.keys(DOCUMENTS) as HandlerDocument[]) {
    router.get(`/${name}`, (_req, res) => {
      publish(res, publication(name, docsUrlOf(res)), cached(CURRENT))
    })
    router.get(`/:version/${name}`, (req, res) => {
      const { version } = req.params
      if (version !== HANDLER_VERSION)
        throw new RequestProblem(
          'not_found',
          `There is no such version of the handler; there is ${HANDLER_VERSION}.`,
        )
      publish(res, publication(name, docsUrlOf(res), version), cached(DATED))
    })
  }
  return router
}

/** Lets the pages of any site read the documents: there is no secret in them. */
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

/** Answers with a document, or with 304 where the client has it. */
function publish(res: Response, { type, text, tag }: Publication, cacheControl: string): void {
  res.set({ 'Cache-Control': cacheControl, ETag: tag })
  if (hasDocument(res.req.get('if-none-match'), tag)) return void res.status(304).end()
  res.type(type).send(text)
}

/**
 * Tells whether `If-None-Match` names a tag (RFC 9110 §13.1.2).
 *
 * Express's own comparison gives way to the `Cache-Control: no-cache` that Node's `fetch` adds.
 */
function hasDocument(known: string | undefined, tag: string): boolean {
  const tags = known?.split(',').map((one) => one.trim().replace(/^W\//, '')) ?? []
  return tags.includes(tag) || tags.includes('*')
}
