import { afterEach, describe, expect, it } from '@jest/globals'
import type { ErrorRequestHandler } from 'express'
import { isConfigError } from '../../../src/shared/errors.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { useShop } from '../../support/shop.js'

const devnet = useDevnet()
let errors: unknown[] = []
afterEach(() => {
  errors = []
})

const shop = useShop(devnet, (app, { x402Protect }) => {
  app.get('/paid', x402Protect('$0.01'), (req, res) => {
    res.json({ isSame: paidRequest(req) === req.x402, payer: paidRequest(req).payer })
  })
  app.get('/skipped', x402Protect('$0.01', { skip: () => true }), (req, res) => {
    res.json({ payer: paidRequest(req).payer })
  })
  app.get('/open', (req, res) => void res.json({ payer: paidRequest(req).payer }))
  app.use('/twice', x402Protect('$0.01'))
  app.get('/twice', x402Protect('$0.01'), (_req, res) => void res.send('sold'))
  app.use('/skipping', x402Protect('$0.01', { skip: () => true }))
  app.get('/skipping', x402Protect('$0.01'), (_req, res) => void res.send('sold'))
  const note: ErrorRequestHandler = (error, _req, res, _next) => {
    errors.push(error)
    res.status(500).end()
  }
  app.use(note)
})
const payer = () => devnet.payers[0]!

const codes = (): string[] =>
  errors.flatMap((error) => (isConfigError(error) ? error.issues.map(({ code }) => code) : []))

describe('paidRequest', () => {
  it('returns the payment of a paid request', async () => {
    const response = await shop.buy('/paid', payer())
    expect(await response.json()).toEqual({ isSame: true, payer: payer().address })
  })

  it.each(['/skipped', '/open'])('throws an explanation if nothing was paid: %s', async (path) => {
    expect((await shop.ask(path)).status).toBe(500)
    expect(codes()).toEqual(['unpaid_request'])
    expect(String(errors[0])).toContain('not protected by x402Protect')
  })
})

describe('two x402Protect in a row', () => {
  it('fail as a mistake of the developer, and charge nothing', async () => {
    const before = await balanceOf(devnet, devnet.merchant.address)
    expect((await shop.buy('/twice', payer())).status).toBe(500)
    expect(codes()).toEqual(['conflicting_options'])
    expect(String(errors[0])).toContain('GET /twice')
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before)
  })

  it('work where the first lets the request pass', async () => {
    const response = await shop.buy('/skipping', payer())
    expect([response.status, await response.text()]).toEqual([200, 'sold'])
  })
})
