import { describe, expect, it } from '@jest/globals'
import { createTestClient, http } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { RateError } from '../../../src/shared/errors.js'
import type { Gateway } from '../../../src/gateway/gateway.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { fullLedger } from '../../support/full-ledger.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { openShop, paymentRequiredOf, settlementOf } from '../../support/shop.js'
import type { Express } from 'express'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { until } from '../../support/until.js'
import { useOpened } from '../../support/use-opened.js'
import { stopMining, resumeMining, untilSent } from '../../support/mining.js'

const devnet = useDevnet()
const client = () => createTestClient({ mode: 'anvil', transport: http(devnet.rpcUrl) })
const payer = () => devnet.payers[0]!
const earned = () => balanceOf(devnet, devnet.merchant.address)

let runs = 0
let answered: Promise<void> = Promise.resolve()
const logged: string[] = []
const log = (message: string, fields?: object) =>
  void logged.push(
    message,
    JSON.stringify(fields, (_name, value: unknown) =>
      value instanceof Error ? `${value.message} ${String(value.cause)} ${value.stack}` : value,
    ),
  )
const routes = (app: Express, { x402Protect }: Gateway) => {
  app.get('/', x402Protect('$0.01'), async (_req, res) => {
    runs++
    await answered
    res.set('X-Handler', 'ran').send('paid')
  })
  app.get('/upfront', x402Protect('$0.01', { paymentFlow: 'upfront' }), (_req, res) => {
    runs++
    res.send('paid')
  })
}
const open = (overrides: object = {}) => {
  const { networks } = shopOptions(devnet)
  const relayerKeys = networks!['base-sepolia']!.relayerKeys!
  return openShop(devnet, routes, {
    networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys } },
    logger: { debug: log, info: log, warn: log, error: log },
    ...overrides,
  })
}

const proxy = useOpened(() => startRpcProxy(devnet.rpcUrl))
// They send from the same accounts.
const ledger = createMemoryLedger()
const shop = useOpened(() => open({ ledger }))
/** Does not wait for what is mined late, or never. */
const hasty = useOpened(() => open({ ledger, settleTimeoutMs: 400 }))

describe('a chain that cannot be reached', () => {
  it.each([
    ['does not answer', 'chain_unreachable', { kind: 'drop_request' }],
    ['has too many requests', 'chain_unreachable', { kind: 'http', status: 429 }],
    ['answers garbage', 'chain_unreachable', { kind: 'garble' }],
    ['refuses', 'chain_refused', { kind: 'refuse', code: -32_603, message: 'internal error' }],
  ] as const)(
    'is answered 503 and no handler runs, when the node %s',
    async (_name, code, fault) => {
      const payment = await shop.sign('/', payer())
      const before = runs
      proxy.fault = () => fault
      const response = await shop.pay('/', payment)
      proxy.fault = undefined
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toBe('5')
      expect(response.headers.get('content-type')).toBe('application/problem+json')
      expect(await response.json()).toEqual({
        type: `urn:x402-gateway:problem:${code}`,
        title: 'Service Unavailable',
        status: 503,
        detail: expect.any(String),
        code,
      })
      expect(runs).toBe(before)
      // Nothing is lost: the same payment is good once the node is back.
      expect((await shop.pay('/', payment)).status).toBe(200)
    },
  )

  it('drops the answer and charges nothing when it goes away while the handler runs', async () => {
    const [payment, before] = [await hasty.sign('/', payer()), await earned()]
    proxy.fault = (method) =>
      method === 'eth_estimateGas' || method === 'eth_sendRawTransaction'
        ? { kind: 'drop_request' }
        : undefined
    const response = await hasty.pay('/', payment)
    proxy.fault = undefined
    expect(response.status).toBe(503)
    expect(response.headers.get('x-handler')).toBeNull()
    expect(await earned()).toBe(before)
    // Whether the node has it is found out meanwhile; it is sold once.
    await until(async () => (await hasty.pay('/', payment)).status === 200)
    expect(await earned()).toBe(before + 10_000n)
  })

  it('reveals the key of its URL to nobody', async () => {
    expect(logged.join('\n')).toContain('eth_')
    expect(logged.join('\n')).not.toContain('secret-provider-key')
  })
})

describe('an outcome that is not known in time', () => {
  it.each(['/', '/upfront'])(
    'is answered 503 with the hash, and is redeemed once: %s',
    async (path) => {
      const [payment, before] = [await hasty.sign(path, payer()), await earned()]
      await stopMining(devnet)
      const pending = await hasty.pay(path, payment)
      expect(pending.status).toBe(503)
      expect(pending.headers.get('retry-after')).toBe('5')
      expect(await pending.json()).toMatchObject({ code: 'settlement_pending' })
      const { transaction } = settlementOf(pending)
      expect(settlementOf(pending)).toEqual({
        success: false,
        errorReason: 'settlement_pending',
        errorMessage: expect.any(String),
        transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
        network: 'eip155:84532',
        payer: payer().address,
      })
      const stillPending = await hasty.pay(path, payment)
      expect(stillPending.status).toBe(503)
      expect(settlementOf(stillPending).transaction).toBe(transaction)

      await resumeMining(devnet)
      const runsBefore = runs
      const tries: Response[] = []
      await until(async () => {
        const copies = Array.from({ length: 5 }, () => hasty.pay(path, payment))
        tries.push(...(await Promise.all(copies)))
        return tries.some(({ status }) => status === 200)
      })
      const paid = tries.filter(({ status }) => status === 200)
      expect(paid).toHaveLength(1)
      expect(settlementOf(paid[0]!)).toMatchObject({ success: true, transaction })
      expect(runs).toBe(runsBefore + 1)
      const again = await hasty.pay(path, payment)
      expect(paymentRequiredOf(again).error).toBe('invalid_exact_evm_nonce_already_used')
      expect(await earned()).toBe(before + 10_000n)
    },
  )

  it('is found even if the answer to the broadcast was lost', async () => {
    const [payment, before] = [await shop.sign('/', payer()), await earned()]
    proxy.fault = (method) =>
      method === 'eth_sendRawTransaction' ? { kind: 'drop_answer' } : undefined
    const response = await shop.pay('/', payment)
    proxy.fault = undefined
    expect(response.status).toBe(200)
    expect(await earned()).toBe(before + 10_000n)
  })
})

describe('a settlement that fails', () => {
  it('is answered 402 with both headers, and the answer is dropped', async () => {
    const buyer = devnet.payers[3]!
    const payment = await shop.sign('/', buyer)
    let release: () => void = () => undefined
    answered = new Promise((resolve) => (release = resolve))
    const [paying, runsBefore] = [shop.pay('/', payment), runs]
    await until(() => runs > runsBefore)
    await setTokenBalance(buyer.address, 0n)
    // What was verified just now is not verified again.
    await new Promise((resolve) => setTimeout(resolve, 600))
    release()
    answered = Promise.resolve()
    const response = await paying
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response).error).toBe('insufficient_funds')
    expect(settlementOf(response)).toEqual({
      success: false,
      errorReason: 'insufficient_funds',
      errorMessage: expect.any(String),
      transaction: '',
      network: 'eip155:84532',
      payer: buyer.address,
    })
    expect(response.headers.get('x-handler')).toBeNull()
    expect(await response.text()).not.toContain('paid')
  })

  it('is answered 402 with the hash when the transaction was mined and failed', async () => {
    const buyer = devnet.payers[4]!
    const payment = await shop.sign('/', buyer)
    await stopMining(devnet)
    const paying = shop.pay('/', payment)
    await untilSent(devnet)
    await setTokenBalance(buyer.address, 0n)
    await resumeMining(devnet)
    const response = await paying
    expect(response.status).toBe(402)
    expect(paymentRequiredOf(response).error).toBe('invalid_transaction_state')
    expect(settlementOf(response)).toMatchObject({
      success: false,
      errorReason: 'invalid_transaction_state',
      errorMessage: expect.any(String),
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect(response.headers.get('x-handler')).toBeNull()
    // It stays so until the money is back: the authorization is unused.
    expect(paymentRequiredOf(await shop.pay('/', payment)).error).toBe('invalid_transaction_state')
    await devnet.mint(buyer.address, 1_000_000n)
    expect((await shop.pay('/', payment)).status).toBe(200)
  })
})

describe('a gateway that cannot settle', () => {
  it('runs no handler while the relayer has no gas money, and sells again once it has', async () => {
    const { relayerKeys } = shopOptions(devnet).networks!['base-sepolia']!
    const relayer = privateKeyToAddress(relayerKeys![1] as Hex)
    const poor = await open({
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: [relayerKeys![1]!] } },
    })
    await client().setBalance({ address: relayer, value: 0n })
    const payment = await poor.sign('/', payer())
    const before = runs
    const response = await poor.pay('/', payment)
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'relayer_without_funds' })
    expect(response.headers.get('retry-after')).toBe('5')
    expect(runs).toBe(before)
    await client().setBalance({ address: relayer, value: 10n ** 18n })
    expect((await poor.pay('/', payment)).status).toBe(200)
    await poor.close()
  })

  it('runs no handler while the ledger cannot be written', async () => {
    const full = await open({ ledger: await fullLedger() })
    const before = runs
    const response = await full.buy('/', payer())
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'ledger_full' })
    expect(runs).toBe(before)
    await full.close()
  })

  it('answers 402 while a rate is missing, and accepts no payment', async () => {
    const source = { rate: undefined as undefined | { units: bigint; scale: number } }
    const eur = await openShop(
      devnet,
      (app, { x402Protect }) => {
        app.get('/', x402Protect('€0.01'), (_req, res) => void res.send('paid'))
      },
      {
        projects: [
          { id: 'shop', merchant: { payTo: devnet.merchant.address, crossCurrency: true } },
        ],
        rates: {
          async getRate() {
            if (source.rate === undefined) throw new RateError('rate_unavailable', 'None today.')
            return { rate: source.rate, asOf: 0, source: 'test' }
          },
        },
      },
    )
    const response = await eur.ask('/')
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'rate_unavailable' })
    source.rate = { units: 108n, scale: 2 }
    expect(paymentRequiredOf(await eur.ask('/')).accepts[0]?.amount).toBe('10800')
    await eur.close()
  })
})

/** Sets what an account has of the devnet's token, as a transfer elsewhere would. */
async function setTokenBalance(account: Hex, target: bigint): Promise<void> {
  const { encodeAbiParameters, keccak256, numberToHex } = await import('viem')
  const slot = keccak256(
    encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [account, 0n]),
  )
  await client().setStorageAt({
    address: devnet.asset,
    index: slot,
    value: numberToHex(target, { size: 32 }),
  })
}
