/** The options of a network and its tokens, as developers and operators write them. */

/**
 * A token that is not in the table of known tokens. Its contract must support ERC-3009.
 *
 * @example
 * ```ts
 * import type { AssetOptions } from 'express-x402-gateway'
 *
 * const token: AssetOptions = {
 *   address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
 *   symbol: 'USDC',
 *   decimals: 6,
 *   currency: 'USD',
 *   eip712: { name: 'USD Coin', version: '2' },
 * }
 * ```
 */
export interface AssetOptions {
  /** Address of the contract, with its checksum (EIP-55) or in lower case. */
  readonly address: string
  /** Ticker: `FOO`. */
  readonly symbol: string
  /** Digits after the point of one token, 0 to 36. */
  readonly decimals: number
  /**
   * The currency the token is pegged to (ISO 4217): one token is worth one unit of it.
   * @defaultValue no peg
   */
  readonly currency?: string
  /**
   * Name of the token in `rates`: `ETH`. Merchants with `crossCurrency` take a token without
   * `currency` at this rate; with neither, it takes no fiat prices.
   * @defaultValue none; `symbol` for the guard of a pegged token
   */
  readonly rateSymbol?: string
  /**
   * A pegged token is not offered while `rates` say that it is off its currency by more than this,
   * or know no rate. In hundredths of a percent, 1 to 10000. @defaultValue no guard
   */
  readonly depegGuardBps?: number
  /** EIP-712 domain of the token, exactly as its contract has it. */
  readonly eip712: { readonly name: string; readonly version: string }
}

/**
 * A known token, with settings.
 *
 * @example
 * ```ts
 * import type { KnownAssetOptions } from 'express-x402-gateway'
 *
 * // Not offered while the rates say that it is more than one percent off the euro.
 * const guarded: KnownAssetOptions = { asset: 'EURC', depegGuardBps: 100 }
 * ```
 */
export interface KnownAssetOptions extends Pick<AssetOptions, 'rateSymbol' | 'depegGuardBps'> {
  /** Symbol or address: `USDC`. */
  readonly asset: string
}

/**
 * A network that payments are settled on.
 *
 * @example
 * ```ts
 * import type { NetworkOptions } from 'express-x402-gateway'
 *
 * const base: NetworkOptions = {
 *   rpcUrl: process.env['BASE_RPC_URL'] ?? '',
 *   relayerKeys: [process.env['RELAYER_KEY'] ?? ''],
 *   maxFeePerGasGwei: 5,
 *   assets: ['USDC', { asset: 'EURC', depegGuardBps: 100 }],
 * }
 * ```
 */
export interface NetworkOptions {
  /** URL of a JSON-RPC node. Required unless `facilitator` is set. */
  readonly rpcUrl?: string
  /**
   * Private keys of the accounts that send transactions and pay their gas: `0x` and 64 hexadecimal
   * digits each. Required unless `facilitator` is set.
   */
  readonly relayerKeys?: readonly string[]
  /** Highest fee for a unit of gas, in gwei; nothing is sent while it costs more. @defaultValue no limit */
  readonly maxFeePerGasGwei?: number
  /**
   * Seconds after which a transaction that is not mined is replaced with higher fees, 1 to 3600.
   * @defaultValue 30
   */
  readonly replaceAfterSeconds?: number
  /**
   * Whether accounts with code may pay: smart accounts (ERC-1271), and accounts that delegate to a
   * contract (EIP-7702). Their code runs at the relayer's cost, which is bounded in any case; see the
   * event `relayerLoss`. @defaultValue true
   */
  readonly acceptContractPayers?: boolean
  /** Symbols of known tokens, or tokens described in full. @defaultValue `['USDC']` */
  readonly assets?: readonly (string | KnownAssetOptions | AssetOptions)[]
}
