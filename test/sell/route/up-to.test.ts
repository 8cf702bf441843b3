import { afterAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { addressOfKey } from '../../../src/shared/crypto/address-of-key.js'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.js'
import type { ProtectOptions } from '../../../src/sell/route/options.js'
import { listen } from '../../support/http.js'
import { issuesOf } from '../../support/issues.js'
import { paymentRequiredOf } from '../../support/shop.js'
import { useCleanup } from '../../support/cleanup.js'

const KEYS = [`0x${'22'.repeat(32)}`, `0x${'33'.repeat(32)}`] as const
const toEnd = useCleanup(afterAll)

const open = (options: GatewayOptions = {}): Gateway => {
  const gateway = createGateway({
    networks: {
      'base-sepolia': {
        ...{ rpcUrl: 'http://127.0.0.1:1', relayerKeys: KEYS, assets: ['USDC', 'EURC'] },
      },
    },
    projects: [{ id: 'shop', merchant: { payTo: `0x${'11'.repeat(20)}`, crossCurrency: true } }],
    rates: { 'EUR/USD': '1.08' },
    ...options,
  })
  toEnd.push(() => gateway.close())
  return gateway
}
const declare = (price: unknown, options?: ProtectOptions, gateway: GatewayOptions = {}) =>
  issuesOf(() => open(gateway).x402Protect(price as never, options))

describe('declaring a maximum', () => {
  it.each<[object, ProtectOptions | undefined, readonly [option: string, code: string]]>([
    [{ upto: '$0.10' }, undefined, ['upto', 'unknown_option']],
    [{ upTo: '$0.10', price: '$0.01' }, undefined, ['price', 'conflicting_options']],
    [{ upTo: '$0.10', description: 'x' }, undefined, ['description', 'conflicting_options']],
    [{ upTo: '$0.10' }, { paymentFlow: 'upfront' }, ['upTo', 'conflicting_options']],
    [{ upTo: '$0.10', defaultCharge: '$0.11' }, undefined, ['defaultCharge', 'out_of_range']],
    [{ upTo: '$0.10', defaultCharge: '€0.01' }, undefined, ['defaultCharge', 'invalid_price']],
    [{ upTo: '$0.10', defaultCharge: '$0.0000001' }, undefined, ['defaultCharge', 'invalid_price']],
    [{ upTo: '$0.10', defaultCharge: '1e-2' }, undefined, ['defaultCharge', 'invalid_price']],
    [{ upTo: '$0' }, undefined, ['price', 'invalid_price']],
    [{ upTo: undefined }, undefined, ['price', 'invalid_price']],
  ])('refuses %j with %j', (price, options, [option, code]) => {
    expect(declare(price, options)).toMatchObject([{ option, code }])
  })

  it('refuses upTo among the options of a price', () => {
    const options = { upTo: '$1' } as ProtectOptions
    expect(declare('$0.10', options)).toMatchObject([{ option: 'upTo', code: 'unknown_option' }])
  })

  it.each<object>([
    { upTo: '$0.10' },
    { upTo: 0.1, defaultCharge: '0.10 USD' },
    { upTo: '€0.10', defaultCharge: '€0' },
    { upTo: { asset: 'USDC', network: 'base-sepolia', amount: '100' } },
    { upTo: () => '$0.10', defaultCharge: '$0.20' },
  ])('takes %j', (price) => {
    expect(declare(price)).toEqual([])
  })
})

describe('the offer of a maximum', () => {
  const ask = async (price: object, gateway: GatewayOptions = {}) => {
    const app = express()
    const problems: unknown[] = []
    app.use(open(gateway).x402Protect(price as never), (_req, res) => void res.send('free'))
    app.use(((error, _req, res, _next) => {
      problems.push(error)
      res.status(500).end()
    }) satisfies express.ErrorRequestHandler)
    const server = await listen(app)
    const response = await fetch(server.url)
    await server.close()
    return { response, problems }
  }

  it('is of the scheme upto alone, for each token, and names the first relayer', async () => {
    const { response } = await ask({ upTo: '$0.10' })
    expect(response.status).toBe(402)
    const { accepts } = paymentRequiredOf(response)
    const facilitatorAddress = addressOfKey(KEYS[0])
    expect(
      accepts.map(({ scheme, amount, extra }) => [
        ...[scheme, amount, extra?.['assetTransferMethod'], extra?.['facilitatorAddress']],
        typeof extra?.['quote'],
      ]),
    ).toEqual([
      ['upto', '100000', 'permit2', facilitatorAddress, 'undefined'],
      ['upto', '92593', 'permit2', facilitatorAddress, 'string'],
    ])
  })

  it('may depend on the request, and its default is checked then', async () => {
    const { response } = await ask({ upTo: () => '$0.20', defaultCharge: '$0.20' })
    expect(paymentRequiredOf(response).accepts[0]).toMatchObject({ amount: '200000' })
    const refused = await ask({ upTo: () => '$0.20', defaultCharge: '$0.21' })
    expect(refused.response.status).toBe(500)
    expect(refused.problems).toMatchObject([{ option: 'defaultCharge' }])
  })

  it('is a maximum in the OpenAPI document', async () => {
    const gateway = open()
    const app = express()
    app.get('/metered', gateway.x402Protect({ upTo: '$0.10' }), (_req, res) => void res.send('x'))
    const document = JSON.parse(JSON.stringify(await gateway.openapi(app))) as {
      paths: Record<string, { get: Record<string, unknown> }>
    }
    expect(document.paths['/metered']?.get['x-payment-info']).toMatchObject({
      price: { mode: 'dynamic', currency: 'USD', min: '0', max: '0.10' },
      offers: [{ amount: null }],
    })
  })
})
