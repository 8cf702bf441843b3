/** What metered payments ask of a node. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { executorOf } from '../../src/core/chain/executor.js'
import { paidRequest } from '../../src/sell/flow/paid-request.js'
import { permit2Of } from '../tools/devnet/permit2.js'
import { useDevnet } from '../support/devnet.js'
import { newPayer } from '../support/on-chain.js'
import { startRpcProxy } from '../support/rpc-proxy.js'
import { openShop } from '../support/shop.js'
import type { TestPayer } from '../support/sign-payment.js'
import { signUpTo } from '../support/sign-up-to.js'
import { until } from '../support/until.js'
import { useOpened } from '../support/use-opened.js'

const devnet = useDevnet()
const permit2 = permit2Of(devnet)

const BUYERS = 32

describe.each([true, false])('a metered payment (executor: %s)', (executor) => {
  let shop: Awaited<ReturnType<typeof openShop>>
  let payers: TestPayer[]
  const asked: string[] = []
  const proxy = useOpened(() => startRpcProxy(devnet.rpcUrl))
  beforeAll(async () => {
    proxy.fault = (method) => {
      asked.push(method)
      return undefined
    }
    const relayers = devnet.relayerKeys.map((_key, index) => permit2.relayer(index))
    const { to, data } = executorOf(relayers).deployment
    await permit2.sendFrom(relayers[0]!, to, data)
    shop = await openShop(
      devnet,
      (app, { x402Protect }) =>
        void app.get('/metered', x402Protect({ upTo: '$0.10' }), (req, res) => {
          paidRequest(req).charge('$0.02')
          res.send('sold')
        }),
      {
        networks: {
          'base-sepolia': { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys, executor },
        },
        // A busy machine mines 32 transactions, one after the other, more slowly than a buyer would wait.
        settleTimeoutMs: 120_000,
      },
    )
    payers = await Promise.all(Array.from({ length: BUYERS }, () => newPayer(devnet)))
    for (const { address } of payers) await permit2.approve(address)
  })
  afterAll(async () => {
    await shop.close()
  })

  const sign = async (payer: TestPayer) => signUpTo(await shop.ask('/metered'), payer)
  const buy = async (buyers: readonly TestPayer[]): Promise<readonly string[]> => {
    const payments = await Promise.all(buyers.map(sign))
    asked.length = 0
    const sold = await Promise.all(payments.map((payment) => shop.pay('/metered', payment)))
    expect(sold.map(({ status }) => status)).toEqual(buyers.map(() => 200))
    return [...asked]
  }

  /** Without what is asked from time to time, whoever pays. */
  const settling = (methods: readonly string[]) =>
    methods.filter((method) => /_call|_send|Receipt/.test(method))

  it('is simulated, sent and confirmed by one call each', async () => {
    await buy(payers.slice(0, 1))
    // A slow machine asks for the receipt again, and simulates again what it has simulated too long ago.
    await until(async () => {
      const asked = settling(await buy(payers.slice(0, 1)))
      expect([...new Set(asked)]).toEqual([
        ...['eth_call', 'eth_sendRawTransaction', 'eth_getTransactionReceipt'],
      ])
      const sends = asked.filter((method) => method === 'eth_sendRawTransaction')
      expect(sends).toHaveLength(1)
      return asked.filter((method) => method === 'eth_call').length === 1
    })
  })

  it('shares its calls with others where an executor can make them together', async () => {
    await buy(payers)
    const calls = settling(await buy(payers)).length
    if (executor) expect(calls).toBeLessThan(BUYERS / 2)
    else expect(calls).toBeGreaterThan(BUYERS)
  })
})
