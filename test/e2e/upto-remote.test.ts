/** Paying for what was used, where a facilitator elsewhere settles: one of ours, and the official one. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { UptoEvmScheme } from '@x402/evm/upto/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { request } from 'node:http'
import { privateKeyToAccount } from 'viem/accounts'
import { executorOf } from '../../src/core/chain/executor.js'
import { paidRequest } from '../../src/sell/flow/paid-request.js'
import { permit2Of } from '../tools/devnet/permit2.js'
import type { Cleanup } from '../support/cleanup.js'
import { balanceOf, shopOptions, useDevnet } from '../support/devnet.js'
import { paymentHeader } from '../support/http.js'
import { openOfficialFacilitator } from '../support/official-facilitator.js'
import { loseNextAnswer, openRemoteCore, type RemoteApi } from '../support/remote-shops.js'
import { openShop, paymentRequiredOf, settlementOf } from '../support/shop.js'
import { signUpTo } from '../support/sign-up-to.js'
import { until } from '../support/until.js'
import { useCleanup } from '../support/cleanup.js'

const devnet = useDevnet()
const permit2 = permit2Of(devnet)
const payer = () => devnet.payers[0]!

const relayers = () => devnet.relayerKeys.map((_key, index) => permit2.relayer(index))
const executorOptions = () => ({
  networks: {
    'base-sepolia': { rpcUrl: devnet.rpcUrl, relayerKeys: devnet.relayerKeys, executor: true },
  },
})

beforeAll(async () => {
  for (const { address } of devnet.payers) await permit2.approve(address)
  const { to, data } = executorOf(relayers()).deployment
  await permit2.sendFrom(relayers()[0]!, to, data)
})

/** How each facilitator is opened, who makes its calls, and whether it repeats a lost answer. */
const FACILITATORS = [
  {
    name: 'a gateway of ours',
    open: (toEnd: Cleanup): Promise<RemoteApi> => openRemoteCore(devnet, toEnd),
    caller: () => relayers()[0],
    repeats: true,
  },
  {
    name: 'a gateway of ours with an executor',
    open: (toEnd: Cleanup): Promise<RemoteApi> => openRemoteCore(devnet, toEnd, executorOptions()),
    caller: () => executorOf(relayers()).address,
    repeats: true,
  },
  {
    name: 'the official facilitator',
    open: (toEnd: Cleanup) => openOfficialFacilitator(devnet, toEnd),
    caller: () => relayers().at(-1),
    repeats: false,
  },
] as const

describe.each(FACILITATORS)('a route with a maximum, settled by $name', (facilitator) => {
  const toEnd = useCleanup(afterAll)
  let remote: RemoteApi
  let shop: Awaited<ReturnType<typeof openShop>>
  let runs = 0
  /** What the handler charges. */
  let price = '0.02'
  let gone = 0

  beforeAll(async () => {
    remote = await facilitator.open(toEnd)
    shop = await openShop(
      devnet,
      (app, { x402Protect }) => {
        app.use((_req, res, next) => {
          res.on('close', () => (gone += res.writableFinished ? 0 : 1))
          next()
        })
        app.get('/', x402Protect({ upTo: '$0.10' }), (req, res) => {
          runs += 1
          if (price !== '') paidRequest(req).charge(price)
          res.json({ worth: price })
        })
      },
      {
        ...shopOptions(devnet),
        networks: { 'base-sepolia': {} },
        facilitator: remote.facilitator(),
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      },
    )
    toEnd.push(() => shop.close())
  })
  beforeEach(() => {
    price = '0.02'
    remote.intercept = (_req, _res, next) => next()
  })

  const sign = async () => {
    const required = await shop.ask('/')
    const signed = await signUpTo(required, payer())
    return { ...signed, accepted: paymentRequiredOf(required).accepts[0]! }
  }
  const earned = () => balanceOf(devnet, devnet.merchant.address)

  it('offers what the client signs for, and names who makes the call there', async () => {
    const { accepts } = paymentRequiredOf(await shop.ask('/'))
    expect(accepts).toMatchObject([
      {
        ...{ scheme: 'upto', amount: '100000', payTo: devnet.merchant.address },
        extra: {
          ...{ name: 'USDC', version: '2', assetTransferMethod: 'permit2' },
          facilitatorAddress: facilitator.caller(),
        },
      },
    ])
  })

  it.each([
    ['0.0234', 23_400n],
    ['0.10', 100_000n],
    ['', 100_000n],
    ['0', 0n],
  ])('charges the official client %s', async (said, charged) => {
    price = said
    const account = privateKeyToAccount(payer().privateKey)
    const client = new x402Client().register('eip155:84532', new UptoEvmScheme(account))
    const buy = wrapFetchWithPayment(fetch, client) as typeof fetch
    const [before, spentBefore] = [await earned(), await balanceOf(devnet, payer().address)]
    const sold = await buy(shop.url)
    expect(await sold.json()).toEqual({ worth: said })
    expect((await earned()) - before).toBe(charged)
    expect(spentBefore - (await balanceOf(devnet, payer().address))).toBe(charged)
    const amount = charged.toString()
    expect(settlementOf(sold)).toEqual({
      ...{ success: true, network: 'eip155:84532', payer: payer().address, amount },
      transaction: charged === 0n ? '' : expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect(shop.events.settled?.at(-1)).toMatchObject({ amount, payer: payer().address })
  })

  it.each(['0', '0.02'])(
    'takes a payment that was charged %s for no second request',
    async (said) => {
      price = said
      const payment = await sign()
      expect((await shop.pay('/', payment)).status).toBe(200)
      const before = await earned()
      const again = await shop.pay('/', payment)
      expect(again.status).toBe(402)
      expect(await again.text()).not.toContain('worth')
      expect(await earned()).toBe(before)
    },
  )

  it('refuses a payment that names another facilitator before the handler runs', async () => {
    const before = runs
    const required = await shop.ask('/')
    const { extra } = paymentRequiredOf(required).accepts[0]!
    const facilitatorAddress = devnet.payers[3]!.address
    const signed = await signUpTo(required, payer(), { extra: { ...extra, facilitatorAddress } })
    const refused = await shop.pay('/', signed)
    expect(refused.status).toBe(402)
    expect(paymentRequiredOf(refused).error).toBe('upto_facilitator_mismatch')
    expect(runs).toBe(before)
  })

  it('keeps the answer that was charged for while the facilitator’s is lost', async () => {
    const before = await earned()
    const payment = await sign()
    loseNextAnswer(remote)
    expect((await shop.pay('/', payment)).status).toBe(503)
    expect((await earned()) - before).toBe(20_000n)
    const ran = runs
    price = '0.10'
    const again = await shop.pay('/', payment)
    if (facilitator.repeats) {
      expect(await again.json()).toEqual({ worth: '0.02' })
      expect(settlementOf(again)).toMatchObject({ success: true, amount: '20000' })
    } else {
      // It says no more than that the payment does not go through.
      expect(again.status).toBe(503)
      expect(settlementOf(again)).toMatchObject({ errorReason: 'settlement_pending' })
    }
    expect(runs).toBe(ran)
    expect((await earned()) - before).toBe(20_000n)
  })

  it('gives the answer to a client that has hung up, at its charge and once', async () => {
    const before = await earned()
    const payment = await sign()
    const left = gone
    const sent = request(shop.url, { headers: paymentHeader(payment) })
    sent.on('error', () => undefined)
    remote.intercept = (req, _res, next) => {
      if (!req.path.endsWith('/settle')) return next()
      sent.destroy()
      void until(() => gone > left).then(() => next())
    }
    const settled = shop.events.settled?.length ?? 0
    sent.end()
    await until(() => (shop.events.settled?.length ?? 0) > settled)
    const ran = runs
    price = '0.10'
    const sold = await shop.pay('/', payment)
    expect(await sold.json()).toEqual({ worth: '0.02' })
    expect(settlementOf(sold)).toMatchObject({ success: true, amount: '20000' })
    expect(runs).toBe(ran)
    expect((await earned()) - before).toBe(20_000n)
    expect((await shop.pay('/', payment)).status).toBe(402)
  })
})
