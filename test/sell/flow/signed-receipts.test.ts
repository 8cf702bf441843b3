/** Signed offers and receipts (`offer-receipt`), as the official client and verifier see them. */
import { request } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { ExactEvmScheme } from '@x402/evm'
import {
  decodeSignedOffers,
  extractOffersFromPaymentRequired,
  extractPublicKeyFromKid,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureEIP712,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureEIP712,
  type EIP712SignedOffer,
  type EIP712SignedReceipt,
} from '@x402/extensions'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { Express } from 'express'
import { privateKeyToAccount } from 'viem/accounts'
import type { Gateway } from '../../../src/gateway/gateway.js'
import type { PaymentRequired } from '../../../src/shared/protocol/payment.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { encodeHeader } from '../../../src/shared/protocol/headers.js'
import { paidRequest } from '../../../src/sell/flow/paid-request.js'
import { permit2Of } from '../../tools/devnet/permit2.js'
import { signUpTo } from '../../support/sign-up-to.js'
import { addressOfKey } from '../../../src/shared/crypto/address-of-key.js'
import { newNonce } from '../../support/sign-payment.js'
import { useDevnet } from '../../support/devnet.js'
import { decodeDocument, paymentHeader } from '../../support/http.js'
import { payAndLeave, resumeMining, stopMining } from '../../support/mining.js'
import { challengesOf, credentialText, signCredential } from '../../support/mpp.js'
import { patchedLedger } from '../../support/patched-ledger.js'
import { openShop, paymentRequiredOf, settlementOf, useShop } from '../../support/shop.js'
import { openToolClient, receiptOf, requiredOf } from '../../support/tool-shop.js'
import { openLinkShop, pathOf } from '../links/shop.js'
import { until } from '../../support/until.js'
import { asVersion1, xPayment } from '../../support/version-1.js'

const devnet = useDevnet()
const payer = () => devnet.payers[0]!
const KEY = `0x${'7e'.repeat(32)}` as const
const SIGNER = addressOfKey(KEY)
const receipts = { privateKey: KEY }

let gone = 0
let runs = 0
let now = Date.now()
const routes = (app: Express, { x402Protect, discovery }: Gateway): void => {
  app.use(discovery())
  app.use((_req, res, next) => {
    res.on('close', () => gone++)
    next()
  })
  const upfront = { paymentFlow: 'upfront' } as const
  app.get('/item', x402Protect('$0.01'), (_req, res) => void res.send(`item ${++runs}`))
  app.get(
    '/priced',
    x402Protect(() => '$0.01'),
    (_req, res) => void res.send('priced'),
  )
  app.get('/up-to', x402Protect({ upTo: '$0.01' }), (req, res) => {
    paidRequest(req).charge(`$${Number(req.query['charge'])}`)
    res.send('up to')
  })
  app.get('/stream', x402Protect('$0.01', upfront), (_req, res) => {
    res.write(`stream ${++runs} `)
    res.end('end')
  })
  const mpp = { ...upfront, protocols: ['x402', 'mpp'] } as const
  app.get('/elsewhere', x402Protect('$0.01', mpp), (_req, res) => res.redirect('/bought'))
  app.get('/bad', x402Protect('$0.01'), (_req, res) => void res.sendStatus(500))
  app.get('/wrong', x402Protect('$0.01'), (_req, res) => void res.sendStatus(404))
  app.get('/bad-stream', x402Protect('$0.01', upfront), (_req, res) => void res.sendStatus(500))
  app.get('/cut', x402Protect('$0.01', upfront), (_req, res) => {
    res.write(`${++runs}`)
    res.on('close', () => res.end('never seen'))
  })
  app.get('/waived', x402Protect('$0.01'), (req, res) => {
    req.x402?.waive?.()
    res.send('free')
  })
}
const shop = useShop(devnet, routes, () => ({ receipts, v1: true }))
const plain = useShop(devnet, routes, () => ({ now: () => now }))

const withId = <Payment extends object>(payment: Payment) => ({
  ...payment,
  extensions: { 'payment-identifier': { info: { required: false, id: newNonce() } } },
})
const signedOf = (response: Response): EIP712SignedReceipt | undefined =>
  extractReceiptFromResponse(response) as EIP712SignedReceipt | undefined
const signersOf = async (document: object): Promise<string[]> => {
  const offers = extractOffersFromPaymentRequired(document as never) as EIP712SignedOffer[]
  const verified = offers.map((offer) => verifyOfferSignatureEIP712(offer))
  return (await Promise.all(verified)).map(({ signer }) => signer)
}

describe('a gateway that signs', () => {
  it('gives the official client offers and a receipt that match and verify', async () => {
    const seen: Response[] = []
    const scheme = new ExactEvmScheme(privateKeyToAccount(payer().privateKey))
    const pay = wrapFetchWithPayment(
      async (input, init) => {
        const response = await fetch(input, init)
        seen.push(response.clone())
        return response
      },
      new x402Client().register('eip155:84532', scheme),
    )
    const answer = await pay(`${shop.url}/item`)
    expect(answer.status).toBe(200)

    const required = paymentRequiredOf(seen[0]!)
    const [offer] = decodeSignedOffers(extractOffersFromPaymentRequired(required as never))
    expect(findAcceptsObjectFromSignedOffer(offer!, required.accepts as never)).toBeDefined()
    expect(await signersOf(required)).toStrictEqual([SIGNER])
    const receipt = signedOf(answer)!
    expect(verifyReceiptMatchesOffer(receipt, offer!, [payer().address])).toBe(true)
    const { signer, payload } = await verifyReceiptSignatureEIP712(receipt)
    expect(signer).toBe(SIGNER)
    expect(payload).toMatchObject({ resourceUrl: `${shop.url}/item`, transaction: '' })
  })

  it.each(['/item', '/priced', '/up-to', '/stream', '/item?of=7'])(
    'signs what %s offers, also to those who bring a bad payment, and what it has delivered',
    async (path) => {
      expect(await signersOf(paymentRequiredOf(await shop.ask(path)))).toStrictEqual([SIGNER])
      if (path === '/up-to') return
      const refused = await shop.buy(path, payer(), { value: '1' })
      expect(refused.status).toBe(402)
      expect(await signersOf(paymentRequiredOf(refused))).toStrictEqual([SIGNER])
      const receipt = signedOf(await shop.buy(path, payer()))!
      expect(await verifyReceiptSignatureEIP712(receipt)).toMatchObject({
        signer: SIGNER,
        payload: { resourceUrl: shop.url + path, payer: payer().address },
      })
    },
  )

  it.each(['/item', '/stream'])(
    'repeats the same receipt with a stored answer: %s',
    async (path) => {
      const payment = withId(await shop.sign(path, payer()))
      const receipt = signedOf(await shop.pay(path, payment))
      expect(receipt).toBeDefined()
      expect(signedOf(await shop.pay(path, payment))).toStrictEqual(receipt)
    },
  )

  it('gives buyers of version 1 the same receipt, with the network in CAIP-2', async () => {
    const payment = asVersion1(await shop.sign('/item', payer()))
    const answer = await shop.ask('/item', { headers: xPayment(payment) })
    const settlement = decodeDocument<{ network: string }>(answer.headers.get('x-payment-response'))
    expect(settlement.network).toBe('base-sepolia')
    const receipt = signedOf(answer)!
    expect(receipt.payload.network).toBe('eip155:84532')
    expect((await verifyReceiptSignatureEIP712(receipt)).signer).toBe(SIGNER)
  })

  it('signs for a tool: the receipt is in _meta', async () => {
    const client = await openToolClient(
      shop.gateway.paidTool,
      (server, paidTool) =>
        paidTool(server, 'time', { price: '$0.01' }, () => ({
          content: [{ type: 'text', text: 'noon' }],
        })),
      'sdk 2',
    )
    try {
      expect(await signersOf(requiredOf(await client.call('time')))).toStrictEqual([SIGNER])
      const paid = await client.pay('time', {}, await client.sign('time', {}, payer()))
      const settlement = new Headers({ 'payment-response': encodeHeader(receiptOf(paid)!) })
      const receipt = signedOf(new Response('', { headers: settlement }))!
      expect(await verifyReceiptSignatureEIP712(receipt)).toMatchObject({
        signer: SIGNER,
        payload: { resourceUrl: 'mcp://tool/time' },
      })
    } finally {
      await client.close()
    }
  })
})

describe('a receipt of MPP', () => {
  it('is on no redirect, as without a key', async () => {
    const [challenge] = challengesOf(await shop.ask('/elsewhere'))
    const authorization = credentialText(await signCredential(payer(), challenge!))
    const answer = await shop.ask('/elsewhere', { redirect: 'manual', headers: { authorization } })
    expect(answer.status).toBe(302)
    expect(answer.headers.has('payment-receipt')).toBe(false)
    expect(signedOf(answer)).toBeDefined()
  })
})

describe('no receipt is made', () => {
  it.each([
    ['/bad', 500, false],
    ['/wrong', 404, false],
    ['/waived', 200, false],
    ['/bad-stream', 500, true],
  ])('for an answer that delivers nothing, or is free: %s', async (path, status, isPaid) => {
    const answer = await shop.buy(path, payer())
    expect(answer.status).toBe(status)
    expect(answer.headers.has('payment-response')).toBe(isPaid)
    expect(signedOf(answer)).toBeUndefined()
  })

  it.each([
    ['0', false],
    ['0.004', true],
  ])('for a charge of nothing alone: $%s', async (charge, isSigned) => {
    await permit2Of(devnet).approve(payer().address)
    const path = `/up-to?charge=${charge}`
    const answer = await shop.pay(path, await signUpTo(await shop.ask(path), payer()))
    expect(answer.status).toBe(200)
    expect(settlementOf(answer).success).toBe(true)
    expect(signedOf(answer) !== undefined).toBe(isSigned)
  })

  it('for a payment that has been used, or is not the right one', async () => {
    const payment = await shop.sign('/item', payer())
    expect(signedOf(await shop.pay('/item', payment))).toBeDefined()
    const again = await shop.pay('/item', payment)
    expect(again.status).toBe(402)
    expect(settlementOf(again).success).toBe(false)
    expect(signedOf(again)).toBeUndefined()
  })

  it.each(['/item', '/stream'])('before the settlement is known: %s', async (path) => {
    const quick = await openShop(devnet, routes, { receipts, settleTimeoutMs: 400 })
    try {
      const payment = withId(await quick.sign(path, payer()))
      await stopMining(devnet)
      const pending = await quick.pay(path, payment)
      expect(settlementOf(pending)).toMatchObject({ errorReason: 'settlement_pending' })
      expect(signedOf(pending)).toBeUndefined()
      await resumeMining(devnet)
      let answer = pending
      await until(async () => (answer = await quick.pay(path, payment)).status === 200)
      expect((await verifyReceiptSignatureEIP712(signedOf(answer)!)).signer).toBe(SIGNER)
    } finally {
      await quick.close()
    }
  })

  it.each(['/item', '/stream'])(
    'for a client that is gone, until it is given: %s',
    async (path) => {
      const payment = await shop.sign(path, payer())
      const asked = { url: shop.url + path, headers: paymentHeader(payment) }
      await payAndLeave(devnet, asked, () => gone)
      await resumeMining(devnet)
      let answer: Response | undefined
      await until(async () => (answer = await shop.pay(path, payment)).status === 200)
      expect(signedOf(answer!)).toBeDefined()
    },
  )

  it('for a delivery that could not be written down', async () => {
    const store = createMemoryLedger()
    const fail = async () => {
      throw Object.assign(new Error('away'), { code: 'ledger_unavailable' })
    }
    let isAway = true
    const markDelivered: typeof store.payments.markDelivered = (...given) =>
      isAway ? fail() : store.payments.markDelivered(...given)
    const ledger = patchedLedger(store, { markDelivered })
    const own = await openShop(devnet, routes, { receipts, ledger })
    try {
      for (const path of ['/item', '/stream']) {
        isAway = true
        const payment = withId(await own.sign(path, payer()))
        const failed = await own.pay(path, payment)
        expect(failed.status).toBeGreaterThanOrEqual(500)
        expect(signedOf(failed)).toBeUndefined()
      }
    } finally {
      await own.close()
    }
  })

  it('again, for a stream that was cut: it may not have reached anybody', async () => {
    const payment = withId(await shop.sign('/cut', payer()))
    const before = runs
    const client = request(`${shop.url}/cut`, { headers: paymentHeader(payment) }).end()
    client.on('error', () => undefined)
    await until(() => runs > before)
    client.destroy()
    const again = await shop.pay('/cut', payment)
    expect(again.status).toBe(410)
    expect(settlementOf(again).success).toBe(true)
    expect(signedOf(again)).toBeUndefined()
  })
})

describe('a payment link', () => {
  it('is signed as a route is, at its own URL', async () => {
    const own = await openLinkShop(devnet, { receipts })
    try {
      const link = await own.link()
      expect(await signersOf(paymentRequiredOf(await own.ask(pathOf(link))))).toStrictEqual([
        SIGNER,
      ])
      const receipt = signedOf(await own.buy(pathOf(link), payer()))!
      expect(await verifyReceiptSignatureEIP712(receipt)).toMatchObject({
        signer: SIGNER,
        payload: { resourceUrl: link.url },
      })
      const refused = await own.ask(pathOf(link))
      expect(refused.status).toBe(409)
      expect(refused.headers.has('payment-response')).toBe(false)
    } finally {
      await own.close()
    }
  })
})

describe('/.well-known/did.json', () => {
  it('names the key at the site, as the official resolver wants it', async () => {
    const { host } = new URL(shop.url)
    const answer = await shop.ask('/.well-known/did.json')
    expect(answer.headers.get('content-type')).toBe('application/did+json; charset=utf-8')
    const id = `did:web:${host.replace(':', '%3A')}`
    const document = (await answer.json()) as { id: string; assertionMethod: string[] }
    expect(document).toMatchObject({ id, assertionMethod: [`${id}#receipts`] })
    expect(JSON.stringify(document)).not.toContain(KEY.slice(2))
    const key = await extractPublicKeyFromKid(`${id}#receipts`)
    expect(key).toMatchObject({ type: 'public' })
  })

  it('names the public URL behind a proxy', async () => {
    const own = await openShop(devnet, routes, { receipts, publicUrl: 'https://shop.example/app/' })
    try {
      const answer = await own.ask('/.well-known/did.json')
      expect(await answer.json()).toMatchObject({ id: 'did:web:shop.example' })
      expect(answer.headers.get('cache-control')).toBe('public, max-age=60')
    } finally {
      await own.close()
    }
  })

  it('is the app’s own without a key', async () => {
    expect((await plain.ask('/.well-known/did.json')).status).toBe(404)
  })
})

describe('a gateway that signs nothing', () => {
  it('says nothing of it', async () => {
    const required = paymentRequiredOf(await plain.ask('/item'))
    expect(Object.keys(required.extensions ?? {})).not.toContain('offer-receipt')
    const answer = await plain.buy('/item', payer())
    expect(settlementOf(answer)).not.toHaveProperty('extensions')
  })
})

describe('the offers of a 402 that is kept', () => {
  it('are signed again before half of their time is over', async () => {
    const own = await openShop(devnet, routes, { receipts, now: () => now })
    const signatures = async () => {
      const required: PaymentRequired = paymentRequiredOf(await own.ask('/item'))
      const offers = extractOffersFromPaymentRequired(required as never) as EIP712SignedOffer[]
      return offers.map(({ payload, signature }) => ({ signature, left: payload.validUntil }))
    }
    try {
      const first = await signatures()
      now += 150_000
      expect(await signatures()).toStrictEqual(first)
      now += 1
      const second = await signatures()
      expect(second).not.toStrictEqual(first)
      expect(second[0]!.left).toBe(Math.floor(now / 1000) + 300)
    } finally {
      await own.close()
    }
  })
})
