import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { openCore, type Core } from '../../../../support/core.js'
import { useDevnet } from '../../../../support/devnet.js'
import { nonceOf, permit2On } from '../../../../support/permit2.js'
import { type RpcProxy, startRpcProxy } from '../../../../support/rpc-proxy.js'

const devnet = useDevnet()
const { approve, assets, balanceOf, isUsed, newPayer, offer, sign, terms } = permit2On(devnet)

let proxy: RpcProxy
let core: Core
beforeEach(async () => {
  proxy = await startRpcProxy(devnet.rpcUrl)
  core = openCore(devnet, { rpcUrl: proxy.url, assets: assets() })
})
afterEach(async () => {
  core.close()
  await proxy.close()
})

describe('a payment by Permit2', () => {
  it('is verified and settled, as the official client has signed it', async () => {
    const payer = await newPayer()
    await approve(payer.address)
    const payment = await sign(payer, offer())
    expect(await core.facilitator.verify(payment, offer(), terms())).toMatchObject({
      isValid: true,
      payer: payer.address,
    })
    const before = await balanceOf(devnet.merchant.address)
    expect(await core.facilitator.settle(payment, offer(), terms())).toMatchObject({
      success: true,
      payer: payer.address,
    })
    expect((await balanceOf(devnet.merchant.address)) - before).toBe(10_000n)
    expect(await isUsed(payer.address, nonceOf(payment))).toBe(true)
  })

  it.each([() => devnet.permitToken, () => devnet.plainToken])(
    'moves a token that knows nothing of ERC-3009: %#',
    async (tokenOf) => {
      const token = tokenOf()
      const payer = await newPayer(token)
      await approve(payer.address, token)
      const requirements = offer({ token, extra: {} })
      const payment = await sign(payer, requirements)
      const settled = await core.facilitator.settle(payment, requirements, terms())
      expect(settled).toMatchObject({ success: true })
      expect(await balanceOf(payer.address, token)).toBe(9_990_000n)
    },
  )

  it('of 32 buyers at once takes fewer requests to the node than there are buyers', async () => {
    const payers = await Promise.all(Array.from({ length: 32 }, () => newPayer()))
    for (const { address } of payers) await approve(address)
    const payments = await Promise.all(payers.map((payer) => sign(payer, offer())))
    await core.facilitator.settle(payments[0]!, offer(), terms())
    const before = proxy.methods.length
    const settled = await Promise.all(
      payments.slice(1).map((one) => core.facilitator.settle(one, offer(), terms())),
    )
    expect(settled.every(({ success }) => success)).toBe(true)
    expect(proxy.methods.length - before).toBeLessThan(31)
  })

  it('needs no more requests to the node than one by ERC-3009', async () => {
    const payer = await newPayer()
    await approve(payer.address)
    await core.facilitator.settle(await sign(payer, offer()), offer(), terms())
    const payment = await sign(payer, offer())
    const before = proxy.methods.length
    expect(await core.facilitator.settle(payment, offer(), terms())).toMatchObject({
      success: true,
    })
    // Blocks and account nonces are asked for from time to time; a slow transaction's receipt more than once.
    const asked = proxy.methods
      .slice(before)
      .filter((one) => !/blockNumber|TransactionCount/.test(one))
    expect([...new Set(asked)]).toEqual([
      'eth_call',
      'eth_sendRawTransaction',
      'eth_getTransactionReceipt',
    ])
    expect(asked.filter((one) => one !== 'eth_getTransactionReceipt')).toHaveLength(2)
  })
})
