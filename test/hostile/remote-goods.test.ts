/** One payment buys one thing, also where several shops use one facilitator elsewhere. */
import { HTTPFacilitatorClient } from '@x402/core/server'
import { ExactEvmScheme } from '@x402/evm/exact/server'
import { paymentMiddleware, x402ResourceServer } from '@x402/express'
import express from 'express'
import { describe, expect, it } from '@jest/globals'
import { memoryLedger } from '../../src/ledger/memory-ledger.js'
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { deploy, walletCode } from '../support/contracts.js'
import { temporaryFolder, useCleanup, closedBy } from '../support/cleanup.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { listen, paymentHeader } from '../support/http.js'
import {
  loseNextAnswer,
  openRemoteCore,
  openRemoteShop,
  type RemoteShop,
} from '../support/remote-shops.js'
import { paymentRequiredOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { stopMining, resumeMining } from '../support/mining.js'

const devnet = useDevnet()
const toEnd = useCleanup()

const PRICE = 10_000n

/** What one presentation got: the goods, or the status that kept them. */
async function present(url: string, payment: object): Promise<string> {
  const response = await fetch(url, { headers: paymentHeader(payment) })
  const text = await response.text()
  return response.status === 200 ? text : String(response.status)
}

/** Signs for what a shop offers. */
async function sign(url: string, overrides: Partial<PaymentPayload> = {}): Promise<PaymentPayload> {
  const { accepts, resource } = paymentRequiredOf(await fetch(url))
  const payload = { resource: { ...resource }, ...overrides }
  return signPayment(devnet.payers[0]!, accepts[0]!, { payload })
}

/** What the attacker got, and what it cost. */
async function haul(act: () => Promise<string[]>) {
  const before = await balanceOf(devnet, devnet.merchant.address)
  const got = await act()
  const paid = (await balanceOf(devnet, devnet.merchant.address)) - before
  return { goods: got.filter((one) => one.startsWith('goods')), got, paid }
}

/** Presents a payment everywhere, twice before its block is mined and thrice afterwards. */
async function presentAround(urls: readonly string[], payment: object): Promise<string[]> {
  const got: string[] = []
  await stopMining(devnet)
  for (const url of urls) got.push(await present(url, payment))
  await resumeMining(devnet)
  // The first to take it up is one that the core was not asked by first.
  for (const order of [urls.toReversed(), urls, urls.toReversed()])
    for (const url of order) got.push(await present(url, payment))
  return got
}

/** The core says `settlement_pending` of what is not mined at once. */
const openCore = () => openRemoteCore(devnet, toEnd, { settleTimeoutMs: 300 })

describe('one payment at several shops of one remote core', () => {
  it('buys one good of three processes of a shop with separate ledgers at one URL', async () => {
    const core = await openCore()
    const shops: RemoteShop[] = []
    for (const name of ['p1', 'p2', 'p3']) {
      const resourceUrl = 'https://shop.example/goods'
      const facilitator = core.facilitator()
      shops.push(await openRemoteShop(devnet, toEnd, { name, resourceUrl, facilitator }))
    }
    const urls = shops.map(({ goods }) => goods)
    const payment = await sign(urls[0]!)
    const { goods, paid, got } = await haul(() => presentAround(urls, payment))
    expect([goods.length, paid]).toEqual([1, PRICE])
    // Where it is not known whether this shop was paid, nobody is asked to sign again.
    expect(got.slice(0, 3)).toEqual(['503', '503', '503'])
  })

  it.each([
    ['an empty resource', { resource: {} }],
    ['no resource', { resource: undefined }],
  ])(
    'three shops at three URLs, and a payment with %s: one good for one price',
    async (_name, bare) => {
      const core = await openCore()
      const shops: RemoteShop[] = []
      for (const name of ['s1', 's2', 's3'])
        shops.push(await openRemoteShop(devnet, toEnd, { name, facilitator: core.facilitator() }))
      const urls = shops.map(({ goods }) => goods)
      const payment = await sign(urls[0]!, bare)
      const { goods, paid } = await haul(() => presentAround(urls, payment))
      expect([goods.length, paid]).toEqual([1, PRICE])
    },
  )

  it('buys nothing from a shop whose request the core did not read while another redeems it', async () => {
    const core = await openCore()
    const resourceUrl = 'https://shop.example/goods'
    const [one, two] = [
      await openRemoteShop(devnet, toEnd, {
        name: 'p1',
        resourceUrl,
        facilitator: core.facilitator(),
      }),
      await openRemoteShop(devnet, toEnd, {
        name: 'p2',
        resourceUrl,
        facilitator: core.facilitator(),
      }),
    ]
    const payment = await sign(one.goods)
    const { goods, paid } = await haul(async () => {
      core.intercept = (req, res, next) =>
        req.path.endsWith('/settle') ? void res.status(500).json({}) : next()
      const first = await present(one.goods, payment)
      core.intercept = (_req, _res, next) => next()
      const rest = []
      for (const url of [two.goods, one.goods, two.goods, one.goods])
        rest.push(await present(url, payment))
      return [first, ...rest]
    })
    expect([goods.length, paid]).toEqual([1, PRICE])
  })

  it('buys one good of several gateways that share an httpFacilitator', async () => {
    for (const resource of [undefined, {}]) {
      const core = await openRemoteCore(devnet, toEnd)
      const facilitator = core.facilitator()
      const shops: RemoteShop[] = []
      for (const name of ['s1', 's2', 's3'])
        shops.push(await openRemoteShop(devnet, toEnd, { name, facilitator }))
      const urls = shops.map(({ goods }) => goods)
      const payment = await sign(urls[0]!, { resource })
      const { goods, paid } = await haul(async () => {
        const first = await Promise.all(urls.map((url) => present(url, payment)))
        const again = await Promise.all(urls.map((url) => present(url, payment)))
        return [...first, ...again]
      })
      expect([goods.length, paid]).toEqual([1, PRICE])
    }
  })

  it('buys one good of a shop and an official server on the same core', async () => {
    const core = await openCore()
    const resourceUrl = 'https://shop.example/goods'
    const facilitator = core.facilitator()
    const ours = await openRemoteShop(devnet, toEnd, { name: 'ours', resourceUrl, facilitator })
    const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
    const client = new HTTPFacilitatorClient({
      url: core.url,
      createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
    })
    const network = 'eip155:84532'
    const server = new x402ResourceServer(client).register(network, new ExactEvmScheme())
    const payTo = devnet.merchant.address
    const accepts = { scheme: 'exact', network, price: '$0.01', payTo } as const
    const app = express()
    app.use(paymentMiddleware({ 'GET /goods': { accepts } }, server))
    app.get('/goods', (_req, res) => void res.send('goods of the official server'))
    const official = closedBy(toEnd, await listen(app))
    const urls = [ours.goods, `${official.url}/goods`]
    const payment = await sign(ours.goods)
    const { goods, paid } = await haul(() => presentAround(urls, payment))
    expect([goods.length, paid]).toEqual([1, PRICE])
  })
})

describe('a buyer who has paid', () => {
  it('gets the goods from the shop whose answer was lost, even after its restart', async () => {
    const core = await openRemoteCore(devnet, toEnd)
    const file = `${temporaryFolder(toEnd)}/ledger.db`
    const resourceUrl = 'https://shop.example/goods'
    const shop = { name: 'p', resourceUrl, facilitator: core.facilitator() }
    const first = await openRemoteShop(devnet, toEnd, { ...shop, ledger: sqliteLedger(file) })
    loseNextAnswer(core)
    const payment = await sign(first.goods)
    expect(await present(first.goods, payment)).toBe('503')
    await first.close()
    const second = await openRemoteShop(devnet, toEnd, { ...shop, ledger: sqliteLedger(file) })
    // The ledger of another shop has another key.
    const stranger = await openRemoteShop(devnet, toEnd, { ...shop, ledger: memoryLedger() })
    const { goods, paid } = await haul(async () => [
      await present(stranger.goods, payment),
      await present(second.goods, payment),
      await present(stranger.goods, payment),
      await present(second.goods, payment),
    ])
    expect([goods, paid]).toEqual([['goods of p'], 0n])
  })
  it('gets the goods with a contract account, which is asked again', async () => {
    const core = await openRemoteCore(devnet, toEnd)
    const shop = await openRemoteShop(devnet, toEnd, { name: 'p', facilitator: core.facilitator() })
    const approved = `0x${'ab'.repeat(32)}` as const
    const address = await deploy(devnet, walletCode(approved))
    await devnet.mint(address, 1_000_000n)
    const { accepts } = paymentRequiredOf(await fetch(shop.goods))
    const { privateKey } = devnet.payers[0]!
    const signed = await signPayment({ address, privateKey }, accepts[0]!)
    const by = (signature: string) => ({ ...signed, payload: { ...signed.payload, signature } })
    loseNextAnswer(core)
    expect(await present(shop.goods, by(`${approved}cd`))).toBe('503')
    const { goods, got, paid } = await haul(async () => [
      // It was public when its transaction was sent; this is another one.
      await present(shop.goods, by(`0x${'ac'.repeat(33)}`)),
      await present(shop.goods, by(`${approved}cd`)),
      await present(shop.goods, by(`${approved}cd`)),
    ])
    expect(got).toEqual(['503', 'goods of p', '402'])
    expect([goods.length, paid]).toEqual([1, 0n])
  })
})
