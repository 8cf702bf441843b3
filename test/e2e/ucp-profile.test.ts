import { describe, expect, it } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { readFileSync, readdirSync } from 'node:fs'
import { useDevnet } from '../support/devnet.js'
import { useExampleShop } from '../support/example-shop.js'

const SCHEMAS = new URL('ucp-2026-04-08/', import.meta.url)
const PROFILE = 'https://ucp.dev/2026-04-08/schemas/discovery/profile.json'

const ajv = new Ajv2020({ allErrors: true, strict: false })
addFormats.default(ajv)
for (const file of readdirSync(SCHEMAS))
  ajv.addSchema(JSON.parse(readFileSync(new URL(file, SCHEMAS), 'utf8')) as object)
const isBusinessProfile = ajv.compile({ $ref: `${PROFILE}#/$defs/business_profile` })
const isPlatformProfile = ajv.compile({ $ref: `${PROFILE}#/$defs/platform_profile` })

const devnet = useDevnet()
const shop = useExampleShop(devnet)

interface Profile {
  ucp: { payment_handlers: Record<string, { id: string; spec: string; schema: string }[]> }
}

describe('the UCP profile of the example', () => {
  it('is a business profile, as strict readers want it', async () => {
    const response = await fetch(`${shop.url}/.well-known/ucp`)
    const profile = await response.json()
    expect(response.status).toBe(200)
    isBusinessProfile(profile)
    expect(isBusinessProfile.errors).toBeNull()
    isPlatformProfile(profile)
    expect(isPlatformProfile.errors).toBeNull()
    expect(isBusinessProfile({ ucp: { version: '2026-04-08', services: {} } })).toBe(false)
  })

  it('names our handler, and documents that are there', async () => {
    const { ucp } = (await (await fetch(`${shop.url}/.well-known/ucp`)).json()) as Profile
    const [[name, entries] = ['', []]] = Object.entries(ucp.payment_handlers)
    const [entry] = entries
    expect(entry?.id).toBe(name)
    const [schema, spec] = await Promise.all([fetch(entry!.schema), fetch(entry!.spec)])
    expect(await schema.json()).toHaveProperty('$schema')
    expect(spec.headers.get('content-type')).toContain('text/markdown')
  })

  it('carries no token', async () => {
    const text = await (await fetch(`${shop.url}/.well-known/ucp`)).text()
    expect(text).not.toContain('token')
  })
})
