import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { parseTransaction } from 'viem'
import { createGateway } from '../../../src/gateway/gateway.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { askNode, minedCount, offerOf, termsOf } from '../../support/core.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { signPayment } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'
import { callOf, newKeys, ONE_ETHER, openPool } from './pools.js'
import type { CallOverrides, TestPoolOptions } from './pools.js'
import { stopMining } from '../../support/mining.js'

const devnet = useDevnet()
const opened: { close(): unknown }[] = []
beforeEach(() => stopMining(devnet))
afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close()
  await devnet.mine(20)
})

const open = async (options: TestPoolOptions = {}) => {
  const pool = openPool(devnet, {
    privateKeys: await newKeys(devnet, ONE_ETHER),
    stuckMs: 600,
    ...options,
  })
  opened.push(pool)
  return { ...pool, address: pool.pool.addresses[0] }
}
const openProxy = async (): Promise<RpcProxy> => {
  const proxy = await startRpcProxy(devnet.rpcUrl)
  opened.push(proxy)
  return proxy
}
const call = (overrides?: CallOverrides) => callOf(devnet, overrides)
const isWaiting = async (transaction: Hex): Promise<boolean> =>
  (await askNode(devnet, 'eth_getTransactionByHash', transaction)) !== null
const isMined = async (transaction: Hex): Promise<boolean> =>
  (await askNode(devnet, 'eth_getTransactionReceipt', transaction)) !== null

/** Mines a block that costs as much as told. */
async function mineAt(baseFee: bigint): Promise<void> {
  await askNode(devnet, 'anvil_setNextBlockBaseFeePerGas', `0x${baseFee.toString(16)}`)
  await devnet.mine()
}

const GWEI = 10n ** 9n

describe('Resubmitter', () => {
  it('rebroadcasts a transaction that the node has dropped', async () => {
    const proxy = await openProxy()
    const { pool, address } = await open({ stuckMs: 3_600_000, rpcUrl: proxy.url })
    const calls = [call(), call(), call()]
    const sent = await Promise.all(calls.map(({ member }) => pool.send(member)))
    const { transaction } = sent[0]!.submission
    proxy.fault = (method) =>
      method === 'eth_sendRawTransaction' ? { kind: 'http', status: 503 } : undefined
    await askNode(devnet, 'anvil_dropTransaction', transaction)
    expect(await isWaiting(transaction)).toBe(false)
    proxy.fault = undefined
    await until(() => isWaiting(transaction))
    await until(async () => {
      await devnet.mine()
      return (await minedCount(devnet, address)) === 3
    })
    expect(calls[0]!.written).toHaveLength(1)
    expect(await isMined(transaction)).toBe(true)
  })

  it('leaves a transaction alone while no block is mined', async () => {
    const proxy = await openProxy()
    const { pool } = await open({ stuckMs: 300, rpcUrl: proxy.url })
    const { member, written } = call()
    await pool.send(member)
    const looks = () => proxy.methods.filter((method) => method === 'eth_blockNumber').length
    await until(() => looks() >= 3)
    expect(written).toHaveLength(1)
  })

  it('replaces a transaction that got too cheap, records the replacement first, and it is mined once', async () => {
    const { pool, address } = await open()
    const { member, written } = call()
    const { submission } = await pool.send(member)
    await until(async () => {
      await mineAt(20n * GWEI)
      return (await minedCount(devnet, address)) === 1
    })
    expect(written.length).toBeGreaterThan(1)
    const transactions = written.map(({ raw }) => parseTransaction(raw))
    for (const [index, second] of transactions.entries()) {
      const first = transactions[index - 1]
      if (first === undefined) continue
      const { accountNonce } = submission
      const replaces = written.slice(0, index).map(({ transaction }) => transaction)
      expect(written[index]).toMatchObject({ accountNonce, replaces: replaces.toReversed() })
      expect(second.data).toBe(first.data)
      for (const fee of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const)
        expect(second[fee]! * 8n).toBeGreaterThanOrEqual(first[fee]! * 9n)
    }
    const hashes = written.map(({ transaction }) => transaction).toReversed()
    expect(pool.transactionsOf(submission)).toEqual(hashes)
    const mined = await Promise.all(hashes.map(isMined))
    expect(mined.filter(Boolean)).toHaveLength(1)
    expect(mined.at(-1)).toBe(false)
  })

  it('leaves a transaction that cannot be replaced within the cap, and logs that', async () => {
    const { pool, warnings } = await open({ maxFeePerGas: 3n * GWEI, stuckMs: 300 })
    const { member, written } = call()
    await pool.send(member)
    await until(async () => {
      await mineAt(20n * GWEI)
      return warnings.length > 0
    })
    expect(written).toHaveLength(1)
  })

  it('does not replace a transaction whose replacement cannot be recorded', async () => {
    const { pool, warnings } = await open({ stuckMs: 300 })
    const { member, written } = call({
      writeAhead: async (next) => {
        if (next.replaces === undefined) return
        throw new Error('no ink')
      },
    })
    const { submission } = await pool.send(member)
    await until(async () => {
      await mineAt(20n * GWEI)
      return warnings.length > 0
    })
    expect(written).toEqual([submission])
    expect(pool.transactionsOf(submission)).toEqual([submission.transaction])
  })

  it('replaces a transaction after one failed ledger write, as the ledger then says', async () => {
    const { pool, address } = await open({ stuckMs: 300 })
    let failures = 0
    const { member, written } = call({
      writeAhead: async (next) => {
        if (next.replaces !== undefined && failures++ === 0) throw new Error('no ink')
      },
    })
    const { submission } = await pool.send(member)
    await until(async () => {
      await mineAt(20n * GWEI)
      return (await minedCount(devnet, address)) === 1
    })
    expect(failures).toBeGreaterThan(1)
    const last = written.at(-1)!
    expect(last.replaces).toContain(submission.transaction)
    const sent = await askNode<{ status: string } | null>(
      devnet,
      'eth_getTransactionReceipt',
      last.transaction,
    )
    expect(sent).toMatchObject({ status: '0x1' })
  })

  it('fills a nonce gap with the transaction that the chain has lost', async () => {
    const { pool, address, chain } = await open({ stuckMs: 900 })
    const first = await pool.send(call().member)
    await devnet.mine()
    pool.finish((await chain.getReceipt(first.submission.transaction))!)
    // A reorganisation that drops the transaction from the chain, and from the node.
    await askNode(devnet, 'anvil_rollback', 1)
    await askNode(devnet, 'anvil_dropTransaction', first.submission.transaction).catch(() => 0)
    expect(await minedCount(devnet, address)).toBe(0)
    await pool.send(call().member)
    await until(async () => {
      await devnet.mine()
      return (await minedCount(devnet, address)) === 2
    })
  })

  it('fills a nonce gap of unknown origin with an empty transaction', async () => {
    const { address, elsewhere } = await openWithGap({ stuckMs: 900 })
    await until(async () => {
      await devnet.mine()
      return (await minedCount(devnet, address)) === 2
    })
    expect(await isMined(elsewhere)).toBe(false)
  })

  it('sends no empty transaction while gas costs more than the relayer may pay', async () => {
    const { address, chain } = await openWithGap({ stuckMs: 300, maxFeePerGas: 30n * GWEI }, 100n)
    const end = performance.now() + 2500
    while (performance.now() < end) {
      await mineAt(100n * GWEI)
      await chain.getFees('fresh')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    expect(await askNode(devnet, 'eth_getTransactionCount', address, 'pending')).toBe('0x0')
    await until(async () => {
      await mineAt(GWEI)
      return (await minedCount(devnet, address)) === 2
    })
  })
})

/** A relayer whose transaction of nonce 1 waits for one that was made elsewhere, and is gone. */
async function openWithGap(options: TestPoolOptions, gasPriceInGwei?: bigint) {
  const { pool, address, chain } = await open(options)
  await askNode(devnet, 'anvil_impersonateAccount', address)
  const elsewhere = await askNode<Hex>(devnet, 'eth_sendTransaction', {
    ...{ from: address, to: address, gas: '0x5208' },
    ...{ maxFeePerGas: '0x4a817c800', maxPriorityFeePerGas: '0x2540be400' },
  })
  await devnet.mine()
  const sent = await pool.send(call().member)
  expect(sent.submission.accountNonce).toBe(1)
  if (gasPriceInGwei !== undefined) {
    // The pool knows of it before there is a gap.
    await mineAt(gasPriceInGwei * GWEI)
    await chain.getFees('fresh')
  }
  await askNode(devnet, 'anvil_rollback', gasPriceInGwei === undefined ? 1 : 2)
  await askNode(devnet, 'anvil_dropTransaction', elsewhere).catch(() => 0)
  return { address, chain, elsewhere }
}

describe('a settlement whose transaction is stuck', () => {
  it('is paid by the replacement, once', async () => {
    const ledger = createMemoryLedger()
    const gateway = createGateway({
      ...shopOptions(devnet),
      ledger,
      networks: {
        'base-sepolia': {
          rpcUrl: devnet.rpcUrl,
          relayerKeys: await newKeys(devnet, ONE_ETHER),
          replaceAfterSeconds: 1,
        },
      },
      settleTimeoutMs: 100_000,
    })
    opened.push(gateway)
    const before = await balanceOf(devnet, devnet.merchant.address)
    const payment = await signPayment(devnet.payers[0]!, offerOf(devnet))
    let answer: Awaited<ReturnType<typeof gateway.facilitator.settle>> | undefined
    const settling = gateway.facilitator
      .settle(payment, offerOf(devnet), termsOf(devnet))
      .then((settled) => (answer = settled))
    const first = async (): Promise<Hex | undefined> => {
      const [record] = await ledger.payments.listSubmitted()
      return record?.state === 'submitted' ? record.submission.transaction : undefined
    }
    await until(async () => (await first()) !== undefined)
    const transaction = await first()
    await until(async () => {
      await mineAt(20n * GWEI)
      await new Promise((resolve) => setTimeout(resolve, 100))
      return answer !== undefined
    })
    await settling
    expect(answer).toMatchObject({ success: true })
    expect(answer!.transaction).not.toBe(transaction)
    expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(10_000n)
  })
})
