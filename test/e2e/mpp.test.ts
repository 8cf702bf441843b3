/** The official client of MPP, unmodified, beside that of x402. */
import { describe, expect, it } from '@jest/globals'
import express, { type RequestHandler } from 'express'
import { payingFetch } from '../../example-app/buy.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { challengesOf, mppFetch, receiptOf } from '../support/mpp.js'
import { settlementOf, useShop } from '../support/shop.js'

const HASH = /^0x[0-9a-f]{64}$/
const devnet = useDevnet()
const income = () => balanceOf(devnet, devnet.merchant.address)

const handler: RequestHandler = (req, res) =>
  void res.json({
    paidBy: req.x402?.payer,
    authorization: req.headers.authorization,
    body: req.body,
  })
/** Leaves what adapters of serverless platforms write: the parsed headers alone. */
const asAdapted: RequestHandler = (req, _res, next) => {
  const { headers } = req
  Object.assign(req, { headers, headersDistinct: {}, rawHeaders: [] })
  next()
}
const shop = useShop(devnet, (app, gateway) => {
  const paid = gateway.x402Protect('$0.01', { protocols: ['x402', 'mpp'] })
  app.get('/both', paid, handler)
  app.post('/both', express.json(), paid, handler)
  app.get('/adapted', asAdapted, paid, handler)
  const upfront = { protocols: ['x402', 'mpp'], paymentFlow: 'upfront' } as const
  app.get('/upfront', gateway.x402Protect('$0.01', upfront), handler)
  app.get(
    '/upfront/fails',
    gateway.x402Protect('$0.01', upfront),
    (_req, res) => void res.status(500).send('failed'),
  )
  const perWord = (req: express.Request) => `$${Number(req.query['words']) / 1000}`
  app.get('/words', gateway.x402Protect(perWord, { protocols: ['x402', 'mpp'] }), handler)
})

const seen: Request[] = []
const watched = ((input: string | URL | Request, init?: RequestInit) => {
  seen.push(new Request(input, init))
  return fetch(input, init)
}) as typeof fetch

describe('mppx 0.11', () => {
  it.each(['/both', '/adapted', '/upfront', '/words?words=10'])(
    'buys at %s, and pays once',
    async (path) => {
      const payer = devnet.payers[0]!
      const before = await income()
      seen.length = 0
      const response = await mppFetch(payer.privateKey, watched)(shop.url + path)
      expect({ status: response.status, body: await response.json() }).toEqual({
        status: 200,
        body: { paidBy: payer.address },
      })
      expect(receiptOf(response)).toEqual({
        chainId: 84_532,
        challengeId: expect.any(String),
        method: 'evm',
        status: 'success',
        reference: expect.stringMatching(HASH),
        timestamp: expect.stringMatching(/^\d{4}-/),
      })
      expect(settlementOf(response)).toMatchObject({ success: true, payer: payer.address })
      expect(response.headers.get('cache-control')).toContain('private')
      expect(response.headers.get('access-control-expose-headers')).toContain('Payment-Receipt')
      // By MPP, not by the offer of x402 in the same answer.
      expect(seen.map(({ headers }) => headers.get('authorization')?.slice(0, 8))).toEqual([
        undefined,
        'Payment ',
      ])
      expect((await income()) - before).toBe(10_000n)
    },
  )

  it('buys the answer to a body, whose digest it was told', async () => {
    const payer = devnet.payers[1]!
    const body = JSON.stringify({ city: 'Bern' })
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } }
    const [challenge] = challengesOf(await shop.ask('/both', init))
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(body)))
    expect(challenge?.digest).toBe(`sha-256=:${digest.toString('base64')}:`)
    const before = await income()
    const response = await mppFetch(payer.privateKey)(`${shop.url}/both`, init)
    expect(await response.json()).toEqual({ paidBy: payer.address, body: { city: 'Bern' } })
    expect((await income()) - before).toBe(10_000n)
  })

  it('gets no receipt of MPP with an error, which names the settlement nevertheless', async () => {
    const response = await mppFetch(devnet.payers[2]!.privateKey)(`${shop.url}/upfront/fails`)
    expect(response.status).toBe(500)
    expect(receiptOf(response)).toBeUndefined()
    expect(settlementOf(response)).toMatchObject({ success: true })
  })
})

describe('@x402/fetch', () => {
  it('buys at the same route', async () => {
    const payer = devnet.payers[3]!
    const before = await income()
    const response = await payingFetch(payer.privateKey)(`${shop.url}/both`)
    expect(await response.json()).toEqual({ paidBy: payer.address })
    expect(receiptOf(response)).toBeUndefined()
    expect((await income()) - before).toBe(10_000n)
  })
})
