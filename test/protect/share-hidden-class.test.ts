import type { ServerResponse } from 'node:http'
import { expect, it } from '@jest/globals'
import { shareHiddenClass } from '../../src/protect/share-hidden-class.js'
import { useDevnet } from '../support/devnet.js'
import { hasClass, haveSameClass } from '../support/hidden-classes.js'
import { listen } from '../support/http.js'
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

it('responses of a paid route have one hidden class in V8, whether they are paid or not', async () => {
  for (const payer of devnet.payers.slice(0, 2))
    expect((await shop.buy('/paid', payer)).status).toBe(200)
  // Each buyer has asked for the price first.
  expect(responses).toHaveLength(4)
  const [unpaid, paid, otherUnpaid, otherPaid] = responses
  expect(haveSameClass(unpaid!, otherUnpaid!)).toBe(true)
  expect(haveSameClass(paid!, otherPaid!)).toBe(true)
})

it('a response whose prototype nobody has set is no dictionary', async () => {
  const served: ServerResponse[] = []
  const server = await listen((_req, res) => {
    served.push(res)
    shareHiddenClass(res)
    res.end('it')
  })
  expect(await (await fetch(server.url)).text()).toBe('it')
  await server.close()
  expect(served.map(hasClass)).toEqual([true])
})
