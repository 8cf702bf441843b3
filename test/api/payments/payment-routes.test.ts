import { describe, expect, it } from '@jest/globals'
import { privateKeyToAddress } from 'viem/accounts'
import type { PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { signPayment, type SigningOverrides } from '../../support/sign-payment.js'
import { problemOf, serveGateway } from '../api.js'
import { useOpened } from '../../support/use-opened.js'

const REQUIREMENTS = '/api/v2/payment/requirements'
const VERIFY = '/api/v2/payment/verify'
const SETTLE = '/api/v2/payment/settle'
const SUPPORTED = '/api/v2/payment/supported'
const RESOURCE = 'https://shop.example/report?a=1&b=%20'
const HASH = /^0x[0-9a-f]{64}$/

const devnet = useDevnet()

const api = useOpened(() =>
  serveGateway({
    ...shopOptions(devnet),
    projects: [
      ...(shopOptions(devnet).projects ?? []),
      { id: 'bare', tokens: ['x402_token-of-a-project-without-merchant'] },
      {
        id: 'other',
        tokens: ['x402_token-of-another-shop'],
        merchant: { payTo: devnet.payers[9]!.address },
      },
    ],
  }),
)

const BARE = { 'X-Project-Identify-Token': 'x402_token-of-a-project-without-merchant' }
const OTHER = { 'X-Project-Identify-Token': 'x402_token-of-another-shop' }

async function requirementsOf(amount = 0.01): Promise<PaymentRequirements> {
  const { body } = await api.post(REQUIREMENTS, { resourceUrl: RESOURCE, requestedAmount: amount })
  return body.accepts[0]
}

/** The body of verify and settle, and what is in it. */
async function submission(overrides?: SigningOverrides, payer = 0) {
  const paymentRequirements = await requirementsOf()
  const paymentPayload = await signPayment(devnet.payers[payer]!, paymentRequirements, overrides)
  return { paymentPayload, paymentRequirements }
}

describe('POST /api/v2/payment/requirements', () => {
  it('answers with the whole document of the specification', async () => {
    const answer = await api.post(REQUIREMENTS, {
      resourceUrl: RESOURCE,
      requestedAmount: 0.25,
      description: 'A report',
      mimeType: 'application/pdf',
    })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
    expect(answer.body).toStrictEqual({
      x402Version: 2,
      resource: { url: RESOURCE, description: 'A report', mimeType: 'application/pdf' },
      accepts: [
        {
          scheme: 'exact',
          network: 'eip155:84532',
          amount: '250000',
          payTo: devnet.merchant.address,
          maxTimeoutSeconds: 300,
          asset: devnet.asset,
          extra: { name: 'USDC', version: '2', offerId: expect.stringMatching(/^[\w-]{22}$/) },
          protocolVersion: 2,
        },
      ],
      protocolVersion: 2,
    })
  })

  it('writes an empty description and no mimeType if none is given', async () => {
    const bodies = await Promise.all(
      [{}, { description: null, mimeType: null }].map(async (more) => {
        const answer = await api.post(REQUIREMENTS, {
          resourceUrl: RESOURCE,
          requestedAmount: 1,
          ...more,
        })
        return answer.body.resource
      }),
    )
    expect(bodies).toStrictEqual([
      { url: RESOURCE, description: '' },
      { url: RESOURCE, description: '' },
    ])
  })

  it.each([
    [0.1, '100000'],
    [1, '1000000'],
    [0.0000011, '2'],
    [1e-6, '1'],
    [12345678.9, '12345678900000'],
  ])('asks %s dollars as %s units, never fewer', async (requestedAmount, amount) => {
    const answer = await api.post(REQUIREMENTS, { resourceUrl: RESOURCE, requestedAmount })
    expect(answer.body.accepts[0].amount).toBe(amount)
  })

  it.each<[string, unknown, string[]]>([
    ['an empty object', {}, ['resourceUrl', 'requestedAmount']],
    ['null', 'null', ['']],
    ['an array', [], ['']],
    ['a string', '"hello"', ['']],
    ['no body', undefined, ['resourceUrl', 'requestedAmount']],
    ['a number as a string', { resourceUrl: RESOURCE, requestedAmount: '1' }, ['requestedAmount']],
    ['a negative amount', { resourceUrl: RESOURCE, requestedAmount: -1 }, ['requestedAmount']],
    ['nothing to pay', { resourceUrl: RESOURCE, requestedAmount: 0 }, ['requestedAmount']],
    ['null to pay', { resourceUrl: RESOURCE, requestedAmount: null }, ['requestedAmount']],
    [
      'more than a token can hold',
      { resourceUrl: RESOURCE, requestedAmount: 1e80 },
      ['requestedAmount'],
    ],
    ['a relative URL', { resourceUrl: '/report', requestedAmount: 1 }, ['resourceUrl']],
    [
      'texts that are none',
      { resourceUrl: RESOURCE, requestedAmount: 1, description: 1, mimeType: {} },
      ['description', 'mimeType'],
    ],
  ])('refuses %s, naming each member', async (_name, body, paths) => {
    const answer = await api.post(REQUIREMENTS, body)
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.body).toStrictEqual({
      ...problemOf(400, 'invalid_request', 'Bad Request'),
      errors: paths.map((path) => ({ path, message: expect.any(String) })),
    })
  })
})

describe('POST /api/v2/payment/verify', () => {
  it('answers a valid payment with its payer, and moves nothing', async () => {
    const before = await balanceOf(devnet, devnet.merchant.address)
    const body = await submission()
    for (const answer of [await api.post(VERIFY, body), await api.post(VERIFY, body)]) {
      expect(answer.status).toBe(200)
      expect(answer.body).toStrictEqual({ isValid: true, payer: devnet.payers[0]!.address })
    }
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before)
  })

  it('accepts the official envelope with x402Version on top', async () => {
    const answer = await api.post(VERIFY, { x402Version: 2, ...(await submission()) })
    expect(answer.body.isValid).toBe(true)
  })

  it('accepts requirements of the six required fields alone', async () => {
    const { paymentPayload, paymentRequirements } = await submission()
    const { scheme, network, amount, payTo, maxTimeoutSeconds, asset } = paymentRequirements
    const six = { scheme, network, amount, payTo, maxTimeoutSeconds, asset }
    const answer = await api.post(VERIFY, {
      paymentPayload: { ...paymentPayload, accepted: six },
      paymentRequirements: six,
    })
    expect(answer.body).toStrictEqual({ isValid: true, payer: devnet.payers[0]!.address })
  })

  it.each<[string, SigningOverrides]>([
    ['invalid_exact_evm_payload_authorization_value_mismatch', { value: '1' }],
    [
      'invalid_exact_evm_payload_recipient_mismatch',
      { to: '0x000000000000000000000000000000000000dEaD' },
    ],
    ['invalid_exact_evm_payload_authorization_valid_before', { validBefore: '1' }],
    ['invalid_exact_evm_payload_authorization_valid_after', { validAfter: '99999999999' }],
    ['invalid_exact_evm_payload_signature', { domain: { name: 'Other' } }],
  ])('refuses with 200 and %s', async (invalidReason, overrides) => {
    const answer = await api.post(VERIFY, await submission(overrides))
    expect(answer.status).toBe(200)
    expect(answer.body).toStrictEqual({
      isValid: false,
      invalidReason,
      invalidMessage: expect.any(String),
      error: expect.any(String),
      payer: devnet.payers[0]!.address,
    })
  })

  it('refuses without a payer if none can be read', async () => {
    const { paymentPayload, paymentRequirements } = await submission()
    const answer = await api.post(VERIFY, {
      paymentPayload: { ...paymentPayload, payload: {} },
      paymentRequirements,
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toStrictEqual({
      isValid: false,
      invalidReason: 'invalid_payload',
      invalidMessage: expect.any(String),
      error: expect.any(String),
    })
  })

  it('refuses a payment that is for another project’s merchant', async () => {
    const answer = await api.post(VERIFY, await submission(), OTHER)
    expect(answer.body).toStrictEqual({
      isValid: false,
      invalidReason: 'pay_to_mismatch',
      invalidMessage: expect.any(String),
      error: expect.any(String),
      payer: devnet.payers[0]!.address,
    })
  })

  it('refuses a body that is no payment, naming each member', async () => {
    const { paymentPayload, paymentRequirements } = await submission()
    const answer = await api.post(VERIFY, {
      paymentPayload: { ...paymentPayload, x402Version: '2' },
      paymentRequirements: { ...paymentRequirements, amount: 10000, payTo: '0x1' },
    })
    expect(answer.status).toBe(400)
    expect(answer.body).toStrictEqual({
      ...problemOf(400, 'invalid_request', 'Bad Request'),
      errors: [
        'paymentPayload.x402Version',
        'paymentRequirements.amount',
        'paymentRequirements.payTo',
      ].map((path) => ({ path, message: expect.any(String) })),
    })
  })
})

describe('POST /api/v2/payment/settle', () => {
  it('moves the money once, and answers success once', async () => {
    const before = await balanceOf(devnet, devnet.merchant.address)
    const body = await submission()
    const first = await api.post(SETTLE, body)
    expect(first.status).toBe(200)
    expect(first.body).toStrictEqual({
      success: true,
      transaction: expect.stringMatching(HASH),
      network: 'eip155:84532',
      payer: devnet.payers[0]!.address,
    })
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 10_000n)

    const second = await api.post(SETTLE, body)
    expect(second.status).toBe(200)
    expect(second.body).toStrictEqual({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
      errorMessage: expect.any(String),
      transaction: '',
      settledBy: first.body.transaction,
      network: 'eip155:84532',
      payer: devnet.payers[0]!.address,
    })
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 10_000n)
  })

  it('settles one payment once if twenty requests bring it at once', async () => {
    const before = await balanceOf(devnet, devnet.merchant.address)
    const body = await submission()
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.post(SETTLE, body)))
    expect(answers.map(({ status }) => status)).toStrictEqual(Array(20).fill(200))
    const won = answers.filter(({ body }) => body.success)
    const lost = answers.filter(({ body }) => !body.success)
    expect(won).toHaveLength(1)
    for (const { body } of lost)
      expect([
        'duplicate_settlement',
        'settlement_pending',
        'invalid_exact_evm_nonce_already_used',
      ]).toContain(body.errorReason)
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 10_000n)
  })

  it('settles payments of many payers at once', async () => {
    const bodies = await Promise.all([0, 1, 2, 3, 4].map((payer) => submission({}, payer)))
    const answers = await Promise.all(bodies.map((body) => api.post(SETTLE, body)))
    expect(answers.map(({ body }) => body.success)).toStrictEqual(Array(5).fill(true))
    expect(new Set(answers.map(({ body }) => body.payer)).size).toBe(5)
  })

  it('names the network as the request did', async () => {
    const { paymentPayload, paymentRequirements } = await submission()
    const answer = await api.post(SETTLE, {
      paymentPayload,
      paymentRequirements: { ...paymentRequirements, network: 'base-sepolia' },
    })
    expect(answer.body).toMatchObject({ success: true, network: 'base-sepolia' })
  })

  it.each<[string, () => Promise<object>, object]>([
    [
      'a payer without money',
      async () => {
        const poor = {
          privateKey: `0x${'11'.repeat(32)}`,
          address: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
        } as const
        const paymentRequirements = await requirementsOf()
        return { paymentPayload: await signPayment(poor, paymentRequirements), paymentRequirements }
      },
      {
        errorReason: 'insufficient_funds',
        errorMessage: expect.any(String),
        payer: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
      },
    ],
    [
      'a payload of another version',
      async () => submission({ payload: { x402Version: 1 } }),
      { errorReason: 'invalid_x402_version', errorMessage: expect.any(String) },
    ],
    [
      'a network that is not ours',
      async () => {
        const { paymentPayload, paymentRequirements } = await submission()
        const elsewhere = { ...paymentRequirements, network: 'eip155:1' }
        return {
          paymentPayload: { ...paymentPayload, accepted: elsewhere },
          paymentRequirements: elsewhere,
        }
      },
      {
        errorReason: 'invalid_network',
        errorMessage: expect.any(String),
        network: 'eip155:1',
        payer: expect.any(String),
      },
    ],
  ])('refuses %s with 200, and sends nothing', async (_name, body, expected) => {
    const answer = await api.post(SETTLE, await body())
    expect(answer.status).toBe(200)
    expect(answer.body).toStrictEqual({
      success: false,
      transaction: '',
      network: 'eip155:84532',
      ...expected,
    })
  })
})

describe('GET /api/v2/payment/supported', () => {
  it('lists concrete networks and the addresses that send', async () => {
    const answer = await api.get(SUPPORTED)
    const signers = devnet.relayerKeys.map((key) => privateKeyToAddress(key))
    expect(answer.status).toBe(200)
    expect(answer.body).toStrictEqual({
      kinds: [
        { x402Version: 2, scheme: 'exact', network: 'eip155:84532' },
        {
          ...{ x402Version: 2, scheme: 'upto', network: 'eip155:84532' },
          extra: { facilitatorAddress: signers[0] },
        },
      ],
      extensions: ['payment-identifier', 'bazaar'],
      signers: { 'eip155:*': signers },
    })
  })
})

describe('a project without a merchant', () => {
  it.each([
    ['POST', REQUIREMENTS],
    ['POST', VERIFY],
    ['POST', SETTLE],
    ['GET', SUPPORTED],
    ['GET', '/api/v2/merchant/payment-profile'],
    ['POST', '/api/v2/merchant/checkout-prepare'],
  ])('is answered by %s %s that it has none', async (method, path) => {
    const answer = method === 'GET' ? await api.get(path, BARE) : await api.post(path, {}, BARE)
    expect(answer.status).toBe(404)
    expect(answer.body).toStrictEqual(problemOf(404, 'merchant_not_configured', 'Not Found'))
  })
})

describe('a payment of version 1, whatever its shape', () => {
  const requirements = {
    scheme: 'exact',
    network: 'base-sepolia',
    maxAmountRequired: '10000',
    resource: RESOURCE,
    payTo: '0x1111111111111111111111111111111111111111',
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  }
  const payment = { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload: {} }
  const reason = 'invalid_x402_version'

  it.each<[string, object]>([
    [
      'x402-express sends it',
      { x402Version: 1, paymentPayload: payment, paymentRequirements: requirements },
    ],
    ['it says so alone', { paymentPayload: payment, paymentRequirements: requirements }],
    [
      'a header holds it',
      { x402Version: 1, paymentHeader: 'e30=', paymentRequirements: requirements },
    ],
  ])('is refused in the members that v1 SDKs print, as %s', async (_name, body) => {
    const verified = await api.post(VERIFY, body)
    expect([verified.status, verified.body]).toEqual([
      200,
      {
        isValid: false,
        invalidReason: reason,
        invalidMessage: expect.any(String),
        error: expect.any(String),
      },
    ])
    const settled = await api.post(SETTLE, body)
    expect([settled.status, settled.body]).toEqual([
      200,
      {
        success: false,
        errorReason: reason,
        errorMessage: expect.any(String),
        transaction: '',
        network: 'base-sepolia',
      },
    ])
  })

  it('is not blamed on the version if there is none, or it is 2', async () => {
    for (const body of [undefined, 1, {}, { x402Version: 2 }, { x402Version: '1' }]) {
      expect((await api.post(VERIFY, body)).status).toBe(400)
      expect((await api.post(SETTLE, body)).status).toBe(400)
    }
    const mixed = { x402Version: 1, ...(await submission()) }
    expect((await api.post(VERIFY, mixed)).body).toMatchObject({ isValid: true })
  })

  it('needs its token first', async () => {
    const headers = { 'X-Project-Identify-Token': undefined }
    expect((await api.post(VERIFY, { x402Version: 1 }, headers)).status).toBe(401)
  })
})
