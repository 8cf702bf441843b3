import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Response } from 'express'
import { encodeFunctionData, keccak256, parseAbi, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { GatewayOptions } from '../../../src/gateway/config/options.js'
import type { Hex, PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { fullLedger } from '../../support/full-ledger.js'
import { balanceOf, shopOptions, SHOP_TOKEN, useDevnet } from '../../support/devnet.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { signPayment } from '../../support/sign-payment.js'
import { askNode, problemOf, serveGateway, type ApiAnswer, type GatewayApi } from '../api.js'
import { useOpened } from '../../support/use-opened.js'
import { stopMining, resumeMining } from '../../support/mining.js'

const SETTLE = '/api/v2/payment/settle'
const VERIFY = '/api/v2/payment/verify'
const HASH = /^0x[0-9a-f]{64}$/
const AMOUNT = 10_000n

const devnet = useDevnet()
const apis: GatewayApi[] = []

const proxy = useOpened(() => startRpcProxy(devnet.rpcUrl))
beforeEach(() => {
  proxy.fault = undefined
  proxy.methods.length = 0
})
afterEach(async () => {
  await resumeMining(devnet)
  // No answer and no line of the log may hold a secret.
  for (const api of apis) for (const line of api.log.lines) expectNoSecret(line)
  await Promise.all(apis.splice(0).map((api) => api.close()))
})

/** A gateway that reaches its node through the proxy. */
async function open(
  overrides: GatewayOptions = {},
  mounting?: Parameters<typeof serveGateway>[1],
): Promise<GatewayApi> {
  const throughProxy = {
    'base-sepolia': { rpcUrl: proxy.url, relayerKeys: [devnet.relayerKeys[0]!] },
  }
  const options = { ...shopOptions(devnet), networks: throughProxy, ...overrides }
  const api = await serveGateway(options, mounting)
  apis.push(api)
  return api
}

function expectNoSecret(text: string): void {
  const secrets = [SHOP_TOKEN, 'secret-provider-key', ...devnet.relayerKeys, proxy.url]
  for (const secret of secrets) {
    expect(text).not.toContain(secret)
    expect(text).not.toContain(secret.replace(/^0x/, ''))
  }
}

async function submission(api: GatewayApi, payer = devnet.payers[0]!) {
  const { body } = await api.post('/api/v2/payment/requirements', {
    resourceUrl: 'https://shop.example/report',
    requestedAmount: 0.01,
  })
  const paymentRequirements: PaymentRequirements = body.accepts[0]
  return { paymentPayload: await signPayment(payer, paymentRequirements), paymentRequirements }
}

/** Settles, and looks whether the answer is a problem that gives nothing away. */
async function settle(api: GatewayApi, body: object): Promise<ApiAnswer> {
  const answer = await api.post(SETTLE, body)
  expectNoSecret(answer.text + JSON.stringify([...answer.headers]))
  return answer
}

/** Settles again until the answer has another reason than this. */
async function settleBeyond(api: GatewayApi, reason: string, body: object): Promise<ApiAnswer> {
  const deadline = performance.now() + 45_000
  for (;;) {
    const answer = await settle(api, body)
    if (answer.body.errorReason !== reason || performance.now() > deadline) return answer
    await sleep(20)
  }
}

const merchantBalance = (): Promise<bigint> => balanceOf(devnet, devnet.merchant.address)
const sentTransactions = () => proxy.methods.filter((name) => name === 'eth_sendRawTransaction')
const happening = (api: GatewayApi, event: 'submitted' | 'settled' | 'failed') =>
  new Promise((resolve) => api.gateway.on(event, resolve))

/** Mines a payment's transaction after moving the payer's money away, in the block before it. */
async function mineAfterSpending(from: Hex): Promise<void> {
  await askNode(devnet, 'anvil_setBalance', from, toHex(10n ** 18n))
  await askNode(devnet, 'anvil_impersonateAccount', from)
  await askNode(devnet, 'eth_sendTransaction', {
    from,
    to: devnet.asset,
    gas: toHex(100_000),
    // Miners take the dearest first.
    maxFeePerGas: toHex(100n * 10n ** 9n),
    maxPriorityFeePerGas: toHex(100n * 10n ** 9n),
    data: encodeFunctionData({
      abi: parseAbi(['function transfer(address,uint256) returns (bool)']),
      args: ['0x000000000000000000000000000000000000dEaD', await balanceOf(devnet, from)],
    }),
  })
  await resumeMining(devnet)
}

describe('a settlement whose outcome is not known in time', () => {
  it('is pending with its hash, then paid once, then refused as used', async () => {
    const api = await open({ settleTimeoutMs: 50 })
    const body = await submission(api)
    await stopMining(devnet)
    const first = await settle(api, body)
    expect(first.status).toBe(200)
    expect(first.body).toStrictEqual({
      success: false,
      errorReason: 'settlement_pending',
      errorMessage: expect.any(String),
      transaction: expect.stringMatching(HASH),
      network: 'eip155:84532',
      payer: devnet.payers[0]!.address,
    })

    const still = await settle(api, body)
    expect(still.body).toStrictEqual(first.body)
    expect((await api.post(VERIFY, body)).body).toMatchObject({ isValid: true })

    await devnet.mine()
    const second = await settleBeyond(api, 'settlement_pending', body)
    const { transaction } = first.body
    expect(second.body).toStrictEqual({
      success: true,
      transaction,
      network: 'eip155:84532',
      payer: devnet.payers[0]!.address,
    })
    const third = await settle(api, body)
    expect(third.body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
      errorMessage: expect.any(String),
      transaction: '',
      settledBy: transaction,
    })
  })

  it('is refused for good once it turns out to have failed', async () => {
    const payer = devnet.payers[1]!
    const api = await open({ settleTimeoutMs: 50 })
    const body = await submission(api, payer)
    await stopMining(devnet)
    const first = await settle(api, body)
    expect(first.body.errorReason).toBe('settlement_pending')
    await mineAfterSpending(payer.address)

    const second = await settleBeyond(api, 'settlement_pending', body)
    expect(second.status).toBe(200)
    expect(second.body).toStrictEqual({
      success: false,
      errorReason: 'invalid_transaction_state',
      errorMessage: expect.any(String),
      transaction: first.body.transaction,
      network: 'eip155:84532',
      payer: payer.address,
    })
    await devnet.mint(payer.address, 10n ** 12n)
  })
})

describe('a transaction that fails on chain', () => {
  it('is answered with 502, problem details and the settle members', async () => {
    const payer = devnet.payers[2]!
    const api = await open()
    const body = await submission(api, payer)
    const before = await merchantBalance()
    await stopMining(devnet)
    const submitted = happening(api, 'submitted')
    const settling = settle(api, body)
    await submitted
    await mineAfterSpending(payer.address)

    const answer = await settling
    expect(answer.status).toBe(502)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    // It was tried and is over: there is nothing to come back for.
    expect(answer.headers.get('retry-after')).toBeNull()
    expect(answer.body).toStrictEqual({
      ...problemOf(502, 'transaction_failed', 'Bad Gateway'),
      success: false,
      errorReason: 'invalid_transaction_state',
      errorMessage: expect.any(String),
      transaction: expect.stringMatching(HASH),
      network: 'eip155:84532',
      payer: payer.address,
    })
    expect(await merchantBalance()).toBe(before)

    // While its cause lasts, the answer stays; then its authorization, which is unused, is good again.
    const again = await settle(api, body)
    expect([again.status, again.body.success]).toEqual([200, false])
    await devnet.mint(payer.address, 10n ** 12n)
    expect((await settle(api, body)).body).toMatchObject({ success: true })
    expect(await merchantBalance()).toBe(before + 10_000n)
  })

  it('is answered as pending if the node does not accept it, and settled once it does', async () => {
    const api = await open({ settleTimeoutMs: 50 })
    const body = await submission(api)
    proxy.fault = (method) =>
      method === 'eth_sendRawTransaction'
        ? { kind: 'refuse', code: -32_000, message: `transaction underpriced at ${proxy.url}` }
        : undefined
    const answer = await settle(api, body)
    expect(answer.body).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
      errorMessage: expect.any(String),
      transaction: expect.stringMatching(HASH),
    })
    proxy.fault = undefined
    const later = await settleBeyond(api, 'settlement_pending', body)
    expect(later.body).toMatchObject({ success: true })
  })
})

describe('a node that cannot be asked', () => {
  it.each([
    ['that breaks the connection', 'chain_unreachable', { kind: 'drop_request' }],
    ['that answers HTTP 429', 'chain_unreachable', { kind: 'http', status: 429 }],
    ['that talks something else', 'chain_unreachable', { kind: 'garble' }],
    [
      'that refuses, naming its key',
      'chain_refused',
      { kind: 'refuse', code: -32_001, message: 'bad key in URL' },
    ],
  ] as const)('%s is 502 with Retry-After at verify and settle: %s', async (_name, code, fault) => {
    const api = await open()
    const body = await submission(api)
    proxy.fault = () => fault
    for (const path of [VERIFY, SETTLE]) {
      const answer = await api.post(path, body)
      expect(answer.status).toBe(502)
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
      expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
      expect(answer.body).toStrictEqual(problemOf(502, code, 'Bad Gateway'))
      expectNoSecret(answer.text)
    }
    expect(api.log.lines.join()).toContain(code)
    expect(sentTransactions()).toHaveLength(0)

    proxy.fault = undefined
    expect((await settle(api, body)).body).toMatchObject({ success: true })
  })

  it('is answered 502 if it belongs to another chain', async () => {
    const api = await open()
    const body = await submission(api)
    proxy.fault = (method) =>
      method === 'eth_chainId' ? { kind: 'answer', result: '0x1' } : undefined
    const answer = await settle(api, body)
    expect(answer.status).toBe(502)
    expect(answer.body).toStrictEqual(problemOf(502, 'chain_mismatch', 'Bad Gateway'))
  })
})

describe('a relayer without gas money', () => {
  it('is answered 503 with Retry-After and sends nothing until it is refilled', async () => {
    const key = keccak256(toHex('a poor relayer'))
    const { address } = privateKeyToAccount(key)
    const api = await open({
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: [key] } },
    })
    const body = await submission(api)
    const before = await merchantBalance()
    const answer = await settle(api, body)
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(answer.body).toStrictEqual(
      problemOf(503, 'relayer_without_funds', 'Service Unavailable'),
    )
    expect(sentTransactions()).toHaveLength(0)
    expect(await merchantBalance()).toBe(before)

    await askNode(devnet, 'anvil_setBalance', address, toHex(10n ** 18n))
    expect((await settle(api, body)).body).toMatchObject({ success: true })
    expect(await merchantBalance()).toBe(before + AMOUNT)
  })
})

describe('a ledger that cannot take the payment', () => {
  it('is answered 503 with Retry-After, and nothing is sent', async () => {
    const api = await open({ ledger: await fullLedger() })
    proxy.methods.length = 0
    const answer = await settle(api, await submission(api))
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(answer.body).toStrictEqual(problemOf(503, 'ledger_full', 'Service Unavailable'))
    expect(sentTransactions()).toHaveLength(0)
  })
})

describe('a client that goes away while its payment is settled', () => {
  it('gets the success once when it asks again', async () => {
    const responses: Response[] = []
    const api = await open(
      {},
      {
        prepare: (app) => {
          app.use(SETTLE, (_req, res, next) => {
            responses.push(res)
            next()
          })
        },
      },
    )
    const body = await submission(api)
    await stopMining(devnet)
    const submitted = happening(api, 'submitted')
    const leaving = new AbortController()
    const left = api.send('POST', SETTLE, {
      headers: { 'X-Project-Identify-Token': SHOP_TOKEN, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      signal: leaving.signal,
    })
    const rejection = left.catch((error: Error) => error.name)
    await submitted
    const gone = once(responses[0]!, 'close')
    leaving.abort()
    expect(await rejection).toBe('AbortError')
    await gone
    expect((await settle(api, body)).body).toMatchObject({ errorReason: 'duplicate_settlement' })

    await devnet.mine()
    const again = await settleBeyond(api, 'duplicate_settlement', body)
    expect(again.body).toMatchObject({ success: true, transaction: expect.stringMatching(HASH) })
    expect((await settle(api, body)).body).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_nonce_already_used',
      errorMessage: expect.any(String),
      transaction: '',
    })
  })
})

describe('closing the gateway', () => {
  it('answers a settlement in progress as pending', async () => {
    const api = await open()
    const body = await submission(api)
    await stopMining(devnet)
    const submitted = happening(api, 'submitted')
    const settling = settle(api, body)
    await submitted
    await api.gateway.close()
    expect((await settling).body).toMatchObject({ errorReason: 'settlement_pending' })
  })
})
