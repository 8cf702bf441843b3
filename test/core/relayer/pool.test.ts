import { afterEach, describe, expect, it } from '@jest/globals'
import { privateKeyToAddress } from 'viem/accounts'
import { ChainError } from '../../../src/shared/errors.js'
import { createGateway } from '../../../src/gateway/gateway.js'
import type { LedgerStore, Submission } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import type { RelayerPool } from '../../../src/core/relayer/pool.js'
import type { SentTransaction } from '../../../src/core/relayer/transaction.js'
import { askNode, minedCount, offerOf, termsOf } from '../../support/core.js'
import { balanceOf, shopOptions, useDevnet } from '../../support/devnet.js'
import { startRpcProxy, type Fault } from '../../support/rpc-proxy.js'
import { newNonce, signPayment } from '../../support/sign-payment.js'
import { untilMined } from '../../support/on-chain.js'
import { until } from '../../support/until.js'
import { callOf, fund, newKeys, ONE_ETHER, openPool, type TestPoolOptions } from './pools.js'
import { patchedLedger } from '../../support/patched-ledger.js'
import { useOpened } from '../../support/use-opened.js'
import { stopMining, withoutMining } from '../../support/mining.js'

const devnet = useDevnet()
const proxy = useOpened(() => startRpcProxy(devnet.rpcUrl))

const opened: { close(): unknown }[] = []
afterEach(async () => {
  proxy.fault = undefined
  for (const one of opened.splice(0).toReversed()) await one.close()
})

const open = (options: TestPoolOptions) => {
  const pool = openPool(devnet, { rpcUrl: proxy.url, ...options })
  opened.push(pool)
  return pool
}
const call = () => callOf(devnet)
const waitingCount = async (address: Hex): Promise<number> =>
  Number(await askNode(devnet, 'eth_getTransactionCount', address, 'pending'))

/** A memory ledger that tells what was written down. */
function openLedger(): {
  ledger: LedgerStore
  relayerOf: Map<unknown, Hex>
  written: Submission[]
} {
  const store = createMemoryLedger()
  const relayerOf = new Map<unknown, Hex>()
  const written: Submission[] = []
  const ledger = patchedLedger(store, {
    submitNext: (account, leastNonce, sign) =>
      store.relayers.submitNext(account, leastNonce, async (accountNonce) => {
        const signed = await sign(accountNonce)
        relayerOf.set(signed.submission.raw, signed.submission.relayer)
        written.push(signed.submission)
        return signed
      }),
  })
  return { ledger, relayerOf, written }
}

describe('RelayerPool', () => {
  it('logs an outage once a minute, though every second look finds nothing to do', async () => {
    let looks = 0
    const store = createMemoryLedger()
    const claimPending: LedgerStore['relayers']['claimPending'] = async () => {
      if (++looks % 2 === 1) throw new ChainError('chain_unreachable', 'The node does not answer.')
      return []
    }
    const { warnings } = open({ ledger: patchedLedger(store, { claimPending }) })
    await until(() => looks >= 6)
    expect(warnings).toStrictEqual(['Pending transactions could not be checked.'])
  })

  it('gives each settlement to the least busy relayer', async () => {
    const { pool } = open({ privateKeys: await newKeys(devnet, ONE_ETHER, ONE_ETHER, ONE_ETHER) })
    await withoutMining(devnet, async () => {
      const sent = await Promise.all(Array.from({ length: 30 }, () => pool.send(call().member)))
      const relayers = sent.map(({ submission }) => submission.relayer)
      for (const address of pool.addresses)
        expect(relayers.filter((relayer) => relayer === address)).toHaveLength(10)
    })
    for (const address of pool.addresses) expect(await minedCount(devnet, address)).toBe(10)
  })

  it('treats a relayer whose transactions are mined as idle', async () => {
    const { pool, chain } = open({ privateKeys: await newKeys(devnet, ONE_ETHER, ONE_ETHER) })
    const [first, second] = pool.addresses
    const calls = [call(), call()] as const
    // The first one's never reaches the node, which says that it has it.
    proxy.fault = (method, [raw]) => {
      const lost = calls[0].written.find((one) => one.raw === raw)
      if (method !== 'eth_sendRawTransaction' || lost === undefined) return undefined
      return { kind: 'answer', result: lost.transaction }
    }
    const sent = [await pool.send(calls[0].member), await pool.send(calls[1].member)]
    expect(sent.map(({ submission }) => submission.relayer)).toEqual([first, second])
    const { transaction } = sent[1]!.submission
    await untilMined(devnet, transaction)
    pool.finish((await chain.getReceipt(transaction))!)
    const third = await pool.send(call().member)
    expect(third.submission.relayer).toBe(second)
  })

  it('settles 200 payments at once, each once, though half of the sends of one fail', async () => {
    const { ledger, relayerOf, written } = openLedger()
    const relayers = devnet.relayerKeys.map((key) => privateKeyToAddress(key))
    const counts = await Promise.all(relayers.map((address) => minedCount(devnet, address)))
    const faults: Fault[] = [
      { kind: 'drop_request' },
      { kind: 'drop_answer' },
      { kind: 'http', status: 503 },
      { kind: 'garble' },
    ]
    let asked = 0
    proxy.fault = (method, [raw]) => {
      if (method !== 'eth_sendRawTransaction' || relayerOf.get(raw) !== relayers[1])
        return undefined
      return asked++ % 2 === 0 ? faults[(asked >> 1) % faults.length] : undefined
    }
    const gateway = createGateway({
      ...shopOptions(devnet),
      ledger,
      networks: { 'base-sepolia': { rpcUrl: proxy.url, relayerKeys: devnet.relayerKeys } },
      settleTimeoutMs: 150_000,
    })
    opened.push(gateway)
    const before = await balanceOf(devnet, devnet.merchant.address)
    const payments = await Promise.all(
      Array.from({ length: 200 }, (_, n) => signPayment(devnet.payers[n % 10]!, offerOf(devnet))),
    )
    const answers = await Promise.all(
      payments.map((payment) =>
        gateway.facilitator.settle(payment, offerOf(devnet), termsOf(devnet)),
      ),
    )
    expect(answers.filter(({ success }) => success)).toHaveLength(200)
    const transactions = new Set(answers.map(({ transaction }) => transaction)).size
    expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(200n * 10_000n)
    expect(asked).toBeGreaterThan(1)
    const mined = await Promise.all(relayers.map((address) => minedCount(devnet, address)))
    const sent = mined.map((count, index) => count - counts[index]!)
    expect(sent.reduce((sum, count) => sum + count)).toBe(transactions)
    expect(Math.min(...sent)).toBeGreaterThan(0)
    expect(await Promise.all(relayers.map(waitingCount))).toEqual(mined)
    for (const [index, relayer] of relayers.entries()) {
      const used = written.filter((one) => one.relayer === relayer).map((one) => one.accountNonce)
      expect([...new Set(used)].sort((a, b) => a - b)).toEqual(
        Array.from({ length: sent[index]! }, (_, n) => counts[index]! + n),
      )
    }
  })

  it('knows only the recorded hashes of a transaction of another process', async () => {
    const { pool, chain } = open({ privateKeys: await newKeys(devnet, ONE_ETHER) })
    const { pool: stranger } = open({ privateKeys: await newKeys(devnet, ONE_ETHER) })
    const { submission } = await stranger.send(call().member)
    const { transaction } = submission
    expect(pool.transactionsOf(submission)).toEqual([transaction])
    const replaces = [newNonce()]
    expect(pool.transactionsOf({ ...submission, replaces })).toEqual([transaction, ...replaces])
    await untilMined(devnet, transaction)
    pool.finish((await chain.getReceipt(transaction))!)
  })

  it('lists all of its relayers as signers', async () => {
    const gateway = createGateway(shopOptions(devnet))
    opened.push(gateway)
    const { signers } = await gateway.facilitator.supported()
    expect(signers['eip155:*']).toEqual(devnet.relayerKeys.map((key) => privateKeyToAddress(key)))
  })
})

describe('RelayerPool, short of gas money', () => {
  it('sends from another relayer when one has no gas money', async () => {
    const { pool } = open({ privateKeys: await newKeys(devnet, 0n, ONE_ETHER, 0n) })
    await pool.requireReady()
    const sent = await Promise.all(Array.from({ length: 5 }, () => pool.send(call().member)))
    expect(new Set(sent.map(({ submission }) => submission.relayer))).toEqual(
      new Set([pool.addresses[1]]),
    )
  })

  it('sends nothing until a relayer is refilled when all are empty', async () => {
    const { pool } = open({ privateKeys: await newKeys(devnet, 0n, 0n) })
    const { member, written } = call()
    await expect(pool.requireReady()).rejects.toMatchObject({ code: 'relayer_without_funds' })
    await expect(pool.send(member)).rejects.toMatchObject({ code: 'relayer_without_funds' })
    expect(written).toEqual([])
    await fund(devnet, pool.addresses[1]!)
    const sent = await pool.send(member)
    expect(sent).toMatchObject({ kind: 'accepted', submission: { relayer: pool.addresses[1] } })
  })

  it('sends from another relayer when the node rejects the first for lack of gas money', async () => {
    const { pool } = open({ privateKeys: await newKeys(devnet, ONE_ETHER, ONE_ETHER) })
    await pool.requireReady()
    const [first, second] = pool.addresses
    await fund(devnet, first, 0n)
    const { member, written } = call()
    const sent = await pool.send(member)
    expect(sent).toMatchObject({ kind: 'accepted', submission: { relayer: second } })
    expect(written.map(({ relayer }) => relayer)).toEqual([first, second])
  })

  it('reports insufficient gas money when the node rejects all relayers', async () => {
    const { pool } = open({ privateKeys: await newKeys(devnet, ONE_ETHER) })
    await pool.requireReady()
    await fund(devnet, pool.addresses[0], 0n)
    const { member, written } = call()
    await expect(pool.send(member)).rejects.toMatchObject({ code: 'relayer_without_funds' })
    expect(written).toHaveLength(1)
  })

  it('reports a low balance once, and again after the balance has risen', async () => {
    const { pool, lows, chain } = open({ privateKeys: await newKeys(devnet, ONE_ETHER) })
    const [address] = pool.addresses
    // No block changes the gas price meanwhile, and nothing is spent.
    await stopMining(devnet)
    const { maxFeePerGas } = await chain.getFees()
    const settlements = (count: bigint): bigint => maxFeePerGas * 150_000n * count
    const look = async (balance: bigint): Promise<number> => {
      await fund(devnet, address, balance)
      // Its balance is believed for ten seconds; that the node misses some makes it look again.
      const refusal = { kind: 'refuse', code: -32000, message: 'insufficient funds' } as const
      proxy.fault = (method) => (method === 'eth_sendRawTransaction' ? refusal : undefined)
      await expect(pool.send(call().member)).rejects.toMatchObject({
        code: 'relayer_without_funds',
      })
      proxy.fault = undefined
      await pool.requireReady()
      return lows.length
    }
    expect(await look(ONE_ETHER)).toBe(0)
    expect(await look(settlements(30n))).toBe(1)
    expect(await look(settlements(20n))).toBe(1)
    expect(await look(settlements(60n))).toBe(1)
    expect(await look(settlements(30n))).toBe(1)
    expect(await look(settlements(300n))).toBe(1)
    expect(await look(settlements(30n))).toBe(2)
    expect(lows[0]).toEqual({ relayer: address, balance: settlements(30n) })
  })
})

describe('RelayerPool with a cap on the gas price', () => {
  it('sends nothing above the cap, and reports that', async () => {
    // What pools before this one still send goes to another proxy.
    const own = await startRpcProxy(devnet.rpcUrl)
    opened.push(own)
    const gateway = createGateway({
      ...shopOptions(devnet),
      networks: {
        'base-sepolia': {
          rpcUrl: own.url,
          relayerKeys: devnet.relayerKeys,
          maxFeePerGasGwei: 0.5,
        },
      },
    })
    opened.push(gateway)
    const payment = await signPayment(devnet.payers[0]!, offerOf(devnet))
    await expect(
      gateway.facilitator.settle(payment, offerOf(devnet), termsOf(devnet)),
    ).rejects.toMatchObject({ name: 'RelayerError', code: 'gas_price_too_high' })
    expect(own.methods).not.toContain('eth_sendRawTransaction')
  })

  it('offers the cap when the next block costs less', async () => {
    const [key] = await newKeys(devnet, ONE_ETHER)
    const { pool, chain } = open({ privateKeys: [key], maxFeePerGas: 1_010_000_000n })
    await askNode(devnet, 'anvil_setNextBlockBaseFeePerGas', '0x7a1200')
    await devnet.mine()
    const { baseFeePerGas, maxPriorityFeePerGas } = await chain.getFees()
    expect(baseFeePerGas + maxPriorityFeePerGas).toBeLessThan(1_010_000_000n)
    expect(await pool.send(call().member)).toMatchObject({ kind: 'accepted' })
  })
})

describe('RelayerPool after an unknown broadcast', () => {
  const saysPrice = (method: string): boolean =>
    ['eth_getBlockByNumber', 'eth_maxPriorityFeePerGas', 'eth_getBalance'].includes(method)

  /** Sends as soon as the pool is through with what it does not know: it pauses between two looks. */
  const sendOnceDecided = async (pool: RelayerPool): Promise<SentTransaction | undefined> => {
    let sent: SentTransaction | undefined
    await until(async () => {
      sent = await pool.send(call().member).catch((error: { code?: string }) => {
        if (error.code !== 'chain_unreachable') throw error
        return undefined
      })
      return sent !== undefined
    })
    return sent
  }

  it('sends from another relayer', async () => {
    const { pool } = open({ privateKeys: await newKeys(devnet, ONE_ETHER, ONE_ETHER) })
    await pool.requireReady()
    const lost = call()
    proxy.fault = (_method, [param]) => {
      const [submission] = lost.written
      const isLost = param === submission?.raw || param === submission?.transaction
      return submission !== undefined && isLost ? { kind: 'drop_request' } : undefined
    }
    expect(await pool.send(lost.member)).toMatchObject({ kind: 'unknown' })
    const next = await Promise.all([pool.send(call().member), pool.send(call().member)])
    expect(new Set(next.map(({ submission }) => submission.relayer))).toEqual(
      new Set([pool.addresses[1]]),
    )
    proxy.fault = undefined
  })

  it('sends nothing from the same relayer, and rebroadcasts once the node is back', async () => {
    const { pool } = open({ privateKeys: await newKeys(devnet, ONE_ETHER) })
    const [address] = pool.addresses
    await pool.send(call().member)
    // What gas costs it still says, however old the last answer is by now.
    proxy.fault = (method) => (saysPrice(method) ? undefined : { kind: 'drop_request' })
    expect(await pool.send(call().member)).toMatchObject({ kind: 'unknown' })
    await expect(pool.send(call().member)).rejects.toMatchObject({ code: 'chain_unreachable' })
    proxy.fault = undefined
    await until(async () => (await minedCount(devnet, address)) === 2)
    expect(await sendOnceDecided(pool)).toMatchObject({
      kind: 'accepted',
      submission: { accountNonce: 2 },
    })
  })

  it('blames the node, not the payment', async () => {
    const { pool } = open({ privateKeys: await newKeys(devnet, ONE_ETHER) })
    await pool.requireReady()
    proxy.fault = (method) =>
      method === 'eth_sendRawTransaction' || method === 'eth_getTransactionByHash'
        ? { kind: 'http', status: 502 }
        : undefined
    expect(await pool.send(call().member)).toMatchObject({ kind: 'unknown' })
    const { member, written } = call()
    await expect(pool.send(member)).rejects.toMatchObject({ code: 'chain_unreachable' })
    await expect(pool.send(member)).rejects.toThrow('an earlier transaction')
    expect(written).toEqual([])
  })

  it('sends the next transaction once the node has finally rejected the unknown one', async () => {
    const { pool } = open({ privateKeys: await newKeys(devnet, ONE_ETHER) })
    await pool.requireReady()
    const lost = call()
    const refusal: Fault = { kind: 'refuse', code: -32000, message: 'intrinsic gas too low' }
    let asked = 0
    proxy.fault = (method, [raw]) => {
      if (method !== 'eth_sendRawTransaction' || raw !== lost.written[0]?.raw) return undefined
      return asked++ < 2 ? { kind: 'drop_request' } : refusal
    }
    expect(await pool.send(lost.member)).toMatchObject({ kind: 'unknown' })
    expect(await pool.send(callOf(devnet, { gas: 61_000n }).member)).toMatchObject({
      kind: 'accepted',
      submission: { accountNonce: 1 },
    })
    // An empty transaction uses the nonce of the one that the node does not take.
    const [address] = pool.addresses
    await until(async () => (await minedCount(devnet, address)) === 2)
  })

  it('keeps the record of an unknown transaction whose nonce another one has used', async () => {
    const key = newNonce()
    const { pool } = open({ privateKeys: [key] })
    const [address] = pool.addresses
    await fund(devnet, address)
    await pool.requireReady()
    const lost = call()
    proxy.fault = (method, [raw]) =>
      method === 'eth_sendRawTransaction' && raw === lost.written[0]?.raw
        ? { kind: 'drop_request' }
        : undefined
    expect(await pool.send(lost.member)).toMatchObject({ kind: 'unknown' })
    await askNode(devnet, 'anvil_impersonateAccount', address)
    const fees = { maxFeePerGas: '0x4a817c800', maxPriorityFeePerGas: '0x2540be400' }
    await askNode(devnet, 'eth_sendTransaction', {
      ...{ from: address, to: address, gas: '0x5208' },
      ...fees,
    })
    proxy.fault = undefined
    const sent = await sendOnceDecided(pool)
    expect(sent).toMatchObject({ kind: 'accepted', submission: { accountNonce: 1 } })
  })
})
