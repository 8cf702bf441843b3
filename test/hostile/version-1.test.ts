/** Payments of x402 version 1 where they do not belong, or are not what they seem. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Request, Response as ExpressResponse } from 'express'
import type { PaymentPayload, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { serveGateway, type GatewayApi } from '../api/api.js'
import { balanceOf, shopOptions, useDevnet } from '../support/devnet.js'
import { decodeDocument, paymentHeader } from '../support/http.js'
import { paymentRequiredOf, settlementOf, useShop } from '../support/shop.js'
import { signPayment, type SigningOverrides } from '../support/sign-payment.js'
import { asVersion1, xPayment } from '../support/version-1.js'

const USED = 'invalid_exact_evm_nonce_already_used'
const devnet = useDevnet()
const income = () => balanceOf(devnet, devnet.merchant.address)

let runs = 0
const handler = (_req: Request, res: ExpressResponse): void => {
  runs++
  res.send('sold')
}
const shop = useShop(devnet, (app, gateway) => {
  app.get('/both', gateway.x402Protect('$0.01', { v1: true, mimeType: 'text/plain' }), handler)
  app.get('/other', gateway.x402Protect('$0.01', { v1: true }), handler)
  app.get('/new', gateway.x402Protect('$0.01'), handler)
})

const sign = (path = '/both', overrides?: SigningOverrides, payer = 0) =>
  shop.sign(path, devnet.payers[payer]!, overrides)
const present = (path: string, headers: Record<string, string>) => shop.ask(path, { headers })

/** Presents something that must buy nothing. */
async function refuse(path: string, headers: Record<string, string>) {
  const before = { runs, income: await income() }
  const response = await present(path, headers)
  const body = await response.json()
  expect({ runs, income: await income() }).toEqual(before)
  return { response, status: response.status, body }
}

describe('the 402', () => {
  it('is of version 1 in its body, and the very same of version 2 in its header', async () => {
    const [both, plain] = await Promise.all([shop.ask('/both'), shop.ask('/new')])
    const header = paymentRequiredOf(both)
    const [{ extra, ...entry }] = header.accepts as [PaymentRequirements]
    expect(header).toMatchObject({ x402Version: 2, accepts: [{ network: 'eip155:84532' }] })
    expect(await both.json()).toStrictEqual({
      x402Version: 1,
      error: 'Payment required',
      accepts: [
        {
          scheme: 'exact',
          network: 'base-sepolia',
          maxAmountRequired: '10000',
          resource: `${shop.url}/both`,
          description: '',
          mimeType: 'text/plain',
          payTo: entry.payTo,
          maxTimeoutSeconds: 300,
          asset: entry.asset,
          // No `offerId`: it would not come back.
          extra: { name: extra?.['name'], version: extra?.['version'] },
        },
      ],
    })
    expect(Buffer.from(plain.headers.get('PAYMENT-REQUIRED')!, 'base64').toString()).toBe(
      await plain.text(),
    )
  })

  it('keeps both of each URL apart', async () => {
    for (const query of ['?a', '?b', '?a']) {
      const response = await shop.ask(`/both${query}`)
      const { accepts } = (await response.json()) as { accepts: { resource: string }[] }
      expect(accepts[0]!.resource).toBe(`${shop.url}/both${query}`)
      expect(paymentRequiredOf(response).resource.url).toBe(`${shop.url}/both${query}`)
    }
  })
})

describe('a payment of version 1', () => {
  it('is refused by a route of version 2, in the words of before', async () => {
    const { status, body, response } = await refuse('/new', xPayment(asVersion1(await sign())))
    expect({ status, body }).toMatchObject({
      status: 402,
      body: { x402Version: 2, error: 'invalid_x402_version' },
    })
    expect(decodeDocument(response.headers.get('PAYMENT-REQUIRED'))).toEqual(body)
  })

  it('is refused in the header of version 2', async () => {
    const { status, body } = await refuse('/both', paymentHeader(asVersion1(await sign())))
    expect({ status, body }).toMatchObject({
      status: 402,
      body: { x402Version: 1, error: 'invalid_x402_version' },
    })
  })

  it.each([3, 0, -1, 1.5, '1'])('is no payment of version %p', async (x402Version) => {
    const { status } = await refuse('/both', xPayment(asVersion1(await sign(), { x402Version })))
    expect(status).toBe(typeof x402Version === 'number' && x402Version % 1 === 0 ? 402 : 400)
  })

  it.each<[string, object, string]>([
    ['the name of another chain', { network: 'base' }, 'invalid_network'],
    ['the other chain’s id', { network: 'eip155:8453' }, 'invalid_network'],
    ['the name of no chain', { network: 'nowhere' }, 'invalid_network'],
    ['a chain of Solana', { network: 'solana' }, 'invalid_network'],
    ['another scheme', { scheme: 'batch-settlement' }, 'unsupported_scheme'],
  ])('is refused with %s', async (_what, overrides, error) => {
    const { status, body } = await refuse('/both', xPayment(asVersion1(await sign(), overrides)))
    expect({ status, body }).toMatchObject({ status: 402, body: { x402Version: 1, error } })
  })

  it.each<[string, SigningOverrides, string]>([
    ['less than the price', { value: '9999' }, 'invalid_payment_requirements'],
    ['more than the price', { value: '10001' }, 'invalid_payment_requirements'],
    ['another payee', { to: `0x${'9'.repeat(40)}` }, 'pay_to_mismatch'],
    ['another token', { domain: { name: 'Other' } }, 'invalid_exact_evm_payload_signature'],
    ['another chain', { domain: { chainId: 8453 } }, 'invalid_exact_evm_payload_signature'],
    ['the past', { validBefore: '1' }, 'invalid_exact_evm_payload_authorization_valid_before'],
  ])('is refused if it was signed for %s', async (_what, overrides, error) => {
    const payment = asVersion1(await sign('/both', overrides))
    const { status, body } = await refuse('/both', xPayment(payment))
    expect({ status, body }).toMatchObject({ status: 402, body: { x402Version: 1, error } })
  })

  it.each<[string, (payment: PaymentPayload) => unknown, RegExp]>([
    ['no payload', (payment) => asVersion1(payment, { payload: undefined }), /payload: is missing/],
    ['an empty payload', (payment) => asVersion1(payment, { payload: {} }), /payload.signature/],
    ['no network', (payment) => asVersion1(payment, { network: undefined }), /network: is missing/],
    [
      'a network of another type',
      (payment) => asVersion1(payment, { network: [] }),
      /network: must/,
    ],
    [
      'a payload of Solana',
      (payment) => asVersion1(payment, { payload: { transaction: 'AQ==' } }),
      /payload/,
    ],
    ['a body of version 2', (payment) => ({ ...payment, x402Version: 1 }), /scheme: is missing/],
  ])('is unreadable with %s, and its developer is told why', async (_what, make, words) => {
    const { status, body } = await refuse('/both', xPayment(make(await sign())))
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { x402Version: 1, error: expect.stringMatching(words) },
    })
  })

  it('does not count beside one of version 2, and stays unused', async () => {
    const [one, two] = await Promise.all([sign('/both', {}, 1), sign('/both', {}, 2)])
    const before = await income()
    const headers = { ...xPayment(asVersion1(one)), ...paymentHeader(two) }
    const response = await present('/both', headers)
    expect(settlementOf(response)).toMatchObject({
      success: true,
      payer: devnet.payers[2]!.address,
    })
    expect((await income()) - before).toBe(10_000n)
    expect((await present('/both', xPayment(asVersion1(one)))).status).toBe(200)
    expect((await income()) - before).toBe(20_000n)
  })

  it('buys once, however often it comes, in whichever version', async () => {
    const payment = await sign('/both', {}, 3)
    const before = { runs, income: await income() }
    const headers = [xPayment(asVersion1(payment)), paymentHeader(payment)]
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => present('/both', headers[index % 2]!)),
    )
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toEqual([200])
    expect(runs - before.runs).toBe(1)
    for (const again of headers) {
      const { status, body } = await refuse('/both', again)
      expect({ status, body }).toMatchObject({ status: 402, body: { error: USED } })
    }
    // Nor does it buy anything else at the same price.
    expect((await refuse('/other', headers[0]!)).status).toBe(402)
    expect((await income()) - before.income).toBe(10_000n)
  })

  it('is answered in the header of version 1, with the network as it named it', async () => {
    const payment = await sign('/both', {}, 4)
    const response = await present('/both', xPayment(asVersion1(payment)))
    expect(response.status).toBe(200)
    expect(decodeDocument(response.headers.get('X-PAYMENT-RESPONSE'))).toMatchObject({
      success: true,
      network: 'base-sepolia',
    })
  })

  it('answers again for its payment-identifier, and to nobody who does not know it', async () => {
    const extensions = { 'payment-identifier': { info: { id: 'an-id-of-version-one' } } }
    const payment = asVersion1(await sign('/both', {}, 5), { extensions })
    const before = { runs, income: await income() }
    const first = await present('/both', xPayment(payment))
    const again = await present('/both', xPayment(payment))
    expect([first.status, again.status, await again.text()]).toEqual([200, 200, 'sold'])
    expect(runs - before.runs).toBe(1)
    expect((await refuse('/both', xPayment({ ...payment, extensions: {} }))).status).toBe(402)
    expect((await income()) - before.income).toBe(10_000n)
  })
})

describe('the API', () => {
  let open: GatewayApi
  let closed: GatewayApi
  beforeAll(async () => {
    const { projects = [], ...options } = shopOptions(devnet)
    const [project] = projects
    open = await serveGateway({ ...options, projects, v1: true })
    // A project that says no, at a gateway that says yes.
    const merchant = { payTo: devnet.merchant.address, v1: false }
    closed = await serveGateway({ ...options, projects: [{ ...project!, merchant }], v1: true })
  })
  afterAll(async () => {
    await open.close()
    await closed.close()
  })

  async function submission(payer = 6) {
    const { body } = await open.post('/api/v2/payment/requirements', {
      resourceUrl: 'https://shop.example/1',
      requestedAmount: 0.01,
    })
    const [{ amount, extra, protocolVersion: _, ...entry }] = body.accepts
    const payment = await signPayment(devnet.payers[payer]!, body.accepts[0])
    return {
      x402Version: 1,
      paymentPayload: asVersion1(payment),
      paymentRequirements: {
        ...entry,
        network: 'base-sepolia',
        maxAmountRequired: amount,
        resource: 'https://shop.example/1',
        description: '',
        mimeType: '',
        outputSchema: { input: { type: 'http' } },
        extra: { name: extra.name, version: extra.version },
      },
    }
  }

  it('settles a payment of version 1 once, and names the network as it does', async () => {
    const body = await submission()
    const before = await income()
    expect((await open.post('/api/v2/payment/verify', body)).body).toEqual({
      isValid: true,
      payer: devnet.payers[6]!.address,
    })
    const first = await open.post('/api/v2/payment/settle', body)
    expect(first.body).toMatchObject({ success: true, network: 'base-sepolia' })
    const second = await open.post('/api/v2/payment/settle', body)
    expect(second.body).toMatchObject({
      success: false,
      errorReason: USED,
      network: 'base-sepolia',
      settledBy: first.body.transaction,
    })
    expect((await income()) - before).toBe(10_000n)
  })

  it('refuses it where the project does not take it', async () => {
    const body = await submission(7)
    const before = await income()
    for (const endpoint of ['verify', 'settle']) {
      const answer = await closed.post(`/api/v2/payment/${endpoint}`, body)
      const { isValid, success = isValid, invalidReason, errorReason = invalidReason } = answer.body
      expect([answer.status, success, errorReason]).toEqual([200, false, 'invalid_x402_version'])
    }
    const { kinds } = (await closed.get('/api/v2/payment/supported')).body
    expect(kinds).toHaveLength(2)
    expect(kinds).not.toContainEqual(expect.objectContaining({ x402Version: 1 }))
    expect(await income()).toBe(before)
  })

  it.each<[string, object, object, string]>([
    ['another network than is asked', { network: 'base' }, {}, 'invalid_payment_requirements'],
    ['another scheme than is asked', { scheme: 'batch-settlement' }, {}, 'unsupported_scheme'],
    ['another chain on both sides', { network: 'base' }, { network: 'base' }, 'invalid_network'],
    [
      'another amount',
      {},
      { maxAmountRequired: '1' },
      'invalid_exact_evm_payload_authorization_value_mismatch',
    ],
    ['another payee', {}, { payTo: `0x${'9'.repeat(40)}` }, 'pay_to_mismatch'],
  ])('refuses %s', async (_what, payload, requirements, reason) => {
    const { paymentPayload, paymentRequirements } = await submission(7)
    const before = await income()
    const { status, body } = await open.post('/api/v2/payment/settle', {
      paymentPayload: { ...paymentPayload, ...payload },
      paymentRequirements: { ...paymentRequirements, ...requirements },
    })
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { success: false, errorReason: reason },
    })
    expect(await income()).toBe(before)
  })

  it('names each member that is wrong, as version 1 calls it', async () => {
    const { paymentPayload, paymentRequirements } = await submission(7)
    const { maxAmountRequired: _, ...rest } = paymentRequirements
    const { status, body } = await open.post('/api/v2/payment/settle', {
      paymentPayload: { ...paymentPayload, payload: undefined },
      paymentRequirements: { ...rest, payTo: '0x1' },
    })
    expect(status).toBe(400)
    expect(body.errors.map(({ path }: { path: string }) => path).toSorted()).toEqual([
      'paymentPayload.payload',
      'paymentRequirements.maxAmountRequired',
      'paymentRequirements.payTo',
    ])
  })
})
