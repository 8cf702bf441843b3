/** Paying for what was used: the official client, and the official resource server, with the scheme `upto`. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { UptoEvmScheme as UptoClient } from '@x402/evm/upto/client'
import { UptoEvmScheme as UptoServer } from '@x402/evm/upto/server'
import { paymentMiddleware, setSettlementOverrides, x402ResourceServer } from '@x402/express'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import express, { type ErrorRequestHandler, type Express } from 'express'
import { privateKeyToAccount } from 'viem/accounts'
import { executorOf } from '../../src/core/chain/executor.js'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import type { PaymentRequirements } from '../../src/shared/protocol/payment.js'
import { paidRequest } from '../../src/sell/flow/paid-request.js'
import { permit2Of } from '../tools/devnet/permit2.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../support/devnet.js'
import { listen, type TestServer } from '../support/http.js'
import { paymentRequiredOf, settlementOf, useShop } from '../support/shop.js'
import type { TestPayer } from '../support/sign-payment.js'
import { signUpTo } from '../support/sign-up-to.js'

const devnet = useDevnet()
const permit2 = permit2Of(devnet)

/** A `fetch` that pays: the official client, unmodified. */
const payingFetch = ({ privateKey }: TestPayer): typeof fetch => {
  const account = privateKeyToAccount(privateKey)
  const client = new x402Client().register('eip155:84532', new UptoClient(account))
  return wrapFetchWithPayment(fetch, client) as typeof fetch
}

/** What a purchase has moved, and its settlement. */
async function buy(url: string, payer: TestPayer) {
  const balances = () =>
    Promise.all([balanceOf(devnet, payer.address), balanceOf(devnet, devnet.merchant.address)])
  const before = await balances()
  const response = await payingFetch(payer)(url)
  const after = await balances()
  return {
    status: response.status,
    body: await response.text(),
    settlement: response.headers.has('payment-response') ? settlementOf(response) : undefined,
    spent: before[0] - after[0],
    earned: after[1] - before[1],
  }
}

/** Signs the offer of a URL; it may name another facilitator. */
async function signOffer(url: string, payer: TestPayer, facilitatorAddress?: string) {
  const required = await fetch(url)
  const { extra } = paymentRequiredOf(required).accepts[0]!
  const change = facilitatorAddress ? { extra: { ...extra, facilitatorAddress } } : {}
  return signUpTo(required, payer, change)
}

/** Options of a gateway that sends by an executor. */
const withExecutor = () => ({
  networks: {
    'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: devnet.relayerKeys, executor: true },
  },
})

let errors: unknown[] = []
let runs = 0

function routes(app: Express, { x402Protect, gatewayRouter }: Gateway): void {
  const upTo = (path: string, charges: readonly string[]): void =>
    void app.get(path, x402Protect({ upTo: '$0.10' }), (req, res) => {
      runs++
      for (const amount of charges) paidRequest(req).charge(amount)
      res.json({ maximum: paidRequest(req).amount })
    })
  upTo('/below', ['$0.02', '$0.0034'])
  upTo('/maximum', ['$0.10'])
  upTo('/zero', ['$0'])
  upTo('/silent', [])
  upTo('/over', ['$0.02', '$0.09'])
  app.get('/default', x402Protect({ upTo: '$0.10', defaultCharge: '$0.03' }), (_req, res) => {
    res.send('sold')
  })
  app.get('/waived', x402Protect({ upTo: '$0.10' }), (req, res) => {
    paidRequest(req).charge('$0.02')
    paidRequest(req).waive('tool_error')
    res.send('given away')
  })
  app.get('/fixed', x402Protect('$0.01'), (req, res) => {
    paidRequest(req).charge('$0.01')
    res.send('sold')
  })
  app.use(gatewayRouter())
  const note: ErrorRequestHandler = (error, _req, res, _next) => {
    errors.push(error)
    res.status(500).send('failed')
  }
  app.use(note)
}

const payer = () => devnet.payers[0]!

beforeAll(async () => {
  for (const { address } of devnet.payers) await permit2.approve(address)
})

describe('a route with a maximum', () => {
  const shop = useShop(devnet, routes)

  it('offers what the client signs for, and names who makes the call', async () => {
    const { accepts } = paymentRequiredOf(await shop.ask('/below'))
    expect(accepts).toEqual([
      expect.objectContaining({
        scheme: 'upto',
        amount: '100000',
        extra: expect.objectContaining({
          name: 'USDC',
          version: '2',
          assetTransferMethod: 'permit2',
          facilitatorAddress: permit2.relayer(0),
        }),
      }),
    ])
  })

  it.each([
    ['/below', 23_400n],
    ['/maximum', 100_000n],
    ['/silent', 100_000n],
    ['/default', 30_000n],
  ])('charges the official client what %s has said', async (path, charged) => {
    const { status, settlement, spent, earned } = await buy(shop.url + path, payer())
    expect(status).toBe(200)
    expect({ spent, earned }).toEqual({ spent: charged, earned: charged })
    expect(settlement).toEqual({
      success: true,
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      network: 'eip155:84532',
      payer: payer().address,
      amount: charged.toString(),
    })
    for (const name of ['submitted', 'settled'] as const)
      expect(shop.events[name]?.at(-1)).toMatchObject({
        scheme: 'upto',
        amount: charged.toString(),
        maximum: expect.stringMatching(/^\d+$/),
      })
  })

  it('sends nothing where nothing is charged, and takes the payment for no second request', async () => {
    const payment = await signOffer(`${shop.url}/zero`, payer())
    const before = await balanceOf(devnet, devnet.merchant.address)
    const sold = await shop.pay('/zero', payment)
    expect(sold.status).toBe(200)
    expect(settlementOf(sold)).toEqual({
      ...{ success: true, transaction: '', network: 'eip155:84532' },
      ...{ payer: payer().address, amount: '0' },
    })
    expect(shop.events.settled?.at(-1)).toMatchObject({
      scheme: 'upto',
      transaction: '',
      amount: '0',
    })
    const again = await shop.pay('/zero', payment)
    expect(again.status).toBe(402)
    const other = await shop.pay('/below', { ...payment, resource: undefined })
    expect(other.status).toBe(402)
    expect(await balanceOf(devnet, devnet.merchant.address)).toBe(before)
  })

  it('charges nothing if the handler goes beyond the maximum, or gives the answer away', async () => {
    errors = []
    const over = await buy(`${shop.url}/over`, payer())
    expect(over).toMatchObject({ status: 500, spent: 0n })
    expect(errors).toEqual([expect.objectContaining({ code: 'charge_exceeds_maximum' })])
    expect(await buy(`${shop.url}/waived`, payer())).toMatchObject({ status: 200, spent: 0n })
  })

  it('refuses a payment that names another facilitator before the handler runs', async () => {
    const before = runs
    const stranger = devnet.payers[3]!.address
    const payment = await signOffer(`${shop.url}/below`, payer(), stranger)
    const refused = await shop.pay('/below', payment)
    expect(refused.status).toBe(402)
    expect(paymentRequiredOf(refused).error).toBe('upto_facilitator_mismatch')
    expect(runs).toBe(before)
  })
})

describe('with an executor', () => {
  const relayers = () => devnet.relayerKeys.map((_key, index) => permit2.relayer(index))
  const executor = () => executorOf(relayers())
  beforeAll(async () => {
    const { to, data } = executor().deployment
    await permit2.sendFrom(relayers()[0]!, to, data)
  })
  const shop = useShop(devnet, routes, () => withExecutor())

  it('names it in offers, and sells payments that come at once in one transaction', async () => {
    const { accepts } = paymentRequiredOf(await shop.ask('/below'))
    expect(accepts[0]?.extra).toMatchObject({ facilitatorAddress: executor().address })
    const payers = devnet.payers.slice(0, 5)
    const before = await balanceOf(devnet, devnet.merchant.address)
    const payments = await Promise.all(payers.map((one) => signOffer(`${shop.url}/below`, one)))
    const sold = await Promise.all(payments.map((payment) => shop.pay('/below', payment)))
    expect(sold.map(({ status }) => status)).toEqual(payers.map(() => 200))
    const settlements = sold.map((response) => settlementOf(response))
    expect(settlements).toEqual(
      payers.map(({ address }) =>
        expect.objectContaining({ success: true, amount: '23400', payer: address }),
      ),
    )
    const transactions = new Set(settlements.map(({ transaction }) => transaction))
    expect(transactions.size).toBeLessThan(payers.length)
    const earned = (await balanceOf(devnet, devnet.merchant.address)) - before
    expect(earned).toBe(23_400n * BigInt(payers.length))
  })

  it('sells one alone, below the maximum and with zero', async () => {
    expect(await buy(`${shop.url}/below`, payer())).toMatchObject({ status: 200, spent: 23_400n })
    expect(await buy(`${shop.url}/zero`, payer())).toMatchObject({ status: 200, spent: 0n })
  })

  it('still takes what names one of the relayers', async () => {
    const payment = await signOffer(`${shop.url}/below`, payer(), relayers()[1])
    expect((await shop.pay('/below', payment)).status).toBe(200)
  })
})

describe('a gateway whose executor is not deployed', () => {
  const relayerKeys = () => devnet.relayerKeys.slice(0, 1)
  const shop = useShop(devnet, routes, () => ({
    networks: {
      'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: relayerKeys(), executor: true },
    },
  }))

  it('refuses payments before the handler runs', async () => {
    const before = runs
    const payment = await signOffer(`${shop.url}/below`, payer())
    const refused = await shop.pay('/below', payment)
    expect(paymentRequiredOf(refused).error).toBe('upto_facilitator_mismatch')
    expect(runs).toBe(before)
  })
})

describe.each([
  ['a relayer', () => ({})],
  ['an executor', () => withExecutor()],
])('an official resource server behind our gateway, settled by %s', (_name, options) => {
  const opened: { close(): Promise<void> }[] = []
  const open = async (app: Express): Promise<TestServer> => {
    const server = await listen(app)
    opened.unshift(server)
    return server
  }
  let facilitatorUrl: string
  let url: string
  const headers = { 'X-Project-Identify-Token': SHOP_TOKEN }
  beforeAll(async () => {
    const app = express()
    url = (await open(app)).url
    const merchant = { payTo: devnet.merchant.address, listed: [url] }
    const projects = [{ id: 'shop', tokens: [SHOP_TOKEN], merchant }]
    const gateway = createGateway(shopOptions(devnet, { ...options(), projects }))
    opened.push(gateway)
    const gatewayApp = express().use(gateway.discovery(), gateway.gatewayRouter())
    facilitatorUrl = `${(await open(gatewayApp)).url}/api/v2/payment`
    const facilitator = new HTTPFacilitatorClient({
      url: facilitatorUrl,
      createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }),
    })
    const server = new x402ResourceServer(facilitator).register('eip155:84532', new UptoServer())
    const accepts = {
      scheme: 'upto',
      network: 'eip155:84532',
      price: '$0.10',
      payTo: devnet.merchant.address,
    } as const
    app.use(paymentMiddleware({ 'GET /:amount': { accepts } }, server))
    app.get('/:amount', (req, res) => {
      setSettlementOverrides(res, { amount: req.params.amount })
      res.send('sold')
    })
  })
  afterAll(async () => {
    for (const { close } of opened) await close()
  })

  it.each([
    ['23400', 23_400n],
    ['100000', 100_000n],
    ['0', 0n],
  ])('sells for %s units', async (amount, charged) => {
    const { status, settlement, spent, earned } = await buy(`${url}/${amount}`, payer())
    expect(status).toBe(200)
    expect({ spent, earned }).toEqual({ spent: charged, earned: charged })
    expect(settlement).toMatchObject({ success: true, amount })
  })

  it('gives nothing for more than the maximum', async () => {
    const { status, body, spent } = await buy(`${url}/100001`, payer())
    expect(status).toBe(402)
    expect(body).not.toContain('sold')
    expect(spent).toBe(0n)
  })

  it('settles less than was accepted for this scheme alone, once, and for its own project', async () => {
    const payment = await signOffer(`${url}/23400`, payer())
    const bazaar = { info: { input: { type: 'http', method: 'GET' } }, schema: {} }
    const paymentPayload = { ...payment, extensions: { bazaar } }
    const settle = async (changed: Partial<PaymentRequirements>, token = SHOP_TOKEN) => {
      const response = await fetch(`${facilitatorUrl}/settle`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'X-Project-Identify-Token': token },
        body: JSON.stringify({
          paymentPayload,
          paymentRequirements: { ...payment.accepted, ...changed },
        }),
      })
      return (await response.json()) as Record<string, unknown>
    }
    expect(await settle({ amount: '1', scheme: 'exact' })).toMatchObject({ success: false })
    expect(await settle({ amount: '100001' })).toMatchObject({
      errorReason: 'invalid_upto_evm_payload_settlement_exceeds_amount',
    })
    expect(await settle({ amount: '1' }, 'x402_a-token-of-nobody-at-all')).not.toHaveProperty(
      'success',
      true,
    )
    const before = await balanceOf(devnet, payer().address)
    expect(await settle({ amount: '7' })).toMatchObject({ success: true, amount: '7' })
    expect(await settle({ amount: '8' })).toMatchObject({ success: false })
    expect(before - (await balanceOf(devnet, payer().address))).toBe(7n)
    const found = await fetch(new URL('/discovery/resources', facilitatorUrl))
    const { items } = (await found.json()) as { items: { resource: string; accepts: object[] }[] }
    const listed = items.find(({ resource }) => resource === `${url}/23400`)
    expect(listed?.accepts).toMatchObject([{ scheme: 'upto', amount: '100000' }])
  })
})
