import { describe, expect, it } from '@jest/globals'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { useDevnet } from '../../support/devnet.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'
import { openLinkShop, type LinkShop } from './shop.js'

const devnet = useDevnet()
const toEnd = useCleanup()

const OTHER_TOKEN = 'x402_test-token-of-another-shop'
const ADMIN_TOKEN = 'x402_test-token-of-the-operator'

async function open(options?: GatewayOptions): Promise<LinkShop> {
  return closedBy(toEnd, await openLinkShop(devnet, options))
}

/** A shop beside another one, with an operator. */
async function openTwo(options?: GatewayOptions): Promise<LinkShop> {
  const merchant = { payTo: devnet.merchant.address }
  const tokens = ['x402_test-token-of-the-shop']
  return open({
    admin: { tokens: [ADMIN_TOKEN] },
    projects: [
      { id: 'shop', tokens, merchant },
      { id: 'other', tokens: [OTHER_TOKEN], merchant },
    ],
    ...options,
  })
}

const asOther = { 'X-Project-Identify-Token': OTHER_TOKEN }

describe('creating a payment link', () => {
  it('answers with all that the merchant has given, and the link', async () => {
    const shop = await open()
    const given = {
      amount: '15',
      currency: 'USD',
      reference: 'order-7',
      description: 'Two books',
      successUrl: 'https://shop.example/thanks',
      cancelUrl: 'https://shop.example/cart',
      expiresIn: 3600,
    }
    const { status, body } = await shop.asMerchant('POST', '/checkouts', given)
    expect(status).toBe(201)
    const { expiresIn, ...kept } = given
    expect(body).toEqual({
      ...kept,
      id: expect.stringMatching(/^co_[0-9a-f]{32}$/),
      url: `${shop.url}/pay/${body.id}`,
      status: 'open',
      amount: '15.00',
      expiresAt: expect.any(String),
      createdAt: expect.any(String),
    })
    // A ledger may read its clock twice.
    const openMs = Date.parse(body.expiresAt) - Date.parse(body.createdAt)
    expect(Math.round(openMs / 1000)).toBe(expiresIn)
    expect(await shop.read(body)).toEqual(body)
  })

  it.each([
    [{ amount: undefined }, 'amount'],
    [{ amount: 0.05 }, 'amount'],
    [{ amount: '0' }, 'amount'],
    [{ amount: '-1' }, 'amount'],
    [{ amount: '0.001' }, 'amount'],
    [{ amount: '1e3' }, 'amount'],
    [{ currency: 'usd' }, 'currency'],
    [{ currency: 'XXX' }, 'currency'],
    [{ reference: 'a\u202eb' }, 'reference'],
    [{ description: 'a\u0000b' }, 'description'],
    [{ description: 'x'.repeat(201) }, 'description'],
    [{ successUrl: 'javascript:alert(1)' }, 'successUrl'],
    [{ successUrl: 'https://user:pass@shop.example/' }, 'successUrl'],
    [{ successUrl: '/thanks' }, 'successUrl'],
    [{ successUrl: `https://shop.example/${'x'.repeat(2048)}` }, 'successUrl'],
    [{ successUrl: 'https://shop.example/\r\nSet-Cookie: a=b' }, 'successUrl'],
    [{ cancelUrl: 'https://shop.example/\ncart' }, 'cancelUrl'],
    [{ cancelUrl: 'data:text/html,hi' }, 'cancelUrl'],
    [{ expiresIn: 59 }, 'expiresIn'],
    [{ expiresIn: 90 * 24 * 3600 + 1 }, 'expiresIn'],
    [{ expiresIn: '3600' }, 'expiresIn'],
    [{ sucessUrl: 'https://shop.example/' }, 'sucessUrl'],
  ])('refuses %j, and names what is wrong', async (wrong, path) => {
    const shop = await open()
    const body = { amount: '0.05', currency: 'USD', ...wrong }
    const answer = await shop.asMerchant('POST', '/checkouts', body)
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_request'])
    expect(answer.body.errors).toEqual([expect.objectContaining({ path })])
    expect((await shop.asMerchant('GET', '/checkouts')).body.checkouts).toEqual([])
  })

  it('refuses a currency that nobody could pay, and an amount beyond the merchant’s limits', async () => {
    const merchant = { payTo: devnet.merchant.address, maxAmount: '10' }
    const tokens = ['x402_test-token-of-the-shop']
    const shop = await open({ projects: [{ id: 'shop', tokens, merchant }] })
    const create = async (amount: string, currency: string) => {
      const { status, body } = await shop.asMerchant('POST', '/checkouts', { amount, currency })
      return [status, body.code]
    }
    expect(await create('5', 'EUR')).toEqual([400, 'unsupported_currency'])
    expect(await create('10.01', 'USD')).toEqual([400, 'invalid_request'])
    expect(await create('10.00', 'USD')).toEqual([201, undefined])
  })

  it('needs the token of a project', async () => {
    const shop = await open()
    const body = { amount: '0.05', currency: 'USD' }
    const headers = { 'X-Project-Identify-Token': 'x402_somebody-elses-token' }
    expect((await shop.asMerchant('POST', '/checkouts', body, headers)).status).toBe(401)
    expect((await shop.asMerchant('GET', '/checkouts', undefined, headers)).status).toBe(401)
  })

  it('creates one for each Idempotency-Key, whose id does not follow from the key', async () => {
    const [shop, elsewhere] = [await open(), await open()]
    const body = { amount: '0.05', currency: 'USD' }
    const headers = { 'Idempotency-Key': 'order-7' }
    const first = await shop.asMerchant('POST', '/checkouts', body, headers)
    const again = await shop.asMerchant('POST', '/checkouts', body, headers)
    expect([again.status, again.body]).toEqual([201, first.body])
    expect((await shop.asMerchant('GET', '/checkouts')).body.checkouts).toEqual([first.body])
    const other = await shop.asMerchant('POST', '/checkouts', { ...body, amount: '1' }, headers)
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_conflict'])
    const same = await elsewhere.asMerchant('POST', '/checkouts', body, headers)
    expect(same.body.id).not.toBe(first.body.id)
  })
})

describe('the payment links of a merchant', () => {
  it('are listed newest first, in pages, and by their status', async () => {
    const shop = await open()
    const links = [await shop.link(), await shop.link(), await shop.link()]
    await shop.asMerchant('POST', `/checkouts/${links[1]!.id}/cancel`)
    const list = async (query: string) =>
      (await shop.asMerchant('GET', `/checkouts${query}`)).body as {
        checkouts: { id: string }[]
        nextCursor?: string
      }
    const all = (await list('')).checkouts.map(({ id }) => id)
    expect(all.toSorted()).toEqual(links.map(({ id }) => id).toSorted())
    const first = await list('?limit=2')
    const rest = await list(`?limit=2&cursor=${first.nextCursor}`)
    expect([...first.checkouts, ...rest.checkouts].map(({ id }) => id)).toEqual(all)
    expect(rest.nextCursor).toBeUndefined()
    const canceled = await list('?status=canceled')
    expect(canceled.checkouts.map(({ id }) => id)).toEqual([links[1]!.id])
    expect((await shop.asMerchant('GET', '/checkouts?status=lost')).status).toBe(400)
  })

  it('are 10,000 at most that are open, so that a leaked token cannot fill the database', async () => {
    const ledger = createMemoryLedger()
    const shop = await openTwo({ ledger })
    const { id } = await shop.link()
    const open = { project: 'shop', amount: '0.05', currency: 'USD', expiresInMs: 3_600_000 }
    for (let count = 1; count < 10_000; count++) {
      const own = `co_${String(count).padStart(32, '0')}`
      await ledger.checkouts.create({ ...open, id: own, url: `https://shop.example/pay/${own}` })
    }
    const price = { amount: '0.05', currency: 'USD' }
    const refused = await shop.asMerchant('POST', '/checkouts', price)
    expect(refused).toMatchObject({ status: 409, body: { code: 'too_many_checkouts' } })
    expect(refused.body.detail).toMatch(/cancel some/)
    expect((await shop.asMerchant('POST', '/checkouts', price, asOther)).status).toBe(201)
    await shop.asMerchant('POST', `/checkouts/${id}/cancel`)
    expect((await shop.asMerchant('POST', '/checkouts', price)).status).toBe(201)
  })

  it('are nobody else’s', async () => {
    const shop = await openTwo()
    const link = await shop.link()
    const asked = async (method: string, path: string) => {
      const { status, body } = await shop.asMerchant(method, path, undefined, asOther)
      return [status, body.code]
    }
    expect(await asked('GET', `/checkouts/${link.id}`)).toEqual([404, 'not_found'])
    expect(await asked('POST', `/checkouts/${link.id}/cancel`)).toEqual([404, 'not_found'])
    const { body } = await shop.asMerchant('GET', '/checkouts', undefined, asOther)
    expect(body.checkouts).toEqual([])
    expect((await shop.read(link)).status).toBe('open')
    for (const id of ['co_1', `co_${'0'.repeat(32)}`])
      expect((await shop.asMerchant('GET', `/checkouts/${id}`)).status).toBe(404)
  })

  it('are an operator’s, too, and the audit log says so', async () => {
    const shop = await openTwo()
    const asAdmin = async (method: string, path: string, body?: object) => {
      const response = await fetch(`${shop.url}/api/v2/admin${path}`, {
        method,
        headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      // oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
      return { status: response.status, body: (await response.json()) as any }
    }
    const path = '/projects/shop/checkouts'
    const created = await asAdmin('POST', path, { amount: '0.05', currency: 'USD' })
    expect(created.status).toBe(201)
    const own = await shop.asMerchant('GET', '/checkouts')
    expect(own.body.checkouts).toEqual([created.body])
    expect((await asAdmin('GET', path)).body.checkouts).toEqual([created.body])
    expect((await asAdmin('GET', '/projects/other/checkouts')).body.checkouts).toEqual([])
    expect((await asAdmin('GET', '/projects/none/checkouts')).status).toBe(404)
    const canceled = await asAdmin('POST', `${path}/${created.body.id}/cancel`)
    expect(canceled.body.status).toBe('canceled')
    const { body } = await asAdmin('GET', '/audit-log?project=shop')
    expect(body.entries).toMatchObject([
      { action: 'checkout.canceled', after: { checkout: created.body.id } },
      { action: 'checkout.created', after: { checkout: created.body.id, amount: '0.05' } },
    ])
  })
})
