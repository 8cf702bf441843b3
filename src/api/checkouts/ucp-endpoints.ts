/** `/ucp/*`: the public documents of the UCP handler, current and by version; the latter never change. */
import type { RequestHandler } from 'express'
import { LRUCache } from 'lru-cache'
import { notFound } from '../../shared/http/respond-problem.js'
import { documentRoot, HANDLER_VERSION, type Handler } from './ucp/handler.js'
import { handlerSchema, instrumentSchema, renderSpecification } from './ucp/render.js'
import { defineEndpoint, type Endpoint } from '../serve/define-endpoint.js'
import { docsUrlOf } from '../serve/docs-url.js'
import { NOT_MODIFIED } from '../serve/page-endpoints.js'
import { respondDocument, tagOf, type Publication } from '../serve/respond-document.js'
import { lazyDocuments } from '../serve/lazy-documents.js'

const documents = lazyDocuments(() => import('../documents/checkout.js'))

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

interface HandlerDocument {
  readonly name: string
  /** Part of the ids of its endpoints. */
  readonly id: string
  readonly what: string
  readonly type: 'application/json' | 'text/markdown'
  readonly render: (handler: Handler, version?: string) => string
}

const DOCUMENTS: readonly HandlerDocument[] = [
  {
    name: 'schema.json',
    id: 'HandlerSchema',
    what: 'the JSON schema of the handler',
    type: 'application/json',
    render: (...of) => JSON.stringify(handlerSchema(...of)),
  },
  {
    name: 'instrument_schema.json',
    id: 'InstrumentSchema',
    what: 'the JSON schema of its instruments',
    type: 'application/json',
    render: (...of) => JSON.stringify(instrumentSchema(...of)),
  },
  {
    name: 'gateway.md',
    id: 'HandlerSpecification',
    what: 'the specification of the handler',
    type: 'text/markdown',
    render: (handler) => renderSpecification(handler),
  },
]

/** Rendered documents that are kept. There are more than a few only if requests name several hosts. */
const kept = new LRUCache<string, Publication>({ max: 32 })

function publish(document: HandlerDocument, handler: Handler, version?: string): Publication {
  const { name, type, render } = document
  const key = `${handler.networkNames} ${handler.id} ${documentRoot(handler, version)}/${name}`
  const found = kept.get(key)
  if (found !== undefined) return found
  const body = render(handler, version)
  const made = { type, body, tag: tagOf(body) }
  kept.set(key, made)
  return made
}

function endpointOf(document: HandlerDocument, isDated: boolean): Endpoint {
  const { name, id, what, type } = document
  const found = {
    description: 'The document.',
    headers: ['ETag'],
    ...(type === 'application/json' ? { document: documents('anyJsonSchema') } : { type }),
  } as const
  return defineEndpoint({
    method: 'GET',
    path: isDated ? `/ucp/{version}/${name}` : `/ucp/${name}`,
    id: isDated ? `get${id}OfVersion` : `get${id}`,
    tag: 'UCP',
    access: 'anyone',
    summary: isDated ? `Get ${what} of a version` : `Get ${what}`,
    description: `Public; pages of any origin may read it. It is ${what}${isDated ? ' of a version, which never changes' : ', in its current version'}.`,
    ...(isDated && {
      params: { version: `Version of the handler: a date, \`${HANDLER_VERSION}\`.` },
    }),
    headers: ['If-None-Match'],
    ignoresQuery: true,
    responses: { 200: found, 304: NOT_MODIFIED },
    respond(context, { res, param }) {
      const version = isDated ? param('version') : undefined
      if (isDated && version !== HANDLER_VERSION)
        notFound(`There is no such version of the handler; there is ${HANDLER_VERSION}.`)
      const { handlerId, networkNames, docsUrl: configured = context.publicUrl } = context
      const handler = { id: handlerId, networkNames, docsUrl: docsUrlOf(context, res) }
      const cacheControl = isDated ? DATED : CURRENT
      respondDocument(
        res,
        publish(document, handler, version),
        configured === undefined ? UNCONFIGURED : cacheControl,
      )
    },
  })
}

export const ucpEndpoints: readonly Endpoint[] = [false, true].flatMap((isDated) =>
  DOCUMENTS.map((document) => endpointOf(document, isDated)),
)

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
