import { describe, expect, it } from '@jest/globals'
import express from 'express'
import request from 'supertest'
import type { PaymentRequired } from '../../../src/shared/protocol/payment.js'
import { useDevnet } from '../../support/devnet.js'
import { decodeDocument, paymentHeader } from '../../support/http.js'
import { paymentRequiredOf, settlementOf, useShop } from '../../support/shop.js'
import { signPayment } from '../../support/sign-payment.js'

const devnet = useDevnet()
const shop = useShop(devnet, (app, { x402Protect }) => {
  app.get('/cheap', x402Protect('$0.01'), (_req, res) => void res.send('cheap'))
  app.get('/dear', x402Protect('$0.02'), (_req, res) => void res.send('dear'))
})
const payer = () => devnet.payers[0]!

describe('a 402 to a refused payment', () => {
  it('explains beside the code which URLs differ if each request has another port', async () => {
    const app = express()
    app.get('/report', shop.gateway.x402Protect('$0.01'), (_req, res) => void res.send('sold'))
    const asked = await request(app).get('/report').expect(402)
    const { accepts, resource } = asked.body as PaymentRequired
    const payload = { resource: { ...resource } }
    const payment = await signPayment(payer(), accepts[0]!, { payload })
    const refused = await request(app).get('/report').set(paymentHeader(payment)).expect(402)
    const document = refused.body as PaymentRequired
    expect(document.error).toBe('resource_mismatch')
    expect(document.errorMessage).toContain(
      `The offer is for ${document.resource.url}, the payment for ${resource.url}.`,
    )
    expect(document.errorMessage).not.toContain('publicUrl')
    expect(decodeDocument(refused.headers['payment-required'] as string)).toEqual(document)
  })

  it('explains what differs from the offer, and its settlement what failed', async () => {
    const payment = await shop.sign('/cheap', payer())
    const { resource: _resource, ...unbound } = payment
    const refused = paymentRequiredOf(await shop.pay('/dear', unbound))
    expect(refused).toMatchObject({
      error: 'invalid_payment_requirements',
      errorMessage: expect.stringContaining('amount is 10000, and 20000 in the offer'),
    })
    expect((await shop.pay('/cheap', payment)).status).toBe(200)
    const used = await shop.pay('/cheap', payment)
    const message = expect.stringContaining('Sign another one')
    expect(settlementOf(used)).toMatchObject({ errorMessage: message })
    expect(paymentRequiredOf(used)).toMatchObject({ errorMessage: message })
  })

  it('repeats no more of a client’s text than fits on a line', async () => {
    const payment = await shop.sign('/cheap', payer())
    const url = `http://shop.example/${'x'.repeat(4000)}`
    const refused = paymentRequiredOf(await shop.pay('/cheap', { ...payment, resource: { url } }))
    expect(refused.error).toBe('resource_mismatch')
    expect(refused.errorMessage?.length).toBeLessThan(500)
  })

  it('has no explanation if nothing was refused or it already has words', async () => {
    expect(paymentRequiredOf(await shop.ask('/cheap'))).not.toHaveProperty('errorMessage')
    const unreadable = await shop.ask('/cheap', { headers: { 'PAYMENT-SIGNATURE': '!' } })
    expect(unreadable.status).toBe(400)
    expect(paymentRequiredOf(unreadable)).not.toHaveProperty('errorMessage')
  })
})
