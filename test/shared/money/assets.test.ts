import { describe, expect, it } from '@jest/globals'
import { DEFAULT_ASSETS, findDefaultAsset } from '@x402/evm'
import { domainSeparator, getAddress } from 'viem'
import {
  findKnownAsset,
  isDefaultAsset,
  knownAssets,
  type Asset,
} from '../../../src/shared/money/assets.js'
import { findNetwork, knownNetworks, type Network } from '../../../src/shared/protocol/networks.js'

const assets = knownNetworks.flatMap((network) => knownAssets(network))

/** `DOMAIN_SEPARATOR()` of each token, as the chains themselves answer. */
const SEPARATORS: Record<string, string> = {
  'USDC ethereum': '0x06c37168a7db5138defc7866392bb87a741f9b3d104deb5094588ce041cae335',
  'USDC sepolia': '0xb90e5057db141a932946e64d09ccb7ffc9b00bd79fec26f698d29af0c83320a6',
  'USDC base': '0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f',
  'USDC base-sepolia': '0x71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818',
  'USDC polygon': '0xcaa2ce1a5703ccbe253a34eb3166df60a705c561b44b192061e28f2a985be2ca',
  'USDC polygon-amoy': '0x5cddc98319864e897e4469bd1d13c2288c677047b54b8cca12bd342adb6be9eb',
  'USDC arbitrum': '0x08d11903f8419e68b1b8721bcbe2e9fc68569122a77ef18c216f10b3b5112c78',
  'USDC arbitrum-sepolia': '0x85944e1292d007732838d6eadfa67589b78ffcededbd4df60488d0af251308bb',
  'USDC optimism': '0x26d9c34bb1a1c312f69c53b2d93b8be20faafba63af2438c6811713c9b1f933f',
  'USDC optimism-sepolia': '0x09d038a3e46040fc37eb01174dbbcdb7981fbd8eafd9e1a857b1c67805dfb29e',
  'USDC avalanche': '0xbbea200329a938bc3438984a49cb0732e66d66d7bd59c127abacc1710e77f7b3',
  'USDC avalanche-fuji': '0xfe9fa105a0e9629446730e544caa6b8d05d8d4fc93451750dc50e2ddd6d374b3',
  'USDC celo': '0xb2ce31d2838445fa765a491f550e7c78ac7280ab0f3bc9d6063a86df9c3fb578',
  'USDC monad': '0xfe22123edc0dd4aeb912eb7948c5f0e531592c2053b3067612f427db342c93c6',
  'USDC sei': '0x0a19136106ae98d2c245cbbd451f3cb2bbbb1670e1ee191abacb5a5e255c0255',
  'EURC ethereum': '0x99f188f447f0c6eaf68589359cd2ead8c2faaaaee984ab926fdb734d0040073b',
  'EURC base': '0xec4dcbded0afd42599589b79220899bbe000bb5ea66d6f1bc176e78d094203bb',
  'EURC base-sepolia': '0x0f014fc929bd4eb3577a01319a281f49da27c70057520f1e1debc8272d1ac57e',
  'EURC avalanche': '0x094e957ad84a5711a2d13ea2ddcfe3947fe1704472f07bf8a49718f55a65f4b1',
}

function network(id: string): Network {
  const found = findNetwork(id)
  if (found === undefined) throw new Error(`no network ${id}`)
  return found
}

function asset(id: string, symbol: string): Asset {
  const found = findKnownAsset(network(id), symbol)
  if (found === undefined) throw new Error(`no ${symbol} on ${id}`)
  return found
}

describe('the table of assets', () => {
  it('has exactly one recorded domain separator for every asset', () => {
    expect(assets.map((known) => `${known.symbol} ${known.network.shortName}`).sort()).toEqual(
      Object.keys(SEPARATORS).sort(),
    )
  })

  it.each(assets.map((known) => [`${known.symbol} ${known.network.shortName}`, known] as const))(
    'has the correct address and EIP-712 domain of %s',
    (key, { address, network: { chainId }, eip712 }) => {
      expect(getAddress(address)).toBe(address)
      expect(domainSeparator({ domain: { ...eip712, chainId, verifyingContract: address } })).toBe(
        SEPARATORS[key],
      )
    },
  )

  it.each(
    Object.entries(DEFAULT_ASSETS).flatMap(([caip2, rows]) =>
      rows
        .filter(({ symbol }) => symbol === 'USDC' && findKnownAsset(network(caip2), symbol))
        .map((row) => [caip2, row] as const),
    ),
  )('agrees with the official clients about USDC on %s', (caip2, row) => {
    expect(asset(caip2, 'USDC')).toMatchObject({
      address: row.asset,
      decimals: row.decimals,
      eip712: { name: row.name, version: row.version },
    })
  })

  it('pegs USDC to the dollar and EURC to the euro', () => {
    for (const known of assets) expect(known.currency).toBe(known.symbol === 'USDC' ? 'USD' : 'EUR')
  })
})

describe('findKnownAsset', () => {
  it('finds an asset by symbol, and by address in any case', () => {
    const usdc = asset('base', 'USDC')
    expect(usdc.address).toBe('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913')
    expect(findKnownAsset(network('base'), usdc.address)).toBe(usdc)
    expect(findKnownAsset(network('base'), usdc.address.toLowerCase())).toBe(usdc)
  })

  it('does not find an asset of another network', () => {
    expect(findKnownAsset(network('polygon'), asset('base', 'USDC').address)).toBeUndefined()
    expect(findKnownAsset(network('polygon'), 'EURC')).toBeUndefined()
    expect(findKnownAsset(network('eip155:31337'), 'USDC')).toBeUndefined()
  })

  it('finds the assets of a network it was given as a copy', () => {
    expect(knownAssets({ ...network('base') }).map(({ symbol }) => symbol)).toEqual([
      'USDC',
      'EURC',
    ])
    expect(knownAssets(network('eip155:31337'))).toEqual([])
  })
})

describe('isDefaultAsset', () => {
  it('agrees with the official clients about every known asset', () => {
    for (const known of assets)
      expect([known.symbol, known.network.caip2, isDefaultAsset(known)]).toEqual([
        known.symbol,
        known.network.caip2,
        findDefaultAsset(known.address, known.network.caip2) !== undefined,
      ])
  })

  it('does not trust a symbol', () => {
    const usdc = asset('base', 'USDC')
    expect(isDefaultAsset({ ...usdc })).toBe(true)
    expect(isDefaultAsset({ ...usdc, address: `0x${'12'.repeat(20)}` })).toBe(false)
  })
})
