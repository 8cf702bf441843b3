import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { createTestClient, http } from 'viem'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { openShop, type Shop } from '../support/shop.js'
import { until } from '../support/until.js'

const MEBIBYTE = 1024 * 1024
const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)
let runs = 0

describe('the memory of held answers', () => {
  let shop: Shop & { close(): Promise<void> }
  beforeAll(async () => {
    shop = await openShop(
      devnet,
      (app, { x402Protect }) => {
        app.get('/megabyte', x402Protect('$0.01'), (_req, res) => {
          runs++
          res.send(Buffer.alloc(MEBIBYTE))
        })
        app.get('/small', x402Protect('$0.01'), (_req, res) => void res.send('small'))
        app.get(
          '/upfront',
          x402Protect('$0.01', { paymentFlow: 'upfront' }),
          (_req, res) => void res.send('upfront'),
        )
      },
      { maxHeldBytesTotal: 8 * MEBIBYTE + 4096 },
    )
  })
  afterAll(() => shop.close())

  it('is bounded for one payer and in all, while payments are mined; nobody pays for a 503', async () => {
    const chain = createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
    const [greedy, other, ...more] = devnet.payers
    const before = await earned()
    await chain.setAutomine(false)
    try {
      // A route without an option of its own may hold all of it, and no more.
      const payments = await Promise.all(
        Array.from({ length: 30 }, () => shop.sign('/megabyte', greedy!)),
      )
      const bought = payments.map((payment) => shop.pay('/megabyte', payment))
      const refused: Response[] = []
      for (const purchase of bought)
        void purchase.then((answer) => answer.status === 503 && refused.push(answer))
      await until(() => refused.length === 22)
      expect(runs).toBeLessThanOrEqual(30)
      for (const answer of refused) {
        expect(answer.headers.get('retry-after')).toBe('5')
        expect(await answer.json()).toMatchObject({ code: 'server_busy' })
      }
      void other
      void more
      await chain.setAutomine(true)
      await chain.mine({ blocks: 1 })
      const statuses = (await Promise.all(bought)).map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(8)
      expect(await earned()).toBe(before + 80_000n)
      // What was refused was not used: it is good once there is room.
      const again = await shop.pay('/megabyte', payments[statuses.indexOf(503)]!)
      expect(again.status).toBe(200)
      expect(await earned()).toBe(before + 90_000n)
    } finally {
      await chain.setAutomine(true)
    }
  })
})
