/** The shop's own page: what is for sale, and a wallet with play money. It is a free route like any other. */
import { fileURLToPath } from 'node:url'
import express, { type Router } from 'express'
import type { Product } from './product.js'

/** A wallet that the page offers to visitors. Its key is sent to every browser. */
export interface PlayWallet {
  /** A payer of the local chain: the key is public knowledge. */
  readonly privateKey: string
  readonly address: string
}

/** Built by `npm run build:example` from `page/`. */
const PAGE = fileURLToPath(new URL('page', import.meta.url))

const POLICY = [
  "default-src 'none'",
  ...["script-src 'self'", "style-src 'self'", "connect-src 'self'", "img-src 'self' data:"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ')

/** `GET /`: a page for browsers, a list for programs. */
export function home(products: readonly Product[], wallet: PlayWallet | undefined): Router {
  const list = {
    products: products.map(({ title, about, path, price }) => ({ title, about, path, price })),
    ...(wallet !== undefined && { wallet }),
  }
  const router = express.Router()
  router.get('/', (_req, res) => {
    res.vary('Accept')
    res.format({
      json: () => res.json(list),
      html: () => res.set('Content-Security-Policy', POLICY).sendFile('index.html', { root: PAGE }),
    })
  })
  router.use('/page', express.static(PAGE, { index: false }))
  return router
}
