import type { ServerResponse } from 'node:http'
import { expect, it } from '@jest/globals'
import { useDevnet } from '../support/devnet.js'
import { hasClass, haveSameClass } from '../support/hidden-classes.js'
import { useShop } from '../support/shop.js'

const devnet = useDevnet()
const responses: ServerResponse[] = []
const shop = useShop(devnet, (app, { x402Protect }) => {
  app.use((_req, res, next) => {
    responses.push(res)
    next()
  })
  app.get('/paid', x402Protect('$0.01'), (_req, res) => void res.send('goods'))
})

it('responses of a paid route share a hidden class; before V8 13, because they are dictionaries', async () => {
  for (const payer of devnet.payers.slice(0, 2))
    expect((await shop.buy('/paid', payer)).status).toBe(200)
  // Each buyer has asked for the price first.
  expect(responses).toHaveLength(4)
  const [unpaid, paid, otherUnpaid, otherPaid] = responses
  expect(haveSameClass(unpaid!, otherUnpaid!)).toBe(true)
  expect(haveSameClass(paid!, otherPaid!)).toBe(true)
  const isShared = Number.parseInt(process.versions.v8, 10) >= 13
  expect(responses.map(hasClass)).toEqual(responses.map(() => isShared))
})
