/** A shop that sells in a browser, on a chain whose node can be away, and whose responses can be lost. */
import express, { type Express, type RequestHandler } from 'express'
import type { Browser } from 'playwright-core'
import { privateKeyToAddress } from 'viem/accounts'
import { balanceOf } from '../../support/balance-of.js'
import { startDevnet, type Devnet } from '../../../src/tools/devnet/index.js'
import { RateError } from '../../../src/shared/errors.js'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import type { RateSource } from '../../../src/shared/money/rates.js'
import { openTab, type Tab, type TabOptions } from '../../support/browser.js'
import { addWallet, type TestWallet, type WalletOptions } from '../../support/browser-wallet.js'
import { listen } from '../../support/http.js'
import { newNonce } from '../../support/sign-payment.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { sellByMarket, sellStream, sellToPeople } from './shop.js'
import type { Market, Runs, StreamParts } from './shop.js'

/** What a route charges, in atomic units. */
export const CENT = 10_000n

export interface World {
  readonly devnet: Devnet
  readonly url: string
  /** Between the gateway and its node. */
  readonly node: RpcProxy
  readonly runs: Runs
  readonly stream: StreamParts
  readonly market: Market
  /** Whether responses to payments are lost on their way. */
  losesAnswers: boolean
  /** What the merchant's address holds on chain. */
  earned(): Promise<bigint>
  /** Replaces the gateway by one whose memory is empty. @param changes - Its other options. */
  restart(changes?: GatewayOptions): Promise<void>
  close(): Promise<void>
}

/** Starts all of it. @param inFront - Middleware of the app, before the paid routes. */
export async function openWorld(
  options: GatewayOptions = {},
  inFront: readonly RequestHandler[] = [],
): Promise<World> {
  const devnet = await startDevnet()
  const node = await startRpcProxy(devnet.rpcUrl)
  const market: Market = { price: '$0.01', sold: 0, hasRates: true }
  const open = (changes: GatewayOptions = {}): Gateway =>
    createGateway({
      networks: { 'base-sepolia': { rpcUrl: node.url, relayerKeys: [devnet.relayerKeys[0]!] } },
      projects: [{ id: 'shop', merchant: { payTo: devnet.merchant.address, crossCurrency: true } }],
      rates: ratesOf(market),
      ...options,
      ...changes,
    })
  let gateway = open()
  const runs: Runs = {}
  const stream = { mayEnd: false }
  const lose: RequestHandler = (req, res, next) => {
    if (world.losesAnswers && req.get('payment-signature') !== undefined)
      res.end = () => res.destroy()
    next()
  }
  const sell = (): Express => {
    const app = express()
    app.use(lose, ...inFront)
    sellToPeople(app, gateway, runs)
    sellStream(app, gateway, stream)
    sellByMarket(app, gateway, market)
    return app
  }
  let app = sell()
  const server = await listen((req, res) => app(req, res))
  const world: World = {
    ...{ devnet, node, runs, stream, market, url: server.url, losesAnswers: false },
    earned: () => balanceOf(devnet, devnet.merchant.address),
    async restart(changes) {
      await gateway.close()
      gateway = open(changes)
      app = sell()
    },
    async close() {
      await server.close()
      await gateway.close()
      await node.close()
      await devnet.close()
    },
  }
  return world
}

/** A euro costs a dollar, if anybody knows. */
function ratesOf(market: Market): RateSource {
  return {
    async getRate() {
      if (!market.hasRates) throw new RateError('rate_unavailable', 'Nobody knows.')
      return { rate: { units: 1n, scale: 0 }, asOf: Math.floor(Date.now() / 1000), source: 'test' }
    },
  }
}

/** A person with a wallet, in front of a page. */
export interface Buyer extends Tab {
  readonly wallet: TestWallet
}

/** Who buys, and with what. */
export interface BuyerOptions extends TabOptions {
  /** Whether its account holds money. @defaultValue 'payer' */
  readonly payer?: 'payer' | 'poor'
  readonly wallet?: WalletOptions
}

/** Opens a tab with a wallet that holds money. */
export async function openBuyer(
  { devnet }: World,
  browser: Browser,
  { wallet: walletOptions, payer = 'payer', ...tabOptions }: BuyerOptions = {},
): Promise<Buyer> {
  // Each 402 is an error to the console of the browser.
  const tab = await openTab(browser, { expected: /\b402 \(/, ...tabOptions })
  const options = { rpcUrl: devnet.rpcUrl, ...walletOptions }
  const privateKey = newNonce()
  const poor = { privateKey, address: privateKeyToAddress(privateKey) }
  const account = payer === 'payer' ? devnet.payers[0]! : poor
  const wallet = await addWallet(tab.page, account, options)
  return { ...tab, wallet }
}

/** The button that pays by the test's wallet. */
export const PAY = /^Pay 0\.01 USDC with Test Wallet$/
