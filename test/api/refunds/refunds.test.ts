import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { getAddress } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { httpFacilitator } from '../../../src/core/facilitator/http/http-facilitator.js'
import { recordId } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import type { GatewayEvents } from '../../../src/core/schemes/events.js'
import { deploy, walletCode } from '../../support/contracts.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { frontRun, newPayer } from '../../support/on-chain.js'
import { newEntry, steps } from '../../support/ledger-entries.js'
import { newNonce, signPayment, type TestPayer } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { problemOf, serveGateway, type ApiAnswer, type GatewayApi } from '../api.js'
import { stopMining, resumeMining } from '../../support/mining.js'
import { offerOf } from '../../support/core.js'

const PATH = '/api/v2/merchant/settlements'
const OTHER_TOKEN = { 'X-Project-Identify-Token': 'x402_test-token-of-another' }
/** What a settlement of these tests pays: a quarter of a dollar. */
const PAID = 250_000n

const devnet = useDevnet()
const clock = { aheadMs: 0 }
const now = (): number => Date.now() + clock.aheadMs
/** The merchant, who has a million units and a key. */
let merchant: TestPayer
/** Another project, whose merchant buys at the shop. */
let buyer: TestPayer
let api: GatewayApi
const income: GatewayEvents['settled'][] = []
const told: string[] = []

beforeAll(async () => {
  merchant = await newPayer(devnet)
  buyer = await newPayer(devnet)
  api = await serveGateway(optionsOf())
  for (const name of ['verified', 'refused', 'submitted', 'failed', 'pending'] as const)
    api.gateway.on(name, ({ payTo }) => void told.push(`${name} ${payTo}`))
  api.gateway.on('settled', (event) => void income.push(event))
})
afterEach(async () => {
  clock.aheadMs = 0
})
afterAll(() => api.close())

function optionsOf() {
  return shopOptions(devnet, {
    ledger: createMemoryLedger({ now }),
    now,
    rateLimit: false,
    projects: [
      { id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: merchant.address } },
      {
        id: 'other',
        tokens: [OTHER_TOKEN['X-Project-Identify-Token']],
        merchant: { payTo: buyer.address },
      },
    ],
  })
}

interface Settlement {
  readonly id: string
  readonly updatedAt?: string
  readonly payer: string
  readonly payTo: string
}

/** Sells for a quarter of a dollar. */
async function sell(at = api, payer: TestPayer = devnet.payers[0]!): Promise<Settlement> {
  const { body: offer } = await at.post('/api/v2/payment/requirements', {
    resourceUrl: 'https://shop.example/report',
    requestedAmount: 0.25,
  })
  const { protocolVersion: _, ...paymentRequirements } = offer.accepts[0]
  const paymentPayload = await signPayment(payer, paymentRequirements)
  const settled = await at.post('/api/v2/payment/settle', { paymentPayload, paymentRequirements })
  expect(settled.body).toMatchObject({ success: true })
  const { body } = await at.get(`${PATH}?limit=1`)
  return body.settlements[0]
}

type Signed = Awaited<ReturnType<typeof sign>>

/** Has a refund prepared, and signs it as a wallet does. */
async function sign(
  { id }: Settlement,
  {
    amount,
    changes,
    signer = merchant,
    at = api,
  }: {
    amount?: bigint | string
    changes?: Record<string, string>
    signer?: TestPayer
    at?: GatewayApi
  } = {},
) {
  const query = amount === undefined ? '' : `?amount=${amount}`
  const prepared = await at.get(`${PATH}/${id}/refunds/prepare${query}`)
  expect(prepared.status).toBe(200)
  const { typedData } = prepared.body
  const authorization = { ...typedData.message, ...changes }
  const account = privateKeyToAccount(signer.privateKey)
  const signature = await account.signTypedData({ ...typedData, message: authorization })
  return { authorization, signature }
}

const refund = (
  { id }: Settlement,
  signed: Signed,
  headers?: Record<string, string>,
): Promise<ApiAnswer> => api.post(`${PATH}/${id}/refunds`, signed, headers)

const find = async ({ id }: Settlement) => (await api.get(`${PATH}/${id}`)).body
const refundsOf = async ({ id }: Settlement) =>
  (await api.get(`${PATH}/${id}/refunds`)).body.refunds
const refused = (errorReason: string) => ({
  status: 409,
  body: { ...problemOf(409, 'refund_refused', 'Conflict'), errorReason },
})
const payerBalance = (): Promise<bigint> => balanceOf(devnet, devnet.payers[0]!.address)

describe('a refund', () => {
  it('pays back everything that was paid, and is shown with its settlement', async () => {
    const settlement = await sell()
    const { typedData } = (await api.get(`${PATH}/${settlement.id}/refunds/prepare`)).body
    expect(typedData).toStrictEqual({
      domain: { name: 'USDC', version: '2', chainId: 84532, verifyingContract: devnet.asset },
      types: expect.objectContaining({ EIP712Domain: expect.any(Array) }),
      primaryType: 'TransferWithAuthorization',
      message: {
        from: merchant.address,
        to: settlement.payer,
        value: PAID.toString(),
        validAfter: '0',
        validBefore: expect.stringMatching(/^\d{10}$/),
        nonce: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      },
    })
    const before = await payerBalance()
    const { status, body, headers } = await refund(settlement, await sign(settlement))
    expect(status).toBe(201)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(body).toStrictEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      status: 'settled',
      settlement: settlement.id,
      requestedBy: 'merchant',
      network: 'eip155:84532',
      testnet: true,
      asset: devnet.asset,
      symbol: 'USDC',
      decimals: 6,
      amount: PAID.toString(),
      payer: merchant.address,
      payTo: settlement.payer,
      nonce: expect.any(String),
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(await payerBalance()).toBe(before + PAID)
    expect(await find(settlement)).toStrictEqual({
      ...settlement,
      refunded: PAID.toString(),
      refunds: 1,
    })
    const { settlements } = (await api.get(`${PATH}?limit=1`)).body
    expect(settlements).toStrictEqual([await find(settlement)])
    expect(await refundsOf(settlement)).toStrictEqual([body])
    expect((await api.get(`${PATH}/${settlement.id}/refunds/${body.id}`)).body).toStrictEqual(body)
  })

  it('is in no list of payments, no event and no settlement', async () => {
    const settlement = await sell()
    const seen = [income.length, told.length]
    const { body } = await refund(settlement, await sign(settlement))
    expect(body.status).toBe('settled')
    expect([income.length, told.length]).toEqual(seen)
    expect((await api.get(`${PATH}/${body.id}`)).status).toBe(404)
    expect((await api.get(`${PATH}?limit=1`)).body.settlements[0].id).toBe(settlement.id)
    const again = await api.get(`${PATH}/${body.id}/refunds/prepare`)
    expect(again.status).toBe(404)
  })

  it('can be partial, as often as something is left', async () => {
    const settlement = await sell()
    const first = await refund(settlement, await sign(settlement, { amount: 100_000n }))
    expect([first.status, first.body.amount]).toEqual([201, '100000'])
    const path = `${PATH}/${settlement.id}/refunds/prepare`
    const tooMuch = await api.get(`${path}?amount=150001`)
    const problem = problemOf(409, 'refund_exceeds_payment', 'Conflict')
    expect([tooMuch.status, tooMuch.body]).toEqual([409, { ...problem, left: '150000' }])
    const more = await sign(settlement, { changes: { value: '150001' } })
    expect((await refund(settlement, more)).body).toEqual({ ...problem, left: '150000' })
    const rest = await refund(settlement, await sign(settlement))
    expect([rest.status, rest.body.amount]).toEqual([201, '150000'])
    expect(await find(settlement)).toMatchObject({ refunded: PAID.toString(), refunds: 2 })
    expect((await api.get(path)).body).toMatchObject({ code: 'refund_exceeds_payment', left: '0' })
  })

  it('is paid once if it is asked for fifty times at once', async () => {
    const settlement = await sell()
    const all = await Promise.all(Array.from({ length: 50 }, () => sign(settlement)))
    const before = await payerBalance()
    const answers = await Promise.all(all.map((one) => refund(settlement, one)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 201)).toHaveLength(1)
    expect(statuses.filter((status) => status === 409)).toHaveLength(49)
    expect(await payerBalance()).toBe(before + PAID)
    expect(await find(settlement)).toMatchObject({ refunded: PAID.toString(), refunds: 1 })
  })

  it('gets one answer, however often its authorization is presented for its settlement', async () => {
    const [settlement, other] = [await sell(), await sell()]
    const signed = await sign(settlement)
    const before = await payerBalance()
    const answers = await Promise.all([1, 2, 3].map(() => refund(settlement, signed)))
    for (const { status } of answers) expect([201, 202]).toContain(status)
    const again = await refund(settlement, signed)
    expect([again.status, again.body.status]).toEqual([201, 'settled'])
    expect(await refund(other, signed)).toMatchObject(
      refused('invalid_exact_evm_nonce_already_used'),
    )
    expect(await payerBalance()).toBe(before + PAID)
    expect(await refundsOf(other)).toEqual([])
  })

  it('can be signed by a merchant’s contract account (ERC-1271)', async () => {
    const approved = newNonce()
    const payTo = await deploy(devnet, walletCode(approved))
    await devnet.mint(payTo, PAID)
    const at = await serveGateway({
      ...optionsOf(),
      projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo } }],
    })
    const settlement = await sell(at)
    const { authorization } = await sign(settlement, { at })
    const path = `${PATH}/${settlement.id}/refunds`
    const denied = await at.post(path, { authorization, signature: `${newNonce()}00` })
    expect(denied).toMatchObject(refused('invalid_exact_evm_payload_signature'))
    const before = await payerBalance()
    const { status, body } = await at.post(path, { authorization, signature: `${approved}00` })
    expect([status, body.payer]).toEqual([201, getAddress(payTo)])
    expect(await payerBalance()).toBe(before + PAID)
    await at.close()
  })

  it('repeats its answer for the same Idempotency-Key, and refuses that key for another refund', async () => {
    const [settlement, other] = [await sell(), await sell()]
    const key = { 'Idempotency-Key': 'refund-1' }
    const signed = await sign(settlement, { amount: 1n })
    const first = await refund(settlement, signed, key)
    const again = await refund(settlement, signed, key)
    expect([again.status, again.body]).toEqual([201, first.body])
    for (const [at, body] of [
      [settlement, await sign(settlement, { amount: 1n })],
      [other, signed],
    ] as const)
      expect((await refund(at, body, key)).body).toMatchObject({ code: 'idempotency_conflict' })
  })
})

describe('the list of refunds', () => {
  const REFUNDS = '/api/v2/merchant/refunds'
  const list = async (query = '', headers?: Record<string, string>) =>
    (await api.get(`${REFUNDS}${query}`, headers)).body.refunds

  it('has every refund with its reason, newest first, in pages', async () => {
    const [one, other] = [await sell(), await sell()]
    const reason = 'The parcel was lost.'
    const first = await api.post(`${PATH}/${one.id}/refunds`, { ...(await sign(one)), reason })
    expect(first.body).toMatchObject({ reason, requestedBy: 'merchant' })
    const second = await refund(other, await sign(other, { amount: 1n }))
    expect(second.body).not.toHaveProperty('reason')
    expect((await list('?limit=2')).map(({ id }: { id: string }) => id)).toEqual([
      second.body.id,
      first.body.id,
    ])
    expect((await list()).slice(0, 2)).toStrictEqual([second.body, first.body])
    expect(await refundsOf(one)).toStrictEqual([first.body])
    const page = await api.get(`${REFUNDS}?limit=1`)
    expect(await list(`?limit=1&cursor=${page.body.nextCursor}`)).toStrictEqual([first.body])
  })

  it('is filtered by network, state and time, and has no other project’s', async () => {
    const settlement = await sell()
    const { body } = await refund(settlement, await sign(settlement))
    const newest = async (query: string) => (await list(query))[0]?.id
    for (const query of ['network=base-sepolia', 'status=settled', `from=${body.createdAt}`])
      expect(await newest(`?${query}`)).toBe(body.id)
    for (const query of ['network=base', 'status=failed', `to=${body.createdAt}`])
      expect(await newest(`?${query}`)).not.toBe(body.id)
    expect(await list('', OTHER_TOKEN)).toEqual([])
    expect((await api.send('GET', REFUNDS)).status).toBe(401)
    for (const [query, path] of [
      ['network=bsae', 'network'],
      ['status=reserved', 'status'],
      ['from=2026-02-01&to=2026-01-01', 'to'],
      ['timeZone=Mars/Olympus', 'timeZone'],
      ['project=shop', 'project'],
    ]) {
      const refusal = await api.get(`${REFUNDS}?${query}`)
      expect([refusal.status, refusal.body.errors?.[0]?.path]).toEqual([400, path])
    }
  })

  it('tells what has changed since a time, oldest change first', async () => {
    const settlement = await sell()
    const { body: made } = await refund(settlement, await sign(settlement))
    const since = async (path: string, query: object) => {
      const all: { id: string; updatedAt: string }[] = []
      let cursor: string | undefined
      do {
        const given = { ...query, limit: '1', ...(cursor && { cursor }) }
        const { body } = await api.get(`${path}?${new URLSearchParams(given).toString()}`)
        const page = path === REFUNDS ? body.refunds : body.settlements
        all.push(...page)
        cursor = body.nextCursor
      } while (cursor !== undefined)
      expect(all.map(({ updatedAt }) => updatedAt)).toEqual(
        all.map(({ updatedAt }) => updatedAt).toSorted(),
      )
      return all.map(({ id }) => id)
    }
    const updatedSince = made.createdAt
    expect(await since(REFUNDS, { updatedSince })).toEqual([made.id])
    expect(await since(REFUNDS, { updatedSince, network: 'base' })).toEqual([])
    // A refund marks its payment as delivered.
    expect(await since(PATH, { updatedSince: settlement.updatedAt })).toContain(settlement.id)
    expect((await since(PATH, { updatedSince: '2020-01-01' })).length).toBeGreaterThan(3)
    expect(await since(PATH, { updatedSince: '2100-01-01' })).toEqual([])
    const others = await api.get(`${PATH}?updatedSince=2020-01-01`, OTHER_TOKEN)
    expect(others.body.settlements).toEqual([])
    for (const [query, path] of [
      ['from=2026-01-01', 'from'],
      ['reference=order-7', 'reference'],
      ['status=reserved', 'status'],
    ]) {
      const refusal = await api.get(`${PATH}?updatedSince=2026-01-01&${query}`)
      expect([refusal.status, refusal.body.errors?.[0]?.path]).toEqual([400, path])
    }
  })

  it.each([[''], ['a\u0000b'], ['x'.repeat(201)], [7]])('takes no reason %j', async (reason) => {
    const settlement = await sell()
    const signed = { ...(await sign(settlement)), reason }
    const { status, body } = await api.post(`${PATH}/${settlement.id}/refunds`, signed)
    expect([status, body.errors?.[0]?.path]).toEqual([400, 'reason'])
    expect(await refundsOf(settlement)).toEqual([])
  })

  it('keeps the reason of who asked first', async () => {
    const settlement = await sell()
    const signed = await sign(settlement)
    const ask = (reason: string) =>
      api.post(`${PATH}/${settlement.id}/refunds`, { ...signed, reason })
    await ask('first')
    expect((await ask('second')).body).toMatchObject({ reason: 'first' })
  })
})

describe('a malformed or foreign refund', () => {
  it.each([
    ['from', (): string => buyer.address],
    ['to', (): string => buyer.address],
    ['value', (): string => '0'],
    ['validBefore', (): string => String(Math.floor(Date.now() / 1000) + 4000)],
  ] as const)('is refused for its %s', async (name, valueOf) => {
    const settlement = await sell()
    const signed = await sign(settlement, { changes: { [name]: valueOf() } })
    const { status, body } = await refund(settlement, signed)
    expect([status, body.code]).toEqual([400, 'invalid_request'])
    expect(body.errors).toEqual([
      { path: `authorization.${name}`, message: expect.stringMatching(/^must be /) },
    ])
    expect(await refundsOf(settlement)).toEqual([])
  })

  it('is refused if another account has signed it, or if it was changed afterwards', async () => {
    const settlement = await sell()
    const reason = refused('invalid_exact_evm_payload_signature')
    const foreign = await sign(settlement, { signer: buyer })
    expect(await refund(settlement, foreign)).toMatchObject(reason)
    const own = await sign(settlement)
    const changed = { ...own, authorization: { ...own.authorization, value: '1' } }
    expect(await refund(settlement, changed)).toMatchObject(reason)
    expect((await refund(settlement, own)).status).toBe(201)
  })

  it('is refused if it was signed for another token', async () => {
    const settlement = await sell()
    const { authorization } = await sign(settlement)
    const { from: _from, to, ...window } = authorization
    const offer: PaymentRequirements = {
      ...{ scheme: 'exact', network: 'eip155:84532', amount: PAID.toString(), payTo: to },
      asset: '0x808456652fdb597867f38412077A9182bf77359F',
      ...{ maxTimeoutSeconds: 300, extra: { name: 'EURC', version: '2' } },
    }
    const { payload } = await signPayment(merchant, offer, window)
    expect(await refund(settlement, payload as Signed)).toMatchObject(
      refused('invalid_exact_evm_payload_signature'),
    )
  })

  it('is refused if it has lapsed', async () => {
    const settlement = await sell()
    const changes = { validBefore: String(Math.floor(Date.now() / 1000) + 1) }
    const signed = await sign(settlement, { changes })
    expect(await refund(settlement, signed)).toMatchObject(
      refused('invalid_exact_evm_payload_authorization_valid_before'),
    )
  })

  it('names every member that is missing, unknown or malformed', async () => {
    const { id } = await sell()
    const post = async (body: unknown) => (await api.post(`${PATH}/${id}/refunds`, body)).body
    expect(await post({ amuont: 1 })).toMatchObject({
      code: 'invalid_request',
      errors: expect.arrayContaining([
        { path: 'amuont', message: expect.any(String) },
        { path: 'signature', message: expect.any(String) },
        { path: 'authorization', message: expect.any(String) },
      ]),
    })
    const prepare = `${PATH}/${id}/refunds/prepare`
    for (const query of ['amount=0', 'amount=-1', 'amount=0.5', 'amount=1&amount=2', 'value=1'])
      expect((await api.get(`${prepare}?${query}`)).body).toMatchObject({ code: 'invalid_request' })
    const allow = async (method: string, path: string): Promise<unknown[]> => {
      const { status, headers } = await api.send(method, path)
      return [status, headers.get('allow')]
    }
    const both = 'GET, HEAD, POST, OPTIONS'
    expect(await allow('DELETE', `${PATH}/${id}/refunds`)).toEqual([405, both])
    expect(await allow('POST', prepare)).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect(await allow('GET', `${prepare}/more`)).toEqual([404, null])
  })

  it('is refused for the settlement of another project on every path', async () => {
    const settlement = await sell()
    const signed = await sign(settlement)
    const { body: made } = await refund(settlement, await sign(settlement, { amount: 1n }))
    const own = `${PATH}/${settlement.id}/refunds`
    for (const path of [own, `${own}/prepare`, `${own}/${made.id}`]) {
      const { status, body } = await api.get(path, OTHER_TOKEN)
      expect([status, body.code]).toEqual([404, 'not_found'])
    }
    expect((await refund(settlement, signed, OTHER_TOKEN)).status).toBe(404)
    expect((await api.send('POST', own)).status).toBe(401)
    expect((await api.get(`${own}/${'f'.repeat(32)}`)).status).toBe(404)
    expect((await api.get(`${PATH}/${'f'.repeat(32)}/refunds`)).status).toBe(404)
  })

  it('is refused until its payment is settled', async () => {
    const before = await sell()
    await stopMining(devnet)
    const selling: Promise<Settlement> = sell()
    const latest = async (): Promise<{
      id: string
      status: string
      payer: string
      payTo: string
    }> => (await api.get(`${PATH}?limit=1`)).body.settlements[0]
    await until(async () => (await latest()).status === 'pending')
    const pending: Settlement = await latest()
    const { status, body } = await api.get(`${PATH}/${pending.id}/refunds/prepare`)
    expect([status, body.code]).toEqual([409, 'settlement_not_refundable'])
    const signed = await sign(before)
    const posted = await refund(pending, signed)
    expect([posted.status, posted.body.code]).toEqual([409, 'settlement_not_refundable'])
    await devnet.mine()
    await selling
  })

  it('needs a token that is taken by signed transfers here', async () => {
    const ledger = createMemoryLedger()
    const before = await serveGateway({ ...optionsOf(), ledger })
    const settlement = await sell(before)
    const signed = await sign(settlement, { at: before })
    const options = optionsOf()
    const [network] = Object.values(options.networks ?? {})
    const assets = [{ address: devnet.asset, symbol: 'USDC', decimals: 6, currency: 'USD' }]
    const at = await serveGateway({
      ...{ ...options, ledger, networks: { 'base-sepolia': { ...network, assets } } },
    })
    const path = `${PATH}/${settlement.id}/refunds`
    for (const { status, body } of [await at.get(`${path}/prepare`), await at.post(path, signed)])
      expect([status, body.code]).toEqual([409, 'settlement_not_refundable'])
    await at.close()
    await before.close()
  })

  it('is refused for as long as what it pays back is being delivered', async () => {
    const ledger = createMemoryLedger()
    const at = await serveGateway({ ...optionsOf(), ledger })
    const { asset, chainId } = devnet
    const parties = { from: buyer.address, payTo: merchant.address }
    const entry = newEntry({ asset, chainId, ...parties })
    await steps.settled(ledger, entry)
    const id = recordId(entry)
    const signed = await sign({ id, payer: buyer.address, payTo: merchant.address }, { at })
    const post = () => at.post(`${PATH}/${id}/refunds`, signed)
    expect(await post()).toMatchObject({
      status: 409,
      body: { code: 'settlement_not_refundable', delivering: true },
    })
    await ledger.payments.markDelivered(entry)
    expect((await post()).status).toBe(201)
    await at.close()
  })

  it('is refused if the merchant lacks the money, and then reserves nothing', async () => {
    const settlement = await sell()
    await drain()
    const signed = await sign(settlement)
    expect(await refund(settlement, signed)).toMatchObject(refused('insufficient_funds'))
    expect(await refundsOf(settlement)).toEqual([])
    await devnet.mint(merchant.address, PAID * 20n)
    expect((await refund(settlement, signed)).status).toBe(201)
  })
})

describe('a refund that fails or stalls', () => {
  it('holds its amount until its authorization lapses if its transaction reverts', async () => {
    const settlement = await sell()
    await stopMining(devnet)
    const refunding = refund(settlement, await sign(settlement))
    await until(async () => (await refundsOf(settlement))[0]?.transaction !== undefined)
    await drain()
    await resumeMining(devnet)
    const { status, body } = await refunding
    expect([status, body.code]).toEqual([502, 'transaction_failed'])
    expect(body).toMatchObject({
      status: 502,
      settlement: settlement.id,
      errorReason: 'invalid_transaction_state',
      amount: PAID.toString(),
    })
    const [failed] = await refundsOf(settlement)
    expect(failed).toMatchObject({ status: 'failed', heldUntil: expect.any(String) })
    expect(await find(settlement)).not.toHaveProperty('refunded')
    // Whoever saw the authorization on chain can use it until it lapses.
    await devnet.mint(merchant.address, 2_000_000n)
    const prepare = `${PATH}/${settlement.id}/refunds/prepare`
    expect((await api.get(prepare)).body).toMatchObject({ left: '0' })
    clock.aheadMs = Date.parse(failed.heldUntil) - Date.now() + 5000
    const before = await payerBalance()
    const again = await refund(settlement, await sign(settlement))
    expect(again.status).toBe(201)
    expect(await payerBalance()).toBe(before + PAID)
    expect(await find(settlement)).toMatchObject({ refunded: PAID.toString(), refunds: 2 })
  })

  it('is paid once, whoever sends its authorization first', async () => {
    const settlement = await sell()
    await stopMining(devnet)
    const signed = await sign(settlement)
    const before = await payerBalance()
    const refunding = refund(settlement, signed)
    await until(async () => (await refundsOf(settlement))[0]?.transaction !== undefined)
    const theirs = await frontRun(devnet, paymentOf(signed))
    await resumeMining(devnet)
    expect((await refunding).body).toMatchObject({ status: 'settled', transaction: theirs })
    expect(await payerBalance()).toBe(before + PAID)
    expect(await find(settlement)).toMatchObject({ refunded: PAID.toString(), refunds: 1 })
  })

  it('is pending after its time is over, and settled once it is mined', async () => {
    const ledger = createMemoryLedger()
    const patient = await serveGateway({ ...optionsOf(), ledger })
    const settlement = await sell(patient)
    const at = await serveGateway({ ...optionsOf(), ledger, settleTimeoutMs: 300 })
    const path = `${PATH}/${settlement.id}/refunds`
    const signed = await sign(settlement, { at })
    await stopMining(devnet)
    const { status, body } = await at.post(path, signed)
    expect([status, body]).toEqual([
      202,
      expect.objectContaining({ status: 'pending', transaction: expect.any(String) }),
    ])
    const other = await at.post(path, { ...signed, signature: `0x${'11'.repeat(65)}` })
    expect(other.status).toBe(202)
    const shown = await at.get(`${PATH}/${settlement.id}`)
    expect(shown.body).toMatchObject({ refunds: 1 })
    expect(shown.body).not.toHaveProperty('refunded')
    await resumeMining(devnet)
    await until(async () => (await at.get(`${path}/${body.id}`)).body.status === 'settled')
    expect((await at.post(path, signed)).status).toBe(201)
    await at.close()
    await patient.close()
  })
})

describe('the authorization of a refund', () => {
  it('pays for nothing, even if its buyer is a merchant himself', async () => {
    const settlement = await sell(api, buyer)
    const signed = await sign(settlement)
    expect((await refund(settlement, signed)).status).toBe(201)
    expect(await present(signed)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
      transaction: '',
    })
  })

  it('refunds nothing once it has paid for something', async () => {
    const settlement = await sell(api, buyer)
    const signed = await sign(settlement)
    expect(await present(signed)).toMatchObject({ success: true })
    expect(await refund(settlement, signed)).toMatchObject(
      refused('invalid_exact_evm_nonce_already_used'),
    )
    expect(await refundsOf(settlement)).toEqual([])
  })
})

describe('a gateway with a remote facilitator', () => {
  it('refuses refunds, and names who can make them', async () => {
    const at = await serveGateway({
      projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: merchant.address } }],
      networks: { 'base-sepolia': {} },
      facilitator: httpFacilitator({ url: 'http://127.0.0.1:9' }),
    })
    const path = `${PATH}/${'f'.repeat(32)}/refunds`
    for (const { status, body } of [await at.get(`${path}/prepare`), await at.post(path, {})])
      expect([status, body.code]).toEqual([501, 'refunds_not_available'])
    expect((await at.get(path)).status).toBe(404)
    await at.close()
  })
})

/** A refund, as a payment that it is not. */
function paymentOf({ authorization, signature }: Signed) {
  const accepted = {
    ...{ scheme: 'exact', network: 'eip155:84532', maxTimeoutSeconds: 300, asset: devnet.asset },
    ...{ amount: authorization.value, payTo: authorization.to },
    extra: { name: 'USDC', version: '2' },
  }
  return { x402Version: 2, accepted, payload: { authorization, signature } }
}

/** Presents a refund as a payment to the buyer. */
async function present(signed: Signed): Promise<unknown> {
  const paymentPayload = paymentOf(signed)
  const submission = { paymentPayload, paymentRequirements: paymentPayload.accepted }
  return (await api.post('/api/v2/payment/settle', submission, OTHER_TOKEN)).body
}

/** The merchant gives all away, ahead of what waits to be mined. */
async function drain(): Promise<void> {
  const amount = await balanceOf(devnet, merchant.address)
  const drained = offerOf(devnet, { amount: amount.toString(), payTo: devnet.payers[5]!.address })
  await frontRun(devnet, await signPayment(merchant, drained, { nonce: newNonce() }))
}
