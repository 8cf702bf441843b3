import { describe, expect, it } from '@jest/globals'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { openShop } from '../support/shop.js'
import { until } from '../support/until.js'
import { useOpened } from '../support/use-opened.js'
import { stopMining, resumeMining } from '../support/mining.js'

const MEBIBYTE = 1024 * 1024
/** An eighth of the memory of all held answers, less what a chunk is counted for beside its bytes. */
const EIGHTH = Buffer.alloc(32 * MEBIBYTE - 128)
const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)
let runs = 0

describe('the memory of held answers', () => {
  const shop = useOpened(() =>
    openShop(devnet, (app, { x402Protect }) => {
      app.get('/eighth', x402Protect('$0.01', { maxHeldBytes: 64 * MEBIBYTE }), (_req, res) => {
        runs++
        res.send(EIGHTH)
      })
      app.get(
        '/upfront',
        x402Protect('$0.01', { paymentFlow: 'upfront' }),
        (_req, res) => void res.send('upfront'),
      )
    }),
  )

  /** Presents payments while nothing is mined; resolves once so many were refused. */
  async function present(payments: readonly object[], refusals: number) {
    const bought = payments.map((payment) => shop.pay('/eighth', payment))
    const refused: Response[] = []
    for (const purchase of bought)
      purchase
        .then((answer) => answer.status === 503 && refused.push(answer))
        .catch(() => undefined)
    await until(() => refused.length >= refusals)
    for (const answer of refused) {
      expect(answer.headers.get('retry-after')).toBe('5')
      expect(await answer.clone().json()).toMatchObject({ code: 'server_busy' })
    }
    return bought
  }

  it('is bounded for one payer and in total while payments are mined, and a 503 costs nothing', async () => {
    const [greedy, ...others] = devnet.payers
    const before = await earned()
    await stopMining(devnet)
    const sign = () => shop.sign('/eighth', greedy!)
    const payments = await Promise.all(Array.from({ length: 30 }, sign))
    const greedily = await present(payments, 28)
    // The others have room, until all of it is taken.
    const paid = await Promise.all(
      others.slice(0, 4).flatMap((payer) => [0, 1].map(() => shop.sign('/eighth', payer))),
    )
    const honestly = await present(paid, 2)
    const full = runs
    // Now nobody's handler runs, except where nothing is held.
    const [late, upfront] = await Promise.all([sign(), shop.sign('/upfront', greedy!)])
    expect((await shop.pay('/eighth', late)).status).toBe(503)
    expect(runs).toBe(full)
    const streamed = shop.pay('/upfront', upfront)

    await resumeMining(devnet)
    expect((await streamed).status).toBe(200)
    const statuses = (await Promise.all([...greedily, ...honestly])).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(8)
    expect(await earned()).toBe(before + 90_000n)
    // What was refused was not used: it is good once there is room.
    expect((await shop.pay('/eighth', payments[statuses.indexOf(503)]!)).status).toBe(200)
    expect(await earned()).toBe(before + 100_000n)
  })
})
