/** A facilitator that settles a share of the payments, because it lists what it has settled. */
import { describe, expect, it } from '@jest/globals'
import express, { type RequestHandler } from 'express'
import { numberToHex, toEventSelector, type Hex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { createGateway } from '../../src/gateway/gateway.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import { closedBy, temporaryFolder, useCleanup } from '../support/cleanup.js'
import { balanceOf, shopOptions, useDevnet } from '../support/devnet.js'
import { listen, paymentHeader } from '../support/http.js'
import { openRemoteCore, type RemoteCore } from '../support/remote-shops.js'
import { paymentRequiredOf } from '../support/shop.js'
import { signPayment, type TestPayer } from '../support/sign-payment.js'
import { permit2Of } from '../tools/devnet/permit2.js'
import { signUpTo } from '../support/sign-up-to.js'
import { until } from '../support/until.js'
import { untilDecided } from '../support/until-decided.js'

const toEnd = useCleanup()
const devnet = useDevnet()

type Share = `1 in ${number}`

/** The gateway of another company, with relayers of its own. */
async function openListing() {
  const { networks } = shopOptions(devnet)
  const [[name, own]] = Object.entries(networks!) as [[string, object]]
  const relayerKeys = devnet.relayerKeys.slice(2)
  const remote = await openRemoteCore(devnet, toEnd, {
    networks: { [name]: { ...own, relayerKeys } },
  })
  const senders = relayerKeys.map((key) => privateKeyToAddress(key).toLowerCase())
  const [last] = await sendBatch(devnet.rpcUrl, [['eth_blockNumber']])
  const since = numberToHex(BigInt(last as Hex) + 1n)
  return Object.assign(remote, { settled: () => countPaidBy(senders, since) })
}

/** Counts the transfers to the merchant that these accounts have sent: whatever anybody says, this was settled there. */
async function countPaidBy(senders: readonly string[], fromBlock: unknown): Promise<number> {
  const payee = `0x${devnet.merchant.address.slice(2).toLowerCase().padStart(64, '0')}`
  const topics = [toEventSelector('Transfer(address,address,uint256)'), null, payee]
  const asked = { address: devnet.asset, fromBlock, topics }
  const [logs] = await sendBatch(devnet.rpcUrl, [['eth_getLogs', asked]])
  const transfers = (logs as { transactionHash: string }[]).map(
    ({ transactionHash }) => transactionHash,
  )
  const sent = await sendBatch(
    devnet.rpcUrl,
    transfers.map((hash) => ['eth_getTransactionByHash', hash] as const),
  )
  return (sent as { from: string }[]).filter(({ from }) => senders.includes(from)).length
}

async function openShop(listing: RemoteCore, share: Share, options: GatewayOptions = {}) {
  const { networks } = shopOptions(devnet)
  const [[name, own]] = Object.entries(networks!) as [[string, object]]
  const gateway = closedBy(
    toEnd,
    createGateway(
      shopOptions(devnet, {
        networks: { [name]: { ...own, relayerKeys: devnet.relayerKeys.slice(0, 2) } },
        facilitator: [{ facilitator: listing.facilitator(), networks: [name], share }],
        publicUrl: 'https://shop.example',
        ...options,
      }),
    ),
  )
  let runs = 0
  const app = express()
  const give: RequestHandler = (_req, res) => void res.send(`goods ${++runs}`)
  app.get('/a/:id', gateway.x402Protect('$0.01'), give)
  app.get('/b', gateway.x402Protect('$0.02', { paymentFlow: 'upfront' }), give)
  app.get('/most', gateway.x402Protect({ upTo: '$0.05' }), give)
  const { url } = closedBy(toEnd, await listen(app))
  return { gateway, url, runs: () => runs }
}

async function sign(url: string, payer: TestPayer = devnet.payers[0]!) {
  const [offer] = paymentRequiredOf(await fetch(url)).accepts
  return signPayment(payer, offer!)
}

const present = (url: string, payment: object) => fetch(url, { headers: paymentHeader(payment) })
async function buy(url: string, payer?: TestPayer): Promise<number> {
  const payment = await sign(url, payer)
  return (await untilDecided(() => present(url, payment))).status
}
const earned = () => balanceOf(devnet, devnet.merchant.address)

it('gets the first payment of each route, and each third after it', async () => {
  const listing = await openListing()
  const { url, gateway } = await openShop(listing, '1 in 3')
  const before = await earned()
  for (let payment = 0; payment < 7; payment++) expect(await buy(`${url}/a/${payment}`)).toBe(200)
  expect(await listing.settled()).toBe(3)
  for (let payment = 0; payment < 4; payment++) expect(await buy(`${url}/b`)).toBe(200)
  expect(await listing.settled()).toBe(5)
  await permit2Of(devnet).approve(devnet.payers[0]!.address)
  const metered = await signUpTo(await fetch(`${url}/most`), devnet.payers[0]!)
  expect((await present(`${url}/most`, metered)).status).toBe(200)
  expect(listing.asked).toEqual(Array(5).fill('settle'))
  expect(await earned()).toBe(before + 7n * 10_000n + 4n * 20_000n + 50_000n)
  const { kinds } = await gateway.facilitator.supported()
  expect(kinds.map(({ scheme }) => scheme).toSorted()).toEqual(['exact', 'upto'])
  expect(await gateway.check()).toContainEqual(
    expect.objectContaining({ subject: 'facilitator', status: 'ok' }),
  )
})

/** What a facilitator may do in place of its work. */
const faults: Readonly<Record<string, RequestHandler>> = {
  'is gone': (_req, res) => void res.destroy(),
  'loses its answer'(_req, res, next) {
    res.end = () => res.destroy() as never
    next()
  },
  'refuses what is good': (_req, res) =>
    void res.json({ success: false, errorReason: 'insufficient_funds', transaction: '' }),
  'says that it has paid': (req, res) =>
    void res.json({
      success: true,
      transaction: `0x${'ab'.repeat(32)}`,
      network: (req.body as { paymentRequirements?: { network: string } })?.paymentRequirements
        ?.network,
    }),
  'says that it has not paid'(_req, res, next) {
    res.json = () => {
      res.setHeader('Content-Type', 'application/json')
      return res.end(
        JSON.stringify({ success: false, errorReason: 'insufficient_funds', transaction: '' }),
      )
    }
    next()
  },
  'answers garbage': (_req, res) => void res.send('<html>'),
  fails: (_req, res) => void res.status(500).json({ error: 'sorry' }),
  'never answers': () => undefined,
  'never answers, but pays'(_req, res, next) {
    res.end = () => res
    next()
  },
}

/** @param faultOf - What a facilitator does with a payment, if not its work. */
function interceptPayments(
  listing: RemoteCore,
  faultOf: (payment: string) => RequestHandler | undefined,
): void {
  const parse = express.json()
  listing.intercept = (req, res, next) =>
    parse(req, res, () => {
      const { paymentPayload } = req.body as { paymentPayload: { payload: object } }
      const fault = faultOf(JSON.stringify(paymentPayload.payload))
      if (fault === undefined) next()
      else fault(req, res, next)
    })
}

describe.each(Object.entries(faults))('a facilitator that %s', (_name, fault) => {
  it('costs nobody anything, and is told of each payment once', async () => {
    const listing = await openListing()
    const ids: unknown[] = []
    let isFaulty = true
    interceptPayments(listing, (id) => {
      ids.push(id)
      return isFaulty ? fault : undefined
    })
    const { url } = await openShop(listing, '1 in 2', { settleTimeoutMs: 10_000 })
    const before = await earned()
    for (let payment = 0; payment < 3; payment++) expect(await buy(`${url}/a/1`)).toBe(200)
    isFaulty = false
    // On a busy machine it may miss another turn: it gets what it has missed, in the end.
    let bought = 3
    const owes = async () => Math.ceil(bought / 2) - (await listing.settled())
    for (; bought < 20 || (await owes()) > 0; bought++) expect(await buy(`${url}/a/1`)).toBe(200)
    expect(await owes()).toBe(0)
    expect(await earned()).toBe(before + BigInt(bought) * 10_000n)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

it('has its share to the payment, whatever goes wrong, and is told of each payment once', async () => {
  const [payments, buyers, most] = [150, 8, 27]
  const listing = await openListing()
  const kinds = Object.values(faults)
  const ids: string[] = []
  let failed = 0
  interceptPayments(listing, (id) => {
    ids.push(id)
    const isFaulty = failed < most && ids.length % 3 !== 0
    return isFaulty ? kinds[failed++ % kinds.length] : undefined
  })
  const { url } = await openShop(listing, '1 in 2', { settleTimeoutMs: 10_000 })
  const before = await earned()
  let bought = 0
  const buyAll = async (_: unknown, index: number): Promise<void> => {
    const payer = devnet.payers[index % devnet.payers.length]
    while (bought++ < payments) {
      expect(await buy(`${url}/a/1`, payer)).toBe(200)
    }
  }
  await Promise.all(Array.from({ length: buyers }, buyAll))
  // What it missed at the end, it takes now.
  let rest = 0
  const owes = async () => Math.ceil((payments + rest) / 2) - (await listing.settled())
  for (; (await owes()) > 0; rest++) expect(await buy(`${url}/a/1`)).toBe(200)
  expect(failed).toBe(most)
  expect(await owes()).toBe(0)
  expect(await earned()).toBe(before + BigInt(payments + rest) * 10_000n)
  expect(new Set(ids).size).toBe(ids.length)
})

it.each(['sent', 'not sent'])(
  'leaves a payment good that was %s when its gateway ended',
  async (sent) => {
    const listing = await openListing()
    let isAsked = false
    listing.intercept = (_req, res, next) => {
      isAsked = true
      if (sent === 'not sent') return
      res.end = () => res
      next()
    }
    const ledger = `${temporaryFolder(toEnd)}/ledger.db`
    const first = await openShop(listing, '1 in 2', { ledger: sqliteLedger(ledger) })
    const before = await earned()
    const payment = await sign(`${first.url}/b`)
    const answer = present(`${first.url}/b`, payment)
    await until(() => isAsked)
    await first.gateway.close({ timeoutMs: 1 })
    expect((await answer).status).not.toBe(200)

    const second = await openShop(listing, '1 in 2', { ledger: sqliteLedger(ledger) })
    const given = await untilDecided(() => present(`${second.url}/b`, payment))
    expect(given.status).toBe(200)
    expect((await present(`${second.url}/b`, payment)).status).toBe(402)
    expect([first.runs(), second.runs()]).toEqual([0, 1])
    expect(await earned()).toBe(before + 20_000n)
  },
)

it('counts the payments of all gateways on a ledger together', async () => {
  const listing = await openListing()
  const ledger = `${temporaryFolder(toEnd)}/ledger.db`
  const open = () => openShop(listing, '1 in 5', { ledger: sqliteLedger(ledger) })
  const shops = [await open(), await open()]
  const buying = Array.from({ length: 40 }, async (_, index) => {
    const url = `${shops[index % 2]!.url}/a/1`
    return buy(url, devnet.payers[index % devnet.payers.length])
  })
  expect(new Set(await Promise.all(buying))).toEqual(new Set([200]))
  expect(await listing.settled()).toBe(8)
})

it.each([
  ['1 in 0', /facilitator\.0\.share: must say one in how many, like '1 in 100'/],
  ['1%', /facilitator\.0\.share: must say one in how many, like '1 in 100'/],
  ['1 in 100', /networks\.base-sepolia\.relayerKeys/],
])('refuses the share %s without relayers', (share, message) => {
  const facilitator = { verify() {}, settle() {}, supported() {} } as never
  const options = {
    networks: { 'base-sepolia': { rpcUrl: 'http://127.0.0.1:1' } as never },
    facilitator: [{ facilitator, networks: ['base-sepolia'], share: share as Share }],
  }
  expect(() => createGateway(shopOptions(devnet, options))).toThrow(message)
})
