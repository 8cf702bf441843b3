import { describe, expect, it } from '@jest/globals'
import { payingFetch } from '../../../example-app/buy.js'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'
import { paymentRequiredOf, settlementOf } from '../../support/shop.js'
import { startRpcProxy, isSend } from '../../support/rpc-proxy.js'
import { until } from '../../support/until.js'
import { startReceiver } from '../../operate/webhooks/receiver.js'
import { openLinkShop, pathOf, type CheckoutDocument, type LinkShop } from './shop.js'

const devnet = useDevnet()
const toEnd = useCleanup()

/** Units of USDC that a link costs. */
const PRICE = 50_000n

const BROWSER = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

async function open(options?: GatewayOptions): Promise<LinkShop> {
  return closedBy(toEnd, await openLinkShop(devnet, options))
}

const earned = () => balanceOf(devnet, devnet.merchant.address)

/** The code of a problem. */
const codeOf = async (response: Response) =>
  [response.status, ((await response.json()) as { code: string }).code] as const

describe('a payment link', () => {
  it('asks a program for its price, at its own URL', async () => {
    const shop = await open()
    const link = await shop.link({ description: 'Two books' })
    const response = await shop.ask(pathOf(link))
    expect(response.status).toBe(402)
    const { resource, accepts } = paymentRequiredOf(response)
    expect(resource).toEqual({ url: link.url, description: 'Two books' })
    expect(accepts).toMatchObject([{ amount: String(PRICE), payTo: devnet.merchant.address }])
  })

  it('is paid by the official client, and tells the merchant by which settlement', async () => {
    const shop = await open()
    const link = await shop.link({ reference: 'order-7', description: 'Two books' })
    const before = await earned()
    const response = await payingFetch(devnet.payers[0]!.privateKey)(link.url)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      id: link.id,
      status: 'paid',
      amount: '0.05',
      currency: 'USD',
      description: 'Two books',
    })
    expect((await earned()) - before).toBe(PRICE)
    const paid = await shop.read(link)
    expect(paid).toMatchObject({ status: 'paid', settlement: expect.any(String) })
    const { body } = await shop.asMerchant('GET', `/settlements/${paid.settlement}`)
    expect(body).toMatchObject({
      status: 'settled',
      reference: 'order-7',
      resource: link.url,
      askedPrice: '0.05 USD',
      transaction: (settlementOf(response) as { transaction: string }).transaction,
    })
  })

  it('tells whoever comes second that it is paid, and charges nothing', async () => {
    const shop = await open()
    const link = await shop.link()
    const path = pathOf(link)
    const late = await shop.sign(path, devnet.payers[1]!)
    expect((await shop.buy(path, devnet.payers[0]!)).status).toBe(200)
    const before = await earned()
    expect(await codeOf(await shop.ask(path))).toEqual([409, 'checkout_paid'])
    const second = await shop.pay(path, late)
    expect(second.headers.get('payment-response')).toBeNull()
    expect(await codeOf(second)).toEqual([409, 'checkout_paid'])
    expect(await earned()).toBe(before)
  })

  it('is charged once, however many pay it at the same moment', async () => {
    const shop = await open()
    const link = await shop.link()
    const path = pathOf(link)
    const payments = await Promise.all(
      devnet.payers.slice(0, 8).map((payer) => shop.sign(path, payer)),
    )
    const before = await earned()
    const responses = await Promise.all(payments.map((payment) => shop.pay(path, payment)))
    const statuses = responses.map(({ status }) => status).toSorted((a, b) => a - b)
    expect(statuses[0]).toBe(200)
    expect(statuses.slice(1).every((status) => status === 409 || status === 503)).toBe(true)
    expect((await earned()) - before).toBe(PRICE)
    for (const payment of payments) await shop.pay(path, payment)
    expect((await earned()) - before).toBe(PRICE)
  })

  it('is charged once where the same payment is presented many times', async () => {
    const shop = await open()
    const link = await shop.link()
    const payment = await shop.sign(pathOf(link), devnet.payers[2]!)
    const before = await earned()
    const responses = await Promise.all(
      Array.from({ length: 5 }, () => shop.pay(pathOf(link), payment)),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect((await earned()) - before).toBe(PRICE)
  })

  it('takes no payment that was made for another link', async () => {
    const shop = await open()
    const [link, other] = [await shop.link(), await shop.link()]
    const payment = await shop.sign(pathOf(link), devnet.payers[0]!)
    const response = await shop.pay(pathOf(other), payment)
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response).error).toBe('resource_mismatch')
  })

  it('leaves other paths below /pay to the app', async () => {
    const shop = await open()
    const own = async (path: string) => (await shop.ask(path)).text()
    expect(await own('/pay/order-7')).toBe('the app’s own')
    expect(await own(`/pay/co_${'0'.repeat(32)}`)).toBe('the app’s own')
  })

  it('that nobody has made has a page for people', async () => {
    const shop = await open()
    const unknown = `/pay/co_${'0'.repeat(32)}`
    for (const path of [unknown, '/pay/co_c0ffee', `${unknown}.`, `${unknown})%20`]) {
      const response = await shop.ask(path, { headers: BROWSER })
      expect([response.status, response.headers.get('content-type')]).toEqual([
        ...[404, 'text/html; charset=utf-8'],
      ])
      expect(await response.text()).toContain('There is no payment link at this address.')
    }
  })

  it('is charged for by HEAD as by GET, and conditions do not make it free', async () => {
    const shop = await open()
    const link = await shop.link()
    const payment = await shop.sign(pathOf(link), devnet.payers[3]!)
    const init = { method: 'HEAD', headers: { 'If-None-Match': '*' } }
    expect((await shop.pay(pathOf(link), payment, init)).status).toBe(200)
    expect((await shop.read(link)).status).toBe('paid')
    expect((await shop.ask(pathOf(link), { method: 'HEAD' })).status).toBe(409)
  })
})

describe('a payment link whose payment is not settled', () => {
  it('stays open where the buyer has too little', async () => {
    const shop = await open()
    const link = await shop.link({ amount: '900000000.00' })
    const response = await shop.buy(pathOf(link), devnet.payers[0]!)
    expect(response.status).toBe(402)
    expect(await shop.read(link)).not.toHaveProperty('settlement')
  })

  it('is open for the next buyer where the node took nothing', async () => {
    const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
    const relayerKeys = devnet.relayerKeys
    const shop = await open({ networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys } } })
    const link = await shop.link()
    const path = pathOf(link)
    proxy.fault = (method) =>
      method === 'eth_estimateGas' || isSend(method) || method === 'eth_getTransactionCount'
        ? { kind: 'refuse', code: -32000, message: 'insufficient funds for gas * price + value' }
        : undefined
    const refused = await shop.buy(path, devnet.payers[0]!)
    expect(refused.status).toBeGreaterThanOrEqual(400)
    proxy.fault = undefined
    const { settlement, status } = await shop.read(link)
    expect(status).toBe('open')
    const next = await shop.buy(path, devnet.payers[1]!)
    // Bytes that may have left are never forgotten: then the first buyer has paid.
    if (settlement === undefined) expect(next.status).toBe(200)
    else expect(next.status).toBe(503)
  })

  it('is paid by the payment that was pending, and by no other', async () => {
    const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
    const relayerKeys = devnet.relayerKeys
    const shop = await open({
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys } },
      settleTimeoutMs: 1500,
    })
    const link = await shop.link()
    const path = pathOf(link)
    const [first, second] = [
      await shop.sign(path, devnet.payers[0]!),
      await shop.sign(path, devnet.payers[1]!),
    ]
    const before = await earned()
    proxy.fault = (method) =>
      method === 'eth_getTransactionReceipt' ? { kind: 'answer', result: null } : undefined
    expect(await codeOf(await shop.pay(path, first))).toEqual([503, 'settlement_pending'])
    expect(await shop.read(link)).toMatchObject({ status: 'open', settlement: expect.any(String) })
    const told = await shop.pay(path, second)
    expect(told.headers.get('retry-after')).toBe('5')
    expect(await codeOf(told)).toEqual([503, 'checkout_in_progress'])
    expect((await shop.asMerchant('POST', `/checkouts/${link.id}/cancel`)).body.code).toBe(
      'checkout_in_progress',
    )
    proxy.fault = undefined
    await until(async () => (await shop.pay(path, first)).status === 200)
    expect(await codeOf(await shop.pay(path, second))).toEqual([409, 'checkout_paid'])
    expect((await earned()) - before).toBe(PRICE)
  })
})

describe('a payment link, once it is over,', () => {
  it('is not charged for after it was canceled', async () => {
    const shop = await open()
    const link = await shop.link()
    const payment = await shop.sign(pathOf(link), devnet.payers[0]!)
    const canceled = await shop.asMerchant('POST', `/checkouts/${link.id}/cancel`)
    expect([canceled.status, canceled.body.status]).toEqual([200, 'canceled'])
    const before = await earned()
    expect(await codeOf(await shop.ask(pathOf(link)))).toEqual([410, 'checkout_canceled'])
    expect(await codeOf(await shop.pay(pathOf(link), payment))).toEqual([410, 'checkout_canceled'])
    expect(await earned()).toBe(before)
  })

  it('cannot be canceled after it was paid', async () => {
    const shop = await open()
    const link = await shop.link()
    await shop.buy(pathOf(link), devnet.payers[0]!)
    const canceled = await shop.asMerchant('POST', `/checkouts/${link.id}/cancel`)
    expect([canceled.status, canceled.body.code]).toEqual([409, 'checkout_paid'])
  })

  it('tells the webhooks of its merchant that it was paid', async () => {
    const shop = await open()
    const receiver = await startReceiver(toEnd)
    await shop.asMerchant('POST', '/webhooks', { url: receiver.url, events: ['checkout.paid'] })
    const link = await shop.link({ reference: 'order-8' })
    await shop.buy(pathOf(link), devnet.payers[0]!)
    await until(() => receiver.received.length > 0)
    const paid = await shop.read(link)
    expect(receiver.received.map(({ type, data }) => ({ type, data }))).toEqual([
      { type: 'checkout.paid', data: paid },
    ])
    expect(paid).toMatchObject({ status: 'paid', reference: 'order-8' })
  })
})

describe('a person who pays', () => {
  const successUrl = 'https://shop.example/thanks?lang=en'

  async function pay(shop: LinkShop, link: CheckoutDocument) {
    const payment = await shop.sign(pathOf(link), devnet.payers[4]!)
    return shop.pay(pathOf(link), payment, { headers: BROWSER, redirect: 'manual' })
  }

  it('sees the page first', async () => {
    const shop = await open()
    const link = await shop.link({ description: 'Two <b>books</b>' })
    const response = await shop.ask(pathOf(link), { headers: BROWSER })
    expect([response.status, response.headers.get('content-type')]).toEqual([
      402,
      'text/html; charset=utf-8',
    ])
    expect(await response.text()).toContain('Two &lt;b&gt;books&lt;/b&gt;')
  })

  it('is sent on to the shop with the id of the checkout, once it is settled', async () => {
    const shop = await open()
    const link = await shop.link({ successUrl })
    const before = await earned()
    const response = await pay(shop, link)
    expect(response.status).toBe(303)
    expect(response.headers.get('location')).toBe(`${successUrl}&checkout=${link.id}`)
    expect(settlementOf(response).success).toBe(true)
    expect((await earned()) - before).toBe(PRICE)
  })

  it('is not sent on where somebody else has paid', async () => {
    const shop = await open()
    const link = await shop.link({ successUrl })
    const payment = await shop.sign(pathOf(link), devnet.payers[4]!)
    await shop.buy(pathOf(link), devnet.payers[0]!)
    const init = { headers: BROWSER, redirect: 'manual' } as const
    const response = await shop.pay(pathOf(link), payment, init)
    expect([response.status, response.headers.get('location')]).toEqual([409, null])
  })

  it('stays on the page where there is no other to go on to', async () => {
    const shop = await open()
    const link = await shop.link()
    const response = await pay(shop, link)
    expect([response.status, await response.json()]).toEqual([
      200,
      { id: link.id, status: 'paid', amount: '0.05', currency: 'USD' },
    ])
  })

  it('reads what was refunded, and a stranger reads no more than that; other links say nothing', async () => {
    const shop = await open({ paywall: { name: 'The <Shop>' } })
    const [link, other] = [await shop.link(), await shop.link()]
    const page = async ({ url }: CheckoutDocument) =>
      (await shop.ask(new URL(url).pathname, { headers: BROWSER })).text()
    await pay(shop, link)
    await shop.buy(pathOf(other), devnet.payers[0]!)
    expect(await page(link)).not.toContain('class="notice wait"')
    await shop.refund(link, 10_000n)
    expect(await page(link)).toContain('The &lt;Shop&gt; has refunded 0.01 USDC of 0.05 USDC.')
    await shop.refund(link)
    expect(await page(link)).toContain('The &lt;Shop&gt; has refunded this payment.')
    expect(await page(other)).not.toContain('class="notice wait"')
  })

  it('reads why a link cannot be paid, with a way back to the shop', async () => {
    const shop = await open()
    const cancelUrl = 'https://shop.example/cart?a=1&b=2'
    const link = await shop.link({ successUrl, cancelUrl })
    const page = async () => {
      const response = await shop.ask(pathOf(link), { headers: BROWSER })
      return { status: response.status, html: await response.text() }
    }
    expect((await page()).html).toContain('href="https://shop.example/cart?a=1&amp;b=2"')
    await shop.buy(pathOf(link), devnet.payers[0]!)
    const { status, html } = await page()
    expect(status).toBe(409)
    expect(html).toContain('This payment link has been paid.')
    expect(html).toContain(`href="${successUrl}&amp;checkout=${link.id}"`)
  })
})
