import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { encodeFunctionData } from 'viem'
import type { Hex, PaymentPayload } from '../../../../../src/shared/protocol/payment.js'
import { smartAccountAbi, usdcAbi } from '../../../../tools/devnet/abis.js'
import { strictFactoryCode } from '../../../../tools/devnet/hostile-code.js'
import {
  counterfactualAccount,
  deployAccount,
  wrapPayment,
  type CounterfactualAccount,
} from '../../../../tools/devnet/smart-account.js'
import { useCleanup } from '../../../../support/cleanup.js'
import { deploy } from '../../../../support/contracts.js'
import { openCore, payingOn, type Core } from '../../../../support/core.js'
import { shopOptions, SHOP_TOKEN, useDevnet } from '../../../../support/devnet.js'
import { cancel } from '../../../../support/on-chain.js'
import { permit2On } from '../../../../support/permit2.js'
import { isSend, startRpcProxy, type RpcProxy } from '../../../../support/rpc-proxy.js'
import { openShop, paymentRequiredOf, type Shop } from '../../../../support/shop.js'
import { stopMining } from '../../../../support/mining.js'
import { untilDecided } from '../../../../support/until-decided.js'

const devnet = useDevnet()
const toEnd = useCleanup()
const { sign, settle, merchantBalance } = payingOn(devnet)
const { sendFrom } = permit2On(devnet)

let factory: Hex
let core: Core
let proxy: RpcProxy
beforeEach(async () => {
  factory = await deploy(devnet, strictFactoryCode)
  proxy = await startRpcProxy(devnet.rpcUrl)
  core = openCore(devnet, { rpcUrl: proxy.url, allowedFactories: [factory] })
})
afterEach(async () => {
  core.close()
  await proxy.close()
})

const payerOf = ({ address, owner }: CounterfactualAccount) => ({ ...owner, address })

/** Signs one cent for an account. */
const payAs = async (account: CounterfactualAccount) =>
  wrapPayment(await sign(payerOf(account)), account)

/** Does something once, right before the next such request reaches the node. */
function beforeNext(is: (method: string) => boolean, work: () => Promise<void>): void {
  let isDone = false
  proxy.fault = async (method) => {
    if (isDone || !is(method)) return
    isDone = true
    await work()
  }
}

/** An account gives all its tokens away. */
async function empty({ address, owner }: CounterfactualAccount): Promise<void> {
  const args = [owner.address, 1_000_000n] as const
  const transfer = encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args })
  const execute = { abi: smartAccountAbi, functionName: 'execute' } as const
  const data = encodeFunctionData({ ...execute, args: [devnet.asset, 0n, transfer] })
  await sendFrom(owner.address, address, data)
}

/** An account cancels a payment. */
const cancelAs = (account: CounterfactualAccount, payment: PaymentPayload) =>
  cancel(devnet, payerOf(account), payment)

/** How many transactions the core has sent. */
const sent = () => core.events.filter(({ name }) => name === 'submitted').length

describe('an account that a stranger deploys before our transaction', () => {
  it('pays all the same, and its factory stays open, however often that happens', async () => {
    const before = await merchantBalance()
    for (let times = 1; times <= 3; times++) {
      const account = await counterfactualAccount(devnet, factory)
      beforeNext(isSend, () => deployAccount(devnet, account))
      expect(await settle(core, await payAs(account))).toMatchObject({ success: true })
      expect(sent()).toBe(2 * times)
    }
    const honest = await payAs(await counterfactualAccount(devnet, factory))
    expect(await settle(core, honest)).toMatchObject({ success: true })
    expect(sent()).toBe(7)
    expect(await merchantBalance()).toBe(before + 40_000n)
  })

  it('pays by its transfer alone if that happens while it is checked', async () => {
    const account = await counterfactualAccount(devnet, factory)
    const payment = await payAs(account)
    beforeNext(
      (method) => method === 'eth_estimateGas',
      () => deployAccount(devnet, account),
    )
    expect(await settle(core, payment)).toMatchObject({ success: true })
    expect(sent()).toBe(1)
  })

  it.each([
    ['gives its money away', empty],
    ['takes its signature back', cancelAs],
  ])('and that then %s, pays nothing, and counts against nobody else', async (_name, evade) => {
    for (let times = 1; times <= 5; times++) {
      const account = await counterfactualAccount(devnet, factory)
      const payment = await payAs(account)
      beforeNext(isSend, async () => {
        await deployAccount(devnet, account)
        await evade(account, payment)
      })
      const answer = await settle(core, payment)
      expect(answer).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
      expect(sent()).toBe(times)
    }
    const isDeployed = await counterfactualAccount(devnet, factory)
    await deployAccount(devnet, isDeployed)
    for (const account of [await counterfactualAccount(devnet, factory), isDeployed])
      expect(await settle(core, await payAs(account))).toMatchObject({ success: true })
  })

  it('waits, like any payer, once its own transactions have failed twice', async () => {
    const account = await counterfactualAccount(devnet, factory)
    const payments = [await payAs(account), await payAs(account)]
    beforeNext(isSend, async () => {
      await deployAccount(devnet, account)
      await empty(account)
    })
    expect(await settle(core, payments[0]!)).toMatchObject({ success: false })
    await devnet.mint(account.address, 1_000_000n)
    beforeNext(isSend, () => empty(account))
    expect(await settle(core, payments[1]!)).toMatchObject({ success: false })
    await devnet.mint(account.address, 1_000_000n)
    expect(await settle(core, await payAs(account))).toMatchObject({
      success: false,
      errorReason: 'payer_temporarily_refused',
    })
  })

  it('is deployed by one of two gateways that are paid at once, and pays both', async () => {
    const other = openCore(devnet, {
      rpcUrl: proxy.url,
      relayerKey: devnet.relayerKeys[1]!,
      allowedFactories: [factory],
    })
    toEnd.push(() => other.close())
    const before = await merchantBalance()
    const account = await counterfactualAccount(devnet, factory)
    const payments = [await payAs(account), await payAs(account)] as const
    let sends = 0
    let goOn: () => void
    const both = new Promise<void>((resolve) => (goOn = resolve))
    proxy.fault = async (method) => {
      if (!isSend(method)) return
      if (++sends === 2) goOn()
      await both
    }
    const answers = await Promise.all([settle(core, payments[0]), settle(other, payments[1])])
    expect(answers).toMatchObject([{ success: true }, { success: true }])
    expect(await merchantBalance()).toBe(before + 20_000n)
  })
})

describe('five payments at once, by an account that is not deployed', () => {
  const openHere = async (): Promise<Shop> => {
    const network = {
      rpcUrl: devnet.rpcUrl,
      relayerKeys: devnet.relayerKeys,
      allowedFactories: [factory],
    }
    const shop = await openShop(
      devnet,
      (app, { x402Protect, gatewayRouter }) => {
        const price = '$0.01'
        app.use(gatewayRouter())
        app.get('/authorization', x402Protect(price), (_req, res) => void res.send('item'))
        const upfront = x402Protect(price, { paymentFlow: 'upfront' })
        app.get('/upfront', upfront, (_req, res) => void res.send('item'))
      },
      {
        ...shopOptions(devnet),
        networks: { 'base-sepolia': network },
        // Four wait for the fifth one's deployment, which takes as long as the machine is slow.
        settleTimeoutMs: 300_000,
      },
    )
    toEnd.push(() => shop.close())
    return shop
  }
  const ofMerchant = async (shop: Shop, path: string, body: object) => {
    const headers = { 'X-Project-Identify-Token': SHOP_TOKEN, 'Content-Type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await (await fetch(`${shop.url}/api/v2${path}`, init)).json()) as {
      success: boolean
      errorReason?: string
      url: string
    }
  }
  /** Pays at a path. @returns Whether the buyer got what he paid for, or why the merchant has no money. */
  const buy = async (shop: Shop, path: string, account: CounterfactualAccount) => {
    const payment = wrapPayment(await shop.sign(path, payerOf(account)), account)
    return (await untilDecided(() => shop.pay(path, payment))).ok
  }
  const flows: Record<string, (...given: Parameters<typeof buy>) => Promise<boolean | string>> = {
    'for held responses': buy,
    upfront: (shop, _path, account) => buy(shop, '/upfront', account),
    'by payment links': async (shop, _path, account) => {
      const { url } = await ofMerchant(shop, '/merchant/checkouts', {
        amount: '0.01',
        currency: 'USD',
      })
      return buy(shop, new URL(url).pathname, account)
    },
    'over the API': async (shop, path, account) => {
      const payment = wrapPayment(await shop.sign(path, payerOf(account)), account)
      const paymentRequirements = paymentRequiredOf(await shop.ask(path)).accepts[0]
      const body = { paymentPayload: payment, paymentRequirements }
      const settle = () => ofMerchant(shop, '/payment/settle', body)
      let settled = await settle()
      // As a server asks again where a busy node has not answered.
      while (settled.errorReason === 'settlement_pending') settled = await settle()
      return settled.success || `${settled.errorReason}`
    },
  }

  it.each(Object.keys(flows))('are all settled, %s', async (name) => {
    const shop = await openHere()
    const account = await counterfactualAccount(devnet, factory)
    const before = await merchantBalance()
    await stopMining(devnet)
    const mining = setInterval(() => void devnet.mine().catch(() => undefined), 200)
    const paying = Array.from({ length: 5 }, () => flows[name]!(shop, '/authorization', account))
    const paid = await Promise.all(paying).finally(() => clearInterval(mining))
    expect(paid).toEqual([true, true, true, true, true])
    expect(await merchantBalance()).toBe(before + 50_000n)
    expect(shop.events.submitted).toHaveLength(5)
  })
})
