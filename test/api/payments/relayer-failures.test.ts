import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import type { Gateway } from '../../../src/gateway/gateway.js'
import type { NetworkOptions } from '../../../src/gateway/config/options/network.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { sqliteLedger } from '../../../src/sql.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { openShop } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'
import { problemOf, serveGateway, type GatewayApi } from '../api.js'
import { temporaryFolder, useCleanup, closedBy } from '../../support/cleanup.js'

const devnet = useDevnet()
const toEnd = useCleanup()

/** A gateway's options, behind a node that shows what it was asked. */
async function proxied(network: NetworkOptions = {}, more: GatewayOptions = {}) {
  const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
  const { relayerKeys } = shopOptions(devnet).networks!['base-sepolia']!
  const base = { rpcUrl: proxy.url, relayerKeys: relayerKeys!.slice(0, 1), ...network }
  const options = shopOptions(devnet, { ...more, networks: { 'base-sepolia': base } })
  const sent = () => proxy.methods.filter((method) => method.startsWith('eth_sendRaw'))
  return { options, sent }
}

async function serve(options: GatewayOptions): Promise<GatewayApi> {
  return closedBy(toEnd, await serveGateway(options))
}

async function settleAt(api: GatewayApi) {
  const { body } = await api.post('/api/v2/payment/requirements', {
    resourceUrl: 'https://shop.example/item',
    requestedAmount: 0.01,
  })
  const paymentRequirements = body.accepts[0]
  const paymentPayload = await signPayment(devnet.payers[0]!, paymentRequirements)
  return api.post('/api/v2/payment/settle', { paymentPayload, paymentRequirements })
}

/** A shop whose handler must not run. */
async function openIdleShop(options: GatewayOptions) {
  let runs = 0
  const shop = await openShop(
    devnet,
    (app, gateway: Gateway) => {
      app.get('/report', gateway.x402Protect('$0.01'), (_req, res) => {
        runs += 1
        res.json({})
      })
    },
    options,
  )
  toEnd.push(() => shop.close())
  return { shop, runs: () => runs }
}

const earned = () => balanceOf(devnet, devnet.merchant.address)

describe('a gas price above what is offered', () => {
  it('is answered 503 by settle, and nothing is sent', async () => {
    const { options, sent } = await proxied({ maxFeePerGasGwei: 1e-9 })
    const before = await earned()
    const answer = await settleAt(await serve(options))
    expect(answer.status).toBe(503)
    expect(answer.body).toEqual(problemOf(503, 'gas_price_too_high', 'Service Unavailable'))
    expect(answer.headers.get('retry-after')).toBe('5')
    expect([sent(), await earned()]).toEqual([[], before])
  })

  it('is answered 503 by a paid route, whose handler does not run', async () => {
    const { options, sent } = await proxied({ maxFeePerGasGwei: 1e-9 })
    const { shop, runs } = await openIdleShop(options)
    const answer = await shop.buy('/report', devnet.payers[0]!)
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(await answer.json()).toMatchObject({ code: 'gas_price_too_high' })
    expect([sent(), runs()]).toEqual([[], 0])
  })

  it('does not matter while the limit is above the price', async () => {
    const { options } = await proxied({ maxFeePerGasGwei: 1000 })
    expect((await settleAt(await serve(options))).body).toMatchObject({ success: true })
  })
})

describe('a gateway whose only relayer is used by another gateway too', () => {
  it('settles on the API and on a paid route', async () => {
    const folder = temporaryFolder(toEnd)
    const openLedger = () => sqliteLedger(join(folder, 'ledger.db'))
    const first = await serve((await proxied({}, { ledger: openLedger() })).options)
    expect((await settleAt(first)).body).toMatchObject({ success: true })

    const api = await serve((await proxied({}, { ledger: openLedger() })).options)
    const route = await proxied({}, { ledger: openLedger() })
    const { shop } = await openIdleShop(route.options)
    const [settled, bought, again] = await Promise.all([
      settleAt(api),
      shop.buy('/report', devnet.payers[1]!),
      settleAt(first),
    ])
    expect(settled.body).toMatchObject({ success: true })
    expect(bought.status).toBe(200)
    expect(again.body).toMatchObject({ success: true })
  })
})
