import type { RequestListener } from 'node:http'
import type { DevnetAccount } from '../devnet/index.js'
import type { Gateway, GatewayOptions, MerchantOptions } from '../../index.js'
import type { BuyInit, PaidResponse, ShopResponse } from './buyer.js'
import type { Failure } from './failures.js'

/**
 * Options of a test shop's gateway, except its URL, chain and facilitator. `merchant` completes the shop's own
 * project, and `projects` replaces it. By default, `logger` is silent, and a settlement gets 5 s (`settleTimeoutMs`)
 * before its request is answered as pending.
 *
 * @example
 * ```ts
 * import type { TestShopOptions } from 'express-x402-gateway/testing'
 *
 * const options: TestShopOptions = { rates: { 'EUR/USD': '1.08' }, merchant: { crossCurrency: true } }
 * ```
 */
export type TestShopOptions = Omit<GatewayOptions, 'publicUrl' | 'networks' | 'facilitator'> & {
  /** Terms of the shop's own merchant. @defaultValue those of a gateway */
  readonly merchant?: Omit<MerchantOptions, 'payTo'> | undefined
}

/** Balances of payer and merchant as decimal strings in USDC: `'999.75'`. */
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
  /** Root URL of the shop, on a free port of 127.0.0.1. Offers name it, whichever server serves the app. */
  readonly url: string
  /**
   * The app, for `supertest(shop.app)` or your own server. Use it instead of the app that you passed: it
   * selects the gateway that takes the payment.
   */
  readonly app: RequestListener
  /** The gateway that takes the payments. */
  readonly gateway: Gateway
  /** An identify token of the shop's project, unless `projects` were set. */
  readonly token: string
  /** The buyer: an account with 1,000 USDC. */
  readonly payer: DevnetAccount
  /** The account that is paid, unless `projects` were set. */
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
   * @param init - As `fetch` takes it; the body must not be a stream. `expect` is the expected status,
   * if the purchase should fail.
   * @returns The response, with its `settlement`.
   * @throws `PurchaseError` with `status` and `reason` if the response is not the expected one.
   */
  buy(path: string, init?: BuyInit & { readonly expect?: never }): Promise<PaidResponse>
  /** The same with `expect`: the response may be one that was not paid for. */
  buy(path: string, init: BuyInit): Promise<ShopResponse>
  /**
   * Asks for the price and signs it, without paying: for supertest, other clients, and repeated
   * payments.
   *
   * @param path - Path and query of a paid route.
   * @param init - The request that will be paid for.
   * @returns The headers of the payment.
   * @throws `PurchaseError` if the route asks for no payment.
   */
  paymentFor(path: string, init?: RequestInit): Promise<Record<string, string>>
  /** Reads the balances. */
  balances(): Promise<Balances>
  /**
   * Makes the next payment to this shop fail, and only that one.
   *
   * @param failure - The failure.
   * @throws `ConfigError` for an unknown failure.
   */
  failNext(failure: Failure): void
  /** Stops the shop and, if no other shop of this process uses it, the chain. May be called again. */
  close(): Promise<void>
  /** {@link TestShop.close}, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}
