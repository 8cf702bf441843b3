/** Authorizations that a stranger used long ago, at nodes that allow few blocks a question. */
import { beforeAll, expect, it } from '@jest/globals'
import { createMemoryLedger } from '../../../../../src/ledger/memory-ledger.js'
import type { Hex, PaymentPayload } from '../../../../../src/shared/protocol/payment.js'
import { askNode, openCore, payingOn, type Core } from '../../../../support/core.js'
import { closedBy, useCleanup } from '../../../../support/cleanup.js'
import { useDevnet } from '../../../../support/devnet.js'
import { frontRun, toHex, untilMined } from '../../../../support/on-chain.js'
import { isSend, startRpcProxy } from '../../../../support/rpc-proxy.js'
import { until } from '../../../../support/until.js'

const devnet = useDevnet()
const toEnd = useCleanup()
const { sign, settle } = payingOn(devnet)
/** How many blocks the node of each ledger allows. */
const LIMITS = [0n, 500n, 2000n]
const ledgers = LIMITS.map(() => createMemoryLedger())
/** The transactions of the stranger. */
const used: Hex[] = []

async function open(index: number): Promise<Core & { questions(): number }> {
  const [ledger, most] = [ledgers[index]!, LIMITS[index]!]
  const proxy = closedBy(toEnd, await startRpcProxy(devnet.rpcUrl))
  proxy.fault = async (method, [filter]) => {
    if (isSend(method)) return { kind: 'refuse', code: -32000, message: 'intrinsic gas too low' }
    if (method !== 'eth_getLogs') return undefined
    const { fromBlock, toBlock } = filter as { fromBlock: Hex; toBlock: string }
    const last = toBlock === 'latest' ? await askNode<Hex>(devnet, 'eth_blockNumber') : toBlock
    return BigInt(last) - BigInt(fromBlock) < most
      ? undefined
      : { kind: 'refuse', code: -32005, message: 'too many blocks' }
  }
  const core = openCore(devnet, { rpcUrl: proxy.url, ledger, reconcileIntervalMs: 50 })
  const questions = () => proxy.methods.filter((method) => method === 'eth_getLogs').length
  return closedBy(toEnd, { ...core, questions })
}

beforeAll(async () => {
  const payments: PaymentPayload[] = []
  for (const [index, ledger] of ledgers.entries()) {
    const core = await open(index)
    const payment = await sign(index)
    const settling = settle(core, payment)
    await until(async () => (await ledger.payments.listSubmitted()).length > 0)
    core.close()
    await settling
    payments.push(payment)
  }
  for (const payment of payments) used.push(await frontRun(devnet, payment))
  for (const transaction of used) await untilMined(devnet, transaction)
  await askNode(devnet, 'anvil_mine', toHex(2100))
})

it('stay pending where the node answers no question, and the log says so once', async () => {
  const core = await open(0)
  // It is asked again in later rounds.
  await until(() => core.questions() > 10)
  expect(await ledgers[0]!.payments.listSubmitted()).toHaveLength(1)
  expect(core.warnings.filter((line) => line.includes('refuses to say'))).toHaveLength(1)
})

it.each([1, 2])('are found by questions of few blocks, case %i', async (index) => {
  const core = await open(index)
  expect(await core.until('settled')).toMatchObject({ transaction: used[index] })
})
