import { request } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { useDevnet } from '../support/devnet.js'
import { decodeDocument, paymentHeader } from '../support/http.js'
import type { PaymentRequired } from '../../src/shared/protocol/payment.js'
import { until } from '../support/until.js'
import { signPayment } from '../support/sign-payment.js'
import { useShop } from '../support/shop.js'

const devnet = useDevnet()
const shop = useShop(devnet, (app, gateway) => {
  app.get('/weather', gateway.x402Protect('$0.01'), (_req, res) => void res.json({ sun: true }))
  app.use(gateway.discovery())
})

/** `fetch` sends no `Host` of the caller's. */
const ask = (headers: Readonly<Record<string, string>>) =>
  new Promise<{ readonly status: number | undefined; readonly required: string }>(
    (resolve, reject) => {
      request(`${shop.url}/weather`, { headers: { ...headers } }, (res) => {
        res.resume()
        resolve({ status: res.statusCode, required: String(res.headers['payment-required']) })
      })
        .on('error', reject)
        .end()
    },
  )

describe('a catalogue', () => {
  it('lists no host that a buyer has named', async () => {
    const Host = 'evil.example'
    const { required } = await ask({ Host })
    const document = decodeDocument<PaymentRequired>(required)
    const payment = await signPayment(devnet.payers[0]!, document.accepts[0]!, {
      payload: { resource: { ...document.resource } },
    })
    expect((await ask({ Host, ...paymentHeader(payment) })).status).toBe(200)
    const list = async (): Promise<string> =>
      (await fetch(`${shop.url}/discovery/resources`)).text()
    await until(async () => (await list()).includes('/weather'))
    expect(JSON.parse(await list())).toMatchObject({ items: [{ resource: `${shop.url}/weather` }] })
  })
})
