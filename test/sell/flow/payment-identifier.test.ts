import { request } from 'node:http'
import { describe, expect, it } from '@jest/globals'
import { ExactEvmScheme } from '@x402/evm'
import { appendPaymentIdentifierToExtensions, generatePaymentId } from '@x402/extensions'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import type { Express } from 'express'
import { privateKeyToAccount } from 'viem/accounts'
import type { Gateway } from '../../../src/gateway/gateway.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { PaymentPayload } from '../../../src/shared/protocol/payment.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { paymentHeader } from '../../support/http.js'
import { patchedLedger } from '../../support/patched-ledger.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { openShop, paymentRequiredOf, settlementOf, useShop } from '../../support/shop.js'
import { until } from '../../support/until.js'
import { stopMining, resumeMining, payAndLeave } from '../../support/mining.js'

const devnet = useDevnet()
const payer = () => devnet.payers[0]!
const earned = () => balanceOf(devnet, devnet.merchant.address)

let runs = 0
let requests = 0
let gone = 0
let isBroken = false
/** What the handlers of `/held` and `/failing` wait for. */
let released: Promise<void> = Promise.resolve()
/** Keeps them until the function that it returns is called. */
const holdHandlers = (): (() => void) => {
  let release: () => void = () => undefined
  released = new Promise((resolve) => (release = resolve))
  return release
}
const routes = (app: Express, { x402Protect }: Gateway): void => {
  app.use((_req, res, next) => {
    res.set('X-Request', String(++requests))
    res.on('close', () => gone++)
    next()
  })
  app.all('/item', x402Protect('$0.01'), (req, res) => {
    runs++
    if (isBroken) return void res.status(500).send('broken')
    res.status(201).cookie('seen', 'yes').json({ run: runs, paidBy: req.x402?.payer })
  })
  app.get('/other', x402Protect('$0.01'), (_req, res) => void res.send(`other ${++runs}`))
  app.get('/slow', x402Protect('$0.01'), (_req, res) => {
    const run = ++runs
    setTimeout(() => res.send(`slow ${run}`), 600)
  })
  app.get('/held', x402Protect('$0.01'), async (_req, res) => {
    const run = ++runs
    await released
    res.send(`held ${run}`)
  })
  app.get('/failing', x402Protect('$0.01'), async (_req, res) => {
    runs++
    await released
    res.status(500).end()
  })
  app.get('/raw', x402Protect('$0.01'), (_req, res) => {
    runs++
    res.writeHead(200, { 'Content-Type': 'application/octet-stream', 'X-Many': ['a', 'b'] })
    res.write(Buffer.from([0, 255, 254]))
    res.end('ff', 'hex')
  })
  app.get('/large', x402Protect('$0.01'), (_req, res) => {
    runs++
    res.send('x'.repeat(256 * 1024 + 1))
  })
  app.get('/limit', x402Protect('$0.01'), (_req, res) => {
    runs++
    res.send('x'.repeat(256 * 1024))
  })
  for (const hidden of ['/hidden/1', '/hidden/2'])
    app.get(
      hidden,
      x402Protect('$0.01', { resourceUrl: () => 'https://shop.example/hidden' }),
      (_req, res) => void res.send(`${hidden} ${++runs}`),
    )
  app.get('/chunks', x402Protect('$0.01', { paymentFlow: 'upfront' }), (_req, res) => {
    runs++
    res.write('fffe', 'hex')
    res.write(new Uint8Array([0, 1]))
    res.end(() => undefined)
  })
  app.get('/stream', x402Protect('$0.01', { paymentFlow: 'upfront' }), (req, res) => {
    const size = Number(req.query['size'] ?? 3)
    res.write(`${++runs} `)
    setTimeout(() => res.end(Buffer.alloc(size, 'x')), 20)
  })
  app.get('/cut', x402Protect('$0.01', { paymentFlow: 'upfront' }), (_req, res) => {
    res.write(`${++runs} `)
    res.on('close', () => res.end('never seen'))
  })
}
const shop = useShop(devnet, routes)

const newId = (): string => generatePaymentId()
const withId = (payment: PaymentPayload, id: unknown): PaymentPayload => ({
  ...payment,
  extensions: { 'payment-identifier': { info: { required: false, id } } },
})
const signWithId = async (path: string, id = newId(), from = shop) =>
  withId(await from.sign(path, payer()), id)
const byName = ([one]: [string, string], [other]: [string, string]): number =>
  one < other ? -1 : 1
const OF_ONE_EXCHANGE = [
  ...['date', 'x-request', 'connection', 'keep-alive'],
  ...['content-length', 'transfer-encoding'],
]
/** What an answer is to its client, but for what belongs to the one exchange. */
const seen = async (response: Response) => {
  const headers = new Headers(response.headers)
  for (const name of OF_ONE_EXCHANGE) headers.delete(name)
  const body = Buffer.from(await response.arrayBuffer()).toString('base64')
  return { status: response.status, headers: [...headers].toSorted(byName), body }
}

describe('a payment with an id', () => {
  it('gets the same answer again, and runs and costs nothing more', async () => {
    const payment = await signWithId('/item')
    const [before, runsBefore] = [await earned(), runs]
    const first = await shop.pay('/item', payment)
    expect(first.status).toBe(201)
    const again = await shop.pay('/item', payment)
    expect(Number(again.headers.get('x-request'))).toBe(Number(first.headers.get('x-request')) + 1)
    expect(again.headers.getSetCookie()).toHaveLength(1)
    expect(await seen(again)).toEqual(await seen(first))
    expect(runs).toBe(runsBefore + 1)
    expect(await earned()).toBe(before + 10_000n)
  })

  it.each<[string, (payment: PaymentPayload) => PaymentPayload]>([
    ['without its id', ({ extensions: _extensions, ...payment }) => payment],
    ['with another id', (payment) => withId(payment, newId())],
  ])('is refused as used %s', async (_name, change) => {
    const payment = await signWithId('/item')
    expect((await shop.pay('/item', payment)).status).toBe(201)
    const replay = await shop.pay('/item', change(payment))
    expect(replay.status).toBe(402)
    expect(paymentRequiredOf(replay).error).toBe('invalid_exact_evm_nonce_already_used')
  })

  it('is recognised if it is written differently', async () => {
    const payment = await signWithId('/item')
    const first = await shop.pay('/item', payment)
    const { accepted, payload } = payment
    const signature = String(payload['signature']).toUpperCase().replace('0X', '0x')
    const rewritten = {
      extensions: payment.extensions,
      payload: { authorization: payload['authorization'], signature },
      resource: payment.resource,
      accepted: { ...accepted, network: 'base-sepolia' },
      x402Version: 2,
    }
    expect(await seen(await shop.pay('/item', rewritten))).toEqual(await seen(first))
  })

  it('is answered 409 if another payment has the id, and can pay with another id', async () => {
    const id = newId()
    expect((await shop.pay('/item', await signWithId('/item', id))).status).toBe(201)
    const second = await shop.sign('/item', payer())
    const [before, runsBefore] = [await earned(), runs]
    const conflict = await shop.pay('/item', withId(second, id))
    expect(conflict.status).toBe(409)
    expect(await conflict.json()).toMatchObject({ code: 'idempotency_conflict', status: 409 })
    expect([await earned(), runs]).toEqual([before, runsBefore])
    expect((await shop.pay('/item', withId(second, newId()))).status).toBe(201)
  })

  it('gets an answer of its own if another payer has the id', async () => {
    const id = newId()
    const [mine, theirs] = [payer(), devnet.payers[1]!]
    const payments = [
      withId(await shop.sign('/item', mine), id),
      withId(await shop.sign('/item', theirs), id),
    ]
    const [before, runsBefore] = [await earned(), runs]
    const answers = []
    for (const payment of payments) answers.push(await (await shop.pay('/item', payment)).json())
    expect(answers).toEqual([
      { run: runsBefore + 1, paidBy: mine.address },
      { run: runsBefore + 2, paidBy: theirs.address },
    ])
    // Each keeps its own.
    for (const [index, payment] of payments.entries())
      expect(await (await shop.pay('/item', payment)).json()).toEqual(answers[index])
    expect([await earned(), runs]).toEqual([before + 20_000n, runsBefore + 2])
  })

  it('runs one handler if it comes nine times at once, and all get its answer', async () => {
    const buyer = devnet.payers[1]!
    const payment = withId(await shop.sign('/slow', buyer), newId())
    const [before, runsBefore] = [await balanceOf(devnet, buyer.address), runs]
    const copies = await Promise.all(Array.from({ length: 9 }, () => shop.pay('/slow', payment)))
    const answers = await Promise.all(copies.map(seen))
    expect(answers[0]).toMatchObject({ status: 200 })
    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(new Set(copies.map((copy) => JSON.stringify(settlementOf(copy)))).size).toBe(1)
    expect(runs).toBe(runsBefore + 1)
    expect(await balanceOf(devnet, buyer.address)).toBe(before - 10_000n)
  })

  it('does not get the answer of another resource', async () => {
    const payment = await signWithId('/item')
    const { resource: _resource, ...anywhere } = payment
    expect((await shop.pay('/item', anywhere)).status).toBe(201)
    const other = await shop.pay('/other', anywhere)
    expect(other.status).toBe(402)
    expect(paymentRequiredOf(other).error).toBe('invalid_exact_evm_nonce_already_used')
    expect((await shop.pay('/item', anywhere, { method: 'POST' })).status).toBe(402)
    expect((await shop.pay('/item', anywhere)).status).toBe(201)
  })

  it('does not get the answer of another route with the same resource URL', async () => {
    const payment = await signWithId('/hidden/1')
    expect((await shop.pay('/hidden/1', payment)).status).toBe(200)
    expect((await shop.pay('/hidden/2', payment)).status).toBe(402)
    expect((await shop.pay('/hidden/1', payment)).status).toBe(200)
  })

  it('gets bytes and headers again as they were written', async () => {
    const payment = await signWithId('/raw')
    const first = await seen(await shop.pay('/raw', payment))
    expect(first.body).toBe(Buffer.from([0, 255, 254, 255]).toString('base64'))
    expect(first.headers).toContainEqual(['x-many', 'a, b'])
    expect(await seen(await shop.pay('/raw', payment))).toEqual(first)
  })

  it('gets a stream again as it was written', async () => {
    const payment = await signWithId('/chunks')
    const first = await seen(await shop.pay('/chunks', payment))
    expect(first.body).toBe(Buffer.from([255, 254, 0, 1]).toString('base64'))
    expect(await seen(await shop.pay('/chunks', payment))).toEqual(first)
  })

  it.each([
    ['/large', 410],
    ['/limit', 200],
    ['/stream?size=300000', 410],
    ['/stream', 200],
  ])('is told if the answer was too large to be kept: %s is %d', async (path, status) => {
    const payment = await signWithId(path)
    const [before, runsBefore] = [await earned(), runs]
    const first = await shop.pay(path, payment)
    expect(first.status).toBe(200)
    const body = await first.text()
    const again = await shop.pay(path, payment)
    expect(again.status).toBe(status)
    expect(settlementOf(again)).toEqual(settlementOf(first))
    expect(again.headers.get('access-control-expose-headers')).toContain('PAYMENT-RESPONSE')
    const text = await again.text()
    if (status === 200) expect(text).toBe(body)
    else expect(JSON.parse(text)).toMatchObject({ code: 'answer_not_kept', status: 410 })
    expect([await earned(), runs]).toEqual([before + 10_000n, runsBefore + 1])
  })

  it.each([
    ['too short', 'pay_12345678901'],
    ['too long', 'x'.repeat(129)],
    ['of other characters', 'pay 7d5d747be160e280'],
    ['a number', 1_234_567_890_123_456],
  ])('is answered 400 if the id is %s', async (_name, id) => {
    const runsBefore = runs
    const response = await shop.pay('/item', await signWithId('/item', id as string))
    expect(response.status).toBe(400)
    expect(paymentRequiredOf(response).error).toContain('extensions.payment-identifier.info.id')
    expect(runs).toBe(runsBefore)
  })

  it.each([
    ['of the least length', 'pay_123456789012'],
    ['of the greatest', 'x'.repeat(128)],
    ['left out', undefined],
  ])('is accepted if the id is %s', async (_name, id) => {
    expect((await shop.pay('/item', withId(await shop.sign('/item', payer()), id))).status).toBe(
      201,
    )
  })

  it('can try again after a handler failed, which cost nothing', async () => {
    const payment = await signWithId('/item')
    const before = await earned()
    isBroken = true
    expect((await shop.pay('/item', payment)).status).toBe(500)
    isBroken = false
    expect(await earned()).toBe(before)
    expect((await shop.pay('/item', payment)).status).toBe(201)
    expect((await shop.pay('/item', payment)).status).toBe(201)
    expect(await earned()).toBe(before + 10_000n)
  })

  it('runs no handler for a client that waited for another request and is gone', async () => {
    const ledger = createMemoryLedger()
    let waiters = 0
    const begin: LedgerStore['idempotency']['begin'] = async (asked) => {
      const begun = await ledger.idempotency.begin(asked)
      if (begun.state === 'busy') waiters++
      return begun
    }
    const own = await openShop(devnet, routes, {
      ledger: patchedLedger(ledger, { idempotency: { begin } }),
    })
    const payment = await signWithId('/failing', newId(), own)
    const [runsBefore, release] = [runs, holdHandlers()]
    const first = own.pay('/failing', payment)
    await until(() => runs > runsBefore)
    const waiting = request(`${own.url}/failing`, { headers: paymentHeader(payment) }).end()
    waiting.on('error', () => undefined)
    await until(() => waiters > 0)
    const goneBefore = gone
    waiting.destroy()
    await until(() => gone > goneBefore)
    release()
    expect((await first).status).toBe(500)
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(runs).toBe(runsBefore + 1)
    await own.close()
  })

  it('leaves its id free if it is refused', async () => {
    const id = newId()
    const less = withId(await shop.sign('/item', payer(), { value: '9999' }), id)
    expect((await shop.pay('/item', less)).status).toBe(402)
    expect((await shop.pay('/item', await signWithId('/item', id))).status).toBe(201)
  })

  it.each(['/item', '/stream'])(
    'keeps its answer for a client that disconnected while it was mined: %s',
    async (path) => {
      const [before, runsBefore] = [await earned(), runs]
      const payment = await signWithId(path)
      await payAndLeave(
        devnet,
        { url: shop.url + path, headers: paymentHeader(payment) },
        () => gone,
      )
      await resumeMining(devnet)
      const answer = await shop.pay(path, payment)
      expect(answer.ok).toBe(true)
      expect(await seen(await shop.pay(path, payment))).toEqual(await seen(answer))
      expect([await earned(), runs]).toEqual([before + 10_000n, runsBefore + 1])
    },
  )

  it('is told that its client cut a stream short', async () => {
    const payment = await signWithId('/cut')
    const runsBefore = runs
    const client = request(`${shop.url}/cut`, { headers: paymentHeader(payment) }).end()
    client.on('error', () => undefined)
    await until(() => runs > runsBefore)
    client.destroy()
    const again = await shop.pay('/cut', payment)
    expect(again.status).toBe(410)
    expect(settlementOf(again).success).toBe(true)
    expect(runs).toBe(runsBefore + 1)
  })

  it('comes from the unmodified official client, and its repetition costs nothing', async () => {
    const id = newId()
    const sent: Request[] = []
    const client = new x402Client()
      .register('eip155:84532', new ExactEvmScheme(privateKeyToAccount(payer().privateKey)))
      .onBeforePaymentCreation(async ({ paymentRequired }) => {
        appendPaymentIdentifierToExtensions(paymentRequired.extensions ?? {}, id)
      })
    const pay = wrapFetchWithPayment(async (input, init) => {
      const asked = new Request(input, init)
      sent.push(asked.clone())
      return fetch(asked)
    }, client)
    const before = await earned()
    const first = await pay(`${shop.url}/item`)
    expect(first.status).toBe(201)
    const again = await fetch(sent.at(-1)!)
    expect(await seen(again)).toEqual(await seen(first))
    expect(await earned()).toBe(before + 10_000n)
  })
})

describe('a payment with an id, when the chain or ledger fails', () => {
  it('is not bound to a refusal without an attempt to settle', async () => {
    const proxy = await startRpcProxy(devnet.rpcUrl)
    const { relayerKeys } = shopOptions(devnet).networks!['base-sepolia']!
    const far = await openShop(devnet, routes, {
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: relayerKeys! } },
    })
    try {
      const payment = await signWithId('/item', newId(), far)
      proxy.fault = () => ({ kind: 'drop_request' })
      expect((await far.pay('/item', payment)).status).toBe(503)
      proxy.fault = undefined
      expect((await far.pay('/item', payment)).status).toBe(201)
    } finally {
      await far.close()
      await proxy.close()
    }
  })

  it('is redeemed once it is mined, and gets the same answer from then on', async () => {
    const quick = await openShop(devnet, routes, { settleTimeoutMs: 400 })
    try {
      const payment = await signWithId('/item', newId(), quick)
      const before = await earned()
      await stopMining(devnet)
      const pending = await quick.pay('/item', payment)
      expect(pending.status).toBe(503)
      expect(await pending.json()).toMatchObject({ code: 'settlement_pending' })
      await resumeMining(devnet)
      let redeemed = pending
      await until(async () => (redeemed = await quick.pay('/item', payment)).status !== 503)
      expect(redeemed.status).toBe(201)
      const runsBefore = runs
      expect(await seen(await quick.pay('/item', payment))).toEqual(await seen(redeemed))
      expect([await earned(), runs]).toEqual([before + 10_000n, runsBefore])
    } finally {
      await quick.close()
    }
  })

  it('does not wait for the first request for longer than a settlement', async () => {
    // Also the time that the first one is given to settle.
    const quick = await openShop(devnet, routes, { settleTimeoutMs: 4000 })
    try {
      const payment = await signWithId('/held', newId(), quick)
      const [runsBefore, release] = [runs, holdHandlers()]
      const first = quick.pay('/held', payment)
      await until(() => runs > runsBefore)
      const second = await quick.pay('/held', payment)
      release()
      expect(second.status).toBe(503)
      expect(second.headers.get('retry-after')).toBe('5')
      expect(await second.json()).toMatchObject({ code: 'idempotency_in_progress' })
      expect((await first).status).toBe(200)
      expect((await quick.pay('/held', payment)).status).toBe(200)
      expect(runs).toBe(runsBefore + 1)
    } finally {
      await quick.close()
    }
  })
})
