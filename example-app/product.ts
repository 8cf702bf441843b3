/** What the shop sells: each product is a file in `routes/`. */
import type { Router } from 'express'
import type { X402Protect } from 'express-x402-gateway'

/** What a route needs of the shop. */
export interface Counter {
  /** Charges for a route. */
  readonly x402Protect: X402Protect
  /** Keys of the members, who read reports for free. */
  readonly memberKeys: ReadonlySet<string>
}

/** Something to buy. */
export interface Product {
  readonly title: string
  /** What it shows of the gateway. */
  readonly about: string
  /** Path of a request that buys it. */
  readonly path: string
  /** The price in words. */
  readonly price: string
  /** Makes its routes. */
  sell(counter: Counter): Router
}
