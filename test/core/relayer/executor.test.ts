import { beforeAll, describe, expect, it } from '@jest/globals'
import { decodeEventLog, encodeFunctionData, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { callsIn, MULTICALL3 } from '../../../src/core/chain/abi.js'
import { executorOf } from '../../../src/core/chain/executor.js'
import { intrinsicGas } from '../../../src/core/chain/intrinsic-gas.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import type { BatchMember } from '../../../src/core/relayer/transaction.js'
import { publicClient, walletClient } from '../../tools/devnet/clients.js'
import { compileContract, deploy } from '../../support/contracts.js'
import { askNode } from '../../support/core.js'
import { useDevnet } from '../../support/devnet.js'
import { until } from '../../support/until.js'
import { writtenCall } from '../../support/written-calls.js'
import { newKeys, ONE_ETHER, openPool, type TestPoolOptions } from './pools.js'
import { stopMining } from '../../support/mining.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'

const devnet = useDevnet()
const abi = parseAbi([
  'event Done(address caller, uint256 what)',
  'function onlyFrom(address caller, uint256 what)',
  'function burn()',
])

let called: Hex
beforeAll(async () => {
  called = await deploy(devnet, (await compileContract('called.sol')).code)
})

const toEnd = useCleanup()

const open = (options: TestPoolOptions) => {
  return closedBy(toEnd, openPool(devnet, { executor: true, ...options }))
}

const addressOf = (key: Hex): Hex => privateKeyToAccount(key).address

/** Deploys the executor of some relayers, as any stranger can. */
async function deployExecutor(keys: readonly Hex[]): Promise<Hex> {
  const { address, deployment } = executorOf(keys.map(addressOf))
  await walletClient(devnet.rpcUrl, devnet.relayerKeys[0]!).sendTransaction(deployment)
  await until(async () => (await codeAt(address)) !== '0x')
  return address
}
const codeAt = (address: Hex) => askNode<Hex>(devnet, 'eth_getCode', address, 'latest')

const CALL_GAS = 40_000n

/** A call that succeeds only if an executor makes it. */
function callVia(
  via: { readonly address: Hex },
  what: number,
  overrides: Partial<BatchMember> = {},
): BatchMember {
  const args = [via.address, BigInt(what)] as const
  const data = encodeFunctionData({ abi, functionName: 'onlyFrom', args })
  const call = { to: called, data }
  const gas = CALL_GAS + intrinsicGas(data)
  const given = { isAlone: false, via: { address: via.address, callGas: CALL_GAS }, ...overrides }
  return writtenCall({ call, gas }, given).member
}

/** Sends all at once. @returns The transactions, each with what was done in it. */
async function sendAll(pool: ReturnType<typeof open>['pool'], members: readonly BatchMember[]) {
  const sent = await Promise.all(members.map((member) => pool.send(member)))
  const hashes = [...new Set(sent.map(({ submission }) => submission.transaction))]
  await devnet.mine()
  const client = publicClient(devnet.rpcUrl)
  return Promise.all(
    hashes.map(async (hash) => {
      const { logs, from, to, status } = await client.waitForTransactionReceipt({ hash })
      const done = logs.map((log) => Number(decodeEventLog({ abi, ...log }).args.what))
      const { input } = await client.getTransaction({ hash })
      return { from, to, status, done, calls: callsIn({ to: to!, data: input }, [to!]).length }
    }),
  )
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

describe('RelayerPool with an executor', () => {
  it('sends calls that come at once in shared transactions, from each relayer', async () => {
    const keys = await newKeys(devnet, ONE_ETHER, ONE_ETHER, ONE_ETHER)
    await deployExecutor(keys)
    const { pool } = open({ privateKeys: keys })
    const via = pool.executor!
    await stopMining(devnet)
    const sent = await sendAll(
      pool,
      upTo(60).map((n) => callVia(via, n)),
    )
    expect(sent.flatMap(({ done }) => done).toSorted((a, b) => a - b)).toEqual(upTo(60))
    expect(new Set(sent.map(({ from }) => from)).size).toBe(3)
    expect(sent.map(({ calls }) => calls)).toEqual([20, 20, 20])
    for (const { to } of sent) expect(to).toBe(via.address.toLowerCase())
  })

  it('sends a call that comes alone through the executor too', async () => {
    const keys = await newKeys(devnet, ONE_ETHER)
    await deployExecutor(keys)
    const { pool } = open({ privateKeys: keys })
    const via = pool.executor!
    expect(await sendAll(pool, [callVia(via, 7)])).toMatchObject([{ done: [7], calls: 1 }])
    expect(await sendAll(pool, [callVia(via, 8, { isAlone: true })])).toMatchObject([
      { done: [8], calls: 1 },
    ])
  })

  it('lets no call that burns its gas take that of nineteen others', async () => {
    const keys = await newKeys(devnet, ONE_ETHER)
    await deployExecutor(keys)
    const { pool } = open({ privateKeys: keys })
    const via = pool.executor!
    const burn = encodeFunctionData({ abi, functionName: 'burn' })
    const members = upTo(20).map((n) =>
      n === 3 ? callVia(via, n, { call: { to: called, data: burn } }) : callVia(via, n),
    )
    const [sent] = await sendAll(pool, members)
    expect(sent).toMatchObject({ calls: 20, done: upTo(20).filter((n) => n !== 3) })
  })

  it('keeps apart what goes through the executor, through Multicall3 and from one relayer', async () => {
    const keys = await newKeys(devnet, ONE_ETHER, ONE_ETHER)
    await deployExecutor(keys)
    const { pool } = open({ privateKeys: keys })
    const executor = pool.executor!
    const fromMulticall = { address: MULTICALL3 } as const
    const pinned = { address: pool.addresses[1]! }
    const sent = await sendAll(
      pool,
      upTo(9).map((n) => {
        if (n < 3) return callVia(executor, n)
        if (n < 6) return callVia(fromMulticall, n, { via: undefined })
        return callVia(pinned, n, { via: undefined, sender: pinned.address })
      }),
    )
    const byDone = sent.map(({ done, to }) => ({ done, to: to! }))
    expect(byDone).toContainEqual({ done: [0, 1, 2], to: executor.address.toLowerCase() })
    expect(byDone).toContainEqual({ done: [3, 4, 5], to: MULTICALL3.toLowerCase() })
    for (const n of [6, 7, 8]) expect(byDone).toContainEqual({ done: [n], to: called })
    const relayer = pool.addresses[1]!.toLowerCase()
    expect(sent.find(({ done }) => done.includes(6))?.from).toBe(relayer)
  })
})

describe('Executor', () => {
  it('is not usable before it is deployed, and finds it soon after it is', async () => {
    const keys = await newKeys(devnet, ONE_ETHER)
    const { pool } = open({ privateKeys: keys })
    const executor = pool.executor!
    expect(executor.address).toBe(executorOf(pool.addresses).address)
    expect(await executor.isUsable()).toBe(false)
    await deployExecutor(keys)
    await until(() => executor.isUsable())
  })

  it('believes no other code at its address', async () => {
    const keys = await newKeys(devnet, ONE_ETHER, ONE_ETHER)
    const { pool } = open({ privateKeys: keys })
    const executor = pool.executor!
    // One relayer more, whom nobody has named.
    const { code } = executorOf([...pool.addresses, called])
    for (const other of [code, '0x00', `${executorOf(pool.addresses).code}00`] as const) {
      await askNode(devnet, 'anvil_setCode', executor.address, other)
      expect(await executor.read()).toBe('foreign')
    }
    expect(await executor.isUsable()).toBe(false)
  })

  it('asks again after a node did not answer', async () => {
    const keys = await newKeys(devnet, ONE_ETHER)
    await deployExecutor(keys)
    const { pool, chain } = open({ privateKeys: keys })
    const executor = pool.executor!
    const real = chain.getCode.bind(chain)
    let failures = 1
    chain.getCode = async (address) => {
      if (failures-- > 0) throw new Error('no answer')
      return real(address)
    }
    await expect(executor.isUsable()).rejects.toThrow('no answer')
    expect(await executor.isUsable()).toBe(true)
    // Now it is remembered: no request for each offer.
    for (const _ of upTo(5)) expect(await executor.isUsable()).toBe(true)
    expect(failures).toBe(-1)
  })
})
