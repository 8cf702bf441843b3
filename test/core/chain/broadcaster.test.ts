import { describe, expect, it } from '@jest/globals'
import { askNode, type Core, type CoreOptions, openCore, payingOn } from '../../support/core.js'
import { balanceOf, useDevnet } from '../../support/devnet.js'
import { startRpcProxy, type Fault, type RpcProxy } from '../../support/rpc-proxy.js'
import { unattended } from '../../support/unattended.js'
import { until } from '../../support/until.js'
import { stopMining } from '../../support/mining.js'
import { useCleanup } from '../../support/cleanup.js'

const SYNC = 'eth_sendRawTransactionSync'
const PRICE = 10_000n

const devnet = useDevnet()
const toEnd = useCleanup()

async function open(options: CoreOptions = {}): Promise<{ proxy: RpcProxy; core: Core }> {
  const proxy = await startRpcProxy(devnet.rpcUrl, { hasSync: true })
  const core = openCore(devnet, { ...options, rpcUrl: proxy.url })
  toEnd.push(
    () => core.close(),
    () => proxy.close(),
  )
  return { proxy, core }
}

const { sign, settle } = payingOn(devnet)
const sends = ({ methods }: RpcProxy): readonly string[] =>
  methods.filter((method) => method.startsWith('eth_sendRawTransaction'))
const fail = (proxy: RpcProxy, fault: Fault): void => {
  proxy.fault = (method) => {
    if (method !== SYNC) return undefined
    proxy.fault = undefined
    return fault
  }
}

describe('a node that answers with receipts', () => {
  it.each<{ name: string; fault: Fault }>([
    { name: 'is lost', fault: { kind: 'drop_answer' } },
    { name: 'is lost with its request', fault: { kind: 'drop_request' } },
    { name: 'is garbled', fault: { kind: 'garble' } },
    { name: 'is an error of its server', fault: { kind: 'http', status: 503 } },
    { name: 'says nothing', fault: { kind: 'answer', result: null } },
    { name: 'has no logs', fault: { kind: 'answer', result: { transactionHash: '0x' } } },
    {
      name: 'is that time is over (EIP-7966)',
      fault: { kind: 'refuse', code: 4, message: 'not mined within 2s' },
    },
    {
      name: 'is an internal error',
      fault: { kind: 'refuse', code: -32603, message: 'Transaction confirmation timeout' },
    },
  ])('is checked against the chain when its answer $name', async ({ fault }) => {
    const { proxy, core } = await open()
    const before = await balanceOf(devnet, devnet.merchant.address)
    fail(proxy, fault)
    expect(await settle(core, await sign())).toMatchObject({ success: true })
    expect(await settle(core, await sign())).toMatchObject({ success: true })
    expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(2n * PRICE)
  })

  it('is never asked for receipts again once it has refused', async () => {
    const { proxy, core } = await open()
    proxy.fault = (method) =>
      method === SYNC
        ? { kind: 'refuse', code: -32000, message: `the method ${SYNC} does not exist` }
        : undefined
    for (let n = 0; n < 3; n++)
      expect(await settle(core, await sign())).toMatchObject({ success: true })
    expect(sends(proxy).filter((method) => method === SYNC)).toHaveLength(1)
  })

  it('rejects a transaction as other nodes do', async () => {
    const { proxy, core } = await open()
    fail(proxy, { kind: 'refuse', code: -32000, message: 'exceeds block gas limit' })
    const payment = await sign()
    expect(await settle(core, payment)).toMatchObject({ success: true })
    expect(sends(proxy).length).toBeGreaterThan(1)
  })

  it('may have a transaction that it has rejected if it does not answer afterwards', async () => {
    const { proxy, core } = await open()
    const before = await balanceOf(devnet, devnet.merchant.address)
    let looks = 0
    proxy.fault = async (method, [raw]) => {
      if (method === 'eth_getTransactionByHash')
        return ++looks <= 2 ? { kind: 'http', status: 503 } : undefined
      // It comes twice: the node says of the second that its nonce is used, by the first.
      if (method === SYNC) await askNode(devnet, SYNC, raw)
      return undefined
    }
    expect(await settle(core, await sign())).toMatchObject({ success: true })
    expect(looks).toBeGreaterThanOrEqual(2)
    expect(sends(proxy)).toEqual([SYNC])
    expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(PRICE)
  })

  it('settles many at once in few transactions, and asks for no receipt', async () => {
    const { proxy, core } = await open({ ledger: unattended() })
    const payers = Array.from({ length: 10 }, (_, n) => n)
    await Promise.all(payers.map(async (payer) => settle(core, await sign(payer))))
    // A fifth of a request each would be eight; a slow machine tears apart what comes at once, but
    // not each time.
    await until(async () => {
      const payments = await Promise.all(Array.from({ length: 40 }, (_, n) => sign(n % 10)))
      proxy.methods.length = 0
      const answers = await Promise.all(payments.map((payment) => settle(core, payment)))
      expect(answers.filter(({ success }) => success)).toHaveLength(40)
      expect(proxy.methods).not.toContain('eth_getTransactionReceipt')
      return proxy.methods.length < 20
    })
  })
})

describe('a node that answers with receipts after slow blocks', () => {
  const count = (core: Core, event: string): number =>
    core.happened().filter((name) => name === event).length

  it('keeps no settlement waiting for the block of another', async () => {
    const { proxy, core } = await open()
    await stopMining(devnet)
    const settling = [settle(core, await sign())]
    await until(() => sends(proxy).length >= 1)
    for (const payer of [1, 2, 3, 4]) settling.push(settle(core, await sign(payer)))
    // The node has all of them before there is a block.
    await until(() => count(core, 'submitted') === 5)
    expect(sends(proxy).length).toBeGreaterThan(1)
    await devnet.mine()
    for (const answer of await Promise.all(settling))
      expect(answer).toMatchObject({ success: true })
  })

  it('keeps the record of a transaction that was sent, whatever the node answers then', async () => {
    const { proxy, core } = await open()
    await settle(core, await sign())
    const before = await balanceOf(devnet, devnet.merchant.address)
    await stopMining(devnet)
    proxy.fault = async (method) => {
      if (method !== 'eth_getTransactionByHash') return undefined
      // There is no block before it was asked, and has not answered.
      await devnet.mine()
      return { kind: 'refuse', code: -32603, message: 'internal error' }
    }
    const payments = await Promise.all([1, 2, 3].map((payer) => sign(payer)))
    const settling = payments.map((payment) => settle(core, payment).catch(() => undefined))
    // Nobody was told that a payment failed which was made.
    const answers = await Promise.all(settling)
    const paid = answers.filter((answer) => answer?.success).length
    expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(BigInt(paid) * PRICE)
    expect(paid).toBe(3)
  })
})
