import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import express from 'express'
import type { Ledger } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import type { PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { openShop, type Shop } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'

const PATH = '/api/v2/merchant/settlements'
const OTHER_TOKEN = 'x402_test-token-of-another'
const CHECKOUT = {
  amount: '0.50',
  currency: 'USD',
  resource: { url: 'https://shop.example/checkout/1' },
}

const devnet = useDevnet()

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
const readBody = (response: Response): Promise<any> => response.json()

describeDetails('memory', async () => ({ ledger: createMemoryLedger(), end: async () => {} }))
const root = await findPostgres()
if (root !== undefined)
  describeDetails('PostgreSQL', async () => {
    const schema = await createSchema(root)
    return { ledger: openPostgresLedger(schema.url), end: schema.drop }
  })

function describeDetails(
  name: string,
  open: () => Promise<{ ledger: Ledger; end: () => Promise<unknown> }>,
): void {
  describe(`with a ledger in ${name}`, () => {
    let shop: Shop & { close(): Promise<void> }
    let end: () => Promise<unknown>
    beforeAll(async () => {
      const opened = await open()
      end = opened.end
      const { projects } = shopOptions(devnet)
      const merchant = { payTo: devnet.merchant.address }
      shop = await openShop(
        devnet,
        (app, gateway) => {
          const items = express.Router()
          items.get(
            '/:id',
            gateway.x402Protect('$0.01', {
              merchant: 'shop',
              reference: (req) => req.query['order'] as string,
            }),
            (_req, res) => void res.send('an item'),
          )
          app.use('/items', items)
          const fixed = { merchant: 'shop', reference: 'weather' }
          app.get('/weather', gateway.x402Protect(0.02, fixed), (_req, res) => void res.send('sun'))
          app.use(gateway.gatewayRouter())
        },
        {
          ledger: opened.ledger,
          projects: [...projects!, { id: 'other', tokens: [OTHER_TOKEN], merchant }],
        },
      )
    })
    afterAll(async () => {
      await shop.close()
      await end()
    })

    const get = async (path: string, token = SHOP_TOKEN) => {
      const headers = { 'X-Project-Identify-Token': token }
      const response = await fetch(shop.url + path, { headers })
      return { status: response.status, body: await readBody(response) }
    }
    const post = async (path: string, document: object) => {
      const response = await fetch(shop.url + path, {
        method: 'POST',
        headers: { 'X-Project-Identify-Token': SHOP_TOKEN, 'Content-Type': 'application/json' },
        body: JSON.stringify(document),
      })
      return { status: response.status, body: await readBody(response) }
    }
    const settle = async (
      paymentRequirements: PaymentRequirements,
      { reference, url }: { reference?: unknown; url?: string } = {},
    ) => {
      const payload = url === undefined ? {} : { resource: { url } }
      const paymentPayload = await signPayment(devnet.payers[1]!, paymentRequirements, { payload })
      const body = { paymentPayload, paymentRequirements, reference }
      return post('/api/v2/payment/settle', body)
    }
    const newest = async () => (await get(`${PATH}?limit=1`)).body.settlements[0]
    const prepare = async (checkout: object) => {
      const { status, body } = await post('/api/v2/merchant/checkout-prepare', checkout)
      return { status, body, entry: body['xyz.vendor.gateway_payment']?.[0].config.accepts[0] }
    }

    it('records URL, pattern, price and reference of a sale, and finds it by each', async () => {
      const path = '/items/7?order=A%201&q=%27%3B--'
      expect((await shop.buy(path, devnet.payers[0]!)).status).toBe(200)
      const settlement = await newest()
      expect(settlement).toMatchObject({
        resource: `${shop.url}${path}`,
        method: 'GET',
        route: '/items/:id',
        askedPrice: '$0.01',
        decimals: 6,
        reference: 'A 1',
      })
      expect((await get(`${PATH}/${settlement.id}`)).body).toStrictEqual(settlement)
      const searches = {
        reference: 'A 1',
        resource: settlement.resource,
        transaction: settlement.transaction.toUpperCase().replace('0X', '0x'),
        payer: devnet.payers[0]!.address,
      }
      for (const [by, text] of Object.entries(searches)) {
        const found = `${PATH}?${by}=${encodeURIComponent(text)}`
        expect((await get(found)).body.settlements).toStrictEqual([settlement])
        expect((await get(`${found}&status=settled`)).body.settlements).toHaveLength(1)
        expect((await get(`${found}&status=failed`)).body.settlements).toHaveLength(0)
        expect((await get(found, OTHER_TOKEN)).body).toStrictEqual({ settlements: [] })
      }
      const nobody = `0x${'0a'.repeat(20)}`
      expect((await get(`${PATH}?payer=${nobody}`)).body.settlements).toStrictEqual([])
    })

    it('records a price without a currency in the merchant’s, with its fixed reference', async () => {
      expect((await shop.buy('/weather', devnet.payers[0]!)).status).toBe(200)
      expect(await newest()).toMatchObject({ askedPrice: '0.02 USD', reference: 'weather' })
    })

    it('charges nobody if the reference cannot be kept', async () => {
      const path = `/items/8?order=${'x'.repeat(201)}`
      const before = await newest()
      expect((await shop.buy(path, devnet.payers[0]!)).status).toBe(500)
      expect(await newest()).toStrictEqual(before)
    })

    it('records what a shop names, and cuts and cleans URLs, whatever a payer writes', async () => {
      const { entry } = await prepare(CHECKOUT)
      const url = `https://shop.example/\u0000\ud800?${'é'.repeat(3000)}`
      expect((await settle(entry, { reference: 'order-9', url })).body).toMatchObject({
        success: true,
      })
      const settlement = await newest()
      expect(settlement).toMatchObject({ reference: 'order-9' })
      expect(settlement.resource).toMatch(/^https:\/\/shop\.example\/\?é{2020,2030}$/)
      const { body } = await get(`${PATH}?resource=${encodeURIComponent(settlement.resource)}`)
      expect(body.settlements).toStrictEqual([settlement])
    })

    it.each([5, '', 'a\nb', 'x'.repeat(201), { toString: 'x' }])(
      'refuses a settlement before anything is sent if its reference is %j',
      async (reference) => {
        const { entry } = await prepare(CHECKOUT)
        const { status, body } = await settle(entry, { reference })
        expect([status, body.errors]).toStrictEqual([
          400,
          [{ path: 'reference', message: 'must be 1 to 200 visible characters' }],
        ])
        expect((await prepare({ ...CHECKOUT, reference })).status).toBe(400)
      },
    )

    it('records a checkout’s reference with its payment, the same each time and not forgeable', async () => {
      const { entry } = await prepare({ ...CHECKOUT, reference: 'Größe 42' })
      expect((await prepare({ ...CHECKOUT, reference: 'Größe 42' })).entry).toStrictEqual(entry)
      expect((await settle(entry)).body).toMatchObject({ success: true })
      expect(await newest()).toMatchObject({ reference: 'Größe 42' })

      const elsewhere = await prepare({
        ...CHECKOUT,
        resource: { url: 'https://shop.example/checkout/2' },
        reference: 'order-2',
      })
      const { reference } = elsewhere.entry.extra
      const [version, , signature] = reference.split('.')
      const forged = [version, Buffer.from('mine').toString('base64url'), signature].join('.')
      for (const taken of [reference, forged, 'order-2', '', 'v1..', 'x'.repeat(5000)]) {
        const stolen = { ...entry, extra: { ...entry.extra, reference: taken } }
        expect((await settle(stolen)).body).toMatchObject({ success: true })
        expect(await newest()).not.toHaveProperty('reference')
      }
    })
  })
}
