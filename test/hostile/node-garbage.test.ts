import dns from 'node:dns'
import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from '@jest/globals'
import { privateKeyToAccount } from 'viem/accounts'
import type { LedgerEntry } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import type { PaymentPayload } from '../../src/shared/protocol/payment.js'
import { offerOf, openCore, termsOf } from '../support/core.js'
import { decoded } from '../support/decoded.js'
import { balanceOf, SHOP_TOKEN, useDevnet } from '../support/devnet.js'
import { frontRun } from '../support/on-chain.js'
import { startRpcProxy, type Fault, type RpcProxy } from '../support/rpc-proxy.js'
import { openShop } from '../support/shop.js'
import { newNonce, signPayment } from '../support/sign-payment.js'
import { until } from '../support/until.js'

const PRICE = 10_000n
const SYNC = 'eth_sendRawTransactionSync'
const devnet = useDevnet()
const opened: { close(): unknown }[] = []
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close()
})

/** Every method that a settlement, or the look after one, may ask a node for. */
const METHODS = [
  'eth_chainId',
  'eth_call',
  'eth_getCode',
  'eth_getBalance',
  'eth_getBlockByNumber',
  'eth_blockNumber',
  'eth_maxPriorityFeePerGas',
  'eth_estimateGas',
  'eth_getTransactionCount',
  'eth_sendRawTransaction',
  SYNC,
  'eth_getTransactionReceipt',
  'eth_getTransactionByHash',
  'eth_getLogs',
] as const

const deep = '['.repeat(200_000) + ']'.repeat(200_000)
const result = (value: unknown): Fault => ({ kind: 'answer', result: value })
const GARBAGE: readonly (readonly [string, Fault])[] = [
  ['null', result(null)],
  ['an empty string', result('')],
  ['0x', result('0x')],
  ['half a byte', result('0x1')],
  ['no hexadecimal', result('0xzz')],
  ['a number', result(7)],
  ['a fraction', result(-1.5)],
  ['true', result(true)],
  ['an empty object', result({})],
  ['an empty list', result([])],
  ['a list of nulls', result([null, null])],
  ['300 digits', result(`0x${'f'.repeat(300)}`)],
  ['2^256 - 1', result(`0x${'f'.repeat(64)}`)],
  ['a word that points beyond all data', result(`0x${'00'.repeat(31)}20${'ff'.repeat(64)}`)],
  ['an object of wrong members', result({ logs: [{ topics: [1] }], number: 'x', status: '0x1' })],
  ['an error without a code', { kind: 'raw', text: '{"error":{"message":"x"}}' }],
  ['an error with odd members', { kind: 'raw', text: '{"error":{"code":"x","message":"y"}}' }],
  ['nested lists', { kind: 'raw', text: `{"result":${deep}}` }],
  ['no JSON', { kind: 'garble' }],
]

/** Milliseconds in which a payment is settled on a slow machine, too. */
const PATIENT_MS = 10_000

async function open(hasSync: boolean, settleTimeoutMs = 250) {
  const proxy = await startRpcProxy(devnet.rpcUrl, { hasSync })
  opened.push(proxy)
  let ran = 0
  const shop = await openShop(
    devnet,
    (app, gateway) => {
      app.use(gateway.gatewayRouter())
      app.get('/paid', gateway.x402Protect('$0.01'), (_req, res) => {
        ran++
        res.send('what was paid for')
      })
    },
    {
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: [devnet.relayerKeys[0]!] } },
      settleTimeoutMs,
      logger: { debug() {}, info() {}, warn() {}, error() {} },
    },
  )
  opened.push(shop)
  const post = (path: string, payment: PaymentPayload): Promise<Response> =>
    fetch(`${shop.url}/api/v2/payment/${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-project-identify-token': SHOP_TOKEN },
      body: JSON.stringify({ paymentPayload: payment, paymentRequirements: payment.accepted }),
    })
  return { proxy, shop, post, ran: () => ran }
}

describe('a node that answers garbage (rule 16)', () => {
  it.each(METHODS)('to %s causes no bug and no unpaid sale, and is forgotten', async (method) => {
    const { proxy, shop, post } = await open(method === SYNC)
    const before = await balanceOf(devnet, devnet.merchant.address)
    const odd: string[] = []
    let served = 0
    const payments: PaymentPayload[] = []
    for (const [index, [name, fault]] of GARBAGE.entries()) {
      proxy.fault = (asked) => (asked === method ? fault : undefined)
      const payer = devnet.payers[index % devnet.payers.length]!
      const payment = await shop.sign('/paid', payer)
      payments.push(payment)
      const paid = await shop.pay('/paid', payment)
      const verified = await post('verify', await shop.sign('/paid', payer))
      if (![200, 402, 503].includes(paid.status)) odd.push(`${name}: paid ${paid.status}`)
      if (![200, 502, 503].includes(verified.status))
        odd.push(`${name}: verified ${verified.status} ${await verified.text()}`)
      const text = await paid.text()
      if (text.includes('what was paid for')) served++
      expect(text).not.toContain('secret-provider-key')
    }
    expect(odd).toEqual([])

    // From now on the node is honest: what is left open is found, and the next buyer is served.
    proxy.fault = undefined
    for (const payment of payments)
      await until(async () => {
        const again = await shop.pay('/paid', payment)
        if (again.status === 200) served++
        if (again.status !== 402) return again.status === 200
        // The request before may still have it.
        const { error } = (await again.json()) as { error?: string }
        return error !== 'duplicate_settlement'
      })
    const last = await shop.sign('/paid', devnet.payers[0]!)
    // On a slow machine its outcome is not known in time.
    await until(async () => (await shop.pay('/paid', last)).status === 200)
    served++
    const earned = (await balanceOf(devnet, devnet.merchant.address)) - before
    // Nobody was served for nothing, and nobody paid for nothing.
    expect(earned).toBe(BigInt(served) * PRICE)
  })
})

describe('one odd answer of a node (rule 16)', () => {
  const once = (proxy: RpcProxy, method: string, fault: Fault): void => {
    proxy.fault = (asked) => {
      if (asked !== method) return undefined
      proxy.fault = undefined
      return fault
    }
  }

  it('of no code at the token is forgotten and refuses no payment', async () => {
    const { proxy, shop } = await open(false, PATIENT_MS)
    once(proxy, 'eth_getCode', result('0x'))
    expect((await shop.buy('/paid', devnet.payers[0]!)).status).toBe(200)
    expect((await shop.buy('/paid', devnet.payers[1]!)).status).toBe(200)
  })

  it.each(['0x', '0x0', '0x1'])('of a transfer that takes %s gas is forgotten', async (gas) => {
    const { proxy, shop } = await open(false, PATIENT_MS)
    once(proxy, 'eth_estimateGas', result(gas))
    expect((await shop.buy('/paid', devnet.payers[0]!)).status).toBe(503)
    expect((await shop.buy('/paid', devnet.payers[1]!)).status).toBe(200)
  })

  it('of another chain is forgotten', async () => {
    const { proxy, shop } = await open(false, PATIENT_MS)
    once(proxy, 'eth_chainId', result('0x1'))
    expect((await shop.buy('/paid', devnet.payers[0]!)).status).toBe(503)
    expect((await shop.buy('/paid', devnet.payers[0]!)).status).toBe(200)
  })
})

describe('a node whose host name is a word of its errors (rule 16)', () => {
  /** As the DNS of a compose network has it. */
  const named = (name: string): void => {
    const { lookup } = dns
    const local = ((hostname: string, ...rest: unknown[]) =>
      Reflect.apply(lookup, dns, [hostname === name ? '127.0.0.1' : hostname, ...rest])) as never
    dns.lookup = local
    opened.push({
      close() {
        dns.lookup = lookup
      },
    })
  }

  it('is understood when it says that a fee is below the base fee: http://base:8545', async () => {
    named('base')
    const proxy = await startRpcProxy(devnet.rpcUrl, { hostname: 'base' })
    const core = openCore(devnet, { rpcUrl: proxy.url })
    opened.push(proxy, core)
    let sent = 0
    const message = 'max fee per gas less than block base fee'
    proxy.fault = (method) =>
      method === 'eth_sendRawTransaction' && sent++ === 0
        ? { kind: 'refuse', code: -32000, message }
        : undefined
    const payment = await signPayment(devnet.payers[0]!, offerOf(devnet))
    const settled = await core.facilitator.settle(payment, offerOf(devnet), termsOf(devnet))
    expect(settled).toMatchObject({ success: true })
    expect(sent).toBe(2)
  })

  it('is not shown in any error', async () => {
    named('base')
    const proxy = await startRpcProxy(devnet.rpcUrl, { hostname: 'base' })
    const core = openCore(devnet, { rpcUrl: proxy.url })
    opened.push(proxy, core)
    proxy.fault = () => ({ kind: 'refuse', code: -32000, message: `no header at ${proxy.url}` })
    const payment = await signPayment(devnet.payers[0]!, offerOf(devnet))
    const error: unknown = await core.facilitator
      .verify(payment, offerOf(devnet))
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'chain_refused' })
    expect(inspect(error, { depth: Infinity, showHidden: true })).not.toMatch(
      /secret-provider-key|\/\/base/,
    )
  })
})

describe('a node that refuses the logs of some payments (rule 16)', () => {
  it('does not prevent the gateway from finding the outcome of the others', async () => {
    const proxy = await startRpcProxy(devnet.rpcUrl)
    const ledger = createMemoryLedger()
    opened.push(proxy)
    const submitted = async (payment: PaymentPayload): Promise<LedgerEntry> => {
      const { key, facts } = decoded(payment, offerOf(devnet))
      const { payTo, amount: value, validBefore } = facts
      const entry = {
        ...key,
        scheme: 'exact',
        asset: key.contract,
        payTo,
        value,
        validBefore,
        project: 'shop',
      }
      await ledger.payments.reserve(entry)
      const relayer = privateKeyToAccount(devnet.relayerKeys[0]!).address
      await ledger.payments.submit(entry, {
        transaction: newNonce(),
        relayer,
        accountNonce: 1_000_000,
        raw: '0x02',
      })
      return entry
    }
    const payments = await Promise.all(
      devnet.payers.slice(0, 9).map((payer) => signPayment(payer, offerOf(devnet))),
    )
    const entries: LedgerEntry[] = []
    for (const payment of payments) {
      entries.push(await submitted(payment))
      await frontRun(devnet, payment)
    }
    const good = entries[4]!
    // Of all others the node says that it cannot look so far back.
    proxy.fault = (method, [filter]) =>
      method === 'eth_getLogs' && !JSON.stringify(filter).includes(good.nonce)
        ? { kind: 'refuse', code: -32005, message: 'query returned more than 10000 results' }
        : undefined
    const core = openCore(devnet, { rpcUrl: proxy.url, ledger, reconcileIntervalMs: 50 })
    opened.push(core)
    await until(async () => (await ledger.payments.find(good))?.state === 'settled')
    const states = await Promise.all(
      entries.map(async (entry) => (await ledger.payments.find(entry))?.state),
    )
    expect(states.filter((state) => state === 'submitted')).toHaveLength(entries.length - 1)
  })
})

describe('errors about a transaction (rule 16)', () => {
  it('do not switch off the requests for receipts', async () => {
    const { proxy, shop } = await open(true, PATIENT_MS)
    proxy.fault = (method) => {
      if (method !== SYNC) return undefined
      proxy.fault = undefined
      return { kind: 'refuse', code: -32000, message: 'this sender is not allowed now' }
    }
    // It is sent again: what one node says of it is no proof.
    expect((await shop.buy('/paid', devnet.payers[0]!)).status).toBe(200)
    proxy.methods.length = 0
    expect((await shop.buy('/paid', devnet.payers[1]!)).status).toBe(200)
    expect(proxy.methods).toContain(SYNC)
  })
})
