/** Credentials of MPP that are not what they seem, or where they do not belong. */
import { describe, expect, it } from '@jest/globals'
import express, { type RequestHandler } from 'express'
import { createGateway } from '../../src/gateway/gateway.js'
import type { ProtectOptions } from '../../src/sell/route/options.js'
import { closedBy, useCleanup } from '../support/cleanup.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../support/devnet.js'
import { listen, paymentHeader } from '../support/http.js'
import {
  challengesOf,
  CHANGED_MEMBERS,
  credentialText,
  receiptOf,
  signCredential,
  type CredentialOverrides,
  type SeenChallenge,
} from '../support/mpp.js'
import { paymentRequiredOf, useShop } from '../support/shop.js'
import { newNonce, signPayment } from '../support/sign-payment.js'

const MISMATCH = 'quote_mismatch'
const devnet = useDevnet()
const toEnd = useCleanup()
const income = () => balanceOf(devnet, devnet.merchant.address)

/** The gateway's clock. */
const clock = { aheadMs: 0 }
let runs = 0
let price = '$0.01'
const handler: RequestHandler = (req, res) => {
  runs++
  const { authorization } = req.headers
  res.json({ runs, authorization, raw: req.rawHeaders.filter((text) => text.includes(' ')) })
}
const shop = useShop(
  devnet,
  (app, { x402Protect }) => {
    const sell = (
      options: ProtectOptions = {},
      asked: Parameters<typeof x402Protect>[0] = '$0.01',
    ) => x402Protect(asked, { protocols: ['x402', 'mpp'], merchant: 'shop', ...options })
    app.get('/both', sell(), handler)
    app.get(
      '/distrusted',
      (req, _res, next) => {
        delete req.headers.authorization
        next()
      },
      sell(),
      handler,
    )
    app.get('/item/:id', sell(), handler)
    app.post('/body', express.json(), sell(), handler)
    app.post('/upload', sell(), handler)
    app.all('/any', sell(), handler)
    app.get(
      '/priced',
      sell({}, () => price),
      handler,
    )
    app.get('/moved', sell({ resourceUrl: () => 'https://shop.example/both' }), handler)
    app.get('/other', sell({ merchant: 'other' }), handler)
    app.get('/x402', x402Protect('$0.01', { merchant: 'shop' }), handler)
  },
  () => {
    const projects = shopOptions(devnet).projects ?? []
    const merchant = { payTo: devnet.payers[9]!.address }
    const now = () => Date.now() + clock.aheadMs
    return { now, projects: [...projects, { id: 'other', tokens: [`${SHOP_TOKEN}-2`], merchant }] }
  },
)

const ask = async (path: string, init?: RequestInit): Promise<SeenChallenge> => {
  const [challenge] = challengesOf(await shop.ask(path, init))
  if (challenge === undefined) throw new Error('nothing is asked for')
  return challenge
}
const sign = async (path: string, overrides?: CredentialOverrides, payer = 0) =>
  signCredential(devnet.payers[payer]!, await ask(path), overrides)
const present = (path: string, credential: unknown, init: RequestInit = {}) =>
  shop.ask(path, {
    ...init,
    headers: { ...init.headers, authorization: credentialText(credential) },
  })

/** Sends what must buy nothing, and is answered with what does. */
async function refuse(send: () => Promise<Response>) {
  const before = { runs, income: await income() }
  const response = await send()
  const body = (await response.json()) as Record<string, unknown>
  expect({ runs, income: await income() }).toEqual(before)
  expect(receiptOf(response)).toBeUndefined()
  return { status: response.status, error: body['error'], body, response }
}

describe('a credential with one member changed', () => {
  it.each(CHANGED_MEMBERS)('is refused: the %s of its challenge', async (_name, change) => {
    const challenge = await ask('/both')
    const changed = { ...challenge, ...change(challenge) }
    // The payer has signed the change.
    const signedFor = await signCredential(devnet.payers[0]!, changed)
    for (const credential of [
      signedFor,
      { ...(await signCredential(devnet.payers[0]!, challenge)), challenge: changed },
    ]) {
      const { status, error, body } = await refuse(() => present('/both', credential))
      expect({ status, error }).toEqual({ status: 402, error: MISMATCH })
      expect(body['type']).toBe('https://paymentauth.org/problems/invalid-challenge')
    }
  })

  it.each<[string, CredentialOverrides, string]>([
    ['the nonce', { signed: { nonce: newNonce() } }, MISMATCH],
    ['a later end', { signed: { validBefore: '4102444800' } }, MISMATCH],
    ['less', { signed: { value: '1' } }, 'invalid_exact_evm_payload_authorization_value_mismatch'],
    [
      'another payer',
      {
        payload: { from: `0x${'1'.repeat(40)}` },
        source: `did:pkh:eip155:84532:0x${'1'.repeat(40)}`,
      },
      'invalid_exact_evm_payload_signature',
    ],
    ['another source', { source: `did:pkh:eip155:84532:0x${'1'.repeat(40)}` }, 'invalid_payload'],
    [
      'another payee',
      { payload: { to: `0x${'1'.repeat(40)}` } },
      'invalid_exact_evm_payload_recipient_mismatch',
    ],
    ['another type', { payload: { type: 'hash' } }, 'invalid_payload'],
    ['no signature', { payload: { signature: '0x' } }, 'invalid_payload'],
  ])('is refused: %s', async (_name, overrides, reason) => {
    const credential = await sign('/both', overrides)
    const { status, error, response } = await refuse(() => present('/both', credential))
    expect({ status, error }).toEqual({ status: 402, error: reason })
    expect(challengesOf(response)[0]?.id).not.toBe(credential.challenge.id)
  })

  it.each([
    ['is empty', 'Payment'],
    ['is no base64', 'Payment !'],
    ['holds no JSON', 'Payment AAAA'],
    ['repeats a challenge', 'Payment id="a", realm="b"'],
    ['has no payload', credentialText({ challenge: {} })],
    ['is too long', `Payment ${'A'.repeat(16_385)}`],
  ])('is unreadable where it %s, and its client is told', async (_name, authorization) => {
    const { status, body } = await refuse(() => shop.ask('/both', { headers: { authorization } }))
    expect({ status, error: body['error'] }).toEqual({ status: 402, error: 'invalid_payload' })
    expect(body['detail']).toMatch(/^The Authorization header cannot be read: .+\.$/)
    expect(body['type']).toBe('https://paymentauth.org/problems/malformed-credential')
  })
})

describe('a credential elsewhere', () => {
  it.each([
    ['/item/1', '/item/2'],
    ['/both?a=1&b=2', '/both?b=2&a=1'],
    ['/both', '/item/1'],
    ['/both', '/any'],
    ['/both', '/other'],
    ['/both', '/moved'],
  ])('is not good: one for %s at %s', async (from, to) => {
    const credential = await sign(from)
    const { status, error } = await refuse(() => present(to, credential))
    expect({ status, error }).toEqual({ status: 402, error: MISMATCH })
    expect((await present(from, credential)).status).toBe(200)
  })

  it('is not good with another method, and HEAD costs what GET costs', async () => {
    const credential = await sign('/any')
    expect(await refuse(() => present('/any', credential, { method: 'DELETE' }))).toMatchObject({
      status: 402,
      error: MISMATCH,
    })
    expect((await present('/any', credential, { method: 'HEAD' })).status).toBe(200)
    expect(await refuse(() => present('/any', credential))).toMatchObject({
      status: 402,
      error: 'invalid_exact_evm_nonce_already_used',
    })
  })

  it('is not good at another price', async () => {
    const credential = await sign('/priced')
    price = '$0.02'
    const refused = await refuse(() => present('/priced', credential))
    price = '$0.01'
    expect(refused).toMatchObject({ status: 402, error: 'invalid_payment_requirements' })
    expect((await present('/priced', credential)).status).toBe(200)
  })

  it('is not good with another body', async () => {
    const init = (body: string) => ({
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json' },
    })
    const [one, other] = [init('{"a":1}'), init('{"a":2}')]
    const spaced = init('{ "a": 1 }')
    const credential = await signCredential(devnet.payers[0]!, await ask('/body', one))
    expect(await refuse(() => present('/body', credential, other))).toMatchObject({
      error: MISMATCH,
      body: { errorMessage: expect.stringContaining('another body') },
    })
    expect((await present('/body', credential, one)).status).toBe(200)
    // Whose digest would have to be guessed has none, and is bound nevertheless.
    const unspelt = await ask('/body', spaced)
    expect(unspelt.digest).toBeUndefined()
    const bound = await signCredential(devnet.payers[0]!, unspelt)
    expect(await refuse(() => present('/body', bound, init('{ "a": 2 }')))).toMatchObject({
      error: MISMATCH,
    })
  })

  it('is asked for by no challenge where the body cannot be compared', async () => {
    const response = await shop.ask('/upload', { method: 'POST', body: 'unparsed' })
    expect(response.status).toBe(402)
    expect(challengesOf(response)).toEqual([])
    expect(paymentRequiredOf(response).accepts).toHaveLength(1)
  })

  it('is not good at a gateway with another secret, and is at one that shares the secret', async () => {
    const open = async (quoteSecret: string) => {
      const gateway = closedBy(toEnd, createGateway(shopOptions(devnet, { quoteSecret })))
      const resourceUrl = () => 'https://shop.example/'
      const app = express()
      const paid = gateway.x402Protect('$0.01', { protocols: ['x402', 'mpp'], resourceUrl })
      app.get('/', paid, handler)
      return closedBy(toEnd, await listen(app)).url
    }
    const secret = 'a'.repeat(32)
    const [first, second, stranger] = [
      await open(secret),
      await open(secret),
      await open('b'.repeat(32)),
    ]
    const [challenge] = challengesOf(await fetch(first))
    const authorization = credentialText(await signCredential(devnet.payers[0]!, challenge!))
    const headers = { authorization }
    expect(await refuse(() => fetch(stranger, { headers }))).toMatchObject({ error: MISMATCH })
    expect((await fetch(second, { headers })).status).toBe(200)
  })

  it('is nothing to a route of x402 alone, which leaves the header to its app', async () => {
    const authorization = credentialText(await sign('/both'))
    const refused = await refuse(() => shop.ask('/x402', { headers: { authorization } }))
    expect(refused).toMatchObject({ status: 402, error: 'Payment required' })
    expect(refused.response.headers.get('www-authenticate')).toBeNull()
    const payment = await shop.sign('/x402', devnet.payers[0]!)
    const sold = await shop.pay('/x402', payment, { headers: { authorization } })
    expect(await sold.json()).toMatchObject({ authorization })
  })
})

describe('two payments', () => {
  it('are refused in one request, and both are still good', async () => {
    const [one, other] = [await sign('/both'), await sign('/both', {}, 1)]
    const payment = await shop.sign('/both', devnet.payers[2]!)
    const both = `${credentialText(one)}, ${credentialText(other)}`
    for (const send of [
      () => shop.ask('/both', { headers: { authorization: both } }),
      () => shop.pay('/both', payment, { headers: { authorization: credentialText(one) } }),
    ])
      expect(await refuse(send)).toMatchObject({
        status: 402,
        error: 'invalid_payload',
        body: { errorMessage: expect.stringContaining('two payments') },
      })
    expect((await present('/both', one)).status).toBe(200)
    expect((await present('/both', other)).status).toBe(200)
    expect((await shop.pay('/both', payment)).status).toBe(200)
  })

  it.each([
    ['before', (payment: string) => `${payment}, Bearer secret`],
    ['behind', (payment: string) => `Bearer secret, ${payment}`],
    ['beside a quotation mark', (payment: string) => `Digest a="x, Payment y", ${payment}`],
  ])('is a credential %s another scheme, which the handler has', async (_name, write) => {
    const text = credentialText(await sign('/both'))
    const response = await shop.ask('/both', { headers: { authorization: write(text) } })
    expect(response.status).toBe(200)
    const { authorization, raw } = (await response.json()) as {
      authorization: string
      raw: string[]
    }
    expect(authorization).toBe(
      write(text)
        .replace(text, '')
        .replace(/^, |, $/, ''),
    )
    expect(raw).not.toContainEqual(expect.stringContaining(text))
  })

  it('leaves out what the app has taken out of the header before', async () => {
    const text = credentialText(await sign('/distrusted'))
    const headers = { authorization: `Bearer forged, ${text}` }
    const response = await shop.ask('/distrusted', { headers })
    expect(response.status).toBe(200)
    expect(await response.text()).not.toContain('forged')
  })

  it('does not read what only looks like one', async () => {
    for (const authorization of ['Bearer Payment', 'Payments x', 'Digest a="b, Payment c"'])
      expect(await refuse(() => shop.ask('/both', { headers: { authorization } }))).toMatchObject({
        error: 'Payment required',
      })
  })
})

describe('one authorization', () => {
  it('is sold once, however often and by whichever way it comes at once', async () => {
    const before = { runs, income: await income() }
    const credential = await sign('/both', {}, 3)
    const { accepts } = paymentRequiredOf(await shop.ask('/both'))
    const { type: _type, signature, ...authorization } = credential.payload
    const x402 = paymentHeader({
      x402Version: 2,
      accepted: accepts[0],
      payload: { signature, authorization },
    })
    const answers: Response[] = []
    for (let round = 0; round < 10; round++) {
      const sent = Array.from({ length: 100 }, (_, index) =>
        index % 2 === 0 ? present('/both', credential) : shop.ask('/both', { headers: x402 }),
      )
      answers.push(...(await Promise.all(sent)))
    }
    expect(runs - before.runs).toBe(1)
    expect((await income()) - before.income).toBe(10_000n)
    const bodies = new Set(
      await Promise.all(answers.filter(({ ok }) => ok).map((answer) => answer.text())),
    )
    expect(bodies.size).toBe(1)
  })

  it('of x402 is no credential', async () => {
    const challenge = await ask('/both')
    const { accepts } = paymentRequiredOf(await shop.ask('/both'))
    const { payload } = await signPayment(devnet.payers[0]!, accepts[0]!)
    const { authorization, signature } = payload as { authorization: object; signature: string }
    const credential = {
      challenge,
      payload: { type: 'authorization', ...authorization, signature },
    }
    expect(await refuse(() => present('/both', credential))).toMatchObject({
      error: MISMATCH,
      body: { errorMessage: expect.stringContaining('nonce') },
    })
  })

  it('gets the same answer again with its receipt, also when its challenge has lapsed', async () => {
    const credential = await sign('/both')
    const first = await present('/both', credential)
    const text = await first.text()
    const late = await sign('/both')
    clock.aheadMs = 400_000
    expect(await refuse(() => present('/both', late))).toMatchObject({
      error: 'invalid_exact_evm_payload_authorization_valid_before',
      body: { type: 'https://paymentauth.org/problems/payment-expired' },
    })
    const again = await present('/both', credential)
    clock.aheadMs = 0
    expect([again.status, await again.text()]).toEqual([200, text])
    expect(receiptOf(again)).toEqual(receiptOf(first))
    expect(again.headers.get('cache-control')).toContain('private')
    expect(again.headers.get('access-control-expose-headers')).toContain('Payment-Receipt')
  })

  it('does not get the answer of another payer, who has seen its challenge', async () => {
    const challenge = await ask('/both')
    const bought = await present('/both', await signCredential(devnet.payers[0]!, challenge))
    expect(bought.status).toBe(200)
    const before = runs
    const other = await present('/both', await signCredential(devnet.payers[1]!, challenge))
    expect({ status: other.status, runs }).toEqual({ status: 200, runs: before + 1 })
  })
})
