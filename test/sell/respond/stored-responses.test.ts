import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { generatePaymentId } from '@x402/extensions'
import type { Express } from 'express'
import { LedgerError } from '../../../src/shared/errors.js'
import type { Gateway } from '../../../src/gateway/gateway.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import type { PaymentPayload } from '../../../src/shared/protocol/payment.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { openShop, paymentRequiredOf, settlementOf, type Shop } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { patchedLedger, type LedgerMethods } from '../../support/patched-ledger.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'

const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)
const RESOURCE = 'https://shop.example/item'
/** Milliseconds after which what a dead process held is free. */
const HOLD_MS = 1500

let files = 0
const folder = temporaryFolder(useCleanup(afterAll))

let runs = 0
const routes = (app: Express, { x402Protect }: Gateway): void => {
  const options = { resourceUrl: () => RESOURCE }
  app.get('/item', x402Protect('$0.01', options), (_req, res) => void res.send(`item ${++runs}`))
  app.get(
    '/upfront',
    x402Protect('$0.01', { ...options, paymentFlow: 'upfront' }),
    (_req, res) => void res.send(`item ${++runs}`),
  )
  app.get('/big', x402Protect('$0.01', options), (_req, res) => void res.send('x'.repeat(40_000)))
}

async function signWithId(shop: Shop, path: string): Promise<PaymentPayload> {
  const [accepted] = paymentRequiredOf(await shop.ask(path)).accepts
  const payment = await signPayment(devnet.payers[0]!, accepted!)
  const info = { required: false, id: generatePaymentId() }
  return { ...payment, extensions: { 'payment-identifier': { info } } }
}

/** A gateway whose process stops before or after one write of its ledger, and another after it. */
async function crash(
  path: string,
  stopAt: (ledger: LedgerStore, stop: () => Promise<never>) => Partial<LedgerMethods>,
) {
  const file = join(folder, `${++files}.db`)
  const ledger = openSqliteLedger(file, { lockMs: HOLD_MS })
  let isStopped = false
  const stop = (): Promise<never> => {
    isStopped = true
    return new Promise<never>(() => undefined)
  }
  const dying = await openShop(devnet, routes, {
    ledger: patchedLedger(ledger, stopAt(ledger, stop)),
  })
  const payment = await signWithId(dying, path)
  const lost = dying.pay(path, payment).catch(() => undefined)
  await until(() => isStopped)
  await dying.close()
  await lost

  const next = openSqliteLedger(file)
  const shop = await openShop(devnet, routes, { ledger: next })
  return { shop, payment }
}

/** Pays until something else comes than that somebody is at it. */
async function payPatiently(shop: Shop, path: string, payment: object): Promise<Response> {
  for (;;) {
    const response = await shop.pay(path, payment)
    if (response.status !== 402) return response
    expect(['duplicate_settlement', 'invalid_exact_evm_nonce_already_used']).toContain(
      paymentRequiredOf(response).error,
    )
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

describe('a process that dies', () => {
  it('leaves its answer to the next process after the delivery, and no handler runs again', async () => {
    const before = await earned()
    const { shop, payment } = await crash('/item', (ledger, stop) => ({
      markDelivered: async (...delivered) => {
        await ledger.payments.markDelivered(...delivered)
        await stop()
      },
    }))
    const runsBefore = runs
    const answer = await payPatiently(shop, '/item', payment)
    expect(answer.status).toBe(200)
    expect(await answer.text()).toBe(`item ${runsBefore}`)
    expect(settlementOf(answer).success).toBe(true)
    expect((await shop.pay('/item', payment)).status).toBe(200)
    const { extensions: _extensions, ...withoutId } = payment
    expect((await shop.pay('/item', withoutId)).status).toBe(402)
    expect([await earned(), runs]).toEqual([before + 10_000n, runsBefore])
    await shop.close()
  })

  it('leaves its payment to the next process before the delivery, to be redeemed once', async () => {
    const before = await earned()
    const { shop, payment } = await crash('/item', (_ledger, stop) => ({ markDelivered: stop }))
    const runsBefore = runs
    const answer = await payPatiently(shop, '/item', payment)
    expect(await answer.text()).toBe(`item ${runsBefore + 1}`)
    const { extensions: _extensions, ...withoutId } = payment
    expect((await shop.pay('/item', withoutId)).status).toBe(402)
    expect(await (await shop.pay('/item', payment)).text()).toBe(`item ${runsBefore + 1}`)
    expect([await earned(), runs]).toEqual([before + 10_000n, runsBefore + 1])
    await shop.close()
  })

  it('leaves to the next process that a delivered stream was paid, without its content', async () => {
    const { shop, payment } = await crash('/upfront', (ledger, stop) => ({
      markDelivered: async (...delivered) => {
        await ledger.payments.markDelivered(...delivered)
        await stop()
      },
    }))
    const answer = await payPatiently(shop, '/upfront', payment)
    expect(answer.status).toBe(410)
    expect(settlementOf(answer).success).toBe(true)
    await shop.close()
  })
})

describe('a ledger that fails', () => {
  it.each(['/item', '/upfront'])(
    'leaves no answer behind if it fails at the delivery: %s',
    async (path) => {
      const ledger = createMemoryLedger()
      let isAway = true
      const shop = await openShop(devnet, routes, {
        ledger: patchedLedger(ledger, {
          markDelivered: async (...delivered) => {
            if (!isAway) return ledger.payments.markDelivered(...delivered)
            await ledger.payments.unlock(delivered[0])
            throw new LedgerError('ledger_unavailable', 'away')
          },
        }),
      })
      const payment = await signWithId(shop, path)
      const [before, failed] = [await earned(), await shop.pay(path, payment)]
      expect(failed.status).toBe(503)
      expect(failed.headers.has('payment-response')).toBe(false)
      isAway = false
      const answer = await shop.pay(path, payment)
      expect(await answer.text()).toBe(`item ${runs}`)
      expect(await (await shop.pay(path, payment)).text()).toBe(`item ${runs}`)
      expect(await earned()).toBe(before + 10_000n)
      await shop.close()
    },
  )

  it('lets an answer out that it cannot store', async () => {
    const ledger = createMemoryLedger()
    const fail = async (): Promise<never> => {
      throw new LedgerError('ledger_unavailable', 'away')
    }
    const shop = await openShop(devnet, routes, {
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      ledger: patchedLedger(ledger, {
        idempotency: {
          ...ledger.idempotency,
          async begin(request) {
            const begun = await ledger.idempotency.begin(request)
            if (begun.state !== 'fresh') return begun
            return { ...begun, claim: { ...begun.claim, keep: fail, finish: fail } }
          },
        },
      }),
    })
    expect((await shop.pay('/item', await signWithId(shop, '/item'))).status).toBe(200)
    await shop.close()
  })

  it('runs no handler and sends nothing if it cannot claim the id', async () => {
    const ledger = createMemoryLedger()
    const begin = async (): Promise<never> => {
      throw new LedgerError('ledger_unavailable', 'away')
    }
    const shop = await openShop(devnet, routes, {
      logger: { debug() {}, info() {}, warn() {}, error() {} },
      ledger: patchedLedger(ledger, { idempotency: { ...ledger.idempotency, begin } }),
    })
    const [before, runsBefore] = [await earned(), runs]
    const response = await shop.pay('/item', await signWithId(shop, '/item'))
    expect(response.status).toBe(503)
    expect([await earned(), runs]).toEqual([before, runsBefore])
    await shop.close()
  })
})

it('answers beyond the memory budget are forgotten, and never paid for twice', async () => {
  const shop = await openShop(devnet, routes, {
    ledger: createMemoryLedger({ maxAnswerBytes: 120_000 }),
  })
  const before = await earned()
  const payments: PaymentPayload[] = []
  for (let count = 0; count < 3; count++) {
    payments.push(await signWithId(shop, '/big'))
    expect((await shop.pay('/big', payments.at(-1)!)).status).toBe(200)
  }
  expect((await shop.pay('/big', payments[2]!)).status).toBe(200)
  const forgotten = await shop.pay('/big', payments[0]!)
  expect(forgotten.status).toBe(402)
  expect(paymentRequiredOf(forgotten).error).toBe('invalid_exact_evm_nonce_already_used')
  expect(await earned()).toBe(before + 30_000n)
  await shop.close()
})
