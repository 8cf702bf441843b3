import { describe, expect, it } from '@jest/globals'
import {
  encodeFunctionData,
  getAddress,
  multicall3Abi as canonicalAbi,
  toFunctionSelector,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { multicall3Abi, usdcAbi } from './abis.js'
import { startDevnet } from '../../../src/tools/devnet/index.js'
import { publicClient } from './clients.js'
import { useOpened } from '../../support/use-opened.js'

const devnet = useOpened(() => startDevnet())

const multicall3 = () => ({ address: devnet.multicall3, abi: multicall3Abi }) as const
const balanceCall = () =>
  encodeFunctionData({
    abi: usdcAbi,
    functionName: 'balanceOf',
    args: [devnet.payers[0]!.address],
  })
const MILLION = 1_000_000_000_000n

describe('Multicall3', () => {
  it('is where viem expects it, with the selectors viem expects', () => {
    expect(devnet.multicall3).toBe(getAddress(baseSepolia.contracts.multicall3.address))
    const selectors = multicall3Abi.map((entry) => toFunctionSelector(entry))
    for (const entry of canonicalAbi) {
      if (entry.type === 'function') expect(selectors).toContain(toFunctionSelector(entry))
    }
    // The rest of the canonical contract, which viem does not know.
    expect(selectors).toEqual(
      expect.arrayContaining([
        '0x252dba42',
        '0xbce38bd7',
        '0xc3077fa9',
        '0x399542e9',
        '0x174dea71',
      ]),
    )
  })

  it("carries viem's multicall, one failure not touching its neighbours", async () => {
    const client = publicClient(devnet.rpcUrl)
    const token = { address: devnet.asset, abi: usdcAbi } as const
    const results = await client.multicall({
      contracts: [
        { ...token, functionName: 'balanceOf', args: [devnet.payers[0]!.address] },
        { ...token, functionName: 'transfer', args: [devnet.merchant.address, 1n] },
        { ...token, functionName: 'symbol' },
      ],
      allowFailure: true,
    })
    expect(results).toMatchObject([
      { status: 'success', result: MILLION },
      { status: 'failure' },
      { status: 'success', result: 'USDC' },
    ])
  })

  it('reverts as a whole where failure is not allowed', async () => {
    const client = publicClient(devnet.rpcUrl)
    const calls = (allowFailure: boolean) =>
      [
        { target: devnet.asset, allowFailure: false, callData: balanceCall() },
        { target: devnet.asset, allowFailure, callData: '0x12345678' },
      ] as const
    const aggregate3 = (allowFailure: boolean) =>
      client.simulateContract({
        ...multicall3(),
        functionName: 'aggregate3',
        args: [calls(allowFailure)],
      })
    const { result } = await aggregate3(true)
    expect(result.map(({ success }) => success)).toEqual([true, false])
    await expect(aggregate3(false)).rejects.toThrow('Multicall3: call failed')
  })

  it('knows the older ways to aggregate', async () => {
    const client = publicClient(devnet.rpcUrl)
    const good = { target: devnet.asset, callData: balanceCall() }
    const bad = { target: devnet.asset, callData: '0x12345678' } as const
    const tried = await client.simulateContract({
      ...multicall3(),
      functionName: 'tryAggregate',
      args: [false, [good, bad]],
    })
    expect(tried.result.map(({ success }) => success)).toEqual([true, false])
    const all = await client.simulateContract({
      ...multicall3(),
      functionName: 'aggregate',
      args: [[good]],
    })
    expect(all.result[1].map(BigInt)).toEqual([MILLION])
    await expect(
      client.simulateContract({
        ...multicall3(),
        functionName: 'aggregate',
        args: [[good, bad]],
      }),
    ).rejects.toThrow('Multicall3: call failed')
  })

  it('passes value on, and refuses a sum that is not what it was given', async () => {
    const client = publicClient(devnet.rpcUrl)
    const send = (value: bigint) =>
      client.simulateContract({
        ...multicall3(),
        account: privateKeyToAccount(devnet.relayerKeys[0]!),
        functionName: 'aggregate3Value',
        args: [
          [{ target: devnet.merchant.address, allowFailure: false, value: 2n, callData: '0x' }],
        ],
        value,
      })
    expect((await send(2n)).result).toEqual([{ success: true, returnData: '0x' }])
    await expect(send(3n)).rejects.toThrow('Multicall3: value mismatch')
  })

  it('tells about the block and balances', async () => {
    const client = publicClient(devnet.rpcUrl)
    const block = await client.getBlock()
    const address = privateKeyToAccount(devnet.relayerKeys[0]!).address
    const read = <T extends 'getBlockNumber' | 'getCurrentBlockTimestamp' | 'getChainId'>(
      functionName: T,
    ) => client.readContract({ ...multicall3(), functionName } as const)
    expect(await read('getBlockNumber')).toBe(block.number)
    expect(await read('getCurrentBlockTimestamp')).toBeGreaterThanOrEqual(block.timestamp)
    expect(await read('getChainId')).toBe(84532n)
    const balance = await client.readContract({
      ...multicall3(),
      functionName: 'getEthBalance',
      args: [address],
    })
    expect(balance).toBe(await client.getBalance({ address }))
  })
})
