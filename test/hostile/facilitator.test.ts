import { beforeEach, describe, expect, it } from '@jest/globals'
import express from 'express'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { MERCHANT, PAYERS } from '../../src/tools/devnet/accounts.js'
import { httpFacilitator } from '../../src/core/facilitator/http/http-facilitator.js'
import { createGateway } from '../../src/gateway/gateway.js'
import { decodeDocument, listen, paymentHeader } from '../support/http.js'
import { SHOP_TOKEN } from '../support/devnet.js'
import { useScriptedFacilitator } from '../support/scripted-facilitator.js'
import { paymentRequiredOf, settlementOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { useOpened } from '../support/use-opened.js'

const elsewhere = useScriptedFacilitator()
const TRANSACTION = `0x${'ab'.repeat(32)}`
const network = 'eip155:84532'
const payer = PAYERS[0]!.address
const stranger = PAYERS[1]!.address

let ran = 0
const told: [string, object][] = []
const gateway = useOpened(() =>
  createGateway({
    // Its address is known inside tests only.
    facilitator: {
      verify: (...of) => open().verify(...of),
      settle: (...of) => open().settle(...of),
      supported: () => open().supported(),
    },
    networks: { 'base-sepolia': {} },
    projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: MERCHANT.address } }],
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  }),
)
const server = useOpened(() => {
  for (const name of ['verified', 'refused', 'submitted', 'settled', 'failed', 'pending'] as const)
    gateway.on(name, (event) => void told.push([name, event]))
  const app = express()
  app.use(gateway.gatewayRouter())
  app.get('/paid', gateway.x402Protect('$0.01'), (_req, res) => {
    ran++
    res.send('what was paid for')
  })
  return listen(app)
})
beforeEach(() => {
  ran = 0
  told.length = 0
})

const open = () => httpFacilitator({ url: elsewhere.url })
const valid = { body: { isValid: true, payer } }
const paid = { body: { success: true, transaction: TRANSACTION, network, payer } }
async function sign() {
  const [offer] = paymentRequiredOf(await fetch(`${server.url}/paid`)).accepts
  return signPayment(PAYERS[0]!, offer!)
}
const pay = (payment: object) => fetch(`${server.url}/paid`, { headers: paymentHeader(payment) })
const buy = async () => pay(await sign())
const names = () => told.map(([name]) => name)
const post = (path: string, body: string) =>
  fetch(`${server.url}/api/v2/payment/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-project-identify-token': SHOP_TOKEN },
    body,
  })

describe('a remote facilitator as a stranger (rule 18)', () => {
  it('gives a pending payment, never an unpaid one, if it still works on a call whose answer was lost', async () => {
    elsewhere.scripts = {
      verify: valid,
      settle: [
        'break',
        {
          body: {
            success: false,
            errorReason: 'duplicate_settlement',
            transaction: '',
            network,
            payer,
          },
        },
      ],
    }
    const payment = await sign()
    expect((await pay(payment)).status).toBe(503)
    const again = await pay(payment)
    expect(again.status).toBe(503)
    expect(await again.json()).toMatchObject({ code: 'settlement_pending' })
  })

  it.each<[string, object]>([
    ['another payer', { isValid: true, payer: stranger }],
    ['no truth value', { isValid: 'yes', payer }],
    ['a list', [{ isValid: true }]],
  ])('gets no handler run by a verify of %s', async (_name, body) => {
    elsewhere.scripts = { verify: { body }, settle: paid }
    const answer = await buy()
    expect(answer.status).toBe(503)
    expect(ran).toBe(0)
    expect(elsewhere.requests.map(({ path }) => path)).not.toContain('/x402/settle')
  })

  it.each<[string, object]>([
    ['another payer', { success: true, transaction: TRANSACTION, network, payer: stranger }],
    ['another network', { success: true, transaction: TRANSACTION, network: 'eip155:1', payer }],
    ['no transaction', { success: true, transaction: '', network, payer }],
    ['half a transaction', { success: true, transaction: '0xabcd', network, payer }],
    ['a long transaction', { success: true, transaction: `0x${'a'.repeat(60_000)}`, network }],
    ['lines', { success: true, transaction: `${TRANSACTION}\r\nSet-Cookie: a=b`, network }],
  ])(
    'is not believed if its settlement names %s, and no response goes out',
    async (_name, body) => {
      elsewhere.scripts = { verify: valid, settle: { body } }
      const answer = await buy()
      expect(answer.status).toBe(503)
      expect(await answer.text()).not.toContain('what was paid for')
      expect(answer.headers.get('set-cookie')).toBeNull()
      // What it did is not known: the payment stays open.
      expect(names()).toEqual(['verified', 'pending'])
      expect(told[1]).toMatchObject(['pending', { transaction: '' }])
    },
  )

  it.each<[string, string]>([
    ['is long', 'x'.repeat(100_000)],
    ['has lines', 'no\r\nSet-Cookie: a=b'],
    ['is not ASCII', 'nicht gültig'],
    ['has control characters', 'a\u0000b'],
  ])('has its reason replaced if that %s', async (_name, reason) => {
    elsewhere.scripts = { verify: { body: { isValid: false, invalidReason: reason } } }
    const refused = await buy()
    expect(refused.status).toBe(402)
    expect(paymentRequiredOf(refused).error).toBe('unexpected_verify_error')
    elsewhere.scripts = {
      verify: valid,
      settle: { body: { success: false, errorReason: reason, transaction: reason, network } },
    }
    const unsettled = await buy()
    // Whether it has settled is not known.
    expect(unsettled.status).toBe(503)
    expect(settlementOf(unsettled)).toMatchObject({
      errorReason: 'settlement_pending',
      transaction: '',
    })
  })

  it('is given up at little cost if its answer never ends', async () => {
    let sent = 0
    const endless: Server = createServer((_req, res) => {
      const chunk = Buffer.alloc(64 * 1024, ' ')
      const write = (): void => {
        while (!res.destroyed && sent < 80 * 1024 * 1024) {
          sent += chunk.length
          if (!res.write(chunk)) return void res.once('drain', write)
        }
        res.end()
      }
      write()
    }).listen(0, '127.0.0.1')
    await once(endless, 'listening')
    const { port } = endless.address() as AddressInfo
    const payment = await sign()
    const asked = httpFacilitator({ url: `http://127.0.0.1:${port}` })
    await expect(asked.settle(payment, payment.accepted as never)).rejects.toMatchObject({
      code: 'facilitator_refused',
    })
    endless.close()
    endless.closeAllConnections()
    // What it sent into the buffers of the connection, not all that it had.
    expect(sent).toBeLessThan(20 * 1024 * 1024)
  })

  it('is asked for v2 alone if it also speaks x402 v1', async () => {
    const kinds = [
      { x402Version: 1, scheme: 'exact', network: 'base-sepolia' },
      { x402Version: 2, scheme: 'exact', network },
    ]
    elsewhere.scripts = { supported: { body: { kinds } } }
    expect((await open().supported()).kinds).toEqual([kinds[1]])
  })
})

describe('an answer of a remote facilitator that may not be final', () => {
  it.each([
    [500, 'internal_error'],
    [500, 'unexpected_settle_error'],
    [503, 'facilitator_unavailable'],
    [504, 'timeout'],
    [200, 'settlement_timeout'],
    [200, 'settle_exact_node_failure'],
    [200, 'unexpected_error'],
    [400, 'transaction did not confirm in time'],
  ])(
    'HTTP %d with %s never asks the buyer to sign again, and the same request asks again',
    async (status, errorReason) => {
      const body = { success: false, errorReason, transaction: '', network, payer }
      elsewhere.scripts = { verify: valid, settle: [{ status, body }, paid] }
      const payment = await sign()
      const first = await pay(payment)
      expect(first.status).toBe(503)
      expect(first.headers.get('payment-required')).toBeNull()
      expect(Number(first.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await pay(payment)).status).toBe(200)
    },
  )

  it.each([500, 503])('is no refusal if verify answers HTTP %d', async (status) => {
    elsewhere.scripts = { verify: { status, body: { isValid: false, invalidReason: 'x' } } }
    expect((await buy()).status).toBe(503)
  })

  it('releases the payment on HTTP 429, and passes on Retry-After', async () => {
    const busy = { status: 429, body: {}, headers: { 'retry-after': '42' } }
    elsewhere.scripts = { verify: valid, settle: [busy, paid] }
    const payment = await sign()
    const first = await pay(payment)
    expect([first.status, first.headers.get('retry-after')]).toEqual([503, '42'])
    expect(await first.json()).toMatchObject({ code: 'facilitator_busy' })
    expect(names()).toEqual(['verified'])
    expect((await pay(payment)).status).toBe(200)
  })

  it('reaches listeners in the words of the facilitator', async () => {
    const errorMessage = 'context deadline\r\nexceeded'
    const body = { success: false, errorReason: 'unexpected_error', errorMessage, network }
    elsewhere.scripts = { verify: valid, settle: { body } }
    await buy()
    const facilitatorMessage = 'context deadline exceeded'
    expect(told[1]).toMatchObject(['pending', { facilitatorMessage, transaction: '' }])
  })
})

describe('events with a remote facilitator (rule 18)', () => {
  it('report a verified and settled payment once', async () => {
    elsewhere.scripts = { verify: valid, settle: paid }
    const payment = await sign()
    expect((await pay(payment)).status).toBe(200)
    expect(names()).toEqual(['verified', 'settled'])
    expect(told[1]?.[1]).toMatchObject({
      ...{ network, payer, amount: '10000', payTo: MERCHANT.address, project: 'shop' },
      transaction: TRANSACTION,
    })
    expect((await pay(payment)).status).toBe(402)
    expect(names().filter((name) => name === 'settled')).toHaveLength(1)
  })

  it('report a refused payment', async () => {
    const reason = 'invalid_exact_evm_payload_signature'
    elsewhere.scripts = { verify: { body: { isValid: false, invalidReason: reason } } }
    expect((await buy()).status).toBe(402)
    expect(told).toEqual([['refused', expect.objectContaining({ reason })]])
  })

  it('report a payment whose transaction failed', async () => {
    const reason = 'invalid_transaction_state'
    const body = { success: false, errorReason: reason, transaction: TRANSACTION, network }
    elsewhere.scripts = { verify: valid, settle: { body } }
    expect((await buy()).status).toBe(402)
    expect(names()).toEqual(['verified', 'failed'])
    expect(told[1]?.[1]).toMatchObject({ reason, transaction: TRANSACTION })
  })

  it('report a pending payment, and its settlement later', async () => {
    const pending = { success: false, errorReason: 'settlement_pending', transaction: TRANSACTION }
    elsewhere.scripts = { verify: valid, settle: [{ body: { ...pending, network } }, paid] }
    const payment = await sign()
    expect((await pay(payment)).status).toBe(503)
    expect(names()).toEqual(['verified', 'pending'])
    expect((await pay(payment)).status).toBe(200)
    expect(names().filter((name) => name === 'settled')).toHaveLength(1)
  })
})

describe('limits of nesting in documents (rule 18)', () => {
  const nested = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)
  const withNested = (payment: object, levels: number): string => {
    const { payload, ...rest } = payment as { payload: object }
    const inside = JSON.stringify(payload).replace(/\}$/, `,"deep":${nested(levels)}}`)
    return JSON.stringify(rest).replace(/\}$/, `,"payload":${inside}}`)
  }
  const header = (text: string) => ({
    'X-PAYMENT': Buffer.from(text).toString('base64'),
  })

  it.each([100, 1500])('refuse a payment header of %d levels as unreadable', async (levels) => {
    elsewhere.scripts = { verify: valid, settle: paid }
    const headers = header(withNested(await sign(), levels))
    const answer = await fetch(`${server.url}/paid`, { headers })
    expect(answer.status).toBe(400)
    expect(decodeDocument<{ error: string }>(answer.headers.get('payment-required')).error).toMatch(
      'nested deeper than 64 levels',
    )
    expect(elsewhere.requests).toEqual([])
  })

  it('accept a payment header of 50 levels', async () => {
    elsewhere.scripts = { verify: valid, settle: paid }
    const headers = header(withNested(await sign(), 50))
    expect((await fetch(`${server.url}/paid`, { headers })).status).toBe(200)
  })

  it.each(['verify', 'settle', 'requirements'])(
    'refuse a body of 28,000 levels for %s with 400',
    async (path) => {
      for (const body of [nested(10_000), '['.repeat(28_000) + ']'.repeat(28_000)]) {
        const answer = await post(path, body)
        expect(answer.status).toBe(400)
        expect(await answer.json()).toMatchObject({ code: 'invalid_request' })
      }
    },
  )

  it('refuse a payment of 5,000 levels in a body with 400', async () => {
    const payment = await sign()
    const body = `{"paymentPayload":${withNested(payment, 5000)},"paymentRequirements":${JSON.stringify(payment.accepted)}}`
    expect((await post('verify', body)).status).toBe(400)
    expect((await post('settle', body)).status).toBe(400)
  })
})
