import type { RequestListener } from 'node:http'
import type { DevnetAccount } from '../devnet/index.js'
import type { Gateway, GatewayOptions } from '../index.js'
import type { BuyInit, PaidResponse, ShopResponse } from './buyer.js'
import type { Failure } from './failures.js'

/**
 * Options of the gateway of a test shop: all but where it is, and on which chain. `projects` replaces
 * the shop's own project, and `logger` the default, which drops what it is told. A settlement is given
 * 5 s (`settleTimeoutMs`) before its request is answered as pending.
 *
 * @example
 * ```ts
 * import type { TestShopOptions } from 'express-x402-gateway/testing'
 *
 * const options: TestShopOptions = { rates: { 'EUR/USD': '1.08' }, logger: console }
 * ```
 */
export type TestShopOptions = Omit<GatewayOptions, 'publicUrl' | 'networks' | 'facilitator'>

/** What payer and merchant have, as decimal strings in USDC: `'999.75'`. */
export interface Balances {
  /** `'1000'` when the shop is opened. */
  readonly payer: string
  /** `'0'` when the shop is opened. */
  readonly merchant: string
}

/**
 * A shop on a local chain, with a payer and a merchant of its own.
 *
 * @example
 * ```ts
 * import type { TestShop } from 'express-x402-gateway/testing'
 *
 * async function earned(shop: TestShop, path: string): Promise<string> {
 *   await shop.buy(path, { method: 'POST', body: 'a question' })
 *   return (await shop.balances()).merchant
 * }
 * ```
 */
export interface TestShop {
  /** Root URL of the shop, on a free port of 127.0.0.1. Offers name it wherever the app is asked. */
  readonly url: string
  /**
   * The app, for `supertest(shop.app)` or a server of your own. Ask this one instead of the app that was
   * passed: it says which gateway takes the payment.
   */
  readonly app: RequestListener
  /** The gateway that takes the payments, for events and for its API. */
  readonly gateway: Gateway
  /** An identify token of the shop's project, unless `projects` were set. */
  readonly token: string
  /** Who buys: an account with 1,000 USDC. */
  readonly payer: DevnetAccount
  /** Who is paid, unless `projects` were set. */
  readonly merchant: DevnetAccount
  /**
   * Sends a request without paying. Redirects are not followed.
   *
   * @param path - Path and query, or a whole URL.
   * @param init - As `fetch` takes it.
   */
  fetch(path: string, init?: RequestInit): Promise<Response>
  /**
   * Buys: asks for the price, signs the first offer, and sends the request again with the payment.
   *
   * @param path - Path and query of a paid route.
   * @param init - As `fetch` takes it; the body must not be a stream. `expect` is the status that the
   * test expects, where that is none of success.
   * @returns The response, with its `settlement`.
   * @throws `PurchaseError` with `status` and `reason` if the response is another than expected.
   */
  buy(path: string, init?: BuyInit & { readonly expect?: never }): Promise<PaidResponse>
  /** The same with `expect`: the response may be one that was not paid for. */
  buy(path: string, init: BuyInit): Promise<ShopResponse>
  /**
   * Asks for the price and signs it, without paying: for supertest, other clients, and payments that
   * come twice.
   *
   * @param path - Path and query of a paid route.
   * @param init - The request that will be paid for.
   * @returns The headers of the payment.
   * @throws `PurchaseError` if the route asks for no payment.
   */
  paymentFor(path: string, init?: RequestInit): Promise<Record<string, string>>
  /** Reads what payer and merchant have now. */
  balances(): Promise<Balances>
  /**
   * Makes the next payment fail that is presented to the shop, and that one only.
   *
   * @param failure - How it fails.
   * @throws `ConfigError` for an unknown failure.
   */
  failNext(failure: Failure): void
  /** Stops the shop and, if no other shop of this process uses it, the chain. May be called again. */
  close(): Promise<void>
  /** {@link TestShop.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}
