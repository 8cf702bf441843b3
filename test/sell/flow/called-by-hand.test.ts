/** Handlers that call the middleware themselves. */
import { expect, it } from '@jest/globals'
import type { NextFunction, Request, Response } from 'express'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { useShop } from '../../support/shop.js'

const devnet = useDevnet()
let served = 0
const shop = useShop(devnet, (app, { x402Protect }) => {
  const serve = (res: Response): void => {
    served += 1
    res.json({ good: 'sold' })
  }
  const ask = x402Protect('$0.01') as unknown as (
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
})
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
