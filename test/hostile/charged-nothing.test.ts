/** One funded key that is charged nothing, again and again, so that others cannot be. */
import { beforeAll, expect, it } from '@jest/globals'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { paidRequest } from '../../src/sell/flow/paid-request.js'
import { permit2Of } from '../tools/devnet/permit2.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { useShop } from '../support/shop.js'
import { signUpTo } from '../support/sign-up-to.js'

const devnet = useDevnet()
const permit2 = permit2Of(devnet)
beforeAll(async () => {
  for (const { address } of devnet.payers) await permit2.approve(address)
})
// Of 200 records, 40 may be of payments that nothing was charged for, and 10 of one payer.
const shop = useShop(
  devnet,
  (app, { x402Protect }) => {
    app.get('/zero', x402Protect({ upTo: '$0.10' }), (req, res) => {
      paidRequest(req).charge(0)
      res.send('nothing was found')
    })
    app.get('/sold', x402Protect({ upTo: '$0.10' }), (_req, res) => void res.send('sold'))
  },
  () => ({ ledger: createMemoryLedger({ maxRecords: 200 }) }),
)
const buy = async (path: string, payer = devnet.payers[0]!) =>
  (await shop.pay(path, await signUpTo(await shop.ask(path), payer))).status

it('leaves others their room', async () => {
  const before = await balanceOf(devnet, devnet.payers[0]!.address)
  const statuses: number[] = []
  for (let count = 0; count < 14; count++) statuses.push(await buy('/zero'))
  const got = statuses.filter((status) => status === 200).length
  process.stdout.write(
    `14 payments of one key: ${got} answers for nothing, then 503; it paid ${before - (await balanceOf(devnet, devnet.payers[0]!.address))} units, we sent nothing\n`,
  )
  expect(statuses.slice(10)).toEqual([503, 503, 503, 503])
  // Others are charged nothing, and the greedy key may still pay.
  expect(await buy('/zero', devnet.payers[1])).toBe(200)
  expect(await buy('/sold')).toBe(200)
  expect(before - (await balanceOf(devnet, devnet.payers[0]!.address))).toBe(100_000n)
})
