import { describe, expect, it } from '@jest/globals'
import { SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { serveGateway } from '../api.js'
import { useOpened } from '../../support/use-opened.js'

const devnet = useDevnet()
const OTHER = 'x402_token-of-another-shop'
const api = useOpened(() => {
  const { projects = [], ...options } = shopOptions(devnet)
  const other = { id: 'other', tokens: [OTHER], merchant: { payTo: devnet.merchant.address } }
  return serveGateway({ ...options, projects: [...projects, other] })
})

async function idOf(url: string, amount = '1.00', token = SHOP_TOKEN): Promise<unknown> {
  const { body } = await api.post(
    '/api/v2/merchant/checkout-prepare',
    { amount, currency: 'USD', resource: { url } },
    { 'X-Project-Identify-Token': token },
  )
  const [entry] = Object.values(body as Record<string, { config: { accepts: Entry[] } }[]>)
  return entry?.[0]?.config.accepts[0]?.extra.offerId
}

interface Entry {
  readonly extra: { readonly offerId?: unknown }
}

describe('an offer id', () => {
  it('is the same for the same checkout, and another for anything else', async () => {
    const first = await idOf('https://shop.example/1')
    expect(first).toMatch(/^checkout\.[\w-]{22}$/)
    expect(await idOf('https://shop.example/1')).toBe(first)
    for (const other of [
      await idOf('https://shop.example/2'),
      await idOf('https://shop.example/1', '1.01'),
      await idOf('https://shop.example/1', '1.00', OTHER),
    ]) {
      expect(other).toMatch(/^checkout\.[\w-]{22}$/)
      expect(other).not.toBe(first)
    }
  })

  it('is new in each answer of requirements', async () => {
    const ids = new Set<unknown>()
    for (let times = 0; times < 20; times++) {
      const { body } = await api.post('/api/v2/payment/requirements', {
        resourceUrl: 'https://shop.example/1',
        requestedAmount: 1,
      })
      ids.add((body as { accepts: Entry[] }).accepts[0]?.extra.offerId)
    }
    expect(ids.size).toBe(20)
    expect([...ids].every((id) => /^[\w-]{22}$/.test(String(id)))).toBe(true)
  })
})
