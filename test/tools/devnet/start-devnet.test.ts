import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { parseEther } from 'viem'
import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import { usdcAbi } from './abis.js'
import { type Devnet, startDevnet } from '../../../src/tools/devnet/index.js'
import { type RpcCall, sendBatch } from '../../../src/tools/devnet/send-batch.js'
import { freePort } from '../../support/free-port.js'
import { until } from '../../support/until.js'
import { publicClient, walletClient } from './clients.js'

const MNEMONIC = 'test test test test test test test test test test test junk'

describe('startDevnet', () => {
  let devnet: Devnet
  beforeAll(async () => {
    devnet = await startDevnet()
  })
  afterAll(() => devnet.close())

  const balanceOf = (address: `0x${string}`, token: `0x${string}` = devnet.asset) =>
    publicClient(devnet.rpcUrl).readContract({
      address: token,
      abi: usdcAbi,
      functionName: 'balanceOf',
      args: [address],
    })

  it('is Base Sepolia at block 1, on a loopback port', async () => {
    const client = publicClient(devnet.rpcUrl)
    expect(new URL(devnet.rpcUrl).hostname).toBe('127.0.0.1')
    expect(devnet.chainId).toBe(84532)
    expect(await client.getChainId()).toBe(84532)
    // Where it took seconds to get here, there are others already, which say what time it is.
    const latest = await client.getBlockNumber()
    for (let blockNumber = latest; blockNumber > 1n; blockNumber--)
      expect((await client.getBlock({ blockNumber })).transactions).toEqual([])
    expect((await client.getBlock({ blockNumber: 1n })).transactions).toHaveLength(1)
  })

  it('uses the accounts of the development mnemonic, in its order', () => {
    const account = (addressIndex: number) => mnemonicToAccount(MNEMONIC, { addressIndex }).address
    expect(devnet.relayerKeys.map((key) => privateKeyToAccount(key).address)).toEqual(
      [0, 1, 2].map(account),
    )
    const others = [...devnet.payers, devnet.merchant]
    expect(others.map(({ address }) => address)).toEqual(others.map((_, i) => account(i + 3)))
    expect(others.map(({ privateKey }) => privateKeyToAccount(privateKey).address)).toEqual(
      others.map(({ address }) => address),
    )
  })

  it('gives relayers ETH and no history', async () => {
    const client = publicClient(devnet.rpcUrl)
    expect(devnet.relayerKeys).toHaveLength(3)
    for (const key of devnet.relayerKeys) {
      const { address } = privateKeyToAccount(key)
      expect(await client.getBalance({ address })).toBe(parseEther('1000000'))
      expect(await client.getTransactionCount({ address })).toBe(0)
    }
  })

  it('gives payers a million of each token and no ETH', async () => {
    const client = publicClient(devnet.rpcUrl)
    expect(devnet.payers).toHaveLength(10)
    for (const { address } of devnet.payers) {
      expect(await balanceOf(address)).toBe(1_000_000_000_000n)
      expect(await balanceOf(address, devnet.permitToken)).toBe(10n ** 24n)
      expect(await balanceOf(address, devnet.plainToken)).toBe(1_000_000_000_000n)
      expect(await client.getBalance({ address })).toBe(0n)
    }
  })

  it('gives the merchant no tokens', async () => {
    expect(await balanceOf(devnet.merchant.address)).toBe(0n)
  })

  it('mints, even many times at once', async () => {
    const address = '0x00000000000000000000000000000000000000a1'
    await Promise.all(Array.from({ length: 20 }, () => devnet.mint(address, 3n)))
    expect(await balanceOf(address)).toBe(60n)
  })

  it.each(['permitToken', 'plainToken'] as const)('mints the %s', async (token) => {
    const address = '0x00000000000000000000000000000000000000a3'
    await devnet.mint(address, 3n, devnet[token])
    expect(await balanceOf(address, devnet[token])).toBe(3n)
    expect(await balanceOf(address)).toBe(0n)
  })

  it('rejects a mint that the token refuses, and mints on', async () => {
    const address = '0x00000000000000000000000000000000000000a2'
    const refused = devnet.mint('0x0000000000000000000000000000000000000000', 1n)
    const fine = devnet.mint(address, 1n)
    await expect(refused).rejects.toThrow('refused')
    await fine
    expect(await balanceOf(address)).toBe(1n)
  })

  it.each([-1n, 2n ** 256n])('refuses to mint %d', async (amount) => {
    await expect(devnet.mint(devnet.merchant.address, amount)).rejects.toThrow(RangeError)
  })

  it('mines one block, or several', async () => {
    const client = publicClient(devnet.rpcUrl)
    // It mines none by itself meanwhile.
    await sendBatch(devnet.rpcUrl, [['evm_setAutomine', false]])
    const before = await client.getBlockNumber()
    await devnet.mine()
    expect(await client.getBlockNumber()).toBe(before + 1n)
    await devnet.mine(5)
    expect(await client.getBlockNumber()).toBe(before + 6n)
    await sendBatch(devnet.rpcUrl, [['evm_setAutomine', true]])
  })

  it('mines every transaction at once', async () => {
    const client = publicClient(devnet.rpcUrl)
    const hash = await walletClient(devnet.rpcUrl, devnet.relayerKeys[0]!).sendTransaction({
      to: devnet.merchant.address,
      value: 1n,
    })
    expect((await client.waitForTransactionReceipt({ hash })).status).toBe('success')
  })
})

describe('instant mining', () => {
  it('survives thousands of transactions at once', async () => {
    const devnet = await startDevnet()
    try {
      const from = privateKeyToAccount(devnet.relayerKeys[0]!).address
      const send = (nonce: number): RpcCall => [
        'eth_sendTransaction',
        { from, to: devnet.merchant.address, gas: '0x5208', nonce: `0x${nonce.toString(16)}` },
      ]
      await sendBatch(
        devnet.rpcUrl,
        Array.from({ length: 3000 }, (_, i) => send(i + 1)),
      )
      await sendBatch(devnet.rpcUrl, [send(0)])
      const sent = () => publicClient(devnet.rpcUrl).getTransactionCount({ address: from })
      await until(async () => (await sent()) >= 3001)
      expect(await sent()).toBe(3001)
    } finally {
      await devnet.close()
    }
  })
})

describe('startDevnet with a block time', () => {
  it('leaves a transaction waiting until a block is due or asked for', async () => {
    const devnet = await startDevnet({ blockTime: 600 })
    try {
      const client = publicClient(devnet.rpcUrl)
      const hash = await walletClient(devnet.rpcUrl, devnet.relayerKeys[0]!).sendTransaction({
        to: devnet.merchant.address,
        value: 1n,
      })
      expect((await client.getTransaction({ hash })).blockNumber).toBeNull()
      expect(await client.getBlockNumber()).toBe(1n)
      await devnet.mine()
      expect((await client.getTransactionReceipt({ hash })).blockNumber).toBe(2n)
    } finally {
      await devnet.close()
    }
  })

  it('mines by itself, even every fraction of a second', async () => {
    const devnet = await startDevnet({ blockTime: 0.1 })
    try {
      await devnet.mint(devnet.merchant.address, 1n)
      expect(await publicClient(devnet.rpcUrl).getBlockNumber()).toBeGreaterThanOrEqual(2n)
    } finally {
      await devnet.close()
    }
  })
})

describe('the options of startDevnet', () => {
  it.each([
    ['port', { port: -1 }],
    ['port', { port: 65536 }],
    ['port', { port: 1.5 }],
    ['port', { port: Number.NaN }],
    ['blockTime', { blockTime: 0 }],
    ['blockTime', { blockTime: -1 }],
    ['blockTime', { blockTime: Number.POSITIVE_INFINITY }],
    ['host', { host: 'localhost' }],
    ['host', { host: '' }],
  ])('refuses a wrong %s: %o', async (option, options) => {
    await expect(startDevnet(options)).rejects.toMatchObject({ code: 'config_invalid', option })
  })

  it('uses the given port', async () => {
    const port = await freePort()
    const devnet = await startDevnet({ port })
    expect(devnet.rpcUrl).toBe(`http://127.0.0.1:${port}`)
    await devnet.close()
  })

  it('names the port that is in use', async () => {
    const first = await startDevnet()
    try {
      const port = Number(new URL(first.rpcUrl).port)
      const message = new RegExp(`anvil did not start on port ${port}: .*in use`, 'is')
      await expect(startDevnet({ port })).rejects.toThrow(message)
      expect(await publicClient(first.rpcUrl).getChainId()).toBe(84532)
    } finally {
      await first.close()
    }
  })

  it('names a reachable URL when it listens everywhere', async () => {
    const devnet = await startDevnet({ host: '0.0.0.0' })
    expect(new URL(devnet.rpcUrl).hostname).toBe('127.0.0.1')
    expect(await publicClient(devnet.rpcUrl).getChainId()).toBe(84532)
    await devnet.close()
  })
})

describe('closing', () => {
  it('frees the port, and can be repeated', async () => {
    const devnet = await startDevnet()
    await Promise.all([devnet.close(), devnet.close()])
    await devnet.close()
    await expect(publicClient(devnet.rpcUrl).getChainId()).rejects.toThrow('HTTP request failed')
    const server = createServer().listen(Number(new URL(devnet.rpcUrl).port), '127.0.0.1')
    await once(server, 'listening')
    server.close()
  })

  it('leaves another chain alone', async () => {
    const [first, second] = await Promise.all([startDevnet(), startDevnet()])
    await first.close()
    expect(await publicClient(second.rpcUrl).getChainId()).toBe(84532)
    await second[Symbol.asyncDispose]()
    await expect(publicClient(second.rpcUrl).getChainId()).rejects.toThrow('HTTP request failed')
  })
})

describe('the devnet’s clock (rule 26)', () => {
  const ageOf = async ({ rpcUrl }: Devnet): Promise<number> => {
    const { timestamp } = await publicClient(rpcUrl).getBlock()
    return Date.now() / 1000 - Number(timestamp)
  }

  it('advances with a block at least every five seconds', async () => {
    const devnet = await startDevnet()
    try {
      const ages: number[] = []
      let late = 0
      for (let look = 0; look < 26; look++) {
        const startedAt = performance.now()
        ages.push(await ageOf(devnet))
        await sleep(500)
        late = Math.max(late, (performance.now() - startedAt - 500) / 1000)
      }
      // Blocks are dated in whole seconds. On a busy machine each timer is late, also ours: a block
      // takes two of the devnet's, and two requests.
      expect(Math.max(...ages)).toBeLessThan(6 + 4 * late)
      expect(await publicClient(devnet.rpcUrl).getBlockNumber()).toBeGreaterThanOrEqual(3n)
    } finally {
      await devnet.close()
    }
  })

  it('stands still once instant mining was stopped', async () => {
    const devnet = await startDevnet()
    try {
      await sendBatch(devnet.rpcUrl, [['evm_setAutomine', false]])
      const client = publicClient(devnet.rpcUrl)
      const before = await client.getBlockNumber()
      await sleep(5000)
      expect(await client.getBlockNumber()).toBe(before)
    } finally {
      await devnet.close()
    }
  })
})
