import { knownNetworks, type Network } from '../protocol/networks.js'
import type { Address } from '../protocol/payment.js'

/** A token for payments. */
export interface Asset {
  /** Ticker: `USDC`. */
  readonly symbol: string
  readonly network: Network
  /** Contract address as configured; well-known ones are checksummed (ERC-55). */
  readonly address: Address
  readonly decimals: number
  /** Currency of its peg (ISO 4217). Without one, fiat prices need a rate. */
  readonly currency?: string | undefined
  /** Name in rates. A token with neither this nor a currency takes no fiat prices. */
  readonly rateSymbol?: string | undefined
  /** A pegged token is not offered if it is further off its peg, in hundredths of a percent. */
  readonly depegGuardBps?: number | undefined
  /** EIP-712 domain of authorizations (ERC-3009), without chain id and address. Absent if it takes none. */
  readonly eip712?: DomainName | undefined
  /** Whether it is taken by Permit2 as well. @defaultValue whether that is the only way */
  readonly permit2?: boolean | undefined
}

/** An EIP-712 domain, without chain id and address. */
export interface DomainName {
  readonly name: string
  readonly version: string
}

export function takesErc3009(asset: Asset): asset is Asset & { readonly eip712: DomainName } {
  return asset.eip712 !== undefined
}

export function takesPermit2({ permit2, eip712 }: Asset): boolean {
  return permit2 === true || eip712 === undefined
}

type Row = readonly [
  shortName: string,
  address: Address,
  eip712Name: string,
  paidByDefault?: 'default',
]

/**
 * Native USDC by Circle: 6 decimals, EIP-712 version `2`.
 *
 * The contract's EIP-712 name differs between chains. A wrong one makes every signature invalid: tests
 * compare each row with the domain separator on chain. `default` marks the assets that official clients
 * pay with default settings.
 */
const USDC: readonly Row[] = [
  ['ethereum', '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', 'USD Coin', 'default'],
  ['sepolia', '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238', 'USDC'],
  ['base', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 'USD Coin', 'default'],
  ['base-sepolia', '0x036CbD53842c5426634e7929541eC2318f3dCF7e', 'USDC', 'default'],
  ['polygon', '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', 'USD Coin', 'default'],
  ['polygon-amoy', '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582', 'USDC'],
  ['arbitrum', '0xaf88d065e77c8cC2239327C5EDb3A432268e5831', 'USD Coin', 'default'],
  ['arbitrum-sepolia', '0x75faf114eafb1BDbe2F0316DF893fd58CE46AA4d', 'USD Coin', 'default'],
  ['optimism', '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85', 'USD Coin'],
  ['optimism-sepolia', '0x5fd84259d66Cd46123540766Be93DFE6D43130D7', 'USDC'],
  ['avalanche', '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E', 'USD Coin', 'default'],
  ['avalanche-fuji', '0x5425890298aed601595a70AB815c96711a31Bc65', 'USD Coin'],
  ['celo', '0xcebA9300f2b948710d2653dD7B07f33A8B32118C', 'USDC', 'default'],
  ['monad', '0x754704Bc059F8C67012fEd69BC8A327a5aafb603', 'USDC', 'default'],
  ['sei', '0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392', 'USDC', 'default'],
]

/** Native EURC by Circle: 6 decimals, EIP-712 version `2`. Official clients need settings to pay it. */
const EURC: readonly Row[] = [
  ['ethereum', '0x1aBaEA1f7C830bD89Acc67eC4af516284b1bC33c', 'Euro Coin'],
  ['base', '0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42', 'EURC'],
  ['base-sepolia', '0x808456652fdb597867f38412077A9182bf77359F', 'EURC'],
  ['avalanche', '0xC891EB4cbdEFf6e073e859e987815Ed1505c2ACD', 'Euro Coin'],
]

interface Entry {
  readonly asset: KnownAsset
  readonly paidByDefault: boolean
}

const entries: readonly Entry[] = knownNetworks.flatMap((network) => [
  ...entriesOn(network, { symbol: 'USDC', currency: 'USD', rows: USDC }),
  ...entriesOn(network, { symbol: 'EURC', currency: 'EUR', rows: EURC }),
])

const entriesByKey: ReadonlyMap<string, Entry> = new Map(
  entries.flatMap((entry) => [
    [entryKey(entry.asset.network, entry.asset.symbol), entry],
    [entryKey(entry.asset.network, entry.asset.address.toLowerCase()), entry],
  ]),
)

export type KnownAsset = Asset & { readonly eip712: DomainName }

/** Well-known assets of a network; others come from the configuration. */
export function knownAssets(network: Network): readonly KnownAsset[] {
  return entries
    .filter(({ asset }) => asset.network.chainId === network.chainId)
    .map(({ asset }) => asset)
}

/**
 * Finds a well-known asset.
 *
 * @param symbolOrAddress - `USDC` in upper case, or the address in any case.
 */
export function findKnownAsset(network: Network, symbolOrAddress: string): KnownAsset | undefined {
  return findEntry(network, symbolOrAddress)?.asset
}

export function isTokenSymbol(text: unknown): text is string {
  return entries.some(({ asset }) => asset.symbol === text)
}

/**
 * Whether official x402 clients pay in this asset by default. Their default spend controls allow the
 * usual dollar stablecoin of each chain, up to $1.00 a payment.
 */
export function isDefaultAsset(asset: Asset): boolean {
  return findEntry(asset.network, asset.address)?.paidByDefault ?? false
}

function findEntry(network: Network, symbolOrAddress: string): Entry | undefined {
  return (
    entriesByKey.get(entryKey(network, symbolOrAddress)) ??
    entriesByKey.get(entryKey(network, symbolOrAddress.toLowerCase()))
  )
}

function entryKey(network: Network, symbolOrAddress: string): string {
  return `${network.chainId}/${symbolOrAddress}`
}

function entriesOn(
  network: Network,
  { symbol, currency, rows }: { symbol: string; currency: string; rows: readonly Row[] },
): Entry[] {
  return rows
    .filter(([shortName]) => shortName === network.shortName)
    .map(([, address, name, marker]) => {
      const eip712 = Object.freeze({ name, version: '2' })
      const asset = Object.freeze({ symbol, network, address, decimals: 6, currency, eip712 })
      return { asset, paidByDefault: marker === 'default' }
    })
}
