/** Handlers that call the middleware themselves. */
import { expect, it } from '@jest/globals'
import type { NextFunction, Request, Response } from 'express'
import { silentLogger } from '../../src/logger.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { useShop } from '../support/shop.js'

const devnet = useDevnet()
const logged: (object | undefined)[] = []
let served = 0
const shop = useShop(
  devnet,
  (app, { x402Protect }) => {
    const charge = x402Protect('$0.01')
    const serve = (res: Response): void => {
      served += 1
      res.json({ good: 'sold' })
    }
    const ask = charge as unknown as (
      req: Request,
      res: Response,
      next: NextFunction,
    ) => PromiseLike<void>
    app.get('/awaited', (req, res, next) => {
      ask(req, res, next).then(() => res.headersSent || serve(res), next)
    })
    app.get('/inside', (req, res, next) => {
      ask(req, res, () => undefined).then(() => res.headersSent || serve(res), next)
    })
    app.get('/not-awaited', (req, res, next) => {
      charge(req, res, next)
      serve(res)
    })
  },
  () => ({
    logger: {
      ...silentLogger,
      error: (_message: string, fields?: object) => void logged.push(fields),
    },
  }),
)
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

it('logs once a route that it is not awaited', async () => {
  expect((await shop.ask('/not-awaited')).status).toBe(200)
  expect((await shop.ask('/not-awaited')).status).toBe(200)
  expect(logged).toMatchObject([{ method: 'GET', path: '/not-awaited' }])
})
