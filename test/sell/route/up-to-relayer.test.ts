/** A maximum is settled by the relayer that its offer names, and by no other. */
import { expect, it } from '@jest/globals'
import { permit2Of } from '../../tools/devnet/permit2.js'
import { askNode } from '../../support/core.js'
import { useDevnet } from '../../support/devnet.js'
import { useShop } from '../../support/shop.js'
import { signUpTo } from '../../support/sign-up-to.js'

const devnet = useDevnet()
let runs = 0
const shop = useShop(devnet, (app, { x402Protect }) => {
  app.get('/llm', x402Protect({ upTo: '$0.10' }), (_req, res) => {
    runs++
    res.send('an answer')
  })
})

it('no handler runs while that relayer has no gas money, though others have', async () => {
  const permit2 = permit2Of(devnet)
  const payer = devnet.payers[0]!
  await permit2.approve(payer.address)
  const payment = await signUpTo(await shop.ask('/llm'), payer)
  const named = String(payment.accepted.extra!['facilitatorAddress'])
  const balance = await askNode(devnet, 'eth_getBalance', named, 'latest')
  await askNode(devnet, 'anvil_setBalance', named, '0x0')
  const refused = await shop.pay('/llm', payment)
  expect([refused.status, await refused.json()]).toMatchObject([
    503,
    { code: 'relayer_without_funds' },
  ])
  expect(runs).toBe(0)
  await askNode(devnet, 'anvil_setBalance', named, balance)
})
