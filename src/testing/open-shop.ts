import { randomBytes } from 'node:crypto'
import type { Express } from 'express'
import { privateKeyToAddress } from 'viem/accounts'
import type { GatewayOptions } from '../index.js'
import type { Devnet, DevnetAccount } from '../devnet/index.js'
import { ConfigError } from '../errors.js'
import { createGateway, type Gateway } from '../gateway.js'
import { formatDecimal, trimDecimal } from '../money/decimal.js'
import type { Hex } from '../protocol/payment.js'
import { Buyer, describeUnpaid, type PaidResponse } from './buyer.js'
import type { Cleanup } from './cleanup.js'
import { defaultOptions, openDefault } from './default-stand-in.js'
import { Failures, FAILURES } from './failures.js'
import { NodeProxy } from './node-proxy.js'
import { useChain } from './shared-chain.js'
import { openApp, takesGateway, type AppBuilder, type AppModule } from './shop-app.js'
import type { ExpressApp } from './shop-app.js'
import { listen, shopListener } from './shop-server.js'
import type { TestShop, TestShopOptions } from './test-shop.js'
import { balanceOf, fundGas } from './token.js'

/** What the payer has at the beginning, in atomic units: 1000 USDC. */
const PAYER_FUNDS = 1_000_000_000n
/** Digits of the token. */
const DECIMALS = 6
/** Long enough for a busy machine, short enough for a test of what is pending. */
const SETTLE_TIMEOUT_MS = 5000

const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** Accounts of one shop: shops on the same chain share none. */
interface Accounts {
  readonly payer: DevnetAccount
  readonly merchant: DevnetAccount
  readonly relayer: DevnetAccount
}

/**
 * Opens a shop, as `startTestShop` does.
 *
 * @param cleanup - Gets what must be closed, even if opening fails.
 */
export async function openShop(
  given: ExpressApp | AppModule | AppBuilder,
  options: TestShopOptions,
  cleanup: Cleanup,
): Promise<TestShop> {
  const { devnet, release } = await useChain()
  cleanup.add(release)
  const [proxy, server, accounts] = await Promise.all([
    NodeProxy.start(devnet.rpcUrl),
    listen(),
    openAccounts(devnet),
  ])
  cleanup.add(() => proxy.close())
  cleanup.add(() => server.close())
  const { url } = server
  const token = randomBytes(24).toString('base64url')
  const { payer, merchant, relayer } = accounts

  const chosen = (): TestShopOptions => ({ ...ofApp(defaultOptions()), ...options })
  const open = (): Gateway => {
    const gateway = createGateway({
      ...{ logger: silent, settleTimeoutMs: SETTLE_TIMEOUT_MS },
      projects: [{ id: 'shop', tokens: [token], merchant: { payTo: merchant.address } }],
      ...chosen(),
      publicUrl: url,
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: [relayer.privateKey] } },
    })
    cleanup.add(() => gateway.close())
    return gateway
  }
  const { app, gateway } = await openAppAndGateway(given, open)
  cleanup.add(openDefault(gateway))
  const failures = new Failures({ devnet, proxy })
  cleanup.add(() => failures.ended())
  const listener = shopListener(app, gateway, failures)
  server.serve(listener)
  const buyer = new Buyer({ url, payer, devnet, failsNext: () => failures.isArmed })
  const paidTo = (chosen().projects?.[0]?.merchant?.payTo ?? merchant.address) as Hex
  const read = async (account: Hex) => inUsdc(await balanceOf(devnet, account))

  return {
    ...{ url, app: listener, gateway, token, payer, merchant },
    fetch: (path, init) => buyer.fetch(path, init),
    // The overloads say what `expect` makes of it.
    buy: (path, init) => buyer.buy(path, init) as Promise<PaidResponse>,
    async paymentFor(path, init) {
      const payment = await buyer.sign(path, init)
      if (payment instanceof Response) throw await describeUnpaid(path, payment)
      return payment
    },
    async balances() {
      await failures.ended()
      const [ofPayer, ofMerchant] = await Promise.all([read(payer.address), read(paidTo)])
      return { payer: ofPayer, merchant: ofMerchant }
    },
    failNext(failure) {
      if (!FAILURES.includes(failure))
        throw new ConfigError('failNext', `takes one of: ${FAILURES.join(', ')}`)
      failures.arm(failure)
    },
    close: () => cleanup.run(),
    [Symbol.asyncDispose]: () => cleanup.run(),
  }
}

/**
 * An app that does not take the gateway may set options of the default gateway while it is built, so
 * that the gateway is created afterwards.
 */
async function openAppAndGateway(
  given: ExpressApp | AppModule | AppBuilder,
  open: () => Gateway,
): Promise<{ readonly app: Express; readonly gateway: Gateway }> {
  if (takesGateway(given)) {
    const gateway = open()
    return { app: await openApp(() => given(gateway)), gateway }
  }
  const app = await openApp(given)
  return { app, gateway: open() }
}

/** Options of the app that say what it sells; where production runs is not the test's concern. */
function ofApp(options: GatewayOptions): TestShopOptions {
  const { rates, projects, ucp, handlerId, networkNames } = options
  return {
    ...(rates && { rates }),
    ...(projects && { projects }),
    ...(ucp && { ucp }),
    ...(handlerId && { handlerId }),
    ...(networkNames && { networkNames }),
  }
}

async function openAccounts(devnet: Devnet): Promise<Accounts> {
  const [payer, merchant, relayer] = [newAccount(), newAccount(), newAccount()]
  await Promise.all([devnet.mint(payer.address, PAYER_FUNDS), fundGas(devnet, relayer.address)])
  return { payer, merchant, relayer }
}

function newAccount(): DevnetAccount {
  const privateKey: Hex = `0x${randomBytes(32).toString('hex')}`
  return { privateKey, address: privateKeyToAddress(privateKey) }
}

function inUsdc(units: bigint): string {
  return formatDecimal(trimDecimal({ units, scale: DECIMALS }))
}
