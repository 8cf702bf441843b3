import { afterEach, describe, expect, it } from '@jest/globals'
import { createGateway, ucpProfile, type Gateway, type GatewayOptions } from '../../src/index.js'
import { handlerDescriptor } from '../../src/ucp/handler.js'
import { errorsOf, UCP_VERSIONS, ucpValidators } from './ucp-schemas.js'

const gateways: Gateway[] = []

afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()))
})

function open(options: GatewayOptions): Gateway {
  const gateway = createGateway(options)
  gateways.push(gateway)
  return gateway
}

const services = {
  'dev.ucp.shopping': [
    { version: '2026-04-08', transport: 'rest', endpoint: 'https://shop.example/ucp/v1' },
  ],
}

const capabilities = {
  'dev.ucp.shopping.checkout': [
    {
      version: '2026-04-08',
      schema: 'https://ucp.dev/2026-04-08/schemas/shopping/checkout.json',
    },
  ],
}

const OTHER = { 'com.example.card': [{ id: 'card', version: '2026-04-08' }] }

describe('ucpProfile', () => {
  it.each(UCP_VERSIONS)('writes a complete business profile by UCP %s', (version) => {
    const gateway = open({ publicUrl: 'https://pay.example.com' })
    const { businessProfile } = ucpValidators(version)
    const whole = ucpProfile(gateway, { services, capabilities, paymentHandlers: OTHER })
    for (const profile of [whole, ucpProfile(gateway)])
      expect(errorsOf(businessProfile, profile)).toEqual([])
    const endpointless = { 'dev.ucp.shopping': [{ version: '2026-04-08', transport: 'rest' }] }
    expect(businessProfile(ucpProfile(gateway, { services: endpointless }))).toBe(false)
  })

  it('adds the handler to what the business declares', () => {
    const gateway = open({ handlerId: 'com.example.pay', publicUrl: 'https://example.com/' })
    const site = { id: 'com.example.pay', docsUrl: 'https://example.com' }
    expect(
      ucpProfile(gateway, { version: '2026-01-23', services, paymentHandlers: OTHER }),
    ).toStrictEqual({
      ucp: {
        version: '2026-01-23',
        services,
        capabilities: {},
        payment_handlers: { ...OTHER, 'com.example.pay': [handlerDescriptor(site)] },
      },
    })
  })

  it('names the documents at ucp.docsUrl', () => {
    const ucp = { docsUrl: 'https://vendor.xyz/docs' }
    const profile = ucpProfile(open({ publicUrl: 'https://pay.example.com', ucp }))
    expect(JSON.stringify(profile)).toContain('"https://vendor.xyz/docs/ucp/schema.json"')
    expect(JSON.stringify(profile)).not.toContain('pay.example.com')
  })

  it('throws if it cannot know where the documents are', () => {
    const gateway = open({})
    expect(() => ucpProfile(gateway)).toThrow(
      expect.objectContaining({ code: 'config_invalid', option: 'ucp.docsUrl' }),
    )
  })
})
