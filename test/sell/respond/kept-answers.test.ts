/** Attacks on answers that are kept until their charge is taken. */
import { beforeEach, expect, it } from '@jest/globals'
import { request } from 'node:http'
import { LedgerError } from '../../../src/shared/errors.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { Hex, PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { permit2Of } from '../../tools/devnet/permit2.js'
import { useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { patchedLedger } from '../../support/patched-ledger.js'
import { openShop, paymentRequiredOf, settlementOf } from '../../support/shop.js'
import { signPermit } from '../../support/sign-permit.js'
import { signUpTo } from '../../support/sign-up-to.js'
import { until } from '../../support/until.js'
import { useOpened } from '../../support/use-opened.js'

const devnet = useDevnet()
const permit2 = permit2Of(devnet)
const USED = 'invalid_exact_evm_nonce_already_used'

const ledger = createMemoryLedger()
/** Whether the ledger is away when a transaction is to be written. */
let isAway = false
let onDelivery: (() => Promise<void>) | undefined
/** Takes the handler's answer, to give it later. */
let onRun: ((answer: () => void) => void) | undefined
let runs = 0
let gone = 0

const shop = useOpened(async () => {
  for (const token of [devnet.asset, devnet.permitToken])
    await permit2.approve(devnet.payers[0]!.address, token)
  const { payments, relayers } = ledger
  const patched = patchedLedger(ledger, {
    submitNext: (...one) =>
      isAway
        ? Promise.reject(new LedgerError('ledger_unavailable', 'away'))
        : relayers.submitNext(...one),
    async markDelivered(...one) {
      await payments.markDelivered(...one)
      await onDelivery?.()
    },
  })
  const dear = { address: devnet.permitToken, symbol: 'PRM', decimals: 18, currency: 'USD' }
  const network = { rpcUrl: devnet.rpcUrl, relayerKeys: devnet.relayerKeys }
  return openShop(
    devnet,
    (app, { x402Protect }) => {
      app.use((_req, res, next) => {
        res.on('close', () => (gone += res.writableFinished ? 0 : 1))
        next()
      })
      app.get('/llm', x402Protect({ upTo: '$0.10' }), (req, res) => {
        runs += 1
        const answer = () => {
          paidRequest(req).charge('0.02')
          res.send('sold')
        }
        if (onRun === undefined) answer()
        else onRun(answer)
      })
    },
    {
      ledger: patched,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      networks: { 'base-sepolia': { ...network, assets: ['USDC', { ...dear, permit2: true }] } },
      settleTimeoutMs: 1500,
    },
  )
})
beforeEach(() => {
  runs = 0
  isAway = false
  onDelivery = onRun = undefined
})

const entryOf = ({ accepts }: { accepts: readonly PaymentRequirements[] }, token: Hex) =>
  accepts.find(({ asset }) => asset.toLowerCase() === token.toLowerCase())!

/** Has an answer kept for a payment of which nothing is taken. */
async function keep(payment: object) {
  isAway = true
  expect((await shop.pay('/llm', payment)).status).toBe(503)
  isAway = false
}

it('units of one token do not pay for what was charged in another', async () => {
  const payer = devnet.payers[0]!
  const required = paymentRequiredOf(await shop.ask('/llm'))
  const nonce = String(Date.now())
  const [cheap, dear] = await Promise.all(
    [devnet.asset, devnet.permitToken].map(async (token) => {
      const payment = await signPermit(payer, entryOf(required, token), { nonce })
      return { ...payment, resource: required.resource }
    }),
  )
  await keep(cheap!)
  const sold = await shop.pay('/llm', dear!)
  expect([sold.status, await sold.text()]).toEqual([200, 'sold'])
  expect(settlementOf(sold)).toMatchObject({ success: true, amount: String(2n * 10n ** 16n) })
  expect(runs).toBe(2)
})

it('an answer whose client leaves while it is recorded as delivered is given later', async () => {
  const payment = await signUpTo(await shop.ask('/llm'), devnet.payers[0]!)
  await keep(payment)
  const before = gone
  const sent = request(`${shop.url}/llm`, { headers: paymentHeader(payment) })
  sent.on('error', () => undefined)
  let isRecorded = false
  onDelivery = async () => {
    sent.destroy()
    await until(() => gone > before)
    isRecorded = true
  }
  sent.end()
  await until(() => isRecorded)
  onDelivery = undefined
  const sold = await shop.pay('/llm', payment)
  expect([sold.status, await sold.text()]).toEqual([200, 'sold'])
  expect(runs).toBe(1)
  expect(paymentRequiredOf(await shop.pay('/llm', payment)).error).toBe(USED)
})

it('a request that waited for another one in vain leaves its payment-identifier free', async () => {
  const payer = devnet.payers[0]!
  const identified = (payment: object, id: string) => ({
    ...payment,
    extensions: { 'payment-identifier': { info: { id, required: false }, schema: {} } },
  })
  const payment = await signUpTo(await shop.ask('/llm'), payer)
  let go: (() => void) | undefined
  onRun = (answer) => (go = answer)
  const first = shop.pay('/llm', identified(payment, 'the-first-of-two-ids'))
  await until(() => go !== undefined)
  onRun = undefined
  const busy = await shop.pay('/llm', identified(payment, 'the-second-of-two-ids'))
  expect(await busy.json()).toMatchObject({ code: 'idempotency_in_progress' })
  go?.()
  expect((await first).status).toBe(200)
  const other = await signUpTo(await shop.ask('/llm'), payer)
  const sold = await shop.pay('/llm', identified(other, 'the-second-of-two-ids'))
  expect([sold.status, await sold.text()]).toEqual([200, 'sold'])
})

it('a payment has one answer, however it is written', async () => {
  const payment = await signUpTo(await shop.ask('/llm'), devnet.payers[0]!)
  await keep(payment)
  const { permit2Authorization: signed, ...rest } = payment.payload as {
    permit2Authorization: { nonce: string }
  }
  const nonce = `0x${BigInt(signed.nonce).toString(16)}`
  const payload = { ...rest, more: 1, permit2Authorization: { ...signed, nonce } }
  const sold = await shop.pay('/llm', { ...payment, payload, more: 2 })
  expect([sold.status, await sold.text()]).toEqual([200, 'sold'])
  expect(runs).toBe(1)
})
