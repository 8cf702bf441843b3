import type { Address } from '../protocol/payment.js'

/** A Chainlink price feed. */
export interface ChainlinkFeed {
  readonly address: Address
  /** Most seconds after an update for which its price is used. */
  readonly maxAgeSeconds: number
}

/** Maximum age in seconds for a feed with a heartbeat of an hour, and some slack. */
const HOURLY = 4500

/** Maximum age in seconds for a feed with a heartbeat of a day, and some slack. */
export const DAILY = 90_000

type Row = readonly [pair: string, address: Address, maxAgeSeconds: number]

/** https://docs.chain.link/data-feeds/price-feeds/addresses */
const ETHEREUM: readonly Row[] = [
  ['ETH/USD', '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419', HOURLY],
  ['BTC/USD', '0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c', HOURLY],
  ['EUR/USD', '0xb49f677943BC038e9857d61E7d053CaA2C1734C1', DAILY],
  ['GBP/USD', '0x5c0Ab2d9b5a7ed9f470386e82BB36A3613cDd4b5', DAILY],
  ['JPY/USD', '0xBcE206caE7f0ec07b545EddE332A47C2F75bbeb3', DAILY],
  ['CHF/USD', '0x449d117117838fFA61263B61dA6301AA2a88B13A', DAILY],
  ['CAD/USD', '0xa34317DB73e77d453b1B8d04550c44D10e981C8e', DAILY],
  ['AUD/USD', '0x77F9710E7d0A19669A13c055F62cd80d313dF022', DAILY],
  ['USDC/USD', '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6', DAILY],
  ['EURC/USD', '0x04F84020Fdf10d9ee64D1dcC2986EDF2F556DA11', DAILY],
]

const BASE: readonly Row[] = [
  ['ETH/USD', '0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70', HOURLY],
  ['BTC/USD', '0x64c911996D3c6aC71f9b455B1E8E7266BcbD848F', HOURLY],
  ['EUR/USD', '0xc91D87E81faB8f93699ECf7Ee9B44D11e1D53F0F', DAILY],
  ['GBP/USD', '0xCceA6576904C118037695eB71195a5425E69Fa15', DAILY],
  ['CHF/USD', '0x3A1d6444fb6a402470098E23DaD0B7E86E14252F', DAILY],
  ['CAD/USD', '0xA840145F87572E82519d578b1F36340368a25D5d', DAILY],
  ['USDC/USD', '0x7e860098F58bBFC8648a4311b374B1D669a2bc6B', DAILY],
  ['EURC/USD', '0xDAe398520e2B67cd3f27aeF9Cf14D93D927f8250', DAILY],
]

const rowsByChain: Readonly<Record<number, readonly Row[]>> = { 1: ETHEREUM, 8453: BASE }

/** The known feeds of a chain, by their pair. */
export function knownFeeds(chainId: number): ReadonlyMap<string, ChainlinkFeed> {
  return new Map(
    rowsByChain[chainId]?.map(([pair, address, maxAgeSeconds]) => [
      pair,
      { address, maxAgeSeconds },
    ]),
  )
}
