import { describe, expect, it } from '@jest/globals'
import { paymentHeader } from '../../support/http.js'
import { SHOP_TOKEN, useDevnet } from '../../support/devnet.js'
import { useShop } from '../../support/shop.js'

const RESOURCE = 'https://shop.example/o/1'
const devnet = useDevnet()
const shop = useShop(
  devnet,
  (app, gateway) => {
    app.use(gateway.gatewayRouter())
    app.get('/paid', gateway.x402Protect('$0.01'), (_req, res) => void res.send('paid'))
  },
  () => ({
    rates: { 'EUR/USD': '1.08' },
    projects: [
      {
        id: 'shop',
        tokens: [SHOP_TOKEN],
        merchant: { payTo: devnet.merchant.address, crossCurrency: true },
      },
    ],
  }),
)

const headers = { 'content-type': 'application/json', 'x-project-identify-token': SHOP_TOKEN }
async function ask(path: string, body?: object) {
  const answer = await fetch(`${shop.url}/api/v2${path}`, {
    headers,
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  })
  return { status: answer.status, body: (await answer.json()) as Answer }
}
interface Answer {
  readonly code?: string
  readonly detail?: string
  readonly errors?: readonly { path: string; message: string }[]
  readonly accepts?: readonly { amount: string }[]
}
const require = (more: object, query = '') =>
  ask(`/payment/requirements${query}`, { resourceUrl: RESOURCE, requestedAmount: 1.5, ...more })
const prepare = (more: object, query = '') =>
  ask(`/merchant/checkout-prepare${query}`, {
    amount: '1.50',
    currency: 'EUR',
    resource: { url: RESOURCE },
    ...more,
  })

describe('requirements in a currency (rule 25)', () => {
  it('quote 1.50 EUR at its rate in dollars', async () => {
    const answer = await require({ currency: 'EUR' })
    expect(answer.body.accepts?.map(({ amount }) => amount)).toEqual(['1620000'])
  })

  it.each([{}, { currency: null }, { currency: 'USD' }])(
    'are in the merchant’s currency if none is named: %j',
    async (more) => {
      const answer = await require(more)
      expect(answer.body.accepts?.map(({ amount }) => amount)).toEqual(['1500000'])
    },
  )

  it.each(['eur', 'XXX', 'NOPE', '', 978, {}])(
    'refuse the currency %j as checkout-prepare does',
    async (currency) => {
      const answer = await require({ currency })
      expect(answer.status).toBe(400)
      expect(answer.body.errors).toEqual((await prepare({ currency })).body.errors)
      expect(answer.body.errors?.map(({ path }) => path)).toEqual(['currency'])
    },
  )

  it('refuse a currency without a rate as checkout-prepare does', async () => {
    const answer = await require({ currency: 'GBP' })
    const other = await prepare({ currency: 'GBP' })
    expect([answer.status, answer.body.code]).toEqual([other.status, other.body.code])
    expect(answer.status).toBeGreaterThanOrEqual(400)
  })
})

describe('strict requests (rule 25)', () => {
  it.each<[object, string, string]>([
    [{ curency: 'EUR' }, 'curency', "did you mean 'currency'?"],
    [{ Currency: 'EUR' }, 'Currency', "did you mean 'currency'?"],
    [{ mime_type: 'text/plain' }, 'mime_type', "did you mean 'mimeType'?"],
    [{ metadata: {} }, 'metadata', 'there is resourceUrl, requestedAmount, currency'],
  ])('refuse an unknown member of requirements: %j', async (more, path, words) => {
    const answer = await require(more)
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ code: 'invalid_request' })
    expect(answer.body.errors).toEqual([{ path, message: expect.stringContaining(words) }])
    expect(answer.body.detail).toContain(`'${path}'`)
  })

  it('refuse an unknown member of checkout-prepare', async () => {
    const answer = await prepare({ amonut: '2' })
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toEqual([
      { path: 'amonut', message: "is not known here; did you mean 'amount'?" },
    ])
    expect(answer.body.detail).toBe(
      "Body member 'amonut': is not known here; did you mean 'amount'?",
    )
  })

  it('name an unknown member beside other mistakes', async () => {
    const answer = await require({ requestedAmount: undefined, requestedamount: 1 })
    expect(answer.body.errors?.map(({ path }) => path)).toEqual([
      'requestedamount',
      'requestedAmount',
    ])
    expect(answer.body.detail).toBe(
      "Body member 'requestedamount': is not known here; did you mean 'requestedAmount'? (and 1 more, see errors).",
    )
  })

  it.each([
    ['/merchant/settlements?form=2030-01-01', 'form', "did you mean 'from'?"],
    ['/merchant/settlements?until=2030-01-01', 'until', 'there is cursor, limit'],
    ['/merchant/settlements/abc?status=settled', 'status', 'nothing is taken'],
  ])('refuse an unknown parameter of %s', async (path, name, words) => {
    const answer = await ask(path)
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toEqual([{ path: name, message: expect.stringContaining(words) }])
    expect(answer.body.detail).toMatch(`Query parameter '${name}': is not known here; `)
  })

  it('refuse any query of a POST', async () => {
    for (const answer of [await require({}, '?currency=EUR'), await prepare({}, '?currency=USD')])
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: 'currency' }] } })
  })
})

describe('the unknown members that x402 allows (rule 25)', () => {
  it('are accepted on top of requests and inside a resource', async () => {
    const more = { x402Version: 2, protocolVersion: 2, extensions: {} }
    expect((await require(more)).status).toBe(200)
    const resource = { url: RESOURCE, description: 'A', mimeType: 'text/html', serviceName: 'B' }
    expect((await prepare({ ...more, resource })).status).toBe(200)
  })

  it('are accepted as the cache breaker of some clients', async () => {
    expect((await ask('/merchant/settlements?_=1763769600')).status).toBe(200)
  })

  it('are accepted anywhere in the bodies of verify and settle', async () => {
    const payment = await shop.sign('/paid', devnet.payers[0]!)
    const accepted = { ...payment.accepted, ours: 1 }
    const body = {
      x402Version: 2,
      somethingElse: true,
      paymentPayload: { ...payment, accepted, more: [], extensions: { 'x-y': { z: 1 } } },
      paymentRequirements: accepted,
    }
    expect((await ask('/payment/verify', body)).body).toMatchObject({ isValid: true })
    expect((await ask('/payment/settle', body)).body).toMatchObject({ success: true })
  })
})

describe('empty lists of PHP shops in place of objects (rule 26)', () => {
  it('are accepted in verify and settle', async () => {
    const payment = await shop.sign('/paid', devnet.payers[0]!)
    const accepted = { ...payment.accepted, extra: [] }
    const body = {
      paymentPayload: { ...payment, accepted, resource: [], extensions: [] },
      paymentRequirements: accepted,
    }
    expect((await ask('/payment/verify', body)).body).toMatchObject({ isValid: true })
    expect((await ask('/payment/settle', body)).body).toMatchObject({ success: true })
  })

  it('are accepted in the payment header', async () => {
    const payment = await shop.sign('/paid', devnet.payers[1]!)
    const answer = await fetch(`${shop.url}/paid`, {
      headers: paymentHeader({ ...payment, resource: [], extensions: [] }),
    })
    expect(answer.status).toBe(200)
  })
})
