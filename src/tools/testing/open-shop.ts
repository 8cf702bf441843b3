import { randomBytes } from 'node:crypto'
import { privateKeyToAddress } from 'viem/accounts'
import type { Devnet, DevnetAccount } from '../devnet/index.js'
import type { GatewayOptions } from '../../index.js'
import { silentLogger } from '../../shared/logger.js'
import { formatDecimal, trimDecimal } from '../../shared/money/decimal.js'
import type { Hex } from '../../shared/protocol/payment.js'
import { Buyer, describeUnpaid, type PaidResponse } from './buyer.js'
import type { Cleanup } from './cleanup.js'
import { openDefault } from './default-stand-in.js'
import { Failures } from './failures.js'
import { NodeProxy } from './node-proxy.js'
import { openAppAndGateway, type AppBuilder, type AppModule, type ExpressApp } from './shop-app.js'
import { listen, shopListener } from './shop-server.js'
import { requireRealTimers } from './real-timers.js'
import { StayUp } from './stay-up.js'
import type { TestShop, TestShopOptions } from './test-shop.js'
import { balanceOf, fundGas } from './token.js'
import { openDevnet } from '../devnet/start-devnet.js'

/** The payer starts with 1000 USDC. */
const PAYER_FUNDS = 1_000_000_000n
const DECIMALS = 6
/** Long enough for a busy machine, short enough for a test of what is pending. */
const SETTLE_TIMEOUT_MS = 5000

interface Parties {
  readonly payer: DevnetAccount
  readonly merchant: DevnetAccount
  readonly relayer: DevnetAccount
  /** Identify token of the merchant's project. */
  readonly token: string
}

interface Place {
  readonly devnet: Devnet
  readonly proxy: NodeProxy
  readonly url: string
}

/**
 * Opens a shop, as `startTestShop` does.
 *
 * @param cleanup - Collects the steps to close it, even if opening fails.
 */
export async function openShop(
  given: ExpressApp | AppModule | AppBuilder,
  options: TestShopOptions,
  cleanup: Cleanup,
): Promise<TestShop> {
  requireRealTimers()
  const stayUp = new StayUp()
  cleanup.add(() => stayUp.end())
  const { devnet, release } = await useChain()
  cleanup.add(release)
  const [proxy, server, parties] = await Promise.all([
    NodeProxy.start(devnet.rpcUrl),
    listen(),
    openAccounts(devnet),
  ])
  cleanup.add(() => proxy.close())
  cleanup.add(() => server.close())
  const { url } = server
  const defaults = gatewayOptions(parties, { devnet, proxy, url }, options)
  const { app, gateway, paidTo } = await openAppAndGateway(given, { ...defaults, options }, cleanup)
  cleanup.add(openDefault(gateway))
  const failures = new Failures({ devnet, proxy })
  cleanup.add(() => failures.ended())
  const listener = shopListener(app, { gateway, failures, stayUp })
  server.serve(listener)
  // Closed before the gateway, so that no request reaches a closed one.
  cleanup.add(() => server.close())

  const { payer, merchant, token } = parties
  const buyer = new Buyer({ url, payer, devnet, failsNext: () => failures.isArmed })
  const read = async (account: Hex) =>
    formatDecimal(trimDecimal({ units: await balanceOf(devnet, account), scale: DECIMALS }))
  return {
    url,
    app: listener,
    gateway,
    token,
    payer,
    merchant,
    fetch: (path, init) => buyer.fetch(path, init),
    // Typed by the overloads of `TestShop.buy`.
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
    failNext: (failure) => failures.arm(failure),
    close: () => cleanup.run(),
    [Symbol.asyncDispose]: () => cleanup.run(),
  }
}

/** Options that a test may override, and options that it may not. */
function gatewayOptions(
  { merchant, relayer, token }: Parties,
  { proxy, url }: Place,
  { merchant: terms }: TestShopOptions,
): { readonly preset: GatewayOptions; readonly fixed: GatewayOptions } {
  return {
    preset: {
      logger: silentLogger,
      settleTimeoutMs: SETTLE_TIMEOUT_MS,
      projects: [{ id: 'shop', tokens: [token], merchant: { ...terms, payTo: merchant.address } }],
    },
    fixed: {
      publicUrl: url,
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: [relayer.privateKey] } },
    },
  }
}

async function openAccounts(devnet: Devnet): Promise<Parties> {
  const [payer, merchant, relayer] = [newAccount(), newAccount(), newAccount()]
  await Promise.all([devnet.mint(payer.address, PAYER_FUNDS), fundGas(devnet, relayer.address)])
  return { payer, merchant, relayer, token: randomBytes(24).toString('base64url') }
}

function newAccount(): DevnetAccount {
  const privateKey: Hex = `0x${randomBytes(32).toString('hex')}`
  return { privateKey, address: privateKeyToAddress(privateKey) }
}

/** The chain of this process while shops use it. */
let running: { readonly started: Promise<Devnet>; users: number } | undefined

/** Starts the chain, or joins shops that use it already. Users must not share accounts. */
async function useChain() {
  const chain = (running ??= { started: start(), users: 0 })
  chain.users += 1
  let isReleased = false
  /** The last one stops the chain. May be called again. */
  const release = async (): Promise<void> => {
    if (isReleased) return
    isReleased = true
    chain.users -= 1
    if (chain.users > 0) return
    if (running === chain) running = undefined
    await (await chain.started).close()
  }
  try {
    return { devnet: await chain.started, release }
  } catch (error) {
    if (running === chain) running = undefined
    throw error
  }
}

/** Starts a chain that does not keep this process up: each open shop does, for a while. */
async function start(): Promise<Devnet> {
  const { devnet, unref } = await openDevnet({})
  unref()
  return devnet
}
