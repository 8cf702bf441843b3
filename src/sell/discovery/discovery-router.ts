/** `app.use(gateway.discovery())`: the app's documents, and the catalogue of what was sold. */
import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import type { ReceiptIssuer } from '../../shared/crypto/offer-receipt.js'
import type { Lazy } from '../../shared/http/lazy.js'
import { publicRootOf } from '../../shared/http/public-url.js'
import type { AppDescriber } from './app-documents.js'

/** Names the key that signs receipts. */
const DID = '/.well-known/did.json'

const DOCUMENTS = new Set(['/openapi.json', '/.well-known/x402', '/llms.txt', DID])

const CATALOGUE = /^\/discovery\/(?:resources|search)\/?$/
const API = '/api/v2/payment'

export interface DiscoveryContext {
  readonly describer: Lazy<AppDescriber>
  readonly api: () => RequestHandler
  readonly publicUrl?: string | undefined
  readonly issuer?: ReceiptIssuer | undefined
}

/** Makes the router. What it does not have is left to the app. */
export function createDiscovery(context: DiscoveryContext): Router {
  let api: RequestHandler | undefined
  return express.Router().use(function x402Discovery(req, res, next) {
    if (DOCUMENTS.has(req.path)) {
      if (req.method !== 'GET' && req.method !== 'HEAD') return next()
      return void respond(context, req, res).then((isDone) => (isDone ? undefined : next()), next)
    }
    if (!CATALOGUE.test(req.path)) return next()
    const { url } = req
    req.url = API + url
    api ??= context.api()
    return api(req, res, (error?: unknown) => {
      req.url = url
      next(error)
    })
  })
}

/** @returns `false` if the app has no paid route, or no key for receipts: the path is its own then. */
async function respond(
  { describer, publicUrl, issuer }: DiscoveryContext,
  req: Request,
  res: Response,
): Promise<boolean> {
  const root = publicRootOf(req, publicUrl)
  const document =
    req.path === DID
      ? issuer && { type: 'application/did+json', body: JSON.stringify(issuer.didDocument(root)) }
      : await (await describer.get()).describe(req.app, root, req.path)
  if (document === undefined) return false
  // Without a configured URL, it names the host that its request has named.
  const cache = publicUrl === undefined ? 'private, no-store' : 'public, max-age=60'
  res.set({
    'Cache-Control': cache,
    'Content-Type': document.type,
    'Access-Control-Allow-Origin': '*',
    'X-Content-Type-Options': 'nosniff',
  })
  res.send(document.body)
  return true
}
