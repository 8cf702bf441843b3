import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { offerOf, openCore, type Core } from '../../support/core.js'
import { useDevnet } from '../../support/devnet.js'
import { newPayer } from '../../support/on-chain.js'
import { startRpcProxy } from '../../support/rpc-proxy.js'
import { signPayment } from '../../support/sign-payment.js'
import { useStoppableClock } from '../../support/stopped-clock.js'
import { unattended } from '../../support/unattended.js'
import { until } from '../../support/until.js'
import { useOpened } from '../../support/use-opened.js'

const devnet = useDevnet()
const clock = useStoppableClock()
let core: Core
const proxy = useOpened(() => startRpcProxy(devnet.rpcUrl, { hasSync: true }))
beforeAll(() => {
  core = openCore(devnet, { rpcUrl: proxy.url, ledger: unattended() })
})
afterAll(async () => {
  core.close()
})

/** Settles payments of as many payers at once. @returns What the node was asked. */
async function requestsOf(payments: number): Promise<readonly string[]> {
  const offer = offerOf(devnet)
  const signed = await Promise.all(
    Array.from({ length: payments }, async () => signPayment(await newPayer(devnet), offer)),
  )
  proxy.methods.length = 0
  const settled = await Promise.all(
    signed.map((payment) => core.facilitator.settle(payment, offer)),
  )
  expect(settled.map(({ success }) => success)).toEqual(signed.map(() => true))
  return [...proxy.methods]
}

const looks = (requests: readonly string[]): number =>
  requests.filter((method) => method === 'eth_call').length

it('a payment takes two requests to the node: one to check it and one to send it', async () => {
  clock.stop()
  await requestsOf(1)
  expect(await requestsOf(1)).toEqual(['eth_call', 'eth_sendRawTransactionSync'])
})

it('many payments at once take far fewer requests to the node than one each', async () => {
  await requestsOf(32)
  // A busy machine tears apart what comes at once, but not each time.
  let requests: readonly string[] = []
  await until(async () => {
    requests = await requestsOf(32)
    return requests.length <= 12 && looks(requests) <= 3
  })
  expect(looks(requests)).toBeLessThanOrEqual(3)
})
