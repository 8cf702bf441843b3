import { describe, expect, it } from '@jest/globals'
import { EVM_NETWORK_CHAIN_ID_MAP } from '@x402/evm/v1'
import fc from 'fast-check'
import type { Chain } from 'viem'
import * as viemChains from 'viem/chains'
import {
  findNetwork,
  formatNetwork,
  knownNetworks,
  sameNetwork,
} from '../../../src/shared/protocol/networks.js'

const chains = Object.values(viemChains) as readonly Chain[]

describe('the table of networks', () => {
  it.each(knownNetworks.map((network) => [network.shortName, network] as const))(
    'describes %s as viem does',
    (_shortName, { chainId, name, testnet }) => {
      expect(
        chains
          .filter(({ id }) => id === chainId)
          .map((chain) => ({ name: chain.name, testnet: chain.testnet ?? false })),
      ).toContainEqual({ name, testnet })
    },
  )

  it.each(Object.entries(EVM_NETWORK_CHAIN_ID_MAP))('knows %s of x402 v1', (shortName, chainId) => {
    expect(findNetwork(shortName)?.chainId).toBe(chainId)
  })

  it('has each chain and each short name once', () => {
    expect(new Set(knownNetworks.map(({ caip2 }) => caip2)).size).toBe(knownNetworks.length)
    expect(new Set(knownNetworks.map(({ shortName }) => shortName)).size).toBe(knownNetworks.length)
  })
})

describe('findNetwork', () => {
  it('finds the same network by its CAIP-2 id and by its short name', () => {
    expect(findNetwork('eip155:8453')).toBe(findNetwork('base'))
    expect(findNetwork('base')).toEqual({
      caip2: 'eip155:8453',
      chainId: 8453,
      shortName: 'base',
      name: 'Base',
      testnet: false,
    })
  })

  it('distinguishes test networks from real ones', () => {
    expect(findNetwork('base-sepolia')?.testnet).toBe(true)
    expect(findNetwork('optimism')?.testnet).toBe(false)
  })

  it.each([
    ['mainnet', 1],
    ['ethereum-sepolia', 11155111],
    ['arbitrum-one', 42161],
    ['op-mainnet', 10],
    ['op-sepolia', 11155420],
  ])('understands the alias %s', (alias, chainId) => {
    expect(findNetwork(alias)?.chainId).toBe(chainId)
  })

  it('understands a chain outside the table as one without a short name', () => {
    expect(findNetwork('eip155:31337')).toEqual({
      caip2: 'eip155:31337',
      chainId: 31337,
      name: 'eip155:31337',
      testnet: false,
    })
    expect(findNetwork('eip155:9007199254740991')?.chainId).toBe(Number.MAX_SAFE_INTEGER)
  })

  it.each([
    ['eip155:9007199254740992'],
    ['eip155:99999999999999999'],
    ['eip155:0'],
    ['eip155:08453'],
    ['eip155:0x2105'],
    ['eip155:8453 '],
    ['eip155:8453\n'],
    ['eip155:-1'],
    ['eip155:1e3'],
    ['eip155:'],
    ['EIP155:8453'],
    ['8453'],
    ['Base'],
    ['basé'],
    [''],
    ['solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'],
    ['__proto__'],
    ['constructor'],
  ])('does not understand %j', (id) => {
    expect(findNetwork(id)).toBeUndefined()
  })
})

describe('formatNetwork', () => {
  it('writes the name in either style, and finds the network by it again', () => {
    for (const network of knownNetworks) {
      expect(formatNetwork(network, 'caip2')).toBe(network.caip2)
      expect(formatNetwork(network, 'short')).toBe(network.shortName)
      expect(findNetwork(formatNetwork(network, 'short'))).toBe(network)
    }
  })

  it('writes CAIP-2 if there is no short name', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), (chainId) => {
        const network = findNetwork(`eip155:${chainId}`)
        fc.pre(network?.shortName === undefined)
        expect(network && formatNetwork(network, 'short')).toBe(`eip155:${chainId}`)
      }),
    )
  })
})

describe('sameNetwork', () => {
  it('compares by meaning', () => {
    expect(sameNetwork('base', 'eip155:8453')).toBe(true)
    expect(sameNetwork('op-sepolia', 'optimism-sepolia')).toBe(true)
    expect(sameNetwork('eip155:31337', 'eip155:31337')).toBe(true)
    expect(sameNetwork('base', 'base-sepolia')).toBe(false)
    expect(sameNetwork('base', 'nowhere')).toBe(false)
  })

  it('treats an id that names no chain as different from everything', () => {
    expect(sameNetwork('nowhere', 'nowhere')).toBe(false)
  })
})
