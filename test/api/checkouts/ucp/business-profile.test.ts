import { describe, expect, it } from '@jest/globals'
import { createGateway, ucpProfile } from '../../../../src/index.js'
import type { Gateway, GatewayOptions, UcpProfileOptions } from '../../../../src/index.js'
import { handlerDescriptor } from '../../../../src/api/checkouts/ucp/handler.js'
import { errorsOf, UCP_VERSIONS, ucpValidators } from './ucp-schemas.js'
import { useCleanup, closedBy } from '../../../support/cleanup.js'

const toEnd = useCleanup()

function open(options: GatewayOptions): Gateway {
  return closedBy(toEnd, createGateway(options))
}

const servicesOf = (version: string) => ({
  'dev.ucp.shopping': [{ version, transport: 'rest', endpoint: 'https://shop.example/ucp/v1' }],
})

const capabilitiesOf = (version: string) => ({
  'dev.ucp.shopping.checkout': [
    { version, schema: `https://ucp.dev/${version}/schemas/shopping/checkout.json` },
  ],
})

const services = servicesOf('2026-04-08')
const capabilities = capabilitiesOf('2026-04-08')

const OTHER = { 'com.example.card': [{ id: 'card', version: '2026-04-08' }] }

describe('ucpProfile', () => {
  it.each(UCP_VERSIONS)('writes a complete business profile by UCP %s', (version) => {
    const gateway = open({ publicUrl: 'https://pay.example.com' })
    const { businessProfile } = ucpValidators(version)
    const whole = ucpProfile(gateway, {
      version,
      services: servicesOf(version),
      capabilities: capabilitiesOf(version),
      paymentHandlers: OTHER,
    })
    for (const profile of [whole, ucpProfile(gateway, { version })])
      expect(errorsOf(businessProfile, profile)).toEqual([])
    const endpointless = { 'dev.ucp.shopping': [{ version, transport: 'rest' }] }
    expect(businessProfile(ucpProfile(gateway, { version, services: endpointless }))).toBe(false)
  })

  it('adds the handler to what the business declares', () => {
    const gateway = open({ handlerId: 'com.example.pay', publicUrl: 'https://example.com/' })
    const site = { id: 'com.example.pay', docsUrl: 'https://example.com' }
    expect(
      ucpProfile(gateway, { version: '2026-04-08', services, paymentHandlers: OTHER }),
    ).toStrictEqual({
      ucp: {
        version: '2026-04-08',
        services,
        capabilities: {},
        payment_handlers: { ...OTHER, 'com.example.pay': [handlerDescriptor(site)] },
      },
    })
  })

  const PUBLISHED = '2026-08-25'
  const key = { kid: 'one', kty: 'EC', crv: 'P-256', x: 'eA', y: 'eQ', alg: 'ES256' }

  it('publishes keys where each version of UCP looks for them', () => {
    const gateway = open({ publicUrl: 'https://pay.example.com' })
    const latest = ucpProfile(gateway, { version: PUBLISHED, keys: [key] })
    expect(latest).toMatchObject({ ucp: { version: PUBLISHED }, keys: [key] })
    expect(latest).not.toHaveProperty('signing_keys')
    expect(errorsOf(ucpValidators(PUBLISHED).businessProfile, latest)).toEqual([])
    const earlier = ucpProfile(gateway, { version: '2026-04-08', keys: [key] })
    expect(earlier.signing_keys).toEqual([key])
    expect(earlier).not.toHaveProperty('keys')
    expect(errorsOf(ucpValidators('2026-04-08').businessProfile, earlier)).toEqual([])
  })

  it('names the profiles of earlier versions, which are whole and name none', () => {
    const gateway = open({ publicUrl: 'https://pay.example.com' })
    const supportedVersions = { '2026-04-08': 'https://shop.example/.well-known/ucp/2026-04-08' }
    const current = ucpProfile(gateway, { version: PUBLISHED, supportedVersions })
    expect(current.ucp.supported_versions).toEqual(supportedVersions)
    expect(errorsOf(ucpValidators(PUBLISHED).businessProfile, current)).toEqual([])
    const leaf = ucpProfile(gateway, { version: '2026-04-08', services, capabilities })
    expect(leaf.ucp).not.toHaveProperty('supported_versions')
    expect(errorsOf(ucpValidators('2026-04-08').businessProfile, leaf)).toEqual([])
  })

  it.each<[string, UcpProfileOptions, string]>([
    ['a private key', { keys: [key, { ...key, d: 'c2VjcmV0' }] }, 'keys.1'],
    ['a secret key', { keys: [{ kid: 'two', kty: 'oct', k: 'c2VjcmV0' }] }, 'keys.0'],
    ['a key without its point', { keys: [{ kid: 'two', kty: 'OKP', crv: 'Ed25519' }] }, 'keys.0'],
    ['a key without a name', { keys: [{ kty: 'EC' } as never] }, 'keys.0.kid'],
    ['a version that is no release', { version: 'draft' }, 'version'],
    [
      'a profile of no version',
      { supportedVersions: { old: 'https://a.example' } },
      'supportedVersions.old',
    ],
    [
      'a profile that is nowhere',
      { supportedVersions: { '2026-04-01': '/ucp' } },
      'supportedVersions.2026-04-01',
    ],
    [
      'itself among the earlier ones',
      { supportedVersions: { [PUBLISHED]: 'https://a.example' } },
      `supportedVersions.${PUBLISHED}`,
    ],
    ['services of another version', { version: PUBLISHED, services }, 'services.dev.ucp.shopping'],
    [
      'capabilities of another version',
      { version: PUBLISHED, capabilities },
      'capabilities.dev.ucp.shopping.checkout',
    ],
  ])('throws for %s, and repeats nothing of it', (_what, options, option) => {
    const gateway = open({ publicUrl: 'https://pay.example.com' })
    expect(() => ucpProfile(gateway, options)).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        option,
        message: expect.not.stringContaining('c2VjcmV0'),
      }),
    )
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
