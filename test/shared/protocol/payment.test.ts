import { describe, expect, it } from '@jest/globals'
import { parseErc3009Payload } from '../../../src/shared/protocol/erc3009.js'
import {
  parsePaymentPayload,
  parsePaymentRequirements,
  parsePaymentSubmission,
  withProtocolVersion,
} from '../../../src/shared/protocol/payment.js'

const ADDRESS = '0x000000000000000000000000000000000000bEEF'

const REQUIREMENTS = {
  scheme: 'exact',
  network: 'base',
  amount: '10000',
  payTo: ADDRESS,
  maxTimeoutSeconds: 300,
  asset: ADDRESS,
}
const EXACT_EVM = {
  signature: `0x${'ab'.repeat(65)}`,
  authorization: {
    from: ADDRESS,
    to: ADDRESS,
    value: '10000',
    validAfter: '0',
    validBefore: '99999999999',
    nonce: `0x${'00'.repeat(32)}`,
  },
}
const PAYLOAD = { x402Version: 2, accepted: REQUIREMENTS, payload: EXACT_EVM }

const paths = (parsed: ReturnType<typeof parsePaymentSubmission>): string[] =>
  parsed.ok ? [] : parsed.errors.map(({ path }) => path)

describe('payment requirements', () => {
  it('are six fields, and any others that come with them', () => {
    for (const more of [
      {},
      { extra: null },
      { extra: { name: 'USDC', version: '2' }, protocolVersion: 2, ours: [1] },
    ])
      expect(parsePaymentRequirements({ ...REQUIREMENTS, ...more })).toStrictEqual({
        ok: true,
        value: { ...REQUIREMENTS, ...more },
      })
  })

  it.each(Object.keys(REQUIREMENTS))('are refused without %s', (name) => {
    const { [name]: _, ...rest } = REQUIREMENTS as Record<string, unknown>
    expect(parsePaymentRequirements(rest)).toStrictEqual({
      ok: false,
      errors: [{ path: name, message: 'is missing' }],
    })
  })

  it.each([
    ['amount', 10000],
    ['payTo', '0xbEEF'],
    ['asset', `${ADDRESS}00`],
    ['maxTimeoutSeconds', '300'],
    ['maxTimeoutSeconds', 0],
    ['maxTimeoutSeconds', 1.5],
    ['extra', 'USDC'],
    ['protocolVersion', '2'],
  ])('are refused with a %s of %j', (name, value) => {
    expect(parsePaymentRequirements({ ...REQUIREMENTS, [name]: value })).toStrictEqual({
      ok: false,
      errors: [{ path: name, message: expect.stringMatching(/^must be /) }],
    })
  })
})

describe('empty lists, as PHP writes empty objects (rule 26)', () => {
  it('are read as empty objects if the object is optional', () => {
    const payload = { ...PAYLOAD, resource: [], extensions: [] }
    expect(parsePaymentPayload(payload)).toStrictEqual({
      ok: true,
      value: { ...PAYLOAD, resource: {}, extensions: {} },
    })
    expect(parsePaymentRequirements({ ...REQUIREMENTS, extra: [] })).toStrictEqual({
      ok: true,
      value: { ...REQUIREMENTS, extra: {} },
    })
  })

  it.each(['resource', 'extensions'])('are refused as %s if they are not empty', (name) => {
    expect(parsePaymentPayload({ ...PAYLOAD, [name]: [1] })).toStrictEqual({
      ok: false,
      errors: [{ path: name, message: 'must be an object' }],
    })
  })

  it.each(['accepted', 'payload'])('are refused as %s, which is required', (name) => {
    expect(parsePaymentPayload({ ...PAYLOAD, [name]: [] }).ok).toBe(false)
  })

  it('are not added for missing members', () => {
    expect(parsePaymentPayload(PAYLOAD)).toStrictEqual({ ok: true, value: PAYLOAD })
  })
})

describe('a number on the wire', () => {
  const amount = (text: string): boolean =>
    parsePaymentRequirements({ ...REQUIREMENTS, amount: text }).ok
  const LIMIT = 2n ** 256n

  it.each(['0', '1', '10000', String(LIMIT - 1n)])('can be %s', (text) => {
    expect(amount(text)).toBe(true)
  })

  it.each([
    '',
    ' ',
    '0x2710',
    ' 10000',
    '10000 ',
    '010000',
    '00',
    '+1',
    '-1',
    '1e4',
    '1.0',
    '1_000',
    '１',
    String(LIMIT),
    '9'.repeat(79),
  ])('is refused as %j', (text) => {
    expect(amount(text)).toBe(false)
  })
})

describe('the payload of exact on EVM', () => {
  it('is a signature and an authorization', () => {
    expect(parseErc3009Payload(EXACT_EVM)).toStrictEqual({ ok: true, value: EXACT_EVM })
  })

  it.each(['0x', '0xabc', 'ab'.repeat(65), '0xzz', `0x${'ab'.repeat(5000)}`])(
    'is refused with a signature like %.20s',
    (signature) => {
      expect(parseErc3009Payload({ ...EXACT_EVM, signature }).ok).toBe(false)
    },
  )

  it.each(Object.keys(EXACT_EVM.authorization))('is refused if %s is a number', (name) => {
    const authorization = { ...EXACT_EVM.authorization, [name]: 1 }
    const parsed = parseErc3009Payload({ ...EXACT_EVM, authorization })
    expect(parsed).toMatchObject({ ok: false, errors: [{ path: `authorization.${name}` }] })
  })
})

describe('the body of verify and settle', () => {
  const BODY = { paymentPayload: PAYLOAD, paymentRequirements: REQUIREMENTS }

  it('can have x402Version, resource and extensions, null or not', () => {
    for (const more of [{}, { resource: null, extensions: null }, { resource: {}, extensions: {} }])
      expect(
        parsePaymentSubmission({ x402Version: 2, ...BODY, paymentPayload: { ...PAYLOAD, ...more } })
          .ok,
      ).toBe(true)
  })

  it.each<[unknown, string[]]>([
    [undefined, ['']],
    [null, ['']],
    [[], ['']],
    ['text', ['']],
    [{}, ['paymentPayload', 'paymentRequirements']],
    [{ ...BODY, paymentPayload: 'eyJ4NDAyVmVyc2lvbiI6Mn0=' }, ['paymentPayload']],
    [
      { ...BODY, paymentPayload: { x402Version: 2, accepted: null, payload: [] } },
      ['paymentPayload.accepted', 'paymentPayload.payload'],
    ],
  ])('is refused as %j', (body, expected) => {
    expect(paths(parsePaymentSubmission(body))).toStrictEqual(expected)
  })

  it('accepts any version, which is refused as part of the payment', () => {
    expect(parsePaymentPayload({ ...PAYLOAD, x402Version: 1 }).ok).toBe(true)
    expect(parsePaymentPayload({ ...PAYLOAD, x402Version: 2.5 }).ok).toBe(false)
  })
})

describe('withProtocolVersion', () => {
  it('adds the version to each entry that has none', () => {
    const accepts = [REQUIREMENTS]
    expect(withProtocolVersion(accepts)).toStrictEqual([{ ...REQUIREMENTS, protocolVersion: 2 }])
    expect(accepts).toStrictEqual([REQUIREMENTS])
  })
})
