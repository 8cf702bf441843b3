/** Payments at a price that is another one by now, where a facilitator elsewhere settles. */
import { expect, it } from '@jest/globals'
import { generatePaymentId } from '@x402/extensions'
import express from 'express'
import { MERCHANT, PAYERS } from '../../../src/tools/devnet/accounts.js'
import { httpFacilitator } from '../../../src/core/facilitator/http/http-facilitator.js'
import { createGateway } from '../../../src/gateway/gateway.js'
import { listen, paymentHeader } from '../../support/http.js'
import { useScriptedFacilitator } from '../../support/scripted-facilitator.js'
import { paymentRequiredOf, settlementOf } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'
import { useOpened } from '../../support/use-opened.js'

const elsewhere = useScriptedFacilitator()
const open = () => httpFacilitator({ url: elsewhere.url })
const network = 'eip155:84532'
const payer = PAYERS[0]!.address
const valid = { body: { isValid: true, payer } }
const paid = { body: { success: true, transaction: `0x${'ab'.repeat(32)}`, network, payer } }
const pending = { body: { ...paid.body, success: false, errorReason: 'settlement_pending' } }

let cents = 1
let runs = 0
const gateway = useOpened(() =>
  createGateway({
    // Its address is known inside tests only.
    facilitator: {
      verify: (...of) => open().verify(...of),
      settle: (...of) => open().settle(...of),
      supported: () => open().supported(),
    },
    networks: { 'base-sepolia': {} },
    projects: [{ id: 'shop', merchant: { payTo: MERCHANT.address } }],
  }),
)
const server = useOpened(() => {
  const app = express()
  app.get(
    '/cart',
    gateway.x402Protect(() => `$0.0${cents}`),
    (_req, res) => void res.send(`${cents} cents, run ${++runs}`),
  )
  return listen(app)
})

const pay = (payment: object) => fetch(`${server.url}/cart`, { headers: paymentHeader(payment) })

/** Signs for one cent, presents it, and is told that it is pending. The price is two cents from then on. */
async function leavePending(extensions?: object): Promise<object> {
  cents = 1
  const [offer] = paymentRequiredOf(await fetch(`${server.url}/cart`)).accepts
  const payment = { ...(await signPayment(PAYERS[0]!, offer!)), extensions }
  elsewhere.scripts = { verify: valid, settle: pending }
  expect((await pay(payment)).status).toBe(503)
  cents = 2
  elsewhere.requests.length = 0
  return payment
}

it('a pending payment with an id gets its stored response once it is settled', async () => {
  const info = { required: false, id: generatePaymentId() }
  const payment = await leavePending({ 'payment-identifier': { info } })
  const runsBefore = runs
  elsewhere.scripts = { verify: valid, settle: paid }
  const redeemed = await pay(payment)
  expect([redeemed.status, await redeemed.text()]).toEqual([200, `1 cents, run ${runsBefore}`])
  expect(settlementOf(redeemed)).toMatchObject({ success: true })
  expect(runs).toBe(runsBefore)
})

it('a pending payment without a stored response is not settled', async () => {
  const payment = await leavePending()
  elsewhere.scripts = { verify: valid, settle: paid }
  const response = await pay(payment)
  expect([response.status, await response.json()]).toEqual([
    503,
    expect.objectContaining({ code: 'settlement_pending' }),
  ])
  expect(elsewhere.requests).toEqual([])
  // At its own price, it is settled and delivered.
  cents = 1
  expect((await pay(payment)).status).toBe(200)
})
