/** What operator and merchant see of their payments. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Ledger } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { openShop, type Shop } from '../../support/shop.js'

const ADMIN_TOKEN = 'an-admin-token-of-the-tests'
const OTHER_TOKEN = 'x402_test-token-of-another'
const OTHER_PAYEE = `0x${'0c'.repeat(20)}` as const
const MERCHANT = '/api/v2/merchant'
const ADMIN = '/api/v2/admin'
const VIEWS = ['overview', 'revenue', 'funnel']

const devnet = useDevnet()

interface Opened {
  readonly ledger: Ledger
  readonly end: () => Promise<unknown>
}

describeViews('memory', async () => ({ ledger: createMemoryLedger(), end: async () => {} }))
const root = await findPostgres()
if (root !== undefined)
  describeViews('PostgreSQL', async () => {
    const schema = await createSchema(root)
    return { ledger: openPostgresLedger(schema.url), end: schema.drop }
  })

function describeViews(name: string, open: () => Promise<Opened>): void {
  describe(`the views of a gateway with a ledger in ${name}`, () => {
    let shop: Shop & { close(): Promise<void> }
    let end: () => Promise<unknown>
    /** What the payees have been paid. */
    let paid: readonly bigint[]
    beforeAll(async () => {
      const opened = await open()
      end = opened.end
      const { projects } = shopOptions(devnet)
      shop = await openShop(
        devnet,
        (app, gateway) => {
          for (const [path, price, merchant] of [
            ['/tea', '$0.01', 'shop'],
            ['/cake', '$0.25', 'shop'],
            ['/book', '$1.5', 'other'],
          ] as const)
            app.get(path, gateway.x402Protect(price, { merchant }), (_req, res) => {
              res.send(path)
            })
          app.use(gateway.gatewayRouter())
        },
        {
          ledger: opened.ledger,
          admin: { tokens: [ADMIN_TOKEN] },
          projects: [
            ...projects!,
            { id: 'other', tokens: [OTHER_TOKEN], merchant: { payTo: OTHER_PAYEE, name: 'Other' } },
          ],
        },
      )
      const payees = [devnet.merchant.address, OTHER_PAYEE] as const
      const before = await Promise.all(payees.map((payee) => balanceOf(devnet, payee)))
      const bought = ['/tea?a', '/tea?b', '/tea', '/cake', '/book', '/book?x']
      await Promise.all(
        bought.map(async (path, index) => {
          const { status } = await shop.buy(path, devnet.payers[index % 4]!)
          expect(status).toBe(200)
        }),
      )
      // One payment for something else, one that is not worth a header.
      const payment = await shop.sign('/tea', devnet.payers[0]!)
      expect((await shop.pay('/cake', payment)).status).toBe(402)
      const garbage = { headers: { 'PAYMENT-SIGNATURE': 'garbage' } }
      expect((await shop.ask('/tea', garbage)).status).toBe(400)
      const after = await Promise.all(payees.map((payee) => balanceOf(devnet, payee)))
      paid = after.map((balance, index) => balance - before[index]!)
    })
    afterAll(async () => {
      await shop.close()
      await end()
    })

    const get = async (path: string, headers: Record<string, string>) => {
      const response = await fetch(shop.url + path, { headers })
      return { status: response.status, body: await readBody(response) }
    }
    const asMerchant = (path: string, token = SHOP_TOKEN) =>
      get(MERCHANT + path, { 'X-Project-Identify-Token': token })
    const asAdmin = (path: string) => get(ADMIN + path, { Authorization: `Bearer ${ADMIN_TOKEN}` })
    const sum = (groups: readonly { amount: string }[]): bigint =>
      groups.reduce((total, { amount }) => total + BigInt(amount), 0n)

    it('have sums that equal the chain’s, however they are grouped', async () => {
      for (const by of ['day', 'project', 'asset', 'resource']) {
        const [own, others, all] = await Promise.all([
          asMerchant(`/revenue?by=${by}`),
          asMerchant(`/revenue?by=${by}`, OTHER_TOKEN),
          asAdmin(`/revenue?by=${by}`),
        ])
        expect([own, others].map(({ body }) => sum(body.revenue))).toStrictEqual(paid)
        expect(sum(all.body.revenue)).toBe(paid[0]! + paid[1]!)
        const one = await asAdmin(`/revenue?by=${by}&project=other`)
        expect(one.body).toStrictEqual(others.body)
      }
    })

    it('show what was sold, with its token', async () => {
      const { body } = await asMerchant('/revenue?by=resource')
      const token = {
        ...{ network: 'eip155:84532', testnet: true, asset: devnet.asset },
        ...{ symbol: 'USDC', decimals: 6, refunded: '0', refunds: 0 },
      }
      expect(body).toMatchObject({ by: 'resource', from: expect.any(String) })
      expect(body.revenue).toStrictEqual([
        { resource: `${shop.url}/cake`, ...token, amount: '250000', count: 1, net: '250000' },
        { resource: `${shop.url}/tea`, ...token, amount: '30000', count: 3, net: '30000' },
      ])
      const byDay = (await asMerchant('/revenue')).body
      expect(byDay.revenue).toMatchObject([{ day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) }])
      const byProject = (await asAdmin('/revenue?by=project')).body.revenue
      expect(byProject).toMatchObject([
        { project: 'other', merchantName: 'Other' },
        { project: 'shop' },
      ])
      expect(byProject[1]).not.toHaveProperty('merchantName')
      expect((await asAdmin('/settlements?project=other')).body.settlements[0]).toMatchObject({
        merchantName: 'Other',
      })
    })

    it('count requests, payments, refusals and settlements', async () => {
      const { body } = await asMerchant('/funnel')
      expect(body.total).toStrictEqual({
        ...{ asked: 5, presented: 6, repeated: 0, refused: 2, waived: 0, settled: 4, failed: 0 },
        reasons: { resource_mismatch: 1, invalid_payload: 1 },
        waivedFor: {},
      })
      expect(body.days).toMatchObject([{ settled: 4 }])
      expect((await asMerchant('/funnel', OTHER_TOKEN)).body.total).toMatchObject({ settled: 2 })
      expect((await asAdmin('/funnel')).body.total).toMatchObject({ asked: 7, settled: 6 })
      expect((await asAdmin('/funnel?project=shop')).body).toStrictEqual(body)
    })

    it('summarise everything in one overview', async () => {
      const { body } = await asMerchant('/overview')
      expect(body).toMatchObject({
        revenue: [{ amount: '280000', count: 4 }],
        funnel: { settled: 4 },
      })
      expect(body.settlements).toHaveLength(4)
      expect((await asAdmin('/overview')).body.settlements).toHaveLength(6)
      expect(
        Object.keys((await asMerchant('/overview?from=2020-01-01&to=2020-02-01')).body),
      ).toEqual(Object.keys(body))
    })

    it('list settlements across projects to the operator, page by page', async () => {
      const seen: { id: string; project: string }[] = []
      let cursor = ''
      do {
        const { body } = await asAdmin(`/settlements?limit=2${cursor}`)
        seen.push(...body.settlements)
        cursor = body.nextCursor && `&cursor=${body.nextCursor}`
      } while (cursor)
      expect(new Set(seen.map(({ id }) => id)).size).toBe(6)
      expect(seen.filter(({ project }) => project === 'other')).toHaveLength(2)
      const one = seen.find(({ project }) => project === 'other')!
      expect((await asAdmin(`/settlements/${one.id}`)).body).toStrictEqual(one)
      const found = await asAdmin(`/settlements?project=other&limit=100`)
      expect(found.body.settlements).toHaveLength(2)
      const payer = devnet.payers[0]!.address
      const paidBy = (await asAdmin(`/settlements?payer=${payer}`)).body.settlements
      expect(paidBy).toHaveLength(2)
    })

    it('show the operator what relayers hold, have spent, and wait for', async () => {
      const { body } = await asAdmin('/relayers')
      expect(body.relayers).toHaveLength(devnet.relayerKeys.length)
      for (const relayer of body.relayers) {
        expect(relayer).toMatchObject({
          network: 'eip155:84532',
          address: expect.stringMatching(/^0x/),
          balance: expect.stringMatching(/^\d+$/),
          isLow: false,
          runway: { payments: expect.any(Number) },
        })
      }
      const spent = body.relayers.map((one: { spent: string }) => BigInt(one.spent))
      expect(spent.some((wei: bigint) => wei > 0n)).toBe(true)
      const busy = body.relayers.find((one: { spent: string }) => one.spent !== '0')
      expect(busy.runway.days).toBeGreaterThan(0)
    })

    it('show the operator what gas has cost for each project, as much as relayers have spent', async () => {
      type Gas = readonly { readonly project: string; readonly network: string; wei: string }[]
      const gas = (await asAdmin('/gas')).body.gas as Gas
      const projects = gas.map(({ project }) => project)
      expect(projects).toEqual(expect.arrayContaining(['other', 'shop']))
      const sum = (some: readonly string[]) => some.reduce((all, wei) => all + BigInt(wei), 0n)
      const { relayers } = (await asAdmin('/relayers')).body
      const spent = sum(relayers.map((one: { spent: string }) => one.spent))
      const all = sum(gas.map(({ wei }) => wei))
      // Each payment is rounded up to a gwei, and so is each transaction.
      const rounding = 100n * 10n ** 9n
      expect(all <= spent + rounding && all >= spent - rounding).toBe(true)
      const own = (await asAdmin('/gas?project=shop')).body.gas as Gas
      expect(own).toEqual(gas.filter(({ project }) => project === 'shop'))
      expect((await asMerchant('/gas')).status).toBe(404)
      const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10)
      expect((await asAdmin(`/gas?from=${tomorrow}`)).body.gas).toEqual([])
    })

    it('show the operator the state of networks, without their URLs', async () => {
      const { body } = await asAdmin('/networks')
      expect(body.networks).toMatchObject([
        { network: 'eip155:84532', chainId: 84532, block: expect.any(Number), status: 'ok' },
      ])
      expect(JSON.stringify(body)).not.toContain(devnet.rpcUrl)
      for (const path of ['/relayers', '/networks']) {
        expect((await asMerchant(path)).status).toBe(404)
        expect((await asAdmin(`${path}?project=shop`)).status).toBe(400)
      }
    })

    it('are closed to other projects by any id or cursor', async () => {
      const own = (await asMerchant('/settlements?limit=1')).body
      const id = own.settlements[0].id
      const nextCursor = own.nextCursor
      expect((await asMerchant(`/settlements/${id}`, OTHER_TOKEN)).status).toBe(404)
      const others = await asMerchant(`/settlements?cursor=${nextCursor}`, OTHER_TOKEN)
      for (const { payTo } of others.body.settlements) expect(payTo.toLowerCase()).toBe(OTHER_PAYEE)
      for (const path of VIEWS) {
        const { status, body } = await asMerchant(`/${path}?project=other`)
        expect([status, body.errors?.[0]?.path]).toStrictEqual([400, 'project'])
        expect((await get(`${MERCHANT}/${path}`, {})).status).toBe(401)
        expect((await get(`${ADMIN}/${path}`, {})).status).toBe(401)
        const projectToken = { 'X-Project-Identify-Token': SHOP_TOKEN }
        expect((await get(`${ADMIN}/${path}`, projectToken)).status).toBe(401)
        const bearer = { Authorization: `Bearer ${ADMIN_TOKEN}` }
        expect((await get(`${MERCHANT}/${path}`, bearer)).status).toBe(401)
      }
      const nobody = (await asAdmin(`/revenue?project=${encodeURIComponent("x' OR '1'='1")}`)).body
      expect(nobody.revenue).toStrictEqual([])
    })

    it.each([
      ['revenue?by=payer', 'by'],
      ['revenue?by=day&by=asset', 'by'],
      ["revenue?from=2026-01-01'--", 'from'],
      ['revenue?from=2026-02-01&to=2026-01-01', 'to'],
      ['funnel?from=2026-01-01&to=2026-01-01', 'to'],
      ['funnel?from=2020-01-01', 'from'],
      ['overview?from=2024-01-01&to=2026-01-01', 'from'],
      ['overview?limit=1000000', 'limit'],
      ['settlements?limit=1000000', 'limit'],
    ])('refuse %s', async (path, wrong) => {
      for (const ask of [asMerchant, asAdmin]) {
        const { status, body } = await ask(`/${path}`)
        expect([status, body.code, body.errors?.[0]?.path]).toStrictEqual([
          400,
          'invalid_request',
          wrong,
        ])
      }
    })
  })
}

describe('the views of a gateway whose node is away', () => {
  it('say that in words, without its URL', async () => {
    const shop = await openShop(devnet, (app, gateway) => void app.use(gateway.gatewayRouter()), {
      networks: {
        'base-sepolia': {
          rpcUrl: 'http://127.0.0.1:9/a-secret-key',
          relayerKeys: devnet.relayerKeys,
        },
      },
      admin: { tokens: [ADMIN_TOKEN] },
    })
    for (const path of ['networks', 'relayers']) {
      const headers = { Authorization: `Bearer ${ADMIN_TOKEN}` }
      const response = await fetch(`${shop.url}${ADMIN}/${path}`, { headers })
      expect(response.status).toBe(200)
      const text = await response.text()
      expect(text).not.toMatch(/secret|127\.0\.0\.1|http/)
      expect(JSON.parse(text)[path][0]).toMatchObject(
        path === 'networks' ? { status: 'error' } : { error: expect.any(String), spent: '0' },
      )
    }
    await shop.close()
  })
})

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
const readBody = (response: Response): Promise<any> => response.json()
