/** Refunds that an operator has sent for a merchant who signs them. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { newPayer } from '../../support/on-chain.js'
import { signPayment, type TestPayer } from '../../support/sign-payment.js'
import { type GatewayApi } from '../api.js'
import { ADMIN_TOKEN, adminOf, serveAdmin, type AdminClient } from './admin.js'

const OTHER_TOKEN = 'x402_test-token-of-another'
const SECOND_ADMIN = 'an-admin-token-of-somebody-else'
const PAID = 250_000n

const devnet = useDevnet()
let merchant: TestPayer
let api: GatewayApi & AdminClient

beforeAll(async () => {
  merchant = await newPayer(devnet)
  const payTo = merchant.address
  const projects = [
    { id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo } },
    { id: 'other', tokens: [OTHER_TOKEN], merchant: { payTo } },
  ]
  const tokens = [ADMIN_TOKEN, SECOND_ADMIN]
  api = await serveAdmin(shopOptions(devnet, { projects, admin: { tokens }, rateLimit: false }))
})
afterAll(() => api.close())

const refundsOf = (id: string): string => `/settlements/${id}/refunds`

/** Sells for a quarter of a dollar. */
async function sell(token = SHOP_TOKEN): Promise<{ id: string; payer: string }> {
  const headers = { 'X-Project-Identify-Token': token }
  const { body: offer } = await api.post(
    '/api/v2/payment/requirements',
    { resourceUrl: 'https://shop.example/report', requestedAmount: 0.25 },
    headers,
  )
  const { protocolVersion: _, ...paymentRequirements } = offer.accepts[0]
  const paymentPayload = await signPayment(devnet.payers[0]!, paymentRequirements)
  const body = { paymentPayload, paymentRequirements }
  const settled = await api.post('/api/v2/payment/settle', body, headers)
  expect(settled.body).toMatchObject({ success: true })
  return (await api.get('/api/v2/merchant/settlements?limit=1', headers)).body.settlements[0]
}

async function sign(id: string, amount?: bigint) {
  const query = amount === undefined ? '' : `?amount=${amount}`
  const prepared = await api.ask('GET', `${refundsOf(id)}/prepare${query}`)
  expect(prepared.status).toBe(200)
  const { typedData } = prepared.body
  const account = privateKeyToAccount(merchant.privateKey)
  return { authorization: typedData.message, signature: await account.signTypedData(typedData) }
}

describe('refunds by the admin API', () => {
  it('pay back the buyer of any project, as the merchant’s own refunds', async () => {
    for (const token of [SHOP_TOKEN, OTHER_TOKEN]) {
      const settlement = await sell(token)
      const before = await balanceOf(devnet, devnet.payers[0]!.address)
      const refunded = await api.ask(
        'POST',
        refundsOf(settlement.id),
        await sign(settlement.id, 100_000n),
      )
      expect(refunded).toMatchObject({
        status: 201,
        body: { status: 'settled', amount: '100000', settlement: settlement.id },
      })
      expect(await balanceOf(devnet, devnet.payers[0]!.address)).toBe(before + 100_000n)
      const listed = await api.ask('GET', refundsOf(settlement.id))
      const headers = { 'X-Project-Identify-Token': token }
      const own = `/api/v2/merchant${refundsOf(settlement.id)}`
      const [seen] = listed.body.refunds
      const [told] = (await api.get(own, headers)).body.refunds
      expect(seen).toMatchObject({ requestedBy: expect.stringMatching(/^admin-/) })
      // Which operator it was is not the merchant's business.
      expect(told).toStrictEqual({ ...seen, requestedBy: 'operator' })
      expect(listed.body.refunds).toHaveLength(1)
      const shown = (await api.ask('GET', `/settlements/${settlement.id}`)).body
      expect(shown).toMatchObject({ refunded: '100000', refunds: 1 })
      const { settlements } = (await api.ask('GET', '/settlements?limit=1')).body
      expect(settlements).toEqual([shown])
      const { id } = refunded.body
      const one = await api.ask('GET', `${refundsOf(settlement.id)}/${id}`)
      expect(one.body).toEqual(listed.body.refunds[0])
    }
  })

  it('are listed across projects, with the operator who asked for them', async () => {
    const { id } = await sell(OTHER_TOKEN)
    const reason = 'Sold twice.'
    const signed = { ...(await sign(id, 5n)), reason }
    const { body: made } = await api.ask('POST', refundsOf(id), signed)
    const newest = async (query = '') => (await api.ask('GET', `/refunds${query}`)).body.refunds[0]
    expect(await newest()).toStrictEqual({ project: 'other', ...made })
    expect(made).toMatchObject({ reason, requestedBy: expect.stringMatching(/^admin-/) })
    expect((await newest('?project=other')).id).toBe(made.id)
    expect((await newest('?project=shop')).id).not.toBe(made.id)
    expect((await newest('?project=nobody'))?.id).toBeUndefined()
  })

  it('are written to the audit log once each, before they are sent', async () => {
    const { id } = await sell()
    const signed = await sign(id)
    const made = await api.ask('POST', refundsOf(id), signed)
    expect((await api.ask('POST', refundsOf(id), signed)).body).toEqual(made.body)
    const { entries } = (await api.ask('GET', '/audit-log?project=shop')).body
    const after = { settlement: id, refund: made.body.id, amount: '0.25 USDC' }
    const about = entries.filter(
      (one: { after: { settlement: string } }) => one.after.settlement === id,
    )
    const actor = expect.stringMatching(/^admin-/)
    expect(about).toMatchObject([{ action: 'refund.requested', actor, project: 'shop', after }])
  })

  it('leave no entry in the audit log if the merchant sends them or they are refused', async () => {
    const { id } = await sell()
    const logged = async () => (await api.ask('GET', '/audit-log')).body.entries.length
    const before = await logged()
    const signed = await sign(id)
    const tooMuch = { ...signed, authorization: { ...signed.authorization, value: '250001' } }
    expect((await api.ask('POST', refundsOf(id), tooMuch)).status).toBe(409)
    expect((await api.post(`/api/v2/merchant${refundsOf(id)}`, signed)).status).toBe(201)
    expect(await logged()).toBe(before)
  })

  it('have separate Idempotency-Keys for each admin', async () => {
    const { id } = await sell()
    const key = { 'Idempotency-Key': 'refund-1' }
    const [one, two] = [await sign(id, 100_000n), await sign(id, 50_000n)]
    const first = await api.ask('POST', refundsOf(id), one, key)
    expect(first.status).toBe(201)
    expect((await api.ask('POST', refundsOf(id), one, key)).body).toEqual(first.body)
    expect((await api.ask('POST', refundsOf(id), two, key)).body.code).toBe('idempotency_conflict')
    const second = adminOf(api, SECOND_ADMIN)
    expect((await second.ask('POST', refundsOf(id), two, key)).status).toBe(201)
    const merchants = await api.post(`/api/v2/merchant${refundsOf(id)}`, await sign(id), key)
    expect(merchants).toMatchObject({ status: 201, body: { amount: '100000' } })
  })

  it('never exceed what was paid, however many are requested at once', async () => {
    const { id } = await sell()
    const before = await balanceOf(devnet, devnet.payers[0]!.address)
    const signed = await Promise.all(Array.from({ length: 10 }, () => sign(id)))
    const made = await Promise.all(
      signed.map((one, index) =>
        index % 2 === 0
          ? api.ask('POST', refundsOf(id), one)
          : api.post(`/api/v2/merchant${refundsOf(id)}`, one),
      ),
    )
    expect(made.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(await balanceOf(devnet, devnet.payers[0]!.address)).toBe(before + PAID)
  })

  it('are refused without a settlement, for another refund, and to anyone but an admin', async () => {
    const { id } = await sell()
    const { id: another } = await sell(OTHER_TOKEN)
    const signed = await sign(another)
    const made = await api.ask('POST', refundsOf(another), signed)
    expect(made.status).toBe(201)
    expect((await api.ask('GET', `${refundsOf(id)}/${made.body.id}`)).status).toBe(404)
    for (const nobody of ['nobody', made.body.id.replace(/.$/, 'z'), '%00', "x' OR '1'='1"])
      for (const path of ['', '/prepare'])
        expect((await api.ask('GET', refundsOf(nobody) + path)).status).toBe(404)
    for (const method of ['GET', 'POST']) {
      const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
      const asked = await api.send(method, `/api/v2/admin${refundsOf(id)}`, { headers })
      expect(asked.status).toBe(401)
    }
    const own = await api.get(`/api/v2/merchant${refundsOf(another)}`)
    expect(own.status).toBe(404)
  })

  it('are possible for a project that was deleted', async () => {
    const made = await api.ask('POST', '/projects', {
      id: 'gone',
      merchant: { payTo: merchant.address },
    })
    expect(made.status).toBe(201)
    const { token } = (await api.ask('POST', '/projects/gone/tokens', {})).body
    const { id } = await sell(token)
    expect((await api.ask('DELETE', '/projects/gone')).status).toBe(204)
    const signed = await sign(id)
    expect(await api.ask('POST', refundsOf(id), signed)).toMatchObject({
      status: 201,
      body: { status: 'settled', symbol: 'USDC', amount: PAID.toString() },
    })
  })
})
