/** Clients who hang up at the worst moment: by impatience, by a short timeout, or on purpose. */
import { request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { generatePaymentId } from '@x402/extensions'
import type { LedgerStore } from '../../src/ledger/index.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { paymentHeader } from '../support/http.js'
import { patchedLedger } from '../support/patched-ledger.js'
import { findPostgres } from '../support/postgres.js'
import { startRpcProxy, type RpcProxy } from '../support/rpc-proxy.js'
import { openShop, paymentRequiredOf, type Shop } from '../support/shop.js'
import { until } from '../support/until.js'
import { storeMakers, type Store } from './stores.js'

const PRICE = 10_000n
const devnet = useDevnet()
const earned = () => balanceOf(devnet, devnet.merchant.address)

/** Something that waits until it is let through. */
class Gate {
  /** How many have come to it. */
  arrived = 0
  #isShut = false
  #waiting: (() => void)[] = []

  shut(): void {
    this.arrived = 0
    this.#isShut = true
  }

  open(): void {
    this.#isShut = false
    for (const resume of this.#waiting.splice(0)) resume()
  }

  async pass(): Promise<void> {
    if (!this.#isShut) return
    this.arrived++
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}

const postgres = await findPostgres()
const makers = storeMakers.filter(([name]) => name !== 'PostgreSQL' || postgres !== undefined)

describe.each(makers)('a client that hangs up, with %s', (_name, make) => {
  const node = new Gate()
  const delivery = new Gate()
  const lists = new Gate()
  let store: Store
  let ledger: LedgerStore
  let proxy: RpcProxy
  let shop: Shop & { close(): Promise<void> }
  let runs = 0
  let opened = 0
  let closed = 0
  const errors: string[] = []
  beforeAll(async () => {
    store = (await make())!
    ledger = store.open()
    proxy = await startRpcProxy(devnet.rpcUrl)
    proxy.fault = async (method) => {
      // Payments are checked by calls. Blocks are polled all the time, and must not pass for a payment.
      if (method === 'eth_call') await node.pass()
      return undefined
    }
    const held = patchedLedger(ledger, {
      markDelivered: async (...delivered) => {
        await delivery.pass()
        await ledger.payments.markDelivered(...delivered)
      },
      list: async (query) => {
        await lists.pass()
        return ledger.payments.list(query)
      },
    })
    shop = await openShop(
      devnet,
      (app, { x402Protect, gatewayRouter }) => {
        app.use((_req, res, next) => {
          opened++
          res.once('close', () => closed++)
          next()
        })
        const handler = (_req: unknown, res: ServerResponse): void => {
          runs++
          res.end('GOODS')
        }
        app.get('/authorization', x402Protect('$0.01'), handler)
        app.get('/upfront', x402Protect('$0.01', { paymentFlow: 'upfront' }), handler)
        app.use(gatewayRouter())
      },
      {
        ledger: held,
        networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys } },
        logger: {
          debug() {},
          info() {},
          warn: (message: string) => void errors.push(message),
          error: (message: string) => void errors.push(message),
        },
      },
    )
  })
  afterAll(async () => {
    for (const gate of [node, delivery, lists]) gate.open()
    await shop.close()
    await ledger.close()
    await proxy.close()
    await store.drop()
  })

  /** Sends a request, hangs up once `isReached`, and waits until the shop's server has noticed. */
  async function hangUp(
    path: string,
    headers: Record<string, string>,
    isReached: () => boolean,
    body?: string,
  ): Promise<void> {
    const [before, seen] = [closed, opened]
    const method = body === undefined ? 'GET' : 'POST'
    const client = request(shop.url + path, { method, headers }).end(body)
    client.on('error', () => undefined)
    await until(() => opened > seen && isReached())
    client.destroy()
    await until(() => closed > before)
  }

  async function sign(path: string, hasId: boolean): Promise<object> {
    const payment = await shop.sign(path, devnet.payers[0]!)
    if (!hasId) return payment
    const info = { required: false, id: generatePaymentId() }
    return { ...payment, extensions: { 'payment-identifier': { info } } }
  }

  const cases = ['/authorization', '/upfront'].flatMap((path) => [
    [path, false] as const,
    [path, true] as const,
  ])

  it.each(cases)(
    'during verification is not charged, and no handler runs for it: %s, with an id: %s',
    async (path, hasId) => {
      const payment = await sign(path, hasId)
      const before = await earned()
      runs = 0
      node.shut()
      await hangUp(path, paymentHeader(payment), () => node.arrived > 0)
      node.open()

      // The same payment buys the goods, as soon as the reservation of the first request is gone.
      let again = await shop.pay(path, payment)
      await until(async () => {
        if (again.status !== 200) again = await shop.pay(path, payment)
        return again.status === 200
      })
      expect(await again.text()).toBe('GOODS')
      expect(runs).toBe(1)
      expect(await earned()).toBe(before + PRICE)
    },
  )

  it.each(cases)(
    'while its delivery is recorded gets the goods by the same payment: %s, with an id: %s',
    async (path, hasId) => {
      const payment = await sign(path, hasId)
      const before = await earned()
      delivery.shut()
      await hangUp(path, paymentHeader(payment), () => delivery.arrived > 0)
      delivery.open()

      let again = await shop.pay(path, payment)
      await until(async () => {
        if (again.status !== 200) again = await shop.pay(path, payment)
        return again.status === 200
      })
      expect(await again.text()).toBe('GOODS')
      expect(await earned()).toBe(before + PRICE)
      // Once, unless it has an id, by which the answer is repeated.
      const third = await shop.pay(path, payment)
      if (hasId) expect(await third.text()).toBe('GOODS')
      else expect(paymentRequiredOf(third).error).toBe('invalid_exact_evm_nonce_already_used')
      expect(await earned()).toBe(before + PRICE)
    },
  )

  it('while its settlement is recorded is told of it when it settles the same payment again', async () => {
    const paymentPayload = (await sign('/authorization', false)) as { accepted: object }
    const body = JSON.stringify({ paymentPayload, paymentRequirements: paymentPayload.accepted })
    const headers = {
      'X-Project-Identify-Token': SHOP_TOKEN,
      'Content-Type': 'application/json',
    }
    const before = await earned()
    delivery.shut()
    await hangUp('/api/v2/payment/settle', headers, () => delivery.arrived > 0, body)
    delivery.open()

    const settle = async () => {
      const settled = await fetch(`${shop.url}/api/v2/payment/settle`, {
        ...{ method: 'POST', headers, body },
      })
      return (await settled.json()) as { success: boolean; errorReason?: string }
    }
    let again = await settle()
    await until(async () => {
      if (!again.success) again = await settle()
      return again.success
    })
    expect(await settle()).toMatchObject({ errorReason: 'invalid_exact_evm_nonce_already_used' })
    expect(await earned()).toBe(before + PRICE)
  })

  it('is not charged for a request that waited behind another one of its connection', async () => {
    const [first, second] = [
      await sign('/authorization', false),
      await sign('/authorization', false),
    ]
    const before = await earned()
    runs = 0
    node.shut()
    const seen = opened
    const { host, port } = new URL(shop.url)
    const socket = connect(Number(port), '127.0.0.1')
    for (const payment of [first, second]) {
      const [[name, value] = []] = Object.entries(paymentHeader(payment))
      socket.write(`GET /authorization HTTP/1.1\r\nHost: ${host}\r\n${name}: ${value}\r\n\r\n`)
    }
    await until(() => opened > seen && node.arrived > 0)
    const gone = closed
    socket.destroy()
    await until(() => closed > gone)
    node.open()
    for (const payment of [first, second])
      await until(async () => (await shop.pay('/authorization', payment)).status === 200)
    expect(runs).toBe(2)
    expect(await earned()).toBe(before + 2n * PRICE)
  })

  it('before a download has begun causes no error', async () => {
    const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
    const path = '/api/v2/merchant/settlements.csv'
    errors.length = 0
    for (let times = 0; times < 3; times++) {
      lists.shut()
      await hangUp(path, headers, () => lists.arrived > 0)
      lists.open()
    }
    // Two may run at once: those that were hung up have given their places back.
    await until(async () => {
      const files = await Promise.all([1, 2].map(() => fetch(shop.url + path, { headers })))
      await Promise.all(files.map((file) => file.text()))
      return files.every(({ status }) => status === 200)
    })
    expect(errors).toEqual([])
  })
})
