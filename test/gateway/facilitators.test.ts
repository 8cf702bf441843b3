/** A facilitator for each network: this process settles on one chain, another gateway on a second one. */
import { expect, it } from '@jest/globals'
import express from 'express'
import { createGateway } from '../../src/gateway/gateway.js'
import { sqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import type { PaymentRequired, PaymentRequirements } from '../../src/shared/protocol/payment.js'
import type { Devnet } from '../../src/tools/devnet/index.js'
import { startAnvil } from '../../src/tools/devnet/anvil.js'
import { findAnvil } from '../../src/tools/devnet/find-anvil.js'
import { sendBatch } from '../../src/tools/devnet/send-batch.js'
import { closedBy, temporaryFolder, useCleanup } from '../support/cleanup.js'
import { balanceOf, shopOptions, useDevnet } from '../support/devnet.js'
import { decodeDocument, listen, paymentHeader } from '../support/http.js'
import { loseNextAnswer, openRemoteCore } from '../support/remote-shops.js'
import { settlementOf } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { untilDecided } from '../support/until-decided.js'
import { useOpened } from '../support/use-opened.js'

const toEnd = useCleanup()
const devnet = useDevnet()
/** The state of the first chain, as Polygon Amoy. */
const amoy = useOpened(async () => {
  const { rpcUrl, stop } = await startAnvil({
    binary: findAnvil(),
    host: '127.0.0.1',
    port: 0,
    chainId: 80_002,
    accounts: devnet.relayerKeys.length,
  })
  const [state] = await sendBatch(devnet.rpcUrl, [['anvil_dumpState']])
  await sendBatch(rpcUrl, [['anvil_loadState', state]])
  return { rpcUrl, close: stop }
})

const asset = () => ({
  address: devnet.asset,
  symbol: 'USDC',
  decimals: 6,
  currency: 'USD',
  eip712: { name: 'USDC', version: '2' },
})

/** None is the first one, which makes the calls of metered payments here. */
const relayersElsewhere = () => devnet.relayerKeys.slice(1, 3)
/** The gateway of another company: it settles on Polygon Amoy. */
const openElsewhere = () =>
  openRemoteCore(devnet, toEnd, {
    networks: {
      'polygon-amoy': {
        rpcUrl: amoy.rpcUrl,
        relayerKeys: relayersElsewhere(),
        assets: [asset()],
      },
    },
  })

/** A shop that takes money on both chains. */
async function openShop(facilitator: GatewayOptions['facilitator']) {
  const { networks } = shopOptions(devnet)
  const options = { networks: { ...networks, 'polygon-amoy': { assets: [asset()] } }, facilitator }
  const gateway = closedBy(toEnd, createGateway(shopOptions(devnet, options)))
  const app = express()
  app.get('/fixed', gateway.x402Protect('$0.01'), (_req, res) => void res.send('goods'))
  app.get('/most', gateway.x402Protect({ upTo: '$0.01' }), (_req, res) => void res.send('goods'))
  const { url } = closedBy(toEnd, await listen(app))
  return { gateway, url }
}

async function offersOf(url: string): Promise<readonly PaymentRequirements[]> {
  const required = (await fetch(url)).headers.get('payment-required')
  return decodeDocument<PaymentRequired>(required).accepts
}

async function pay(url: string, network: string) {
  const offers = await offersOf(url)
  const offer = offers.find((one) => one.network === network)!
  const payment = await signPayment(devnet.payers[0]!, offer)
  const { status } = await fetch(url, { headers: paymentHeader(payment) })
  return { status, payment }
}

const BASE = 'eip155:84532'
const AMOY = 'eip155:80002'
const earned = async () => {
  const onChain = ({ rpcUrl }: { rpcUrl: string }) =>
    balanceOf({ ...devnet, asset: devnet.asset, rpcUrl }, devnet.merchant.address)
  return { [BASE]: await onChain(devnet), [AMOY]: await onChain(amoy) }
}

it('has each payment settled by the facilitator of its network', async () => {
  const elsewhere = await openElsewhere()
  const list = [{ facilitator: elsewhere.facilitator(), networks: ['polygon-amoy'] }]
  const { gateway, url } = await openShop(list)
  const before = await earned()

  expect(await pay(`${url}/fixed`, BASE)).toMatchObject({ status: 200 })
  expect(elsewhere.asked).toEqual([])
  expect(await earned()).toEqual({ ...before, [BASE]: before[BASE] + 10_000n })

  expect(await pay(`${url}/fixed`, AMOY)).toMatchObject({ status: 200 })
  expect(elsewhere.asked).toEqual(['verify', 'settle'])
  const each = 10_000n
  expect(await earned()).toEqual({ [BASE]: before[BASE] + each, [AMOY]: before[AMOY] + each })

  const { kinds } = await gateway.facilitator.supported()
  const names = kinds.map(({ scheme, network }) => `${scheme} ${network}`).toSorted()
  expect(names).toEqual([`exact ${AMOY}`, `exact ${BASE}`, `upto ${AMOY}`, `upto ${BASE}`])
  const findings = await gateway.check()
  expect(findings.filter(({ subject }) => subject === 'facilitator')).toMatchObject([
    { status: 'ok', message: expect.stringContaining('settles on Polygon Amoy.') },
  ])
})

it('offers maxima to the caller of each network', async () => {
  const elsewhere = await openElsewhere()
  const list = [{ facilitator: elsewhere.facilitator(), networks: ['polygon-amoy'] }]
  const { gateway, url } = await openShop(list)
  const { kinds } = await gateway.facilitator.supported()
  const callers = kinds.flatMap(({ network, extra }) => {
    const caller = extra?.['facilitatorAddress']
    return caller === undefined ? [] : [[network, caller]]
  })
  // A facilitator that is asked for the first time is waited for only where nobody else could be paid.
  let offers: readonly PaymentRequirements[] = []
  await until(async () => (offers = await offersOf(`${url}/most`)).length === 2)
  const named = offers.map(({ network, extra }) => [network, extra?.['facilitatorAddress']])
  expect(new Map(named as [string, unknown][])).toEqual(new Map(callers as [string, unknown][]))
  expect(new Set(callers.map(([, caller]) => caller)).size).toBe(2)
})

it('sells on its own network while a facilitator is gone', async () => {
  const elsewhere = await openElsewhere()
  elsewhere.intercept = (_req, res) => res.destroy()
  const list = [{ facilitator: elsewhere.facilitator(), networks: ['polygon-amoy'] }]
  const { gateway, url } = await openShop(list)
  const before = await earned()
  const { status, payment } = await pay(`${url}/fixed`, AMOY)
  expect(status).toBe(503)
  const { kinds } = await gateway.facilitator.supported()
  expect(new Set(kinds.map(({ network }) => network))).toEqual(new Set([BASE]))
  expect(await pay(`${url}/fixed`, BASE)).toMatchObject({ status: 200 })
  expect((await offersOf(`${url}/most`)).map(({ network }) => network)).toEqual([BASE])

  elsewhere.intercept = (_req, _res, next) => next()
  const again = await fetch(`${url}/fixed`, { headers: paymentHeader(payment) })
  expect(again.status).toBe(200)
  const each = 10_000n
  expect(await earned()).toEqual({ [BASE]: before[BASE] + each, [AMOY]: before[AMOY] + each })
})

it('asks nobody about a network that its list does not name', async () => {
  const elsewhere = await openElsewhere()
  const list = [{ facilitator: elsewhere.facilitator(), networks: ['base-sepolia'] }]
  const networks = { 'base-sepolia': {} }
  const options = shopOptions(devnet, { networks, facilitator: list })
  const gateway = closedBy(toEnd, createGateway(options))
  const entry = { scheme: 'exact', network: AMOY, asset: devnet.asset, amount: '10000' }
  const requirements = {
    ...entry,
    payTo: devnet.merchant.address,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
  }
  const payment = await signPayment(devnet.payers[0]!, requirements)
  const settled = await gateway.facilitator.settle(payment, requirements)
  expect(settled).toMatchObject({ success: false, errorReason: 'invalid_network' })
  expect(elsewhere.asked).toEqual([])
})

it('gives the goods for what a facilitator has settled, though its network is settled here by now', async () => {
  const elsewhere = await openElsewhere()
  const file = `${temporaryFolder(toEnd)}/ledger.db`
  const amoyWith = (relayers: object) => ({ 'polygon-amoy': { assets: [asset()], ...relayers } })
  let runs = 0
  const open = async (options: GatewayOptions) => {
    const shared = { ledger: sqliteLedger(file), publicUrl: 'https://shop.example' }
    const gateway = closedBy(toEnd, createGateway(shopOptions(devnet, { ...shared, ...options })))
    const app = express()
    app.get('/', gateway.x402Protect('$0.01'), (_req, res) => void res.send(`goods ${++runs}`))
    const { url } = closedBy(toEnd, await listen(app))
    return { gateway, url }
  }
  const list = [{ facilitator: elsewhere.facilitator(), networks: ['polygon-amoy'] }]
  const first = await open({ networks: amoyWith({}), facilitator: list })
  const before = await earned()
  loseNextAnswer(elsewhere)
  const { status, payment } = await pay(first.url, AMOY)
  expect(status).toBe(503)
  await first.gateway.close()

  const own = (relayerKeys: Devnet['relayerKeys']) =>
    open({ networks: amoyWith({ rpcUrl: amoy.rpcUrl, relayerKeys }), settleTimeoutMs: 400 })
  const headers = paymentHeader(payment)
  // What these relayers have sent is for their own ledger to answer for.
  const theirs = await own(relayersElsewhere())
  expect(settlementOf(await fetch(theirs.url, { headers }))).toMatchObject({
    errorReason: 'settlement_pending',
    transaction: '',
  })
  await theirs.gateway.close()
  const second = await own(devnet.relayerKeys.slice(0, 1))
  const present = () => fetch(second.url, { headers })
  const given = await untilDecided(present)
  expect([given.status, await given.text()]).toEqual([200, 'goods 2'])
  expect((await present()).status).toBe(402)
  expect(runs).toBe(2)
  expect(await earned()).toEqual({ ...before, [AMOY]: before[AMOY] + 10_000n })
})
