/**
 * A shop on a local chain, for tests of paid routes: `express-x402-gateway/testing`.
 *
 * @packageDocumentation
 */
// Types of other entry points come from those entry points: only there do they belong to the API report.
export { PurchaseError } from './purchase-error.js'
export type { Failure } from './failures.js'
export type { BuyInit, PaidResponse, ShopResponse } from './buyer.js'
export type { AppBuilder, AppModule, ExpressApp } from './shop-app.js'
export { startTestShop } from './start-test-shop.js'
export type { Balances, TestShop, TestShopOptions } from './test-shop.js'
export type { DevnetAccount } from '../devnet/index.js'
export type { Gateway, GatewayOptions, Hex, SettleResponse } from '../index.js'
