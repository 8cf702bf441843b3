import express, { type RequestHandler, type Router } from 'express'
import { LRUCache } from 'lru-cache'
import { documentRoot, HANDLER_VERSION, type Handler } from '../ucp/handler.js'
import { handlerSchema, instrumentSchema, renderSpecification } from '../ucp/render.js'
import type { RouterContext } from './context.js'
import { docsUrlOf } from './docs-url.js'
import { RequestProblem } from '../http/respond-problem.js'
import { respondDocument, tagOf, type Publication } from './respond-document.js'

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

/** How each document is rendered. */
const DOCUMENTS = {
  'schema.json': (...of: Rendered) => JSON.stringify(handlerSchema(...of)),
  'instrument_schema.json': (...of: Rendered) => JSON.stringify(instrumentSchema(...of)),
  'gateway.md': (...[handler]: Rendered) => renderSpecification(handler),
}

type Rendered = [handler: Handler, version?: string]
type DocumentName = keyof typeof DOCUMENTS

/** Rendered documents that are kept. There are more than a few only if requests name several hosts. */
const MAX_KEPT = 32

/** `/ucp/*`: the handler's public documents, current and by version; the latter never change. */
export function ucpRoutes(context: RouterContext): Router {
  const { handlerId: id, networkNames, docsUrl: configured = context.publicUrl } = context
  const cached = (cacheControl: string): string =>
    configured === undefined ? UNCONFIGURED : cacheControl
  const kept = new LRUCache<string, Publication>({ max: MAX_KEPT })
  const publication = (name: DocumentName, docsUrl: string, version?: string): Publication => {
    const handler = { id, networkNames, docsUrl }
    const key = `${documentRoot(handler, version)}/${name}`
    const found = kept.get(key)
    if (found !== undefined) return found
    const body = DOCUMENTS[name](handler, version)
    const type = name === 'gateway.md' ? 'text/markdown' : 'application/json'
    const made = { type, body, tag: tagOf(body) }
    kept.set(key, made)
    return made
  }

  const router = express.Router()
  for (const name of Object.keys(DOCUMENTS) as DocumentName[]) {
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
