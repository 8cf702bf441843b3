import { describe, expect, it } from '@jest/globals'
import { openLinkShop, pathOf } from '../sell/links/shop.js'
import { useCleanup, closedBy } from '../support/cleanup.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { startRpcProxy } from '../support/rpc-proxy.js'

const devnet = useDevnet()
const toEnd = useCleanup()

/** Units of USDC that a link costs. */
const PRICE = 50_000n

describe('a payment that took a link and was released', () => {
  it('pays only the link that it is settled for', async () => {
    const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
    const { relayerKeys } = devnet
    const shop = await openLinkShop(devnet, {
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys } },
    })
    toEnd.push(() => shop.close())
    const [first, second] = [await shop.link(), await shop.link()]
    const payment = await shop.sign(pathOf(first), devnet.payers[0]!)
    const before = await balanceOf(devnet, devnet.merchant.address)
    // Nothing is sent: the payment is released. A buyer who hangs up in time does the same.
    proxy.fault = (method) =>
      method === 'eth_estimateGas' || method === 'eth_getTransactionCount'
        ? { kind: 'refuse', code: -32000, message: 'insufficient funds for gas * price + value' }
        : undefined
    expect((await shop.pay(pathOf(first), payment)).status).toBe(503)
    proxy.fault = undefined
    // Only the address of the resource says which link it is for, and that is not signed.
    const again = { ...payment, resource: { ...payment.resource, url: second.url } }
    const answer = await shop.pay(pathOf(second), again)
    expect(answer.status).toBe(200)
    expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(PRICE)
    expect(await shop.read(second)).toMatchObject({ status: 'paid' })
    expect(await shop.read(first)).toMatchObject({ status: 'open' })
    expect((await shop.ask(pathOf(first))).status).toBe(402)
  })
})
