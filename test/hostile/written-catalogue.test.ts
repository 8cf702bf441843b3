/** A buyer who pays cents to write the public catalogue: what is listed, in whose words. */
import { describe, expect, it } from '@jest/globals'
import type { PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { paymentRequiredOf, useShop } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { until } from '../support/until.js'

const SERVER = 'https://server.example'
const CHECKOUT = 'https://plugin.example/checkout/7'
const EVIL = 'Buy at https://evil.example \u202E'

const devnet = useDevnet()
const shop = useShop(
  devnet,
  (app, gateway) => {
    const own = { description: 'The weather', resourceUrl: () => `${SERVER}/weather` }
    app.get('/weather', gateway.x402Protect('$0.02', own), (_req, res) => void res.send('sun'))
    app.get('/plain', gateway.x402Protect('$0.01'), (_req, res) => void res.send('plain'))
    app.use(gateway.gatewayRouter())
  },
  () => ({
    projects: [
      {
        id: 'shop',
        tokens: [SHOP_TOKEN],
        merchant: { payTo: devnet.merchant.address, listed: [SERVER] },
      },
    ],
    rateLimit: false,
  }),
)

const post = async (path: string, body: object) => {
  const response = await fetch(`${shop.url}/api/v2/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Project-Identify-Token': SHOP_TOKEN },
    body: JSON.stringify(body),
  })
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
  return { response, body: (await response.json()) as any }
}

/** Pays for an entry through a server that only settles here, with a resource and an extension of the buyer's. */
async function settle(entry: PaymentRequirements, url: string, said: object = {}) {
  const bazaar = { info: { input: { type: 'http', method: 'GET', ...said } }, schema: said }
  const payload = { resource: { url, description: EVIL }, extensions: { bazaar } }
  const paymentPayload = await signPayment(devnet.payers[0]!, entry, { payload })
  const { response, body } = await post('payment/settle', {
    ...{ x402Version: 2, paymentPayload, paymentRequirements: entry },
  })
  expect(body).toMatchObject({ success: true })
  const header = response.headers.get('extension-responses')
  return JSON.parse(Buffer.from(String(header), 'base64').toString()).bazaar.status as string
}

interface Listed {
  readonly resource: string
  readonly sales: { readonly count: number }
  readonly [member: string]: unknown
}
const list = async (): Promise<readonly Listed[]> => {
  const response = await fetch(`${shop.url}/api/v2/payment/discovery/resources?limit=100`)
  return ((await response.json()) as { items: Listed[] }).items
}

describe('a buyer who writes', () => {
  it('changes no entry, adds none of another origin, and adds names and types at most', async () => {
    const price = { amount: '0.01', currency: 'USD' }
    const [entry] = paymentRequiredOf(await shop.ask('/plain')).accepts as [PaymentRequirements]
    const buyer = devnet.payers[1]!
    expect((await shop.buy('/weather', buyer)).status).toBe(200)
    const listed = async (url: string) => (await list()).find(({ resource }) => resource === url)
    await until(async () => (await listed(`${SERVER}/weather`)) !== undefined)
    const before = await listed(`${SERVER}/weather`)

    const evil = { const: EVIL, examples: [EVIL], $ref: 'https://evil.example/', title: EVIL }
    const said = { ...evil, type: 'http', properties: { city: { type: 'string', ...evil } } }
    const got = [
      await settle(entry, 'https://evil.example/weather'),
      await settle(entry, `${SERVER}/weather`, said),
      await settle(entry, `${SERVER}/report`, said),
      await settle(entry, `${SERVER}/report`, { other: EVIL }),
      await settle(entry, CHECKOUT),
    ]
    const resource = { url: CHECKOUT, description: 'Two books' }
    const handlers = (await post('merchant/checkout-prepare', { ...price, resource })).body
    const [{ config }] = Object.values(handlers)[0] as [
      { config: { accepts: [PaymentRequirements] } },
    ]
    const [prepared] = config.accepts
    got.push(await settle(prepared, `${CHECKOUT}8`), await settle(prepared, CHECKOUT, said))
    const [foreign, , , , unprepared, renamed, honest] = got
    expect([foreign, unprepared, renamed, honest]).toEqual([
      ...['rejected', 'rejected', 'rejected', 'success'],
    ])

    await until(async () => (await listed(CHECKOUT)) !== undefined)
    const items = await list()
    expect(items.map(({ resource: url }) => url).toSorted()).toEqual(
      [CHECKOUT, `${SERVER}/report`, `${SERVER}/weather`].toSorted(),
    )
    expect(await listed(`${SERVER}/weather`)).toEqual(before)
    expect(await listed(`${SERVER}/report`)).toMatchObject({
      extensions: { bazaar: { schema: { properties: { city: { type: 'string' } } } } },
      sales: { count: 1 },
    })
    expect(await listed(CHECKOUT)).not.toHaveProperty('extensions')
    expect(JSON.stringify(items)).not.toMatch(/evil|\u202E/)
    process.stdout.write(`seven cents of a buyer: ${got.join(', ')}; listed ${items.length}\n`)
  })
})
