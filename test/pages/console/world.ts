/** A gateway with its console, a shop that sells, and a chain: what a browser test needs beside a browser. */
import express from 'express'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { payingFetch } from '../../../example-app/buy.js'
import { startDevnet, type Devnet, type DevnetAccount } from '../../../src/tools/devnet/index.js'
import type { NetworkOptions } from '../../../src/gateway/config/options/network.js'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import type { Ledger } from '../../../src/ledger/index.js'
import { sqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { balanceOf } from '../../support/balance-of.js'

/** The operator's token. */
export const ADMIN_TOKEN = 'an-admin-token-of-the-browser-tests'

/** The merchant's token of the configuration. */
export const SHOP_TOKEN = 'x402_a-token-of-the-configured-shop'

/** A merchant that is configured, and one that the tests create in the console. */
export const CONFIGURED = 'shop'
export const CREATED = 'acme'

export interface World {
  readonly devnet: Devnet
  readonly url: string
  /** The console, below the prefix that the gateway is mounted at. */
  readonly console: string
  /** Buys with the official client. */
  buy(path: string, payer: DevnetAccount): Promise<Response>
  /** Asks the gateway as a program does. */
  api(path: string, token: string, init?: RequestInit): Promise<Response>
  /** What the merchant's address holds on chain. */
  earned(): Promise<bigint>
  /** Stops answering, as a gateway that has died; and begins again. */
  goAway(): void
  comeBack(): void
  close(): Promise<void>
}

/** Where the gateway is mounted: the page must work below any path. */
const MOUNT = '/pay'

/** What a world has besides. */
export interface WorldOptions {
  /** From a folder of the world's own. @defaultValue SQLite */
  readonly openLedger?: (folder: string) => Ledger
  /** @defaultValue USDC */
  assets?(devnet: Devnet): NonNullable<NetworkOptions['assets']>
  /** Sells more. */
  sell?(app: express.Express, gateway: Gateway): void
}

/** Starts all of it. */
export async function openWorld({
  openLedger = (folder) => sqliteLedger(join(folder, 'ledger.db')),
  assets,
  sell: sellMore,
}: WorldOptions = {}): Promise<World> {
  const devnet = await startDevnet()
  const folder = await mkdtemp(join(tmpdir(), 'x402-console-'))
  const gateway = createGateway({
    networks: {
      'base-sepolia': {
        rpcUrl: devnet.rpcUrl,
        relayerKeys: [devnet.relayerKeys[0]!],
        ...(assets && { assets: assets(devnet) }),
      },
    },
    projects: [
      {
        id: CONFIGURED,
        tokens: [SHOP_TOKEN],
        merchant: { payTo: devnet.merchant.address, name: 'Configured shop' },
      },
    ],
    admin: { tokens: [ADMIN_TOKEN] },
    webhooks: { allowPrivate: true },
    ledger: openLedger(folder),
    // A test asks more often than an operator does.
    rateLimit: false,
  })
  const app = express()
  app.use(MOUNT, gateway.gatewayRouter())
  sell(app, gateway)
  sellMore?.(app, gateway)
  let isAway = false
  const server = createServer((req, res) => (isAway ? req.socket.destroy() : app(req, res)))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    devnet,
    url,
    console: `${url}${MOUNT}/console/`,
    buy: (path, payer) => payingFetch(payer.privateKey)(url + path),
    api: (path, token, init) =>
      fetch(`${url}${MOUNT}/api/v2/${path}`, {
        ...init,
        headers: {
          ...(path.startsWith('admin/')
            ? { Authorization: `Bearer ${token}` }
            : { 'X-Project-Identify-Token': token }),
          ...(init?.body !== undefined && { 'Content-Type': 'application/json' }),
        },
      }),
    earned: () => balanceOf(devnet, devnet.merchant.address),
    goAway() {
      isAway = true
      server.closeAllConnections()
    },
    comeBack: () => void (isAway = false),
    async close() {
      server.close()
      server.closeAllConnections()
      await gateway.close()
      await devnet.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** What can be bought. */
function sell(app: express.Express, gateway: Gateway): void {
  app.get(
    '/report/:id',
    gateway.x402Protect('$0.25', {
      merchant: CREATED,
      description: 'A report',
      reference: (req) => `order-${String(req.params['id'])}`,
    }),
    (_req, res) => void res.json({ report: true }),
  )
  // Whatever a stranger writes into the URL is kept with the payment.
  app.get(
    '/any/:text',
    gateway.x402Protect('$0.01', {
      merchant: CONFIGURED,
      description: '<img src=x onerror="window.pwned=1">',
      reference: (req) => (req.query['reference'] as string | undefined) ?? 'none',
    }),
    (_req, res) => void res.json({ ok: true }),
  )
}
