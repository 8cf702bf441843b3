import { Cleanup } from './cleanup.js'
import { openShop } from './open-shop.js'
import type { AppBuilder, AppModule, ExpressApp } from './shop-app.js'
import type { TestShop, TestShopOptions } from './test-shop.js'

/**
 * Opens a shop on a local chain, to test paid routes with real payments.
 *
 * The chain is a real anvil (`@foundry-rs/anvil` must be installed), shared by all shops of a process;
 * each shop has its own payer, merchant and relayer. It is ready within two seconds.
 *
 * @param app - A function that makes the app with the gateway that it gets; a function without a
 * parameter that imports the app; or the app itself. Routes that use the package's `x402Protect` work on
 * the shop's gateway, without any `X402_*` variable, if you import this module before the app.
 * @param options - Options of the gateway, for example `projects` or `rates`.
 * @returns The open shop. Call its `close`, or declare it with `await using`.
 * @throws `ConfigError` (`config_invalid`) when anvil is not installed, an option or a route cannot
 * work, or there is no app.
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { startTestShop } from 'express-x402-gateway/testing'
 *
 * const shop = await startTestShop(({ x402Protect }) => {
 *   const app = express()
 *   app.get('/report', x402Protect('$0.25'), (_req, res) => void res.json({ sold: true }))
 *   return app
 * })
 * const response = await shop.buy('/report')
 * console.log(await response.json(), response.settlement.transaction)
 * console.log(await shop.balances()) // { payer: '999.75', merchant: '0.25' }
 * await shop.close()
 * ```
 */
export async function startTestShop(
  app: AppBuilder | ExpressApp | AppModule,
  options: TestShopOptions = {},
): Promise<TestShop> {
  const cleanup = new Cleanup()
  try {
    return await openShop(app, options, cleanup)
  } catch (error) {
    await cleanup.run()
    throw error
  }
}
