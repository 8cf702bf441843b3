/** A paid handler that is a proxy does not pass the payment on. */
import { request, type IncomingMessage } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { declarePaymentIdentifierExtension, generatePaymentId } from '@x402/extensions'
import express, { type Express } from 'express'
import type { Gateway } from '../../../src/gateway/gateway.js'
import { useDevnet } from '../../support/devnet.js'
import { listen, paymentHeader } from '../../support/http.js'
import { useShop } from '../../support/shop.js'
import { useOpened } from '../../support/use-opened.js'

const devnet = useDevnet()
/** What reached the server behind the proxy. */
let received: IncomingMessage[] = []
/** What the handler itself could see. */
let seen: string[] = []
const upstream = useOpened(() => {
  const app = express()
  app.use((req, res) => {
    received.push(req)
    res.send(`from upstream ${received.length}`)
  })
  return listen(app)
})

function routes(app: Express, { x402Protect }: Gateway): void {
  for (const paymentFlow of ['authorization', 'upfront'] as const)
    for (const [name, headersOf] of [
      ['headers', (req: IncomingMessage) => req.headers],
      ['raw', (req: IncomingMessage) => req.rawHeaders],
    ] as const)
      app.get(`/${paymentFlow}/${name}`, x402Protect('$0.01', { paymentFlow }), (req, res) => {
        seen = [...Object.keys(req.headers), ...Object.keys(req.headersDistinct)]
        const passed = request(`${upstream.url}${req.url}`, { headers: headersOf(req) })
        passed.on('response', (answer) => void answer.pipe(res)).end()
      })
}
const shop = useShop(devnet, routes)

describe.each(['authorization', 'upfront'])('a proxy behind a route in the flow %s', (flow) => {
  it.each(['headers', 'raw'])(
    'receives no payment that it could pass on in its %s',
    async (name) => {
      const path = `/${flow}/${name}`
      const id = generatePaymentId()
      const extension = { ...declarePaymentIdentifierExtension(), info: { required: false, id } }
      const payment = await shop.sign(path, devnet.payers[0]!, {
        payload: { extensions: { 'payment-identifier': extension } },
      })
      received = []
      const both = {
        'X-PAYMENT': paymentHeader(payment)['PAYMENT-SIGNATURE']!,
        'X-Kept': 'yes',
        Cookie: 'one=1; x402-payment=e30; two=2',
      }
      const bought = await shop.pay(path, payment, { headers: both })
      expect([bought.status, await bought.text()]).toEqual([200, 'from upstream 1'])
      const [passed] = received
      expect(passed!.headers).toMatchObject({ 'x-kept': 'yes', cookie: 'one=1; two=2' })
      expect(Object.keys(passed!.headers)).not.toContain('payment-signature')
      expect(JSON.stringify(passed!.rawHeaders)).not.toMatch(/payment/i)
      expect(seen.filter((one) => one.includes('payment'))).toEqual([])

      // What was paid for is given again, by the id.
      const again = await shop.pay(path, payment)
      expect([again.status, await again.text()]).toEqual([200, 'from upstream 1'])
      expect(received).toHaveLength(1)
    },
  )
})
