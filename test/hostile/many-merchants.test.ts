/** A route of many merchants: strangers choose both merchant and URL of what is prepared for them. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { useDevnet } from '../support/devnet.js'
import { paymentRequiredOf, useShop } from '../support/shop.js'

const MEBIBYTE = 1024 * 1024
const SELLERS = 60
const URLS = 16
const URL_LENGTH = 8000

const payToOf = (seller: number): string => `0x${String(seller + 1).padStart(40, '0')}`
const sellers = Array.from({ length: SELLERS }, (_, seller) => ({
  id: `seller-${seller}`,
  merchant: { payTo: payToOf(seller) },
}))

const shop = useShop(
  useDevnet(),
  (app, { x402Protect }) => {
    const merchant = (req: { get(name: string): string | undefined }) => `${req.get('x-seller')}`
    app.get('/item', x402Protect('$0.01', { merchant }), (_req, res) => void res.send('sold'))
  },
  () => ({ projects: sellers }),
)

const askSeller = (seller: number, query = ''): Promise<Response> =>
  shop.ask(`/item${query}`, { headers: { 'x-seller': `seller-${seller}` } })

describe('the 402s that are kept prepared for a route of many merchants', () => {
  it('take at most a mebibyte in all, whoever is asked for at which URL', async () => {
    const before = memoryInUse()
    for (let url = 0; url < URLS; url++) {
      const query = `?${String(url).padStart(URL_LENGTH, 'x')}`
      await Promise.all(sellers.map(async (_, seller) => (await askSeller(seller, query)).text()))
    }
    // Each of them would have kept 128 KiB.
    expect(memoryInUse() - before).toBeLessThan(3 * MEBIBYTE)
  })

  it('name the seller that is asked for, at the same URL and in any order', async () => {
    for (const seller of [0, 1, 0, 2, 1]) {
      const { accepts } = paymentRequiredOf(await askSeller(seller))
      expect(accepts[0]?.payTo).toBe(payToOf(seller))
    }
  })
})

/** Bytes of buffers that are still referenced. */
function memoryInUse(): number {
  setFlagsFromString('--expose_gc')
  const collectGarbage = runInNewContext('gc') as () => void
  collectGarbage()
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}
