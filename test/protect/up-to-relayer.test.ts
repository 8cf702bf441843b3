/** A maximum is settled by the relayer that its offer names, and by no other. */
import { expect, it } from '@jest/globals'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { privateKeyToAccount } from 'viem/accounts'
import { permit2Of } from '../devnet/permit2.js'
import { askNode } from '../support/core.js'
import { useDevnet } from '../support/devnet.js'
import { paymentRequiredOf, useShop } from '../support/shop.js'

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
  const { accepts, resource } = paymentRequiredOf(await shop.ask('/llm'))
  const [accepted] = accepts
  const client = new UptoEvmScheme(privateKeyToAccount(payer.privateKey))
  const { payload } = await client.createPaymentPayload(2, accepted as never)
  const payment = { x402Version: 2, accepted, resource, payload }
  const named = String(accepted!.extra!['facilitatorAddress'])
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
