/** Strangers who send what takes long to check, before they pay. */
import { expect, it } from '@jest/globals'
import express from 'express'
import { z } from 'zod'
import { createGateway } from '../../src/gateway/gateway.js'
import { shopOptions, useDevnet } from '../support/devnet.js'
import { listen, paymentHeader } from '../support/http.js'
import { paymentRequiredOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { useOpened } from '../support/use-opened.js'

const devnet = useDevnet()
interface Tree {
  readonly of?: readonly Tree[] | undefined
}
const tree: z.ZodType<Tree> = z.object({ of: z.lazy(() => z.array(tree)).optional() })
const wide = z.object(Object.fromEntries([...'abcdefghij'].map((name) => [name, z.string()])))
const SCHEMAS = {
  texts: z.array(z.string()),
  numbers: z.array(z.number()),
  union: z.object({ of: z.array(z.union([z.string(), z.object({ a: z.string() }), z.boolean()])) }),
  wide: z.object({ of: z.array(wide) }),
  tree,
}

async function open(limit?: number) {
  const paymentRateLimit = limit === undefined ? undefined : { limit }
  const gateway = createGateway(shopOptions(devnet, { paymentRateLimit }))
  const app = express()
  app.use(express.json({ limit: '10mb', strict: false }))
  for (const [name, body] of Object.entries(SCHEMAS))
    app.post(`/${name}`, gateway.x402Protect('$0.01', { input: { body } }), (_req, res) => {
      res.send('sold')
    })
  const server = await listen(app)
  const send = (path: string, body: string, headers = {}) => {
    const init = {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body,
    }
    return fetch(`${server.url}/${path}`, init)
  }
  return {
    send,
    async close() {
      await server.close()
      await gateway.close()
    },
  }
}
const shop = useOpened(() => open())
const limited = useOpened(() => open(2))

const list = (item: unknown, times: number) =>
  JSON.stringify(Array.from({ length: times }, () => item))
const nested = (depth: number) => '{"of":['.repeat(depth) + ']}'.repeat(depth)

it.each([
  ['texts', list(1, 49_000)],
  ['texts', list(1, 500_000)],
  ['union', `{"of":${list(1, 49_000)}}`],
  ['wide', `{"of":${list({}, 33_000)}}`],
  ['tree', nested(9000)],
])('finds the first mistake of %s alone', async (path, body) => {
  const began = performance.now()
  const response = await shop.send(path, body)
  const { code, errors } = (await response.json()) as { code: string; errors: object[] }
  process.stdout.write(
    `${body.length} bytes for ${path}: ${response.status} after ${Math.round(performance.now() - began)} ms\n`,
  )
  expect([response.status, code]).toEqual([400, 'invalid_request'])
  // Of an object, those of its members.
  expect(errors.length).toBeLessThanOrEqual(10)
})

it.each([
  ['numbers', list(1.5, 90_000)],
  ['tree', nested(30)],
  ['texts', list('x', 10_000)],
])('takes %s that fit', async (path, body) => {
  expect((await shop.send(path, body)).status).toBe(402)
})

it('finds all mistakes of what is short', async () => {
  const response = await shop.send('texts', list(1, 7))
  const { errors } = (await response.json()) as { errors: object[] }
  expect(errors).toHaveLength(7)
})

it('counts a request once, whether it brings a payment or not', async () => {
  const asked = await limited.send('texts', '["a"]')
  const [accepted] = paymentRequiredOf(asked).accepts
  const payment = paymentHeader(await signPayment(devnet.payers[0]!, accepted!))
  expect((await limited.send('texts', '["a"]', payment)).status).toBe(200)
  expect((await limited.send('texts', '[1]')).status).toBe(429)
  expect((await limited.send('texts', '[1]', { 'PAYMENT-SIGNATURE': 'e30=' })).status).toBe(429)
})
