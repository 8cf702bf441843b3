/** A shop that sells to programs and people. Each file in `routes/` shows one thing that `x402Protect` can do. */
import express, { type Express } from 'express'
import { ucpProfile, type Gateway, type X402Protect } from 'express-x402-gateway'
import { home, type PlayWallet } from './home.js'
import { essay } from './routes/essay.js'
import { headlines } from './routes/headlines.js'
import { market } from './routes/market.js'
import { museum } from './routes/museum.js'
import { poster } from './routes/poster.js'
import { refunds, type Refunder } from './routes/refunds.js'
import { report } from './routes/report.js'
import { story } from './routes/story.js'
import { weather } from './routes/weather.js'

/** What the shop knows besides its gateway. */
export interface ShopOptions {
  /** Keys of the members, who read reports for free. */
  readonly memberKeys: ReadonlySet<string>
  /** Who gives money back; without, nobody does. */
  readonly refunder?: Refunder
  /** A wallet for the page; never one with money. */
  readonly wallet?: PlayWallet
}

const PRODUCTS = [weather, headlines, museum, story, poster, essay, report, market]

/** Builds the shop. */
export function createApp(
  gateway: Gateway,
  { memberKeys, refunder, wallet }: ShopOptions,
): Express {
  const app = express()
  // Who is paid where a route does not say: the gateway serves several merchants.
  const x402Protect: X402Protect = (price, options) =>
    gateway.x402Protect(price, { merchant: 'shop', ...options })

  // How programs find what is sold here: /openapi.json, /llms.txt and /.well-known/x402
  app.use(gateway.discovery())

  app.use(home(PRODUCTS, wallet))
  for (const product of PRODUCTS) app.use(product.sell({ x402Protect, memberKeys }))
  if (refunder !== undefined) app.use(refunds(refunder))

  // What UCP agents read first: how the shop is paid. `services` and `capabilities` are the place for
  // a checkout of its own.
  const profile = ucpProfile(gateway, { services: {}, capabilities: {} })
  app.get('/.well-known/ucp', (_req, res) => {
    // UCP: public, for at least a minute.
    res.set('Cache-Control', 'public, max-age=3600').json(profile)
  })

  // The gateway's own API and console: /api/v2/…, /ucp/… and /console
  app.use(gateway.gatewayRouter())
  return app
}
