/** Routes that choose their merchant for each request, as a marketplace does. */
import { describe, expect, it } from '@jest/globals'
import { declarePaymentIdentifierExtension } from '@x402/extensions'
import type { ErrorRequestHandler, Request } from 'express'
import { isConfigError } from '../../../src/shared/errors.js'
import { ADMIN_TOKEN } from '../../api/admin/admin.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { paymentRequiredOf, useShop } from '../../support/shop.js'
import { newNonce, signPayment } from '../../support/sign-payment.js'

const ANNA = '0x00000000000000000000000000000000000a11a1'
const BERT = '0x00000000000000000000000000000000000be271'
const STORED = '0x0000000000000000000000000000000000057012'

const sellers = [
  { id: 'anna', merchant: { name: 'Anna', payTo: ANNA } },
  { id: 'bert', merchant: { name: 'Bert', payTo: BERT } },
  // Two shops of one owner.
  { id: 'twin', merchant: { payTo: ANNA } },
  { id: 'later' },
]

const devnet = useDevnet()
let asked = 0
let sold: string[] = []
let seller = 'anna'
const sellerOf = (req: Request): string => req.get('x-seller') ?? 'anna'

const shop = useShop(
  devnet,
  (app, { x402Protect, gatewayRouter }) => {
    const sell = (req: Request): void => void sold.push(`${req.x402?.requirements?.payTo}`)
    const merchant = async (req: Request): Promise<string> => {
      asked += 1
      await new Promise(setImmediate)
      return String(req.params['seller'])
    }
    app.get('/shops/:seller/item', x402Protect('$0.01', { merchant }), (req, res) => {
      sell(req)
      res.json({ from: req.params['seller'] })
    })
    app.get('/turning', x402Protect('$0.01', { merchant: () => seller }), (req, res) => {
      sell(req)
      res.json({})
    })
    const priceOf = (req: Request): string => (sellerOf(req) === 'twin' ? '$0.50' : '$0.01')
    const quoteFor = (): string => 'anybody'
    app.get('/quoted', x402Protect(priceOf, { merchant: sellerOf, quoteFor }), (req, res) => {
      sell(req)
      res.json({})
    })
    app.get('/sum', x402Protect('$0.01', { merchant: () => 12 as unknown as string }))
    const broken = (): string => {
      throw new Error('the sellers are away')
    }
    app.get('/broken', x402Protect('$0.01', { merchant: broken }))
    const free = { merchant: broken, skip: () => true }
    app.get('/free', x402Protect('$0.01', free), (_req, res) => void res.send('free'))
    app.use(gatewayRouter())
    const report: ErrorRequestHandler = (error: Error, _req, res, _next) => {
      const codes = isConfigError(error) ? error.issues.map(({ code }) => code) : []
      res.status(500).json({ codes, message: error.message })
    }
    app.use(report)
  },
  () => ({ projects: sellers, admin: { tokens: [ADMIN_TOKEN] } }),
)
const payer = () => devnet.payers[0]!

/** Signs what a request is asked for. */
async function sign(path: string, headers: Record<string, string> = {}, id?: string) {
  const response = await shop.ask(path, { headers })
  const { accepts, resource } = paymentRequiredOf(response)
  const extensions = id && {
    'payment-identifier': { ...declarePaymentIdentifierExtension(), info: { required: false, id } },
  }
  return signPayment(payer(), accepts[0]!, {
    payload: { resource: { ...resource }, ...(extensions && { extensions }) },
  })
}

describe('a route whose merchant depends on the request', () => {
  it('pays each seller for his own goods, and calls the function once a request', async () => {
    for (const [id, payTo] of [
      ['anna', ANNA],
      ['bert', BERT],
    ] as const) {
      const payment = await sign(`/shops/${id}/item`)
      const [before, calls] = [await balanceOf(devnet, payTo), asked]
      const response = await shop.pay(`/shops/${id}/item`, payment)
      expect(await response.json()).toEqual({ from: id })
      expect(asked - calls).toBe(1)
      expect((await balanceOf(devnet, payTo)) - before).toBe(10_000n)
    }
  })

  it('refuses a payment for another seller, and keeps it valid where it belongs', async () => {
    const payment = await sign('/shops/anna/item')
    const { resource: _resource, ...unbound } = payment
    const before = await balanceOf(devnet, ANNA)
    sold = []
    for (const presented of [payment, unbound]) {
      const refused = await shop.pay('/shops/bert/item', presented)
      expect(refused.status).toBe(402)
      expect(paymentRequiredOf(refused)).toMatchObject({
        error: 'pay_to_mismatch',
        accepts: [{ payTo: expect.stringMatching(new RegExp(BERT, 'i')) }],
      })
    }
    expect(sold).toEqual([])
    expect(await balanceOf(devnet, ANNA)).toBe(before)
    expect((await shop.pay('/shops/anna/item', payment)).status).toBe(200)
  })

  it('refuses a payment if the function names another seller since', async () => {
    seller = 'anna'
    const payment = await sign('/turning')
    seller = 'bert'
    sold = []
    const refused = await shop.pay('/turning', payment)
    expect([refused.status, paymentRequiredOf(refused).error]).toEqual([402, 'pay_to_mismatch'])
    expect(sold).toEqual([])
    seller = 'anna'
    expect((await shop.pay('/turning', payment)).status).toBe(200)
    expect(sold).toHaveLength(1)
  })

  it('refuses a signed price of another shop, even of the same owner', async () => {
    sold = []
    const payment = await sign('/quoted', { 'x-seller': 'anna' })
    const refused = await shop.pay('/quoted', payment, { headers: { 'x-seller': 'twin' } })
    expect([refused.status, paymentRequiredOf(refused).error]).toEqual([402, 'quote_mismatch'])
    expect(paymentRequiredOf(refused).accepts[0]?.amount).toBe('500000')
    expect(sold).toEqual([])
    const bought = await shop.pay('/quoted', payment, { headers: { 'x-seller': 'anna' } })
    expect(bought.status).toBe(200)
  })

  it('repeats an answer for its payment-identifier at the same seller only', async () => {
    seller = 'anna'
    const payment = await sign('/turning', {}, `pay_${newNonce().slice(2)}`)
    sold = []
    expect((await shop.pay('/turning', payment)).status).toBe(200)
    expect((await shop.pay('/turning', payment)).status).toBe(200)
    seller = 'twin'
    expect((await shop.pay('/turning', payment)).status).toBe(402)
    expect(sold).toHaveLength(1)
    seller = 'anna'
  })
})

describe('a merchant function that names nobody who could be paid', () => {
  const errorAt = async (path: string, payment?: object) => {
    const response = await (payment ? shop.pay(path, payment) : shop.ask(path))
    return { status: response.status, ...((await response.json()) as object) }
  }

  it('ends in the app’s error handler with the id, paid or not, and nothing is charged', async () => {
    const payment = await sign('/shops/anna/item')
    for (const presented of [undefined, payment])
      expect(await errorAt('/shops/nobody/item', presented)).toMatchObject({
        status: 500,
        codes: ['unknown_project'],
        message: expect.stringContaining("'nobody'"),
      })
    expect((await shop.pay('/shops/anna/item', payment)).status).toBe(200)
  })

  it('repeats nothing of the id that would forge a log line or steer a terminal', async () => {
    const { message } = (await errorAt('/shops/no%0Abody%1B%5B31m%C2%9B%E2%80%AE/item')) as {
      readonly message?: string
    }
    expect(message).toContain("'no?body?[31m??'")
  })

  it('ends in the app’s error handler with what it throws, and with a value that is no id', async () => {
    expect(await errorAt('/broken')).toMatchObject({ message: 'the sellers are away' })
    expect(await errorAt('/sum')).toMatchObject({ codes: ['invalid_type'] })
    expect(await errorAt('/shops/toString/item')).toMatchObject({ codes: ['unknown_project'] })
  })

  it('is not asked where the request is free', async () => {
    expect(await (await shop.ask('/free')).text()).toBe('free')
  })
})

describe('a seller that is created while the app runs', () => {
  it('is paid as soon as it has a merchant, and not before', async () => {
    const admin = (method: string, path: string, body: object) =>
      shop.ask(`/api/v2/admin${path}`, {
        method,
        headers: { Authorization: `Bearer ${ADMIN_TOKEN}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
    const closed = await shop.ask('/shops/later/item')
    expect([closed.status, await closed.json()]).toMatchObject([
      503,
      { code: 'merchant_not_configured' },
    ])
    expect((await shop.ask('/shops/carl/item')).status).toBe(500)
    await admin('POST', '/projects', { id: 'carl', merchant: { payTo: STORED } })
    const before = await balanceOf(devnet, STORED)
    expect((await shop.pay('/shops/carl/item', await sign('/shops/carl/item'))).status).toBe(200)
    expect((await balanceOf(devnet, STORED)) - before).toBe(10_000n)
  })
})

describe('the declaration of a route whose merchant depends on the request', () => {
  it('is checked for mistakes that no merchant could mend', () => {
    const { x402Protect } = shop.gateway
    const merchant = (): string => 'anna'
    expect(() => x402Protect('1,000', { merchant })).toThrow('comma')
    expect(() => x402Protect('$0.01', { merchant, maxHeldBytes: -1 })).toThrow('maxHeldBytes')
    expect(() => x402Protect('$0.01', { merchant: 'nobody' })).not.toThrow()
  })
})
