import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generatePaymentId } from '@x402/extensions'
import type { LedgerStore } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { paymentHeader } from '../support/http.js'
import { patchedLedger } from '../support/patched-ledger.js'
import { openShop, paymentRequiredOf, type Shop } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { until } from '../support/until.js'

const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)

/** How often keys were looked at. */
let looks = 0
let runs = 0
let finish: () => void = () => undefined

function countedLedger(): LedgerStore {
  const ledger = createMemoryLedger()
  const { idempotency } = ledger
  const counted = {
    begin: (...asked: Parameters<typeof idempotency.begin>) => {
      looks++
      return idempotency.begin(...asked)
    },
    look: (...asked: Parameters<typeof idempotency.look>) => {
      looks++
      return idempotency.look(...asked)
    },
  }
  return patchedLedger(ledger, { idempotency: counted })
}

describe('duplicates of a payment in progress', () => {
  let shop: Shop & { close(): Promise<void> }
  beforeAll(async () => {
    shop = await openShop(
      devnet,
      (app, { x402Protect }) => {
        app.get('/slow', x402Protect('$0.01'), (_req, res) => {
          runs++
          finish = () => void res.send('slow')
        })
      },
      { ledger: countedLedger() },
    )
  })
  afterAll(() => shop.close())

  async function signWithId(): Promise<object> {
    const [accepted] = paymentRequiredOf(await shop.ask('/slow')).accepts
    const payment = await signPayment(devnet.payers[0]!, accepted!)
    const info = { required: false, id: generatePaymentId() }
    return { ...payment, extensions: { 'payment-identifier': { info } } }
  }

  it('are limited in number, and further ones are told at once to come back', async () => {
    const before = await earned()
    const payment = await signWithId()
    runs = 0
    const first = shop.pay('/slow', payment)
    await until(() => runs === 1)
    const start = performance.now()
    const duplicates = Array.from({ length: 40 }, () => shop.pay('/slow', payment))
    const told: number[] = []
    for (const duplicate of duplicates)
      void duplicate.then(({ status }) => told.push(status)).catch(() => undefined)
    await until(() => told.length >= 32)
    expect(performance.now() - start).toBeLessThan(10_000)
    expect(told).toEqual(Array.from({ length: 32 }, () => 503))

    finish()
    const answers = await Promise.all([first, ...duplicates])
    const bodies = await Promise.all(answers.map((answer) => answer.text()))
    expect(bodies.filter((body) => body === 'slow')).toHaveLength(9)
    const refused = answers.find(({ status }) => status === 503)
    expect(refused?.headers.get('retry-after')).toBe('5')
    expect(bodies.find((body) => body !== 'slow')).toContain('idempotency_in_progress')
    expect(runs).toBe(1)
    expect(await earned()).toBe(before + 10_000n)
  })

  it('cost nothing once their clients are gone', async () => {
    const payment = await signWithId()
    runs = 0
    const first = shop.pay('/slow', payment)
    await until(() => runs === 1)
    const before = looks
    const clients = Array.from({ length: 8 }, () => {
      const client = request(`${shop.url}/slow`, { headers: paymentHeader(payment) }).end()
      client.on('error', () => undefined)
      return client
    })
    await until(() => looks >= before + 16)
    for (const client of clients) client.destroy()
    // A look that is under way may end; after that there is none.
    let quiet = looks
    await until(async () => {
      quiet = looks
      await new Promise((resolve) => setTimeout(resolve, 600))
      return looks === quiet
    })
    // Their places are free again.
    const next = shop.pay('/slow', payment)
    await until(() => looks > quiet + 1)
    finish()
    expect(await (await next).text()).toBe('slow')
    expect((await first).status).toBe(200)
    expect(runs).toBe(1)
  })
})
