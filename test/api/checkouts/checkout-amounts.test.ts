/** Amounts through `checkout-prepare`: what they come to, and what is said to who writes them wrong. */
import { describe, expect, it } from '@jest/globals'
import type { MerchantOptions } from '../../../src/gateway/config/options/merchant.js'
import { SHOP_TOKEN } from '../../support/devnet.js'
import { serveGateway, type GatewayApi } from '../api.js'
import { useCleanup } from '../../support/cleanup.js'

const CHECKOUT = '/api/v2/merchant/checkout-prepare'
const REQUIREMENTS = '/api/v2/payment/requirements'
const HANDLER = 'xyz.vendor.gateway_payment'
const URL = 'https://shop.example/checkout/42'
const USDX = '0x000000000000000000000000000000000000f00d'
const SYMBOLS: Readonly<Record<string, string>> = {
  '0x036CbD53842c5426634e7929541eC2318f3dCF7e': 'USDC',
  '0x808456652fdb597867f38412077A9182bf77359F': 'EURC',
  [USDX]: 'USDX',
}

const toEnd = useCleanup()

/** A gateway that takes USDC, EURC and a dollar of eighteen digits. */
async function open(terms: Partial<MerchantOptions>): Promise<GatewayApi> {
  const api = await serveGateway({
    networks: {
      'base-sepolia': {
        rpcUrl: 'http://127.0.0.1:9',
        relayerKeys: [`0x${'5e'.repeat(32)}`],
        assets: [
          'USDC',
          'EURC',
          {
            address: USDX,
            symbol: 'USDX',
            decimals: 18,
            currency: 'USD',
            eip712: { name: 'Dollar X', version: '1' },
          },
        ],
      },
    },
    projects: [
      {
        id: 'shop',
        tokens: [SHOP_TOKEN],
        merchant: { payTo: '0x000000000000000000000000000000000000bEEF', ...terms },
      },
    ],
    rates: {
      'EUR/USD': '1.08',
      'HKD/USD': '0.1285',
      'JPY/USD': '0.0067',
      'KWD/USD': '3.2573',
    },
  })
  toEnd.push(() => api.close())
  return api
}

const prepare = (api: GatewayApi, amount: unknown, currency: unknown) =>
  api.post(CHECKOUT, { amount, currency, resource: { url: URL } })

type Amounts = Readonly<Record<string, string>> | 'unsupported_currency'

describe('a price of fifteen', () => {
  // The exact values by hand: 15 × rate × (1 + bps/10⁴) × 10^digits, rounded up.
  it.each<[string, boolean, number, Amounts]>([
    ['USD', false, 0, { USDC: '15000000', USDX: '15000000000000000000' }],
    ['USD', false, 50, { USDC: '15000000', USDX: '15000000000000000000' }],
    // 15 ÷ 1.08 = 13.888…; × 1.005 = 13.958333…
    ['USD', true, 0, { USDC: '15000000', EURC: '13888889', USDX: '15000000000000000000' }],
    ['USD', true, 50, { USDC: '15000000', EURC: '13958334', USDX: '15000000000000000000' }],
    ['EUR', false, 0, { EURC: '15000000' }],
    ['EUR', false, 50, { EURC: '15000000' }],
    // 15 × 1.08 = 16.2; × 1.005 = 16.281
    ['EUR', true, 0, { USDC: '16200000', EURC: '15000000', USDX: '16200000000000000000' }],
    ['EUR', true, 50, { USDC: '16281000', EURC: '15000000', USDX: '16281000000000000000' }],
    ['HKD', false, 0, 'unsupported_currency'],
    ['HKD', false, 50, 'unsupported_currency'],
    // 15 × 0.1285 = 1.9275; ÷ 1.08 = 1.784722…; × 1.005 = 1.9371375 and 1.793645833…
    ['HKD', true, 0, { USDC: '1927500', EURC: '1784723', USDX: '1927500000000000000' }],
    ['HKD', true, 50, { USDC: '1937138', EURC: '1793646', USDX: '1937137500000000000' }],
    ['JPY', false, 0, 'unsupported_currency'],
    ['JPY', false, 50, 'unsupported_currency'],
    // 15 × 0.0067 = 0.1005; ÷ 1.08 = 0.09305555…; × 1.005 = 0.1010025 and 0.093520833…
    ['JPY', true, 0, { USDC: '100500', EURC: '93056', USDX: '100500000000000000' }],
    ['JPY', true, 50, { USDC: '101003', EURC: '93521', USDX: '101002500000000000' }],
    ['KWD', false, 0, 'unsupported_currency'],
    ['KWD', false, 50, 'unsupported_currency'],
    // 15 × 3.2573 = 48.8595; ÷ 1.08 = 45.240277…; × 1.005 = 49.1037975 and 45.466479166…
    ['KWD', true, 0, { USDC: '48859500', EURC: '45240278', USDX: '48859500000000000000' }],
    ['KWD', true, 50, { USDC: '49103798', EURC: '45466480', USDX: '49103797500000000000' }],
  ])(
    'is quoted in %s, cross-currency %p, %i bps on top',
    async (currency, crossCurrency, fxBufferBps, all) => {
      const api = await open({ crossCurrency, fxBufferBps })
      // Zeros that the yen does not have are fine.
      const { status, body } = await prepare(api, '15.00', currency)
      if (typeof all === 'string') {
        expect({ status, code: body.code }).toStrictEqual({ status: 400, code: all })
        return
      }
      expect(status).toBe(200)
      const accepts = body[HANDLER][0].config.accepts as { asset: string; amount: string }[]
      expect(accepts.map(({ asset, amount }) => [SYMBOLS[asset], amount])).toStrictEqual(
        Object.entries(all),
      )
    },
  )

  it('is the same amount in the requirements', async () => {
    const api = await open({ crossCurrency: true, fxBufferBps: 50, currency: 'HKD' })
    const { body } = await api.post(REQUIREMENTS, { resourceUrl: URL, requestedAmount: 15 })
    const accepts = body.accepts as { amount: string }[]
    expect(accepts.map(({ amount }) => amount)).toStrictEqual([
      '1937138',
      '1793646',
      '1937137500000000000',
    ])
  })
})

describe('the requirements', () => {
  it.each([
    [0.1 + 0.2, '300000'],
    // More than what a float is off by itself.
    [0.30000000000004, '300000'],
    [17.499999999999, '17500000'],
    // Fractions of a cent are prices here.
    [0.0001, '100'],
    [0.00000123, '2'],
    [1e-9, '1'],
  ])('take %p for %s units, whatever floats made of it', async (requestedAmount, units) => {
    const { body } = await (
      await open({})
    ).post(REQUIREMENTS, { resourceUrl: URL, requestedAmount })
    expect(body.accepts[0].amount).toBe(units)
  })
})

describe('an amount', () => {
  it.each<[unknown, string, string]>([
    ['15', 'USD', '15000000'],
    ['15.0', 'USD', '15000000'],
    ['15.00', 'USD', '15000000'],
    ['15.000000000000000000', 'USD', '15000000'],
    ['0.01', 'USD', '10000'],
    ['15.010', 'EUR', '15010000'],
    // Noise of floats: less than a millionth of a cent.
    ['0.30000000000000004', 'USD', '300000'],
    ['17.499999999999996', 'USD', '17500000'],
    ['15.000000004', 'USD', '15000000'],
  ])('turns %p %s into %s units', async (amount, currency, units) => {
    const { status, body } = await prepare(await open({}), amount, currency)
    expect(status).toBe(200)
    expect(body[HANDLER][0].config.accepts[0].amount).toBe(units)
  })

  const MAJOR = "amounts are strings in major units, not in cents, e.g. '15.00'"
  it.each<[unknown, unknown, string, string]>([
    [15, 'USD', 'amount', `15 is not a string; ${MAJOR}`],
    [undefined, 'USD', 'amount', `is missing; ${MAJOR}`],
    ['15,00', 'USD', 'amount', "write decimals with a point, not a comma: '15.00'"],
    ['1,500.00', 'USD', 'amount', 'write decimals with a point and thousands without a comma'],
    ['1e3', 'USD', 'amount', "write out the digits instead of an exponent, e.g. '1000'"],
    ['-1', 'USD', 'amount', 'it must not be negative'],
    ['+1', 'USD', 'amount', 'leave out the plus sign'],
    ['0', 'USD', 'amount', `the amount must be greater than zero; ${MAJOR}`],
    ['0.00', 'USD', 'amount', 'the amount must be greater than zero'],
    ['', 'USD', 'amount', "it has no amount; write '0.01'"],
    [' 15.00', 'USD', 'amount', 'digits and at most one point, nothing else'],
    ['$15.00', 'USD', 'amount', 'digits and at most one point, nothing else'],
    ['.5', 'USD', 'amount', "write the zero before the point, e.g. '0.5'"],
    ['15.00000001', 'USD', 'amount', 'has more than the 2 decimals of USD'],
    ['0.000000000000000004', 'USD', 'amount', 'has more than the 2 decimals of USD'],
    ['15.001', 'USD', 'amount', `'15.001' has more than the 2 decimals of USD; ${MAJOR}`],
    ['15.5', 'JPY', 'amount', 'has more than the 0 decimals of JPY; amounts are strings in major'],
    ['1.0005', 'KWD', 'amount', 'has more than the 3 decimals of KWD'],
    ['15.00', 'usd', 'currency', "currency codes are written in upper case: 'USD', not 'usd'"],
    ['15.00', 'XXX', 'currency', "'XXX' is not a currency for payments (ISO 4217)"],
    ['15.00', 'XAU', 'currency', "'XAU' is not a currency for payments (ISO 4217)"],
    ['15.00', 'EUX', 'currency', "is not a currency code of ISO 4217, e.g. 'USD', 'EUR', 'JPY'"],
    ['15.00', '$', 'currency', 'is not a currency code of ISO 4217'],
    ['15.00', 840, 'currency', "the currency must be a string, e.g. 'USD'"],
    ['15.00', undefined, 'currency', "the currency must be a string, e.g. 'USD'"],
  ])(
    'is refused with the reason and the remedy: %p %p',
    async (amount, currency, path, message) => {
      const answer = await prepare(await open({}), amount, currency)
      expect(answer.status).toBe(400)
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
      expect(answer.body).toMatchObject({
        code: 'invalid_request',
        detail: expect.stringContaining(`'${path}': `),
        errors: [{ path, message: expect.stringContaining(message) }],
      })
    },
  )

  const limits = { minAmount: '0.50', maxAmount: '20', crossCurrency: true }
  it.each([
    ['0.49', 'USD', 'This merchant takes at least 0.50 USD at once.'],
    ['20.01', 'USD', 'This merchant takes at most 20 USD at once.'],
    ['3.89', 'HKD', 'This merchant takes at least 0.50 USD at once.'],
  ])('is refused outside the merchant’s limits: %s %s', async (amount, currency, message) => {
    const answer = await prepare(await open(limits), amount, currency)
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toStrictEqual([{ path: 'amount', message }])
    expect((await prepare(await open(limits), '3.90', 'HKD')).status).toBe(200)
  })

  it('is refused outside those limits by the requirements as well', async () => {
    const api = await open(limits)
    const answer = await api.post(REQUIREMENTS, { resourceUrl: URL, requestedAmount: 0.1 })
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toMatchObject([{ path: 'requestedAmount' }])
    const fine = await api.post(REQUIREMENTS, { resourceUrl: URL, requestedAmount: 0.5 })
    expect(fine.status).toBe(200)
  })
})
