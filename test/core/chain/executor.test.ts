import { beforeAll, describe, expect, it } from '@jest/globals'
import { decodeEventLog, encodeFunctionData, parseAbi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { callsIn, execute } from '../../../src/core/chain/abi.js'
import { DEPLOYER, executorOf } from '../../../src/core/chain/executor.js'
import { intrinsicGas } from '../../../src/core/chain/intrinsic-gas.js'
import type { Hex } from '../../../src/shared/protocol/payment.js'
import { executorGasLimit } from '../../../src/core/relayer/batch-gas.js'
import { publicClient, walletClient } from '../../tools/devnet/clients.js'
import { compileContract, deploy } from '../../support/contracts.js'
import { askNode } from '../../support/core.js'
import { delegate } from '../../support/delegation.js'
import { useDevnet } from '../../support/devnet.js'
import { newNonce } from '../../support/sign-payment.js'

const devnet = useDevnet()
const abi = parseAbi([
  'event Done(address caller, uint256 what)',
  'function onlyFrom(address caller, uint256 what)',
  'function takeAll(uint256 promised, uint256 what)',
  'function burn()',
  'function refuse()',
  'function returnMuch(uint256 size)',
  'function revertMuch(uint256 size)',
  'function comeBack(address target, bytes data)',
])
const client = () => publicClient(devnet.rpcUrl)

const keys = [newNonce(), newNonce(), newNonce()] as const
const relayers = keys.map((key) => privateKeyToAccount(key).address)
let called: Hex
let address: Hex
let code: Hex
beforeAll(async () => {
  code = (await compileContract('called.sol')).code
  called = await deploy(devnet, code)
  const { deployment } = executorOf(relayers)
  address = executorOf(relayers).address
  await send({ ...deployment, gas: 500_000n })
})

/** Sends a transaction by a key, by default of the first relayer. */
async function send(
  call: { readonly to: Hex; readonly data: Hex; readonly gas: bigint; readonly value?: bigint },
  key: Hex = keys[0],
) {
  await askNode(devnet, 'anvil_setBalance', privateKeyToAccount(key).address, '0xffffffffffffffff')
  const hash = await walletClient(devnet.rpcUrl, key).sendTransaction(call)
  return client().waitForTransactionReceipt({ hash })
}

/** A call of an executor. */
interface TestCall {
  readonly to: Hex
  readonly data: Hex
  readonly gas: bigint
}

const callOf = (data: Hex, gas = 50_000n, to = called): TestCall => ({ to, data, gas })
const noteFor = (what: bigint): TestCall =>
  callOf(encodeFunctionData({ abi, functionName: 'onlyFrom', args: [address, what] }))

/** The request that a batch of these calls makes. */
const requestOf = (calls: readonly TestCall[]) => {
  const data = execute(calls)
  const executed = calls.map((call) => {
    const gas = call.gas + intrinsicGas(call.data)
    return { call, gas, via: { callGas: call.gas } }
  })
  return { to: address, data, gas: executorGasLimit(executed, data) }
}

/** What the contract was called for. */
const doneIn = ({ logs }: Awaited<ReturnType<typeof send>>) =>
  logs.map((log) => decodeEventLog({ abi, ...log }).args.what)

describe('the address of an executor', () => {
  it('follows from its relayers, whatever their order and case', () => {
    const [one, ...others] = relayers
    const same = [...others.map((it): Hex => it.toLowerCase() as Hex), one!, others[0]!]
    expect(executorOf(same)).toEqual(executorOf(relayers))
    expect(executorOf(others).address).not.toBe(address)
  })

  it('has the code that was foretold, which names its relayers', async () => {
    const found = await askNode<Hex>(devnet, 'eth_getCode', address, 'latest')
    expect(found).toBe(executorOf(relayers).code)
  })

  it('is that of the devnet, for its relayers', async () => {
    const own = executorOf(devnet.relayerKeys.map((key) => privateKeyToAccount(key).address))
    expect(devnet.executor).toBe(own.address)
    expect(await askNode<Hex>(devnet, 'eth_getCode', own.address, 'latest')).toBe(own.code)
  })

  it('is deployed once: the deployer refuses a second time', async () => {
    const { deployment } = executorOf(relayers)
    const second = await send({ ...deployment, gas: 500_000n })
    expect(second.status).toBe('reverted')
  })

  it('costs some 100,000 gas to deploy', async () => {
    const { deployment, address: other } = executorOf(relayers.slice(0, 2))
    const { gasUsed, status } = await send({ ...deployment, gas: 500_000n })
    expect(status).toBe('success')
    expect(await askNode<Hex>(devnet, 'eth_getCode', other, 'latest')).not.toBe('0x')
    expect(gasUsed).toBeLessThan(110_000n)
  })
})

describe('an executor', () => {
  it('makes calls for each of its relayers', async () => {
    for (const key of keys) {
      const receipt = await send(requestOf([noteFor(1n), noteFor(2n)]), key)
      expect(doneIn(receipt)).toEqual([1n, 2n])
    }
  })

  it('does nothing for anybody else', async () => {
    const request = requestOf([noteFor(1n)])
    const receipt = await send(request, newNonce())
    expect(receipt).toMatchObject({ status: 'reverted', logs: [] })
    // Nor for an account whose address begins or ends like a relayer's.
    const near = `${relayers[0]!.slice(0, -2)}${relayers[0]!.endsWith('00') ? '01' : '00'}` as Hex
    for (const from of [near, address, called, DEPLOYER] as const)
      await expect(askNode(devnet, 'eth_call', { from, ...rpc(request) })).rejects.toThrow(
        'reverted',
      )
    await askNode(devnet, 'eth_call', { from: relayers[2]!, ...rpc(request) })
  })

  it('takes no money, and has no other function', async () => {
    const request = requestOf([noteFor(1n)])
    expect(await send({ ...request, value: 1n })).toMatchObject({ status: 'reverted' })
    for (const data of ['0x', '0x3f707e6c', '0x3f707e'] as const)
      expect(await send({ to: address, data, gas: 100_000n })).toMatchObject({ status: 'reverted' })
    expect(await client().getBalance({ address })).toBe(0n)
  })

  it('is not entered again by the code that it calls', async () => {
    const back = encodeFunctionData({
      abi,
      functionName: 'comeBack',
      args: [address, execute([noteFor(9n)])],
    })
    expect(doneIn(await send(requestOf([callOf(back), noteFor(1n)])))).toEqual([0n, 1n])
  })

  it.each([
    ['refuses', encodeFunctionData({ abi, functionName: 'refuse' })],
    ['burns all of its gas', encodeFunctionData({ abi, functionName: 'burn' })],
    ['returns as much as it can pay for', much('returnMuch')],
    ['fails with as much as it can pay for', much('revertMuch')],
  ])('makes four calls where the third of five %s', async (_what, bad) => {
    const third = callOf(bad, 2_000_000n)
    const calls = [noteFor(1n), noteFor(2n), third, noteFor(4n), noteFor(5n)]
    const receipt = await send(requestOf(calls))
    expect(doneIn(receipt)).toEqual([1n, 2n, 4n, 5n])
    // Copying what it returns would cost as much again.
    expect(receipt.gasUsed).toBeLessThan(2_200_000n)
  })

  it('calls addresses without code, as Multicall3 does', async () => {
    const nobody = callOf('0x1234', 1000n, `0x${'ab'.repeat(20)}`)
    expect(doneIn(await send(requestOf([nobody, noteFor(1n)])))).toEqual([1n])
  })

  it.each([
    [1, 40_000],
    [2, 40_000],
    [20, 40_000],
    [2, 2_000_000],
  ])('gives each of %s calls all of the %s gas that it was promised', async (count, least) => {
    const targets = await Promise.all(Array.from({ length: count }, () => deploy(devnet, code)))
    const calls = targets.map((to, index) => {
      const gas = BigInt(least + 7919 * ((index * 7) % count))
      const args = [gas, BigInt(index)] as const
      return callOf(encodeFunctionData({ abi, functionName: 'takeAll', args }), gas, to)
    })
    for (const list of [calls, calls.toReversed()]) {
      const request = requestOf(list)
      const receipt = await send(request)
      expect(doneIn(receipt)).toHaveLength(count)
      // Nearly nothing is left over: the limit is tight.
      const slack = request.gas - receipt.gasUsed
      expect(Number(slack)).toBeLessThan(10_000 + 5000 * count + least / 60)
    }
  })

  it('fails as a whole rather than give a call less than it was promised', async () => {
    const calls = [1n, 2n, 3n].map((what) => {
      const gas = 60_000n
      return callOf(encodeFunctionData({ abi, functionName: 'takeAll', args: [gas, what] }), gas)
    })
    const request = requestOf(calls)
    const receipt = await send({ ...request, gas: request.gas - 25_000n })
    expect(receipt).toMatchObject({ status: 'reverted', logs: [] })
  })

  it('pays for reaching accounts that delegate, and for long calldata', async () => {
    const keys = Array.from({ length: 5 }, () => newNonce())
    for (const privateKey of keys) {
      const payer = { privateKey, address: privateKeyToAccount(privateKey).address }
      await client().waitForTransactionReceipt({ hash: await delegate(devnet, payer, called) })
    }
    const calls = keys.map((key, index) => {
      const gas = 60_000n
      const args = [gas, BigInt(index)] as const
      const data = encodeFunctionData({ abi, functionName: 'takeAll', args })
      const long = `${data}${'5a'.repeat(3000 * index)}` as Hex
      return callOf(long, gas, privateKeyToAccount(key).address)
    })
    expect(doneIn(await send(requestOf(calls)))).toEqual([0n, 1n, 2n, 3n, 4n])
  })

  it('serves the last of a hundred relayers', async () => {
    const strangers = Array.from({ length: 99 }, (_, n): Hex => `0x${String(n).padStart(40, '1')}`)
    const key = await lastKey(strangers)
    const many = executorOf([...strangers, privateKeyToAccount(key).address])
    await send({ ...many.deployment, gas: 2_000_000n })
    const gas = 60_000n
    const data = encodeFunctionData({ abi, functionName: 'takeAll', args: [gas, 7n] })
    const receipt = await send({ ...requestOf([callOf(data, gas)]), to: many.address }, key)
    expect(doneIn(receipt)).toEqual([7n])
  })
})

describe('callsIn', () => {
  it('decodes what execute has encoded, with who makes the calls', () => {
    const calls = [noteFor(1n), callOf('0x', 1n, `0x${'12'.repeat(20)}`)]
    const expected = calls.map(({ to, data }) => ({ to: to.toLowerCase(), data, from: address }))
    const found = callsIn({ to: address, data: execute(calls) }, [address])
    expect(found.map((call) => ({ ...call, to: call.to.toLowerCase() }))).toEqual(expected)
  })
})

function much(functionName: 'returnMuch' | 'revertMuch'): Hex {
  return encodeFunctionData({ abi, functionName, args: [900_000n] })
}

/** A key whose account stands behind all of these. */
async function lastKey(others: readonly Hex[]): Promise<Hex> {
  const last = others.toSorted().at(-1)!
  for (;;) {
    const key = newNonce()
    if (privateKeyToAccount(key).address.toLowerCase() > last) return key
  }
}

const rpc = ({ to, data }: { readonly to: Hex; readonly data: Hex }) => ({ to, data })
