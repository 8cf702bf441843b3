/** Payments whose transaction another one has taken the account nonce from: they are sent again once that works. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { encodeFunctionData, toHex } from 'viem'
import type { Address, Hex } from '../../../../../src/shared/protocol/payment.js'
import { paidRequest } from '../../../../../src/sell/flow/paid-request.js'
import { usdcAbi } from '../../../../tools/devnet/abis.js'
import { permit2Of } from '../../../../tools/devnet/permit2.js'
import { askNode } from '../../../../support/core.js'
import { balanceOf, useDevnet } from '../../../../support/devnet.js'
import { openShop, settlementOf } from '../../../../support/shop.js'
import { signUpTo } from '../../../../support/sign-up-to.js'
import { until } from '../../../../support/until.js'

const FEES = { maxFeePerGas: '0x2540be4000', maxPriorityFeePerGas: '0x2540be400' }

const devnet = useDevnet()
let shop: Awaited<ReturnType<typeof openShop>>
/** What the metered handler charges. */
let price: string

beforeAll(async () => {
  await permit2Of(devnet).approve(devnet.payers[0]!.address)
  shop = await openShop(
    devnet,
    (app, { x402Protect }) => {
      app.get('/fixed', x402Protect('$0.10'), (_req, res) => void res.send('0.10'))
      app.get('/metered', x402Protect({ upTo: '$0.10' }), (req, res) => {
        paidRequest(req).charge(price)
        res.send(price)
      })
    },
    { settleTimeoutMs: 1500 },
  )
})
afterAll(() => shop.close())

async function sendFrom(from: Hex, transaction: object): Promise<void> {
  await askNode(devnet, 'anvil_setBalance', from, toHex(10n ** 18n))
  await askNode(devnet, 'anvil_impersonateAccount', from)
  await askNode(devnet, 'eth_sendTransaction', { from, gas: '0x186a0', ...FEES, ...transaction })
}

const give = (from: Address, to: Address, amount: bigint) =>
  sendFrom(from, {
    to: devnet.asset,
    data: encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args: [to, amount] }),
  })

const earned = () => balanceOf(devnet, devnet.merchant.address)

it.each([
  ['/fixed', '0.10', 100_000n],
  ['/metered', '0.02', 20_000n],
])('%s is pending, not refused, while its payer has no money', async (path, answer, charged) => {
  const [payer, friend] = [devnet.payers[0]!, devnet.payers[1]!.address]
  const before = await earned()
  price = '0.02'
  const payment =
    path === '/fixed' ? await shop.sign(path, payer) : await signUpTo(await shop.ask(path), payer)
  await askNode(devnet, 'evm_setAutomine', false)
  const { transaction } = settlementOf(await shop.pay(path, payment))
  const { from: relayer, nonce } = await askNode<{ from: Hex; nonce: Hex }>(
    ...([devnet, 'eth_getTransactionByHash', transaction] as const),
  )
  await askNode(devnet, 'anvil_dropTransaction', transaction)
  await sendFrom(relayer, { to: relayer, nonce })
  const money = await balanceOf(devnet, payer.address)
  await give(payer.address, friend, money)
  await devnet.mine()
  await askNode(devnet, 'evm_setAutomine', true)

  price = '0.05'
  const pending = await shop.pay(path, payment)
  expect(pending.status).toBe(503)
  expect(settlementOf(pending)).toMatchObject({ errorReason: 'settlement_pending', transaction })

  await give(friend, payer.address, money)
  await until(async () => (await earned()) > before)
  const sold = await shop.pay(path, payment)
  expect([sold.status, await sold.text()]).toEqual([200, answer])
  expect((await earned()) - before).toBe(charged)
})
