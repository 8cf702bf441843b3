import { expect, it } from '@jest/globals'
import { ConfigError } from '../../src/shared/errors.js'
import type { Express } from 'express'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import { shopOptions, useDevnet } from '../support/devnet.js'
import { paymentRequiredOf, useShop } from '../support/shop.js'
import { balanceOf } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'

const devnet = useDevnet()
let runs = 0
/** The gateway's clock, which stands still: what is near its end does not lapse by a slow machine. */
const clock = { ms: Date.now() }
const routes = (app: Express, { x402Protect }: Gateway): void => {
  const handler = (_req: unknown, res: { json(body: object): void }): void => {
    runs++
    setTimeout(() => res.json({ report: 'for the payer' }), 100)
  }
  app.get('/report', x402Protect('$0.01'), handler)
  app.get('/quick', x402Protect('$0.01', { minValiditySeconds: 8 }), handler)
  app.get('/slow', x402Protect('$0.01', { minValiditySeconds: 120 }), handler)
  app.get('/upfront', x402Protect('$0.01', { paymentFlow: 'upfront' }), handler)
  app.get('/short', x402Protect('$0.01', { maxTimeoutSeconds: 10 }), handler)
}
const shop = useShop(devnet, routes, () => ({ now: () => clock.ms }))

/** Pays with an authorization that lapses so many seconds from now. */
async function payWith(path: string, seconds: number): Promise<{ answer: string; runs: number }> {
  const payer = await newPayer(devnet)
  const before = runs
  clock.ms = Date.now()
  const validBefore = String(Math.floor(clock.ms / 1000) + seconds)
  const response = await shop.buy(path, payer, { validBefore })
  const paid = 1_000_000n - (await balanceOf(devnet, payer.address))
  expect(paid).toBe(response.ok ? 10_000n : 0n)
  const answer = response.ok ? 'served' : (paymentRequiredOf(response).error ?? '')
  return { answer, runs: runs - before }
}

const LAPSES = 'invalid_exact_evm_payload_authorization_valid_before'

it.each([
  ['/report', 25, 40],
  ['/quick', 6, 15],
  ['/slow', 110, 130],
  ['/upfront', 4, 12],
  // As the official clients sign for a route that gives them ten seconds.
  ['/short', 4, 10],
])(
  'a handler does not run for an authorization that lapses before it is settled: %s after %s s, but after %s s',
  async (path, tooFew, enough) => {
    expect(await payWith(path, tooFew)).toEqual({ answer: LAPSES, runs: 0 })
    expect(await payWith(path, enough)).toEqual({ answer: 'served', runs: 1 })
  },
)

it('a route cannot ask for longer than its payers are told to sign for', async () => {
  const gateway = createGateway(shopOptions(devnet))
  const declare = (minValiditySeconds: number) => () =>
    gateway.x402Protect('$0.01', { maxTimeoutSeconds: 60, minValiditySeconds })
  expect(declare(61)).toThrow(ConfigError)
  expect(declare(50)).not.toThrow()
  await gateway.close()
})
