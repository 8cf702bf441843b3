/**
 * A shop on a local chain, for tests of paid routes: `express-x402-gateway/testing`.
 *
 * @packageDocumentation
 */
import '../../shared/http/check-node.js'
// Types of other entry points are imported from there, so that only their API reports contain them.
export { PurchaseError } from './purchase-error.js'
export type { Failure } from './failures.js'
export type { BuyInit, PaidResponse, ShopResponse } from './buyer.js'
export type { AppBuilder, AppModule, ExpressApp } from './shop-app.js'
export { startTestShop } from './start-test-shop.js'
export type { Balances, TestShop, TestShopOptions } from './test-shop.js'
export type { DevnetAccount } from '../devnet/index.js'
export type { Gateway, GatewayOptions, Hex, MerchantOptions, SettleResponse } from '../../index.js'
