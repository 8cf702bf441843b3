import { describe, expect, it } from '@jest/globals'
import { useDevnet } from '../support/devnet.js'
import { useExampleShop } from '../support/example-shop.js'
import { errorsOf, UCP_VERSIONS, ucpValidators } from '../api/checkouts/ucp/ucp-schemas.js'

const devnet = useDevnet()
const shop = useExampleShop(devnet)

interface Profile {
  ucp: { payment_handlers: Record<string, { id: string; spec: string; schema: string }[]> }
}

describe('the UCP profile of the example', () => {
  it.each(UCP_VERSIONS)('is a strictly valid business profile of UCP %s', async (v) => {
    const response = await fetch(`${shop.url}/.well-known/ucp`)
    const profile = await response.json()
    expect(response.status).toBe(200)
    const [, maxAge] = /^public, max-age=(\d+)$/.exec(response.headers.get('cache-control')!) ?? []
    expect(Number(maxAge)).toBeGreaterThanOrEqual(60)
    const { businessProfile, platformProfile } = ucpValidators(v)
    expect(errorsOf(businessProfile, profile)).toEqual([])
    expect(errorsOf(platformProfile, profile)).toEqual([])
    expect(businessProfile({ ucp: { version: '2026-04-08', services: {} } })).toBe(false)
  })

  it('names the handler and documents that exist', async () => {
    const { ucp } = (await (await fetch(`${shop.url}/.well-known/ucp`)).json()) as Profile
    const [[name, entries] = ['', []]] = Object.entries(ucp.payment_handlers)
    const [entry] = entries
    expect(entry?.id).toBe(name)
    const [schema, spec] = await Promise.all([fetch(entry!.schema), fetch(entry!.spec)])
    expect(await schema.json()).toMatchObject({ $id: entry?.schema, name })
    expect(spec.headers.get('content-type')).toContain('text/markdown')
  })

  it('carries no token', async () => {
    const text = await (await fetch(`${shop.url}/.well-known/ucp`)).text()
    expect(text).not.toContain('token')
  })
})
