/** Handlers that call the middleware themselves. */
import { expect, it } from '@jest/globals'
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express'
import type { Gateway } from '../../../src/gateway/gateway.js'
import { silentLogger } from '../../../src/shared/logger.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { useShop } from '../../support/shop.js'
import { until } from '../../support/until.js'

const devnet = useDevnet()
const logged: string[] = []
let served = 0
const routes = (app: Express, { x402Protect }: Gateway): void => {
  const serve = (res: Response): void => {
    served += 1
    res.json({ good: 'sold' })
  }
  type Awaited = (req: Request, res: Response, next: NextFunction) => PromiseLike<void>
  const ask = x402Protect('$0.01') as unknown as Awaited
  app.get('/awaited', (req, res, next) => {
    ask(req, res, next).then(() => res.headersSent || serve(res), next)
  })
  app.get('/inside', (req, res, next) => {
    ask(req, res, () => undefined).then(() => res.headersSent || serve(res), next)
  })
  app.get('/at-once', (req, res, next) => {
    void ask(req, res, next)
    serve(res)
  })
  const early: RequestHandler = (_req, res, next) => {
    res.flushHeaders()
    next()
  }
  app.get('/flushed', early, x402Protect('$0.01'), (_req, res) => serve(res))
  const hurried = x402Protect('$0.01')
  app.get('/meanwhile', (req, res, next) => {
    hurried(req, res, next)
    setImmediate(() => res.headersSent || serve(res))
  })
}
const logger = { ...silentLogger, error: (message: string) => void logged.push(message) }
const shop = useShop(devnet, routes, () => ({ logger }))
const payer = () => devnet.payers[0]!

it.each(['/awaited', '/inside'])(
  'asks for a payment before whoever awaits it goes on: %s',
  async (path) => {
    served = 0
    expect((await shop.ask(path)).status).toBe(402)
    expect(served).toBe(0)
  },
)

it('sells to a handler that awaits it', async () => {
  const before = await balanceOf(devnet, devnet.merchant.address)
  const response = await shop.buy('/inside', payer())
  expect([response.status, await response.json()]).toEqual([200, { good: 'sold' }])
  expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(10_000n)
})

it.each([
  ['/at-once', () => shop.ask('/at-once')],
  ['/meanwhile', () => shop.buy('/meanwhile', payer())],
])(
  'logs once that a handler does not wait for it, and charges nothing: %s',
  async (path, visit) => {
    logged.length = 0
    const before = await balanceOf(devnet, devnet.merchant.address)
    for (let turn = 0; turn < 2; turn++)
      expect(await (await visit()).json()).toEqual({ good: 'sold' })
    await until(() => logged.length > 0)
    expect(logged).toEqual([
      expect.stringMatching(`^GET ${path} was answered, .* before x402Protect .* was free`),
    ])
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before)
  },
)

it('cuts off a response whose headers were sent in front of it, and runs no handler', async () => {
  served = 0
  logged.length = 0
  const before = await balanceOf(devnet, devnet.merchant.address)
  const response = await shop.ask('/flushed')
  await expect(response.text()).rejects.toThrow('terminated')
  expect(logged).toEqual([expect.stringContaining('GET /flushed was answered, or had its headers')])
  expect(served).toBe(0)
  expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before)
})
