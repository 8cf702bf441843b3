/** What a tenant can have us burn: payments that move nothing worth their gas. */
import { expect, it } from '@jest/globals'
import { MULTICALL3, PERMIT2, PERMIT2_SPENDERS } from '../../src/shared/protocol/contracts.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { createGateway } from '../../src/gateway/gateway.js'
import { ADMIN_TOKEN } from '../api/admin/admin.js'
import { burningWalletCode, deploy } from '../support/contracts.js'
import { askNode, offerOf, termsOf } from '../support/core.js'
import { shopOptions, useDevnet } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { useShop } from '../support/shop.js'
import { newNonce, signPayment, type TestPayer } from '../support/sign-payment.js'

const devnet = useDevnet()
const BUDGET = 3_000_000
const shop = useShop(
  devnet,
  (app, { gatewayRouter }) => void app.use(gatewayRouter()),
  () => ({
    admin: { tokens: [ADMIN_TOKEN] },
    projects: [{ id: 'shop', merchant: { payTo: devnet.merchant.address }, gasBudget: BUDGET }],
  }),
)

const settle = async (payer: TestPayer, amount: string, payTo: Hex = devnet.merchant.address) => {
  const offer = offerOf(devnet, { amount, payTo })
  const payment = await signPayment(payer, offer)
  return shop.gateway.facilitator.settle(payment, offer, { ...termsOf(devnet), payTo })
}
const gasOf = async (transaction: string): Promise<number> => {
  const receipt = await askNode<{ gasUsed: Hex }>(devnet, 'eth_getTransactionReceipt', transaction)
  return Number(receipt.gasUsed)
}

it('a tenant who pays himself one unit from a wallet of 700,000 gas is refused when his budget is used up; other buyers are served', async () => {
  const wallet = await deploy(devnet, burningWalletCode(25_000))
  await devnet.mint(wallet, 1_000_000n)
  const owner = { address: wallet, privateKey: newNonce() }
  let gas = 0
  let settled = 0
  for (;;) {
    const answer = await settle(owner, '1')
    if (!answer.success) {
      expect(answer.errorReason).toBe('settlement_too_expensive')
      break
    }
    settled++
    gas += await gasOf(answer.transaction)
  }
  process.stdout.write(
    `${settled} payments of one unit burnt ${gas} gas, of a budget of ${BUDGET}, which counts after up to ten seconds\n`,
  )
  expect(gas).toBeGreaterThan(BUDGET)
  expect(await settle(owner, '1')).toMatchObject({ errorReason: 'settlement_too_expensive' })
  expect(await settle(await newPayer(devnet), '10000')).toMatchObject({ success: true })
})

it('a payer who is the merchant is refused', async () => {
  const payer = await newPayer(devnet)
  const reason = { success: false, errorReason: 'self_send_not_allowed', transaction: '' }
  expect(await settle(payer, '1', payer.address)).toMatchObject(reason)
})

it.each([
  ['Multicall3', MULTICALL3],
  ['Permit2', PERMIT2],
  ['the spender of fixed payments', PERMIT2_SPENDERS.exact],
  ['the spender of metered payments', PERMIT2_SPENDERS.upto],
])('a merchant is not paid to %s, in the configuration or the admin API', async (_name, payTo) => {
  const projects = [{ id: 'shop', merchant: { payTo } }]
  expect(() => createGateway(shopOptions(devnet, { projects }))).toThrow(
    expect.objectContaining({
      issues: [
        expect.objectContaining({ code: 'invalid_address', option: 'projects.0.merchant.payTo' }),
      ],
    }),
  )
  const made = await fetch(`${shop.url}/api/v2/admin/projects`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ id: 'other', merchant: { payTo } }),
  })
  expect(made.status).toBe(400)
  expect(await made.json()).toMatchObject({ errors: [{ path: expect.stringContaining('payTo') }] })
})
