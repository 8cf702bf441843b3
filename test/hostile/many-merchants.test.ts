/** A route of many merchants: strangers choose both merchant and URL of what is prepared for them. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from '@jest/globals'
import { useDevnet } from '../support/devnet.js'
import { paymentRequiredOf, useShop } from '../support/shop.js'

const MEBIBYTE = 1024 * 1024
/** More than a route keeps prepared. */
const SELLERS = 300
/** Those of whom memory is taken. */
const ASKED = 60
const URLS = 16
const URL_LENGTH = 8000

const payToOf = (seller: number): string => `0x${String(seller + 1).padStart(40, '0')}`
const sellers = Array.from({ length: SELLERS }, (_, seller) => ({
  id: `seller-${seller}`,
  merchant: { payTo: payToOf(seller) },
}))

const warnings: object[] = []
const silent = (): void => undefined
const logger = {
  ...{ debug: silent, info: silent, error: silent },
  warn: (_message: string, fields: object = {}) => void warnings.push(fields),
}
const shop = useShop(
  useDevnet(),
  (app, { x402Protect }) => {
    const merchant = (req: { get(name: string): string | undefined }) => `${req.get('x-seller')}`
    const dear = x402Protect('$500', { merchant })
    app.get('/dear', dear, (_req, res) => void res.send('sold'))
    app.get('/item', x402Protect('$0.01', { merchant }), (_req, res) => void res.send('sold'))
  },
  () => ({ projects: sellers, logger }),
)

const askSeller = (seller: number, query = ''): Promise<Response> =>
  shop.ask(`/item${query}`, { headers: { 'x-seller': `seller-${seller}` } })

describe('the 402s that are kept prepared for a route of many merchants', () => {
  it('take no more once their room is used up, for any sellers and URLs', async () => {
    const askAll = async (letter: string): Promise<void> => {
      for (let url = 0; url < URLS; url++) {
        const query = `?${String(url).padStart(URL_LENGTH, letter)}`
        const asked = Array.from({ length: ASKED }, (_, seller) => askSeller(seller, query))
        await Promise.all(asked.map(async (response) => (await response).text()))
      }
    }
    await askAll('x')
    const before = memoryInUse()
    await askAll('y')
    // Without a limit, they would take 20 MiB more.
    expect(memoryInUse() - before).toBeLessThan(2 * MEBIBYTE)
  })

  it('name the requested seller, at the same URL and in any order', async () => {
    for (const seller of [0, 1, 0, 2, 1]) {
      const { accepts } = paymentRequiredOf(await askSeller(seller))
      expect(accepts[0]?.payTo).toBe(payToOf(seller))
    }
  })
})

describe('the warning of a price that official clients do not pay', () => {
  it('comes once for each merchant, however often strangers ask', async () => {
    for (let round = 0; round < 2; round++)
      for (let seller = 0; seller < SELLERS; seller++)
        await (await shop.ask('/dear', { headers: { 'x-seller': `seller-${seller}` } })).text()
    const named = warnings.filter((fields) => 'merchant' in fields)
    expect(named).toHaveLength(SELLERS)
  })
})

/** Bytes that are still referenced. */
function memoryInUse(): number {
  setFlagsFromString('--expose_gc')
  const collectGarbage = runInNewContext('gc') as () => void
  collectGarbage()
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
