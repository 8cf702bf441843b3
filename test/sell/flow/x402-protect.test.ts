import { describe, expect, it } from '@jest/globals'
import { declarePaymentIdentifierExtension } from '@x402/extensions'
import express from 'express'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { paymentRequiredOf, settlementOf, useShop } from '../../support/shop.js'
import { newNonce, signPayment } from '../../support/sign-payment.js'
import { offerOf } from '../../support/core.js'

const devnet = useDevnet()
let runs = 0
const shop = useShop(devnet, (app, { x402Protect }) => {
  app.get(
    '/weather',
    x402Protect('$0.01', { description: 'Weather', mimeType: 'text/plain' }),
    (req, res) => {
      runs++
      res.json({ paidBy: req.x402?.payer, ...res.locals['x402'] })
    },
  )
  app.get('/other', x402Protect('$0.01'), (_req, res) => void res.send('other'))
  app.get('/slow', x402Protect('$0.01'), (_req, res) => {
    runs++
    setTimeout(() => res.send('slow'), 300)
  })
  app.get(
    '/members',
    x402Protect('$0.01', { skip: (req) => req.get('x-member') === 'yes' }),
    (req, res) => void res.json({ paid: req.x402 !== undefined }),
  )
  app.get(
    '/by-words',
    x402Protect((req) => `$0.0${req.query['words'] as string}`),
    (req, res) => void res.json({ amount: req.x402?.amount }),
  )
  app.get(
    '/renamed',
    x402Protect('$0.01', { resourceUrl: () => 'https://shop.example/item' }),
    (_req, res) => void res.send('renamed'),
  )
  app.get('/free', x402Protect(0, { allowFree: true }), (_req, res) => void res.send('free'))
  app.get('/stream', x402Protect('$0.02', { paymentFlow: 'upfront' }), (req, res) => {
    res.write(`${req.x402?.transaction}\n`)
    setTimeout(() => res.end('end'), 20)
  })
  const nested = express.Router()
  nested.get('/item/:id', x402Protect('$0.01'), (req, res) => {
    const id: string = req.params.id
    // @ts-expect-error -- the route has no such parameter: its types reach the handler
    res.send(req.params.other ?? id)
  })
  nested.use('/all', x402Protect('$0.01'), (_req, res) => void res.send('all'))
  app.use('/nested', nested)
})
const payer = () => devnet.payers[0]!

describe('a request without payment', () => {
  it('is answered 402 with the document in header and body alike', async () => {
    const response = await shop.ask('/weather')
    const document = {
      x402Version: 2,
      error: 'Payment required',
      resource: { url: `${shop.url}/weather`, description: 'Weather', mimeType: 'text/plain' },
      accepts: [
        {
          scheme: 'exact',
          network: 'eip155:84532',
          amount: '10000',
          payTo: devnet.merchant.address,
          maxTimeoutSeconds: 300,
          asset: devnet.asset,
          extra: { name: 'USDC', version: '2', offerId: expect.stringMatching(/^[\w-]{22}$/) },
          protocolVersion: 2,
        },
      ],
      extensions: { 'payment-identifier': declarePaymentIdentifierExtension() },
      protocolVersion: 2,
    }
    expect(response.status).toBe(402)
    const body: unknown = await response.json()
    expect(body).toEqual(document)
    expect(paymentRequiredOf(response)).toEqual(body)
    expect(response.headers.get('payment-required')).toMatch(/^[A-Za-z0-9+/]+={0,2}$/)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(response.headers.get('access-control-expose-headers')).toBe(
      'PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE',
    )
  })

  it('is let through if skip says so, and charged if it does not', async () => {
    const member = await shop.ask('/members', { headers: { 'x-member': 'yes' } })
    expect(await member.json()).toEqual({ paid: false })
    expect((await shop.ask('/members')).status).toBe(402)
  })

  it('is let through at a price of zero that is marked as meant', async () => {
    expect(await (await shop.ask('/free')).text()).toBe('free')
  })

  it('costs for HEAD what it costs for GET, and runs no handler', async () => {
    const before = runs
    const response = await shop.ask('/weather', { method: 'HEAD' })
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response).accepts[0]?.amount).toBe('10000')
    expect(runs).toBe(before)
  })

  it('gets the methods of its route by OPTIONS', async () => {
    const response = await shop.ask('/weather', { method: 'OPTIONS' })
    expect([response.status, response.headers.get('allow')]).toEqual([200, 'GET, HEAD'])
  })

  it.each(['/nested/item/7', '/nested/all', '/nested/all/of/it', '/nested//item/7'])(
    'is charged inside a mounted router: %s',
    async (path) => {
      const response = await shop.ask(path)
      expect(response.status).toBe(path.includes('//') ? 404 : 402)
      if (response.status === 402)
        expect(paymentRequiredOf(response).resource.url).toBe(shop.url + path)
    },
  )
})

describe('a paid request', () => {
  it('runs the handler, moves the money once and reports that in both headers', async () => {
    const before = await balanceOf(devnet, devnet.merchant.address)
    const payment = await shop.sign('/weather', payer())
    const response = await shop.pay('/weather', payment)
    const requirements = offerOf(devnet)

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      paidBy: payer().address,
      payer: payer().address,
      amount: '10000',
      asset: devnet.asset,
      network: 'eip155:84532',
      requirements,
      payload: payment,
    })
    expect(settlementOf(response)).toEqual({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: 'eip155:84532',
      payer: payer().address,
    })
    expect(response.headers.get('x-payment-response')).toBe(
      response.headers.get('payment-response'),
    )
    expect(response.headers.get('access-control-expose-headers')).toContain('PAYMENT-RESPONSE')
    expect(response.headers.get('cache-control')).toBe('private')
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 10_000n)
  })

  it.each([
    ['X-PAYMENT', (text: string) => text],
    ['PAYMENT-SIGNATURE', (text: string) => text.replace(/=+$/, '')],
    ['PAYMENT-SIGNATURE', (text: string) => Buffer.from(text, 'base64').toString('base64url')],
  ])('is read from %s in base64 or base64url, padded or not', async (name, rewrite) => {
    const payment = await shop.sign('/weather', payer())
    const value = rewrite(Buffer.from(JSON.stringify(payment)).toString('base64'))
    const response = await shop.ask('/weather', { headers: { [name]: value } })
    expect(response.status).toBe(200)
  })

  it('can be a HEAD, which is charged like a GET', async () => {
    const before = await balanceOf(devnet, devnet.merchant.address)
    const payment = await shop.sign('/weather', payer())
    const response = await shop.pay('/weather', payment, { method: 'HEAD' })
    expect(response.status).toBe(200)
    expect(settlementOf(response).success).toBe(true)
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 10_000n)
  })

  it('is charged once in a mounted router', async () => {
    expect(await (await shop.buy('/nested/item/7', payer())).text()).toBe('7')
  })

  it('pays the price of its own query', async () => {
    const response = await shop.buy('/by-words?words=7', payer())
    expect(await response.json()).toEqual({ amount: '70000' })
  })

  it('is refused for a query that costs more', async () => {
    const payment = await shop.sign('/by-words?words=2', payer())
    const { resource: _resource, ...withoutResource } = payment
    const response = await shop.pay('/by-words?words=3', withoutResource)
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response)).toMatchObject({
      error: 'invalid_payment_requirements',
      accepts: [{ amount: '30000' }],
    })
  })

  it('uses the resource URL that resourceUrl returns', async () => {
    expect(paymentRequiredOf(await shop.ask('/renamed')).resource.url).toBe(
      'https://shop.example/item',
    )
    expect((await shop.buy('/renamed', payer())).status).toBe(200)
  })

  it('settles first in the upfront flow, says so in extra, and streams', async () => {
    const document = paymentRequiredOf(await shop.ask('/stream'))
    expect(document.accepts[0]?.extra).toEqual({
      name: 'USDC',
      version: '2',
      paymentFlow: 'upfront',
      offerId: expect.stringMatching(/^[\w-]{22}$/),
    })
    const response = await shop.buy('/stream', payer())
    const settlement = settlementOf(response)
    expect(await response.text()).toBe(`${settlement.transaction}\nend`)
    expect(response.headers.get('transfer-encoding')).toBe('chunked')
  })
})

describe('one payment presented more than once', () => {
  it('runs one of twenty handlers at once, in one transaction', async () => {
    const [buyer, before] = [devnet.payers[1]!, runs]
    const payment = await shop.sign('/slow', buyer)
    const copies = await Promise.all(Array.from({ length: 20 }, () => shop.pay('/slow', payment)))
    expect(copies.filter(({ status }) => status === 200)).toHaveLength(1)
    // On a slow machine some wait in vain for the first, and the last come when it is served already.
    const refused = copies.filter(({ status }) => status === 402)
    expect(copies.filter(({ status }) => status === 503)).toHaveLength(19 - refused.length)
    const reasons = ['duplicate_settlement', 'invalid_exact_evm_nonce_already_used']
    for (const response of refused) expect(reasons).toContain(paymentRequiredOf(response).error)
    expect(runs).toBe(before + 1)
    expect(await balanceOf(devnet, buyer.address)).toBe(1_000_000_000_000n - 10_000n)
  })

  it('is refused afterwards, and settledBy names the transaction that paid', async () => {
    const payment = await shop.sign('/weather', payer())
    const { transaction } = settlementOf(await shop.pay('/weather', payment))
    const again = await shop.pay('/weather', payment)
    expect(again.status).toBe(402)
    expect(paymentRequiredOf(again).error).toBe('invalid_exact_evm_nonce_already_used')
    expect(settlementOf(again)).toMatchObject({
      success: false,
      transaction: '',
      settledBy: transaction,
    })
  })

  it('settles fifty different payments at once', async () => {
    const before = await balanceOf(devnet, devnet.merchant.address)
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        shop.buy('/weather', devnet.payers[index % devnet.payers.length]!),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 50 }, () => 200))
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before + 500_000n)
  })
})

describe('a payment header that cannot be read', () => {
  const document = (change: (payment: Record<string, unknown>) => unknown) => async () => {
    const payment = await shop.sign('/weather', payer())
    return Buffer.from(JSON.stringify(change({ ...payment }))).toString('base64')
  }
  const authorized = (members: object) =>
    document((payment) => {
      const exact = payment['payload'] as { authorization: object }
      return {
        ...payment,
        payload: { ...exact, authorization: { ...exact.authorization, ...members } },
      }
    })

  it.each<[string, () => Promise<string> | string, string]>([
    ['not base64', () => '{"x402Version":2}', 'not base64'],
    ['not JSON', () => Buffer.from('hello').toString('base64'), 'JSON'],
    ['a list', () => Buffer.from('[]').toString('base64'), 'the document'],
    ['empty', () => ' ', 'empty'],
    ['over 16 KB', () => 'A'.repeat(16_400), '16384'],
    ['twice there', document((one) => one), 'more than once'],
    ['without payload', document(({ payload: _payload, ...rest }) => rest), 'payload'],
    ['without accepted', document(({ accepted: _accepted, ...rest }) => rest), 'accepted'],
    ['value in hex', authorized({ value: '0x2710' }), 'payload.authorization.value'],
    ['value with a space', authorized({ value: ' 10000' }), 'payload.authorization.value'],
    ['value with a leading zero', authorized({ value: '010000' }), 'payload.authorization.value'],
    ['value as a number', authorized({ value: 10_000 }), 'payload.authorization.value'],
    ['value of 2^256', authorized({ value: String(1n << 256n) }), 'payload.authorization.value'],
    [
      'nonce of 31 bytes',
      authorized({ nonce: `0x${'11'.repeat(31)}` }),
      'payload.authorization.nonce',
    ],
    ['payee without 0x', authorized({ to: '11'.repeat(20) }), 'payload.authorization.to'],
  ])('is answered 400 with the reason: %s', async (name, make, why) => {
    const before = runs
    const value = await make()
    const headers = new Headers({ 'PAYMENT-SIGNATURE': value })
    if (name === 'twice there') headers.append('PAYMENT-SIGNATURE', value)
    const response = await shop.ask('/weather', { headers })
    expect(response.status).toBe(400)
    const body = paymentRequiredOf(response)
    expect(body.error).toContain(why)
    expect(body.accepts).toHaveLength(1)
    expect(await response.json()).toEqual(body)
    expect(runs).toBe(before)
  })
})

describe('a payment that is refused', () => {
  it.each([
    ['other protocol version', 'invalid_x402_version', { payload: { x402Version: 1 } }],
    [
      'another payee',
      'invalid_exact_evm_payload_recipient_mismatch',
      { to: newNonce().slice(0, 42) },
    ],
    ['less', 'invalid_exact_evm_payload_authorization_value_mismatch', { value: '9999' }],
    ['more', 'invalid_exact_evm_payload_authorization_value_mismatch', { value: '10001' }],
    [
      'lapsed',
      'invalid_exact_evm_payload_authorization_valid_before',
      { validBefore: '1700000000' },
    ],
    [
      'not valid yet',
      'invalid_exact_evm_payload_authorization_valid_after',
      { validAfter: '9999999999' },
    ],
    [
      'signed for another token',
      'invalid_exact_evm_payload_signature',
      { domain: { name: 'USD Coin' } },
    ],
  ] as const)('is answered 402 with its reason: %s', async (_name, reason, overrides) => {
    const before = runs
    const response = await shop.buy('/weather', payer(), overrides)
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response).error).toBe(reason)
    expect(runs).toBe(before)
  })

  it('is answered 402 if the payer has no money', async () => {
    const key = generatePrivateKey()
    const response = await shop.buy('/weather', {
      privateKey: key,
      address: privateKeyToAddress(key),
    })
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response).error).toBe('insufficient_funds')
  })

  it.each([
    ['scheme', { scheme: 'batch-settlement' }, 'unsupported_scheme'],
    ['network', { network: 'eip155:1' }, 'invalid_network'],
    ['asset', { asset: `0x${'22'.repeat(20)}` }, 'unsupported_asset'],
    ['payTo', { payTo: `0x${'33'.repeat(20)}` }, 'pay_to_mismatch'],
    ['amount', { amount: '1' }, 'invalid_payment_requirements'],
  ])('is answered 402 if its %s was not offered', async (_name, members, reason) => {
    const payment = await shop.sign('/weather', payer())
    const accepted = { ...payment.accepted, ...members }
    const response = await shop.pay('/weather', { ...payment, accepted })
    expect(paymentRequiredOf(response).error).toBe(reason)
  })

  it('is compared by meaning: short network names, addresses in any case', async () => {
    const payment = await shop.sign('/weather', payer())
    const accepted = {
      ...payment.accepted,
      network: 'base-sepolia',
      asset: devnet.asset.toLowerCase(),
      payTo: devnet.merchant.address.toLowerCase(),
    }
    expect((await shop.pay('/weather', { ...payment, accepted })).status).toBe(200)
  })

  it('does not buy another resource of the same price', async () => {
    const payment = await shop.sign('/weather', payer())
    const response = await shop.pay('/other', payment)
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response).error).toBe('resource_mismatch')
    expect((await shop.pay('/weather', payment)).status).toBe(200)
  })

  it.each<[string, (url: string) => unknown, number]>([
    ['the same URL in other writing', (url) => url.replace('http:', 'HTTP:'), 200],
    ['no URL', () => 'weather', 402],
    ['no text', () => 7, 402],
  ])('is checked against its resource: %s', async (_name, write, status) => {
    const payment = await shop.sign('/weather', payer())
    const resource = { url: write(`${shop.url}/weather`) }
    expect((await shop.pay('/weather', { ...payment, resource })).status).toBe(status)
  })

  it('is accepted without a resource, which clients may leave out', async () => {
    const [accepted] = paymentRequiredOf(await shop.ask('/weather')).accepts
    const payment = await signPayment(payer(), accepted!)
    const response = await shop.ask('/weather', { headers: paymentHeader(payment) })
    expect(response.status).toBe(200)
  })
})
