import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { describe, expect, it } from '@jest/globals'
import { httpFacilitator } from '../../../src/core/facilitator/http/http-facilitator.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { recordId, type LedgerEntry } from '../../../src/ledger/index.js'
import { lowerHex } from '../../../src/shared/protocol/hex.js'
import type { PaymentPayload } from '../../../src/shared/protocol/payment.js'
import { newEntry, SUBMISSION } from '../../support/ledger-entries.js'
import { SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { useScriptedFacilitator } from '../../support/scripted-facilitator.js'
import { newNonce, signPayment } from '../../support/sign-payment.js'
import { problemOf, serveGateway } from '../api.js'
import { useOpened } from '../../support/use-opened.js'

const PATH = '/api/v2/merchant/settlements'
const OTHER_TOKEN = { 'X-Project-Identify-Token': 'x402_test-token-of-another' }
const EMPTY_TOKEN = { 'X-Project-Identify-Token': 'x402_test-token-of-nobody' }

const devnet = useDevnet()
const elsewhere = useScriptedFacilitator()
const clock = { ms: Date.now() }
const ledger = createMemoryLedger({ now: () => clock.ms })

function options(): GatewayOptions {
  const { projects } = shopOptions(devnet)
  return shopOptions(devnet, {
    ledger,
    projects: [
      ...projects!,
      {
        id: 'other',
        tokens: [OTHER_TOKEN['X-Project-Identify-Token']],
        merchant: { payTo: `0x${'0b'.repeat(20)}` },
      },
      { id: 'empty', tokens: [EMPTY_TOKEN['X-Project-Identify-Token']] },
    ],
  })
}
const api = useOpened(() => serveGateway(options()))
const shortNames = useOpened(() => serveGateway({ ...options(), networkNames: 'short' }))
const inEuro = useOpened(() => {
  const merchant = { payTo: devnet.merchant.address, crossCurrency: true }
  return serveGateway({
    ...options(),
    ledger: createMemoryLedger(),
    projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant }],
    rates: { 'EUR/USD': '1.08' },
  })
})

async function sell(): Promise<{ payment: PaymentPayload; transaction: string }> {
  const offer = await api.post('/api/v2/payment/requirements', {
    resourceUrl: 'https://shop.example/report',
    requestedAmount: 0.25,
  })
  const { protocolVersion: _, ...paymentRequirements } = offer.body.accepts[0]
  const payment = await signPayment(devnet.payers[0]!, paymentRequirements)
  const { body } = await api.post('/api/v2/payment/settle', {
    paymentPayload: payment,
    paymentRequirements,
  })
  expect(body).toMatchObject({ success: true })
  return { payment, transaction: body.transaction }
}

describe('the settlements of a merchant', () => {
  it('have everything that booking and reconciling need', async () => {
    const { payment, transaction } = await sell()
    const { status, body, headers } = await api.get(`${PATH}?limit=1`)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    const { authorization } = payment.payload as { authorization: { nonce: string } }
    expect(body.settlements).toStrictEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{32}$/),
        status: 'settled',
        network: 'eip155:84532',
        testnet: true,
        asset: devnet.asset,
        symbol: 'USDC',
        decimals: 6,
        amount: '250000',
        payer: devnet.payers[0]!.address,
        payTo: devnet.merchant.address,
        nonce: authorization.nonce,
        transaction,
        createdAt: new Date(clock.ms).toISOString(),
        updatedAt: new Date(clock.ms).toISOString(),
      },
    ])
    const [settlement] = body.settlements
    expect((await api.get(`${PATH}/${settlement.id}`)).body).toStrictEqual(settlement)
    const short = await shortNames.get(`${PATH}/${settlement.id}/`)
    expect(short.body).toStrictEqual({ ...settlement, network: 'base-sepolia' })
  })

  it('state the rate of an amount as it was quoted for the checkout', async () => {
    const { body } = await inEuro.post('/api/v2/merchant/checkout-prepare', {
      amount: '0.50',
      currency: 'EUR',
      resource: { url: 'https://shop.example/checkout/1' },
    })
    const [entry] = body['xyz.vendor.gateway_payment'][0].config.accepts
    expect(entry).toMatchObject({ amount: '540000', extra: { quote: expect.any(String) } })
    const settle = async (paymentRequirements: typeof entry) => {
      const paymentPayload = await signPayment(devnet.payers[1]!, paymentRequirements)
      const submission = { paymentPayload, paymentRequirements }
      const settled = await inEuro.post('/api/v2/payment/settle', submission)
      expect(settled.body).toMatchObject({ success: true })
      return (await inEuro.get(`${PATH}?limit=1`)).body.settlements[0]
    }
    const quote = { price: '0.50', currency: 'EUR', rate: '1.08', source: 'fixed' }
    expect((await settle(entry)).quote).toStrictEqual({
      ...quote,
      asOf: expect.stringMatching(/^\d{4}-.*:\d\d\.000Z$/),
    })
    // What nobody signed is settled, and not believed.
    const forged = { ...entry, amount: '1' }
    expect(await settle(forged)).not.toHaveProperty('quote')
  })

  it('state the progress of each, and can be filtered by it', async () => {
    clock.ms += 1000
    const [reserved, pending, failed] = [newEntry(), newEntry(), newEntry()]
    await ledger.payments.reserve(reserved)
    await ledger.payments.reserve(pending)
    await ledger.payments.submit(pending, SUBMISSION)
    await ledger.payments.reserve(failed)
    const failure = { ...SUBMISSION, reason: 'invalid_transaction_state' } as const
    await ledger.payments.markFailed(failed, {
      transaction: failure.transaction,
      reason: failure.reason,
    })

    const listed = async (status: string) => (await api.get(`${PATH}?status=${status}`)).body
    expect(await listed('reserved')).toStrictEqual({
      settlements: [expect.objectContaining({ id: recordId(reserved), status: 'reserved' })],
    })
    expect((await listed('reserved')).settlements[0]).not.toHaveProperty('transaction')
    expect(await listed('pending')).toMatchObject({
      settlements: [{ id: recordId(pending), transaction: SUBMISSION.transaction }],
    })
    expect(await listed('failed')).toMatchObject({
      settlements: [
        {
          id: recordId(failed),
          status: 'failed',
          transaction: failure.transaction,
          errorReason: failure.reason,
        },
      ],
    })
    // A token that nobody here knows has no symbol.
    expect((await listed('failed')).settlements[0]).not.toHaveProperty('symbol')
  })

  it('have what was charged as their amount, and no transaction where that was nothing', async () => {
    clock.ms += 1000
    const { payments } = ledger
    const rate = { price: '0.10', currency: 'EUR', rate: '1.08', asOf: 0, source: 'fixed' }
    const metered = () =>
      newEntry({
        ...{ asset: lowerHex(devnet.asset), contract: `0x${'22'.repeat(20)}`, value: 108_000n },
        ...{ payTo: lowerHex(devnet.merchant.address), appliedRate: rate },
        details: { reference: 'metered' },
      })
    const [some, none, all] = [metered(), metered(), metered()]
    for (const [entry, charged] of [
      [some, 25_272n],
      [all, 108_000n],
    ] as const) {
      await payments.reserve(entry)
      await payments.submit(entry, { ...SUBMISSION, transaction: newNonce() }, charged)
      await payments.markSettled(entry, SUBMISSION.transaction)
      await payments.markDelivered(entry)
    }
    await payments.reserve(none)
    await payments.settleUncharged(none, payments.lockOf(none))
    await payments.markDelivered(none)
    const query = `${PATH}?reference=metered`
    const { settlements } = (await api.get(query)).body as { settlements: { id: string }[] }
    const shown = [some, none, all].map((entry) =>
      settlements.find(({ id }) => id === recordId(entry)),
    )
    const settled = { status: 'settled' }
    expect(shown).toMatchObject([
      { ...settled, amount: '25272', maximum: '108000', quote: { price: '0.0234' } },
      { ...settled, amount: '0', maximum: '108000', quote: { price: '0.00' } },
      { ...settled, amount: '108000', maximum: '108000', quote: { price: '0.10' } },
    ])
    expect(shown.map((one) => 'transaction' in one!)).toEqual([true, false, true])
    const summary = await api.get(`${PATH}-summary?reference=metered`)
    expect(summary.body.sums).toMatchObject([{ count: 3, amount: '133272' }])
    const least = await api.get(`${query}&minAmount=0.02`)
    expect(least.body.settlements).toHaveLength(2)

    const prepare = (entry: LedgerEntry, asked = '') =>
      api.get(`${PATH}/${recordId(entry)}/refunds/prepare${asked}`)
    expect((await prepare(some)).body.typedData.message).toMatchObject({ value: '25272' })
    expect((await prepare(some, '?amount=25273')).body).toMatchObject({
      ...{ code: 'refund_exceeds_payment', left: '25272' },
    })
    expect((await prepare(none)).body).toMatchObject({
      ...{ code: 'refund_exceeds_payment', left: '0' },
    })
  })

  it('name no transaction if only a remote facilitator knows it', async () => {
    const remote = await serveGateway(
      shopOptions(devnet, {
        ledger: createMemoryLedger(),
        networks: { 'base-sepolia': {} },
        facilitator: httpFacilitator({ url: elsewhere.url }),
      }),
    )
    elsewhere.scripts = { verify: { body: { isValid: true } }, settle: 'break' }
    const offer = await remote.post('/api/v2/payment/requirements', {
      resourceUrl: 'https://shop.example/report',
      requestedAmount: 0.25,
    })
    const paymentRequirements = offer.body.accepts[0]
    const paymentPayload = await signPayment(devnet.payers[0]!, paymentRequirements)
    const asked = { paymentPayload, paymentRequirements }
    expect((await remote.post('/api/v2/payment/settle', asked)).status).toBe(502)
    const { settlements } = (await remote.get(PATH)).body
    expect(settlements).toMatchObject([{ status: 'pending', amount: '250000' }])
    expect(settlements[0]).not.toHaveProperty('transaction')
    await remote.close()
  })

  it('come page by page, newest first, whatever is added meanwhile', async () => {
    const start = (clock.ms += 60_000)
    const entries = Array.from({ length: 7 }, () => newEntry())
    for (const [index, entry] of entries.entries()) {
      if (index % 3 === 0) clock.ms += 1000
      await ledger.payments.reserve(entry)
    }
    const from = new Date(start).toISOString()
    const seen: string[] = []
    let cursor = ''
    do {
      const { body } = await api.get(`${PATH}?limit=2&from=${from}${cursor}`)
      seen.push(...body.settlements.map(({ id }: { id: string }) => id))
      cursor = body.nextCursor && `&cursor=${body.nextCursor}`
      await ledger.payments.reserve(newEntry({ nonce: newNonce() }))
      clock.ms += 1000
    } while (cursor)
    expect(seen).toHaveLength(7)
    expect(new Set(seen)).toStrictEqual(new Set(entries.map(recordId)))
  })

  it('can be filtered by time of creation: at or after from, and before to', async () => {
    clock.ms = Date.parse('2030-01-02T00:00:00.000Z')
    const entry = newEntry({ validBefore: 2_000_000_000n })
    await ledger.payments.reserve(entry)
    const count = async (query: string) =>
      (await api.get(`${PATH}?${query}`)).body.settlements.length
    expect(await count('from=2030-01-02')).toBe(1)
    expect(await count('from=2030-01-02T00:00:00.001Z')).toBe(0)
    expect(await count('from=2030-01-01&to=2030-01-02T00:00:00Z')).toBe(0)
    expect(await count('from=2030-01-02T01:00:00%2B01:00&to=2030-01-02T00:00:00.001Z')).toBe(1)
  })

  it('come twenty to a page by default', async () => {
    for (let made = 0; made < 21; made++) await ledger.payments.reserve(newEntry())
    const { body } = await api.get(PATH)
    expect(body.settlements).toHaveLength(20)
    expect(body.nextCursor).toEqual(expect.any(String))
    expect((await api.get(`${PATH}?limit=100`)).body.settlements.length).toBeGreaterThan(20)
  })

  it('are shown to no other project', async () => {
    const { id } = (await api.get(PATH)).body.settlements[0]
    expect((await api.get(PATH, OTHER_TOKEN)).body).toStrictEqual({ settlements: [] })
    for (const path of [`${PATH}/${id}`, `${PATH}/nothing`]) {
      const answer = await api.get(path, OTHER_TOKEN)
      expect([answer.status, answer.body]).toStrictEqual([
        404,
        problemOf(404, 'not_found', 'Not Found'),
      ])
    }
    const none = { 'X-Project-Identify-Token': undefined }
    for (const path of [PATH, `${PATH}/${id}`]) {
      expect((await api.get(path, none)).status).toBe(401)
      expect((await api.get(path, EMPTY_TOKEN)).body).toMatchObject({
        status: 404,
        code: 'merchant_not_configured',
      })
    }
  })

  it.each([
    ['limit', '0'],
    ['limit', '101'],
    ['limit', '1.5'],
    ['limit', ''],
    ['limit', '1&limit=2'],
    ['status', 'submitted'],
    ['status', 'settled&status=failed'],
    ['from', 'yesterday'],
    ['from', '2026-13-01'],
    ['to', '1767225600'],
    ['to', '2026-01-01T00:00:00'],
    ['cursor', 'abc'],
    ['payer', '0x1234'],
    ['payer', `0x${'1g'.repeat(20)}`],
    ['payer', "0x' OR 1=1 --"],
    ['transaction', '0x'],
    ['transaction', `0x${'11'.repeat(20)}`],
    ['resource', ''],
    ['resource', 'https://a.example&resource=https://b.example'],
    ['reference', ''],
    ['reference', 'a%00b'],
    ['reference', 'x'.repeat(201)],
    ['reference', 'one&payer=0x0000000000000000000000000000000000000001'],
    ['to', '2026-01-01&from=2026-01-02'],
    ['cursor', Buffer.from('1.2').toString('base64url')],
  ])('refuse the parameter %s=%s', async (name, value) => {
    const { status, body, headers } = await api.get(`${PATH}?${name}=${value}`)
    expect(status).toBe(400)
    expect(headers.get('content-type')).toBe('application/problem+json')
    expect(body).toMatchObject({
      code: 'invalid_request',
      errors: [{ path: name, message: expect.any(String) }],
    })
  })

  it('name every wrong parameter at once', async () => {
    const { body } = await api.get(`${PATH}?limit=x&to=x&status=x`)
    expect(body.errors).toStrictEqual([
      { path: 'limit', message: 'must be an integer from 1 to 100' },
      { path: 'status', message: "must be 'reserved' or 'pending' or 'settled' or 'failed'" },
      { path: 'to', message: 'must be a time, like 2026-01-31T00:00:00Z' },
    ])
    expect(body.detail).toBe(
      "Query parameter 'limit': must be an integer from 1 to 100 (and 2 more, see errors).",
    )
  })

  it('can only be read', async () => {
    for (const path of [PATH, `${PATH}/some`]) {
      const { status, headers } = await api.post(path, {})
      expect([status, headers.get('allow')]).toStrictEqual([405, 'GET, HEAD, OPTIONS'])
    }
    expect((await api.send('GET', `${PATH}/some/more`)).status).toBe(404)
  })
})
