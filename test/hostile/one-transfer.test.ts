/** Rule 3: one transfer pays for one thing. */
import { describe, expect, it } from '@jest/globals'
import type { Express } from 'express'
import { aggregate, MULTICALL3 } from '../../src/core/chain/abi.js'
import type { Gateway } from '../../src/gateway/gateway.js'
import type { PaymentFlow, PaymentPayload } from '../../src/shared/protocol/payment.js'
import { askNode } from '../support/core.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { callOf, newPayer, signedAuthorization, toHex } from '../support/on-chain.js'
import { openShop, paymentRequiredOf } from '../support/shop.js'
import { signPayment, type TestPayer } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { useCleanup } from '../support/cleanup.js'
import { stopMining, resumeMining } from '../support/mining.js'

const PRICE = 10_000n
const devnet = useDevnet()
const toEnd = useCleanup()

const callTo = (payment: PaymentPayload) => ({ to: devnet.asset, data: callOf(payment) })

/** The payer has one transaction mined that pays himself by all of the nonces but one. */
async function useNonces(
  payer: TestPayer,
  payments: readonly PaymentPayload[],
  paying: number,
): Promise<void> {
  const calls = await Promise.all(
    payments.map(async (payment, index) => {
      if (index === paying) return callTo(payment)
      const { nonce } = signedAuthorization(payment)
      const accepted = payment.accepted as unknown as Parameters<typeof signPayment>[1]
      return callTo(await signPayment(payer, accepted, { nonce, to: payer.address }))
    }),
  )
  await askNode(devnet, 'anvil_setBalance', payer.address, toHex(10n ** 18n))
  await askNode(devnet, 'anvil_impersonateAccount', payer.address)
  const fees = { maxFeePerGas: toHex(200n * 10n ** 9n), maxPriorityFeePerGas: toHex(10n ** 11n) }
  await askNode(devnet, 'eth_sendTransaction', {
    ...{ from: payer.address, to: MULTICALL3, data: aggregate(calls) },
    ...{ gas: toHex(3_000_000), ...fees },
  })
  await devnet.mine()
}

/** Handlers wait until they are let go. */
function gate() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

async function openRoutes(paymentFlow: PaymentFlow) {
  const waiting = gate()
  const runs = { count: 0 }
  const shop = await openShop(devnet, (app: Express, gateway: Gateway) => {
    app.get('/thing', gateway.x402Protect('$0.01', { paymentFlow }), async (_req, res) => {
      runs.count += 1
      await waiting.opened
      res.send('a thing')
    })
    app.use(gateway.gatewayRouter())
  })
  toEnd.push(() => shop.close(), waiting.open)
  return { shop, runs, waiting }
}

const sizes = [2, 5, 20]
const places = (n: number): number[] => [0, Math.floor(n / 2), n - 1]
const cases = sizes.flatMap((n) => [...new Set(places(n))].map((paying) => ({ n, paying })))

describe('a payer who uses the nonces of n payments in one transaction of his own', () => {
  it.each(cases)(
    'gets one good for one transfer, of $n while their handlers run (call $paying pays)',
    async ({ n, paying }) => {
      const { shop, runs, waiting } = await openRoutes('authorization')
      const payer = await newPayer(devnet)
      const payments = await Promise.all(
        Array.from({ length: n }, () => shop.sign('/thing', payer)),
      )
      const before = await balanceOf(devnet, devnet.merchant.address)
      const answers = payments.map((payment) => shop.pay('/thing', payment))
      await until(() => runs.count === n)
      await useNonces(payer, payments, paying)
      waiting.open()
      const statuses = (await Promise.all(answers)).map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toEqual([200])
      expect(statuses[paying]).toBe(200)
      expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(PRICE)

      // Nor later, however often they are presented.
      const again = await Promise.all(payments.map((payment) => shop.pay('/thing', payment)))
      expect(again.map(({ status }) => status)).toEqual(Array(n).fill(402))
    },
  )

  it.each([
    ...['authorization', 'upfront', 'settle'].flatMap((how) =>
      sizes.flatMap((n) => [0, n - 1].map((paying) => ({ how, n, paying }))),
    ),
  ])(
    'is given one thing for one transfer, of $n in the mempool by $how (call $paying pays)',
    async ({ how, n, paying }) => {
      const { shop, waiting } = await openRoutes(how === 'upfront' ? 'upfront' : 'authorization')
      waiting.open()
      const payer = await newPayer(devnet)
      const sign = () => shop.sign('/thing', payer)
      // Only who has bought enough may have so many payments on their way.
      for (let bought = 0; bought < n; bought += 1)
        expect((await shop.pay('/thing', await sign())).status).toBe(200)
      const payments = await Promise.all(Array.from({ length: n }, sign))
      const before = await balanceOf(devnet, devnet.merchant.address)
      await stopMining(devnet)
      const present = async (payment: PaymentPayload): Promise<boolean> => {
        if (how !== 'settle') return (await shop.pay('/thing', payment)).status === 200
        const [entry] = paymentRequiredOf(await shop.ask('/thing')).accepts
        const response = await fetch(`${shop.url}/api/v2/payment/settle`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'X-Project-Identify-Token': SHOP_TOKEN },
          body: JSON.stringify({ paymentPayload: payment, paymentRequirements: entry }),
        })
        return ((await response.json()) as { success?: boolean }).success === true
      }
      const answers = payments.map(present)
      await until(() => (shop.events.submitted?.length ?? 0) === 2 * n)
      await useNonces(payer, payments, paying)
      await resumeMining(devnet)
      const granted = await Promise.all(answers)
      expect(granted.filter(Boolean)).toEqual([true])
      expect(granted[paying]).toBe(true)
      expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(PRICE)
    },
  )
})
