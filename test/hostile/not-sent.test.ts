/** Orders that are cancelled as "not sent" while their payment may be mined: the merchant would be paid twice. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import type { UcpCompletion, UcpCompletionOptions } from '../../src/index.js'
import type { NetworkOptions } from '../../src/gateway/config/options/network.js'
import type { Hex, PaymentPayload } from '../../src/shared/protocol/payment.js'
import { sqliteLedger } from '../../src/sql.js'
import { askNode } from '../support/core.js'
import { closedBy, temporaryFolder, useCleanup } from '../support/cleanup.js'
import { balanceOf, SHOP_TOKEN, shopOptions, useDevnet } from '../support/devnet.js'
import { listen } from '../support/http.js'
import { resumeMining, stopMining, untilSent } from '../support/mining.js'
import { frontRun, untilMined } from '../support/on-chain.js'
import { startRpcProxy, type RpcProxy } from '../support/rpc-proxy.js'
import { signPayment } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import express from 'express'

const HANDLER = 'com.example.pay'
const ONE_ETHER = '0xde0b6b3a7640000'
/** Of the checkout, which every payment here is for. */
const PRICE = 15_000_000n

const devnet = useDevnet()
const toEnd = useCleanup()

type Config = UcpCompletionOptions['config']

let ledgerFile: string
let proxy: RpcProxy
let config: Config
/** What the shop was told, in order. */
let orders: string[]
let before: bigint

/** A process of the shop, on the same ledger as the others. */
function openGateway(network: NetworkOptions = {}): Gateway {
  const relayerKeys = devnet.relayerKeys.slice(0, 1)
  const gateway = createGateway(
    shopOptions(devnet, {
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys, ...network } },
      ledger: sqliteLedger(ledgerFile),
      handlerId: HANDLER,
      settleTimeoutMs: 2000,
    }),
  )
  return closedBy(toEnd, gateway)
}

/** The handler's entry in a checkout of 15 dollars. */
async function prepare(gateway: Gateway): Promise<Config> {
  const server = closedBy(toEnd, await listen(express().use(gateway.gatewayRouter())))
  const response = await fetch(`${server.url}/api/v2/merchant/checkout-prepare`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Project-Identify-Token': SHOP_TOKEN },
    body: JSON.stringify({
      amount: '15.00',
      currency: 'USD',
      resource: { url: 'https://shop.example/checkouts/1' },
    }),
  })
  const prepared = (await response.json()) as Record<string, { config: Config }[]>
  return prepared[HANDLER]![0]!.config
}

const sign = (payer: number): Promise<PaymentPayload> =>
  signPayment(devnet.payers[payer]!, config.accepts[0]!, {
    payload: { resource: { ...config.resource } },
  })

/** The platform completes the checkout. */
function complete(
  gateway: Gateway,
  paymentPayload: PaymentPayload,
  onPlace: () => unknown = () => undefined,
): Promise<UcpCompletion> {
  const paymentRequirements = config.accepts[0]
  const credential = { type: 'x402', x402Version: 2, paymentPayload, paymentRequirements }
  return gateway.completeWithX402(
    { handler_id: HANDLER, type: 'x402', credential },
    {
      config,
      async placeOrder() {
        orders.push('placed')
        await onPlace()
      },
      cancelOrder: () => void orders.push('cancelled'),
    },
  )
}

const paid = async (): Promise<bigint> =>
  ((await balanceOf(devnet, devnet.merchant.address)) - before) / PRICE

/** What comes of it when the buyer pays again, as he does when he is told that nothing was sent. */
async function payAgain(name: string, gateway: Gateway, first: UcpCompletion) {
  const payment = await sign(1)
  let again = first
  await until(async () => {
    again = await complete(gateway, payment)
    return again.status !== 'complete_in_progress'
  })
  const times = await paid()
  process.stdout.write(`${name}: ${first.status}; ${orders.join(', ')}; paid ${times} times\n`)
  return { told: first.status, again, orders, times }
}

const PAID_ONCE = {
  told: 'complete_in_progress',
  again: { status: 'completed' },
  orders: ['placed'],
  times: 1n,
}

beforeEach(async () => {
  ledgerFile = join(temporaryFolder(toEnd), 'ledger.db')
  proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
  orders = []
  before = await balanceOf(devnet, devnet.merchant.address)
})
afterEach(() => resumeMining(devnet))

describe('an order whose payment may have been sent is kept', () => {
  it('while the node does not say which transaction of a stranger has used it', async () => {
    const gateway = openGateway()
    config = await prepare(gateway)
    const payment = await sign(0)
    let letGo = (): void => undefined
    const isOver = new Promise<undefined>((resolve) => (letGo = () => resolve(undefined)))
    proxy.fault = (method) => (method === 'eth_getLogs' ? isOver : undefined)
    const first = await complete(gateway, payment, async () => {
      await untilMined(devnet, await frontRun(devnet, payment))
      // What was seen when it was verified is too old by then.
      await sleep(600)
    })
    letGo()
    expect(
      await payAgain('a stranger’s transaction and a slow node', gateway, first),
    ).toMatchObject(PAID_ONCE)
  })

  it('while the relayer has no money, and the node has had its bytes', async () => {
    const gateway = openGateway()
    config = await prepare(gateway)
    const { signers } = await gateway.facilitator.supported()
    const [relayer] = Object.values(signers).flat()
    const first = await complete(gateway, await sign(0), () =>
      askNode(devnet, 'anvil_setBalance', relayer, '0x0'),
    )
    await askNode(devnet, 'anvil_setBalance', relayer, ONE_ETHER)
    expect(await payAgain('a relayer without money', gateway, first)).toMatchObject(PAID_ONCE)
  })

  it('while gas is too dear to send it again', async () => {
    const gateway = openGateway()
    config = await prepare(gateway)
    const payment = await sign(0)
    await stopMining(devnet)
    const sending = complete(gateway, payment)
    await untilSent(devnet)
    expect(await sending).toMatchObject({ status: 'complete_in_progress' })
    // Its account nonce is used by another transaction: it has to be sent anew.
    const { pending } = await askNode<{ pending: Record<Hex, Record<string, { hash: Hex }>> }>(
      ...([devnet, 'txpool_content'] as const),
    )
    const [relayer, waiting] = Object.entries(pending)[0]!
    const [nonce, { hash }] = Object.entries(waiting)[0]!
    await askNode(devnet, 'anvil_dropTransaction', hash)
    await askNode(devnet, 'anvil_impersonateAccount', relayer)
    const fees = { maxFeePerGas: '0x2540be4000', maxPriorityFeePerGas: '0x2540be400' }
    const sent = { from: relayer, to: relayer, nonce: `0x${Number(nonce).toString(16)}`, ...fees }
    await askNode(devnet, 'eth_sendTransaction', sent)
    await resumeMining(devnet)
    await gateway.close()

    const poor = openGateway({ maxFeePerGasGwei: 1e-9 })
    const first = await complete(poor, payment)
    await poor.close()
    expect(
      await payAgain('a payment to be sent again, and dear gas', openGateway(), first),
    ).toMatchObject(PAID_ONCE)
  })
})
