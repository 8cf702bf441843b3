import { describe, expect, it } from '@jest/globals'
import { isConfigError, type ChargeError } from '../../../src/shared/errors.js'
import type { Merchant } from '../../../src/core/merchants/project.js'
import { findKnownAsset } from '../../../src/shared/money/assets.js'
import { uptoFormat } from '../../../src/core/schemes/evm/upto.js'
import { parsePrice, type Price } from '../../../src/shared/money/price.js'
import type { AppliedRate } from '../../../src/shared/money/rates.js'
import { Meter, refuseCharge } from '../../../src/sell/route/up-to-charge.js'
import { findNetwork } from '../../../src/shared/protocol/networks.js'

const format = uptoFormat({ facilitatorOf: () => undefined, findPermitDomain: () => undefined })
const usdc = findKnownAsset(findNetwork('base')!, 'USDC')!
const merchant: Merchant = {
  ...{ project: 'shop', payTo: '0x000000000000000000000000000000000000bEEF', currency: 'USD' },
  ...{ accepts: [usdc], crossCurrency: true, fxBufferBps: 50, maxTimeoutSeconds: 60 },
  ...{ redeemWithoutProof: 'same-address', v1: false },
}

/** A euro costs 1.08 dollars, and the merchant adds half a percent: 1.00 EUR is 1.0854 USDC. */
const euro: AppliedRate = { price: '1.00', currency: 'EUR', rate: '1.08', asOf: 0, source: 'bank' }

interface Opening {
  readonly amount?: string
  readonly appliedRate?: AppliedRate
  readonly defaultCharge?: Price
}

function open({ amount = '100000', appliedRate, defaultCharge }: Opening = {}) {
  const res = { writableEnded: false }
  const requirements = {
    ...{ scheme: 'upto', network: 'base', amount, asset: usdc.address },
    ...{ payTo: merchant.payTo, maxTimeoutSeconds: 60 },
  }
  const meter = new Meter(
    { requirements, format, appliedRate },
    {
      res,
      merchant,
      defaultCharge:
        defaultCharge === undefined
          ? undefined
          : parsePrice(defaultCharge, { defaultCurrency: 'USD', allowFree: true }),
    },
  )
  return { meter, res }
}

/** The code and message with which a charge is refused. */
function refusalOf(charge: () => void): Pick<ChargeError, 'name' | 'code' | 'message'> {
  try {
    charge()
  } catch (error) {
    return error as ChargeError
  }
  throw new Error('it was charged')
}

describe('a meter', () => {
  it.each<[Price, bigint]>([
    ['$0.0234', 23_400n],
    ['0.0234 USD', 23_400n],
    ['0.0234', 23_400n],
    [0.0234, 23_400n],
    [{ amount: '0.0234', currency: 'USD' }, 23_400n],
    [{ asset: 'USDC', network: 'base', amount: '23400' }, 23_400n],
    [{ asset: usdc.address, network: 'eip155:8453', amount: 23_400n }, 23_400n],
    ['$0.00000101', 2n],
    ['$0.10', 100_000n],
    [0, 0n],
    ['$0', 0n],
  ])('charges %p', (amount, units) => {
    const { meter } = open()
    meter.charge(amount)
    expect(meter.close()).toBe(units)
  })

  it('adds charges up exactly, and rounds their sum up once', () => {
    const { meter } = open()
    for (let calls = 0; calls < 1000; calls++) meter.charge('$0.0000011')
    meter.charge({ asset: 'USDC', network: 'base', amount: '7' })
    expect(meter.close()).toBe(1107n)
  })

  it('charges the maximum if nothing is said, or the default', () => {
    expect(open().meter.close()).toBe(100_000n)
    expect(open({ defaultCharge: '$0.01' }).meter.close()).toBe(10_000n)
    expect(open({ defaultCharge: '$0' }).meter.close()).toBe(0n)
    // The maximum was lower when this payer's quote was signed.
    expect(open({ amount: '5000', defaultCharge: '$0.01' }).meter.close()).toBe(5000n)
    const said = open({ defaultCharge: '$0.01' }).meter
    said.charge('$0.02')
    expect(said.close()).toBe(20_000n)
  })

  it('refuses what exceeds the maximum, and keeps what was charged before', () => {
    const { meter } = open()
    meter.charge('$0.06')
    const { name, code, message } = refusalOf(() => meter.charge('$0.0400001'))
    expect({ name, code }).toEqual({ name: 'ChargeError', code: 'charge_exceeds_maximum' })
    expect(message).toContain('0.100001 USDC')
    expect(message).toContain('at most 0.100000 USDC')
    meter.charge('$0.04')
    expect(refusalOf(() => meter.charge('$0.000001')).code).toBe('charge_exceeds_maximum')
    expect(meter.close()).toBe(100_000n)
  })

  it.each<[unknown, string]>([
    [-0, 'must not be negative'],
    ['-0', 'must not be negative'],
    [{ amount: -0, currency: 'USD' }, 'must not be negative'],
    [-0.01, 'finite and not negative'],
    ['$-0.01', 'must not be negative'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [1e-7, 'less than the smallest unit of USDC on Base'],
    ['1e-7', 'instead of an exponent'],
    ['$0,01', "'0.01'"],
    ['€0.01', '0.01 EUR cannot be charged: this payment is counted in USD'],
    ['0.01 USDC', 'USDC'],
    [{ asset: 'EURC', network: 'base', amount: '1' }, 'units of EURC'],
    [{ asset: 'USDC', network: 'base-sepolia', amount: '1' }, 'eip155:84532'],
    [{ asset: 'USDC', network: 'base', amount: -1n }, '-1n'],
    [undefined, 'undefined'],
    [null, 'null'],
    [Promise.resolve('$0.01'), 'not a price'],
    ['', 'no amount'],
  ])('refuses to charge %p', (amount, words) => {
    const { meter } = open()
    meter.charge('$0.01')
    const refusal = refusalOf(() => meter.charge(amount as Price))
    expect(refusal).toMatchObject({ name: 'ChargeError', code: 'charge_invalid' })
    expect(refusal.message).toContain(words)
    expect(meter.close()).toBe(10_000n)
  })

  it('refuses charges once the response has ended, and once it was closed', () => {
    const ended = open()
    ended.res.writableEnded = true
    expect(refusalOf(() => ended.meter.charge('$0.01')).code).toBe('charge_too_late')
    const closed = open()
    closed.meter.charge('$0.01')
    expect(closed.meter.close()).toBe(10_000n)
    expect(refusalOf(() => closed.meter.charge('$0.01')).code).toBe('charge_too_late')
    expect(closed.meter.close()).toBe(10_000n)
  })

  it('adds up charges of branches that run at once', async () => {
    const { meter } = open()
    const branch = async (): Promise<void> => {
      for (let step = 0; step < 5; step++) {
        await Promise.resolve()
        meter.charge('$0.01')
      }
    }
    const branches = await Promise.allSettled([branch(), branch(), branch()])
    expect(branches.filter(({ status }) => status === 'rejected')).toHaveLength(3)
    expect(meter.close()).toBe(100_000n)
  })
})

describe('a meter of a price at a rate', () => {
  const maximum = { amount: '1085400', appliedRate: euro }

  it.each([
    ['€1.00', 1_085_400n],
    ['€0.50', 542_700n],
    ['€0.33', 358_182n],
    ['€0.333333333333', 361_800n],
    ['€0.000001', 2n],
  ])('takes the same part of the maximum as %s is of the price', (amount, units) => {
    const { meter } = open(maximum)
    meter.charge(amount)
    expect(meter.close()).toBe(units)
  })

  it('charges in the currency of the price, or units of the token', () => {
    const { meter } = open(maximum)
    expect(refusalOf(() => meter.charge('$0.50')).message).toContain('counted in EUR')
    meter.charge({ asset: 'USDC', network: 'base', amount: '400' })
    meter.charge('€0.50')
    expect(meter.close()).toBe(543_100n)
    const last = open(maximum).meter
    last.charge('€0.50')
    last.charge('€0.50')
    expect(refusalOf(() => last.charge('€0.000001')).code).toBe('charge_exceeds_maximum')
    expect(last.close()).toBe(1_085_400n)
  })

  it('never exceeds the maximum by what it rounds up', () => {
    const { meter } = open({ amount: '7', appliedRate: { ...euro, price: '0.000003' } })
    meter.charge('€0.000001')
    meter.charge('€0.000002')
    expect(meter.close()).toBe(7n)
  })
})

describe('the charge of a fixed price', () => {
  it('says how a maximum is declared', () => {
    expect(() => refuseCharge()).toThrow("x402Protect({ upTo: '$0.10' })")
    let thrown: unknown
    try {
      refuseCharge()
    } catch (error) {
      thrown = error
    }
    expect(isConfigError(thrown)).toBe(true)
  })
})
