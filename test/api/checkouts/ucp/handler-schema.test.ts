import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { createHash } from 'node:crypto'
import { privateKeyToAddress } from 'viem/accounts'
import { signTypedData } from '../../../../src/shared/crypto/sign-typed-data.js'
import { readPermit } from '../../../../src/core/schemes/evm/permit2/payload.js'
import type { PaymentRequired } from '../../../../src/shared/protocol/payment.js'
import { signablePayment } from '../../../../src/shared/protocol/signable-payment.js'
import { handlerDescriptor, HANDLER_VERSION } from '../../../../src/api/checkouts/ucp/handler.js'
import { handlerSchema, instrumentSchema } from '../../../../src/api/checkouts/ucp/render.js'
import { serveGateway, type GatewayApi } from '../../api.js'
import { SHOP_TOKEN } from '../../../support/devnet.js'
import { errorsOf, UCP_VERSIONS, ucpValidators, type UcpValidators } from './ucp-schemas.js'

const HANDLER = 'com.example.pay'
const KEY = `0x${'5e'.repeat(32)}` as const
const RPC_URL = 'http://127.0.0.1:9'

/** A gateway that takes a known token, an unknown and a plain one, and never has to ask its nodes. */
const openApi = (networkNames: 'caip2' | 'short'): Promise<GatewayApi> =>
  serveGateway({
    handlerId: HANDLER,
    networkNames,
    publicUrl: 'https://example.com',
    networks: {
      base: { rpcUrl: RPC_URL, relayerKeys: [KEY] },
      'eip155:31337': {
        rpcUrl: RPC_URL,
        relayerKeys: [KEY],
        assets: [
          {
            address: '0x000000000000000000000000000000000000f00d',
            symbol: 'FOO',
            decimals: 18,
            currency: 'USD',
            eip712: { name: 'Foo', version: '1' },
          },
          {
            address: '0x000000000000000000000000000000000000ba12',
            symbol: 'BAR',
            decimals: 18,
            currency: 'USD',
          },
        ],
      },
    },
    projects: [
      {
        id: 'shop',
        tokens: [SHOP_TOKEN],
        merchant: { payTo: '0x000000000000000000000000000000000000bEEF' },
      },
    ],
  })

const prepare = (api: GatewayApi) =>
  api.post('/api/v2/merchant/checkout-prepare', {
    amount: '15.00',
    currency: 'USD',
    resource: { url: 'https://shop.example/checkout/42', description: 'Two books' },
  })

/** The wallet pays a plain token, as gateway.md says. */
async function paidByPermit2({ accepts, resource }: PaymentRequired) {
  const offer = accepts.find(({ extra }) => extra?.['assetTransferMethod'] === 'permit2')!
  const signedAt = Math.floor(Date.now() / 1000)
  const { typedData, payloadOf } = signablePayment(offer, {
    from: privateKeyToAddress(KEY),
    chainId: 31337,
    signedAt,
    validBefore: signedAt + offer.maxTimeoutSeconds,
  })
  const payload = payloadOf(await signTypedData(typedData, KEY))
  const paymentPayload = { x402Version: 2, resource, accepted: { ...offer }, payload }
  const credential = { type: 'x402', x402Version: 2, paymentPayload, paymentRequirements: offer }
  return { id: 'instrument_1', handler_id: HANDLER, type: 'x402', credential }
}

/** A change that makes a document wrong. */
// oxlint-disable-next-line typescript/no-explicit-any -- documents to be damaged
type Damage = readonly [string, (copy: any) => void]

describe.each(UCP_VERSIONS)('the schema, composed with UCP %s', (version) => {
  let api: GatewayApi
  let ucp: UcpValidators
  let whole: ValidateFunction
  let business: ValidateFunction
  let platform: ValidateFunction
  let response: ValidateFunction
  let instrument: ValidateFunction
  let lone: ValidateFunction
  // oxlint-disable-next-line typescript/no-explicit-any -- what the API answered
  let schema: any, entry: any, descriptor: any, payment: any

  beforeAll(async () => {
    api = await openApi('caip2')
    ucp = ucpValidators(version)
    schema = (await api.send('GET', '/ucp/schema.json')).body
    const pointer = (name: string) => `/$defs/${HANDLER}/${name}`
    whole = ucp.compose(schema)
    business = ucp.compose(schema, pointer('business_schema'))
    platform = ucp.compose(schema, pointer('platform_schema'))
    response = ucp.compose(schema, pointer('response_schema'))
    instrument = ucp.compose(schema, pointer('payment_instrument'))
    lone = ucp.compose((await api.send('GET', '/ucp/instrument_schema.json')).body)
    entry = (await prepare(api)).body[HANDLER][0]
    descriptor = (await api.get('/api/v2/merchant/payment-profile')).body[HANDLER][0]
    payment = schema.$defs[HANDLER].payment_instrument.examples[0]
  })
  afterAll(() => api.close())

  it('accepts the answer of payment-profile, as UCP does', () => {
    for (const validate of [whole, business, platform, ucp.handler.business, ucp.handler.platform])
      expect(errorsOf(validate, descriptor)).toEqual([])
  })

  it('accepts the answer of checkout-prepare, as UCP does', () => {
    expect(entry.config.accepts).toHaveLength(3)
    const more = { ...entry, available_instruments: [{ type: 'x402' }] }
    for (const validate of [whole, response, ucp.handler.response])
      for (const one of [entry, more]) expect(errorsOf(validate, one)).toEqual([])
  })

  it('accepts an instrument with a payment, as UCP does', () => {
    for (const validate of [instrument, lone, ucp.instrument])
      expect(errorsOf(validate, payment)).toEqual([])
    expect(errorsOf(ucp.credential, payment.credential)).toEqual([])
  })

  it('accepts an instrument with a payment by Permit2, and no damaged one', async () => {
    const paid = await paidByPermit2(entry.config)
    expect(readPermit(paid.credential.paymentPayload.payload)).toMatchObject({ ok: true })
    expect(paid.credential.paymentRequirements.extra).not.toHaveProperty('name')
    for (const validate of [instrument, lone, ucp.instrument])
      expect(errorsOf(validate, paid)).toEqual([])
    const damaged: readonly Damage[] = [
      ['no permit', ({ payload }) => delete payload.permit2Authorization],
      ['two authorizations', ({ payload }) => (payload.authorization = authorization)],
      ['no witness', ({ payload }) => delete payload.permit2Authorization.witness],
      ['no payee', ({ payload }) => delete payload.permit2Authorization.witness.to],
      ['no token', ({ payload }) => delete payload.permit2Authorization.permitted.token],
      ['no nonce', ({ payload }) => (payload.permit2Authorization.nonce = '0x')],
      ['half a domain', ({ accepted }) => (accepted.extra.name = 'Bar')],
      ['no method', ({ accepted }) => delete accepted.extra.assetTransferMethod],
      ['another method', ({ accepted }) => (accepted.extra.assetTransferMethod = 'erc7710')],
    ]
    const { authorization } = payment.credential.paymentPayload.payload
    for (const [name, damage] of damaged) {
      const copy = structuredClone(paid)
      damage(copy.credential.paymentPayload)
      for (const validate of [instrument, lone])
        expect([name, validate(copy)]).toEqual([name, false])
    }
  })

  it('accepts its own examples', () => {
    const definitions = schema.$defs[HANDLER]
    const validators = { business, platform, response }
    for (const [name, validate] of Object.entries(validators))
      for (const example of definitions[`${name}_schema`].examples)
        expect(errorsOf(validate, example)).toEqual([])
    expect(errorsOf(instrument, definitions.payment_instrument.examples[0])).toEqual([])
  })

  const damagedEntries: readonly Damage[] = [
    ['no id', (copy) => delete copy.id],
    ['another id', (copy) => (copy.id = 'com.example.other')],
    ['no version', (copy) => delete copy.version],
    ['a version that is no date', (copy) => (copy.version = '2026-13-40')],
    ['no config', (copy) => delete copy.config],
    ['an empty config', (copy) => (copy.config = {})],
    ['nothing accepted', (copy) => (copy.config.accepts = [])],
    ['another x402Version', (copy) => (copy.config.x402Version = 1)],
    ['no resource', (copy) => delete copy.config.resource],
    ['no payTo', (copy) => delete copy.config.accepts[0].payTo],
    ['a payTo that is cut short', (copy) => (copy.config.accepts[0].payTo = '0xbEEF')],
    ['a decimal amount', (copy) => (copy.config.accepts[0].amount = '15.00')],
    ['an amount that is a number', (copy) => (copy.config.accepts[0].amount = 15)],
    ['an amount of zero', (copy) => (copy.config.accepts[0].amount = '0')],
    ['an amount in hexadecimal', (copy) => (copy.config.accepts[0].amount = '0xe4e1c0')],
    ['a time limit in words', (copy) => (copy.config.accepts[0].maxTimeoutSeconds = '300')],
    ['another scheme', (copy) => (copy.config.accepts[0].scheme = 'upto')],
    ['a symbol for an asset', (copy) => (copy.config.accepts[0].asset = 'USDC')],
    ['no EIP-712 domain', (copy) => delete copy.config.accepts[0].extra],
    ['half an EIP-712 domain', (copy) => delete copy.config.accepts[0].extra.version],
    ['a card for an instrument', (copy) => (copy.available_instruments = [{ type: 'card' }])],
    ['base for a network', (copy) => (copy.config.accepts[0].network = 'base')],
    ['a network in capitals', (copy) => (copy.config.accepts[0].network = 'EIP155:8453')],
    ['a network of another kind', (copy) => (copy.config.accepts[0].network = 'solana:5eykt4')],
  ]

  /** Nothing is wrong with these in a profile. */
  const declarations = ['no config', 'an empty config']

  it.each(damagedEntries)('refuses a checkout entry with %s', (name, damage) => {
    const copy = structuredClone(entry)
    damage(copy)
    expect(response(copy)).toBe(false)
    expect(whole(copy)).toBe(declarations.includes(name))
  })

  const damagedDescriptors: readonly Damage[] = [
    ['no id', (copy) => delete copy.id],
    ['no version', (copy) => delete copy.version],
    ['a card for an instrument', (copy) => (copy.available_instruments = [{ type: 'card' }])],
    ['a secret in its config', (copy) => (copy.config = { token: SHOP_TOKEN })],
  ]

  it.each(damagedDescriptors)('refuses a profile entry with %s', (_name, damage) => {
    const copy = structuredClone(descriptor)
    damage(copy)
    for (const validate of [business, platform, whole]) expect(validate(copy)).toBe(false)
  })

  it('refuses a business entry with another id, and lets a platform choose its own', () => {
    const copy = { ...descriptor, id: 'mine' }
    expect([business(copy), platform(copy)]).toEqual([false, true])
  })

  it('requires spec and schema of a platform, and of it alone', () => {
    const { spec: _spec, ...withoutSpec } = descriptor
    const { schema: _schema, ...withoutSchema } = descriptor
    for (const copy of [withoutSpec, withoutSchema])
      expect([business(copy), platform(copy)]).toEqual([true, false])
  })

  const damagedInstruments: readonly Damage[] = [
    ['no id', (copy) => delete copy.id],
    ['no handler_id', (copy) => delete copy.handler_id],
    ['the handler_id of another', (copy) => (copy.handler_id = 'com.example.other')],
    ['the type of a card', (copy) => (copy.type = 'card')],
    ['no credential', (copy) => delete copy.credential],
    ['the credential of a card', (copy) => (copy.credential = { type: 'pan', number: '4242' })],
    ['a credential without a type', (copy) => delete copy.credential.type],
    ['no payment', (copy) => delete copy.credential.paymentPayload],
    ['no offer', (copy) => delete copy.credential.paymentRequirements],
    ['no signature', (copy) => delete copy.credential.paymentPayload.payload.signature],
    ['half a signature', (copy) => (copy.credential.paymentPayload.payload.signature = '0x0')],
    ['no accepted', (copy) => delete copy.credential.paymentPayload.accepted],
    ['x402 version 1', (copy) => (copy.credential.paymentPayload.x402Version = 1)],
    [
      'a value in hexadecimal',
      (copy) => (copy.credential.paymentPayload.payload.authorization.value = '0xe4e1c0'),
    ],
    [
      'a value with leading zeros',
      (copy) => (copy.credential.paymentPayload.payload.authorization.value = '015000000'),
    ],
    [
      'a time that is a number',
      (copy) => (copy.credential.paymentPayload.payload.authorization.validBefore = 1795262700),
    ],
    [
      'a nonce that is cut short',
      (copy) => (copy.credential.paymentPayload.payload.authorization.nonce = '0x01'),
    ],
  ]

  it.each(damagedInstruments)('refuses an instrument with %s', (_name, damage) => {
    const copy = structuredClone(payment)
    damage(copy)
    for (const validate of [instrument, lone]) expect(validate(copy)).toBe(false)
  })
})

describe('the schema of a gateway that writes short names', () => {
  it('accepts short names, and CAIP-2 for networks without one', async () => {
    const api = await openApi('short')
    try {
      const schema = (await api.send('GET', '/ucp/schema.json')).body
      const pointer = `/$defs/${HANDLER}/response_schema`
      const response = ucpValidators('2026-04-08').compose(schema, pointer)
      const entry = (await prepare(api)).body[HANDLER][0]
      const networks = entry.config.accepts.map(({ network }: { network: string }) => network)
      expect(networks).toEqual(['base', 'eip155:31337', 'eip155:31337'])
      expect(errorsOf(response, entry)).toEqual([])
      entry.config.accepts[0].network = 'Base'
      expect(response(entry)).toBe(false)
    } finally {
      await api.close()
    }
  })
})

/** SHA-256 of both schemas, as they were when their version was made. */
const PUBLISHED = {
  '2026-11-30': [
    '4118a04c5ddeddd659a4f8787d7b45d75f6fa72f435b630328f7704016a653ca',
    '373e22b14db07dc94f7c4ff525495cb5633abba16584605753974ae0b3703664',
  ],
}

describe('the documents of a version', () => {
  const handler = {
    id: HANDLER,
    docsUrl: 'https://example.com',
    networkNames: 'caip2' as const,
  }

  it('agree about name, version and each other’s addresses', () => {
    const { schema } = handlerDescriptor(handler)
    const current = handlerSchema(handler) as { $defs: Record<string, { instrument: object }> }
    const instrument = instrumentSchema(handler)
    const about = { name: HANDLER, version: HANDLER_VERSION }
    expect(current).toMatchObject({ $id: schema, ...about })
    expect(instrument).toMatchObject({
      $id: 'https://example.com/ucp/instrument_schema.json',
      ...about,
    })
    expect(current.$defs[HANDLER]?.instrument).toEqual({
      $ref: 'https://example.com/ucp/instrument_schema.json',
    })
  })

  it('never change within a version', () => {
    const digests = [handlerSchema, instrumentSchema].map((write) =>
      createHash('sha256')
        .update(JSON.stringify(write(handler, HANDLER_VERSION)))
        .digest('hex'),
    )
    expect(PUBLISHED).toHaveProperty([HANDLER_VERSION], digests)
  })

  it('refer from a dated copy to dated copies only', () => {
    for (const write of [handlerSchema, instrumentSchema]) {
      const { examples: _examples, ...text } = write(handler, HANDLER_VERSION) as {
        examples?: unknown
      }
      const addresses = JSON.stringify(text).match(/"\$(id|ref)":"https:\/\/example\.com[^"]*"/g)
      expect(addresses?.length).toBeGreaterThan(0)
      for (const address of addresses ?? [])
        expect(address).toContain(`https://example.com/ucp/${HANDLER_VERSION}/`)
    }
  })
})
