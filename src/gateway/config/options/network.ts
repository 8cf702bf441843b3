/** Options of networks and their tokens. */
/**
 * A token that is not in the table of known tokens.
 *
 * With `eip712`, its contract takes payers' signatures (ERC-3009). Without, it is paid by Permit2, which works with
 * every ERC-20 token.
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
  readonly currency?: string | undefined
  /**
   * Name of the token in `rates`: `ETH`. Merchants with `crossCurrency` take a token without
   * `currency` at this rate; with neither, it takes no fiat prices.
   * @defaultValue none; `symbol` for the guard of a pegged token
   */
  readonly rateSymbol?: string | undefined
  /**
   * A pegged token is not offered while `rates` say that it is off its currency by more than this,
   * or know no rate. In hundredths of a percent, 1 to 10000. @defaultValue no guard
   */
  readonly depegGuardBps?: number | undefined
  /**
   * EIP-712 domain of a token with ERC-3009, exactly as its contract has it.
   * @defaultValue the token is paid by Permit2 alone
   */
  readonly eip712?: { readonly name: string; readonly version: string } | undefined
  /**
   * Offers payment by Permit2 too: the payer approves the token to Permit2 once, and signs each payment.
   * A token with `eip712` is offered by ERC-3009 first. @defaultValue true without `eip712`
   */
  readonly permit2?: boolean | undefined
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
export interface KnownAssetOptions extends Pick<
  AssetOptions,
  'rateSymbol' | 'depegGuardBps' | 'permit2'
> {
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
  readonly rpcUrl?: string | undefined
  /**
   * Private keys of the accounts that send transactions and pay their gas: `0x` and 64 hexadecimal
   * digits each. Required unless `facilitator` is set.
   */
  readonly relayerKeys?: readonly string[] | undefined
  /** Highest fee for a unit of gas, in gwei; nothing is sent while it costs more. @defaultValue no limit */
  readonly maxFeePerGasGwei?: number | undefined
  /**
   * Seconds after which a transaction that is not mined is replaced with higher fees, 1 to 3600.
   * @defaultValue 30
   */
  readonly replaceAfterSeconds?: number | undefined
  /**
   * Whether accounts with code may pay: smart accounts (ERC-1271), and accounts that delegate to a
   * contract (EIP-7702). Their code runs at the relayer's cost, which is bounded in any case; see the
   * event `relayerLoss`. @defaultValue true
   */
  readonly acceptContractPayers?: boolean | undefined
  /**
   * Sends `upto` payments through an executor: a contract that makes several of them in one transaction, for
   * these relayers only. `npx express-x402-gateway deploy-executor` deploys it. Other relayers have another
   * executor. @defaultValue `false`
   */
  readonly executor?: boolean | undefined
  /**
   * Contracts that may deploy accounts of payers (ERC-6492): addresses, or `coinbase`, `safe`, `kernel` and
   * `light-account` for the usual ones. An account that is not deployed yet is deployed in the transaction in
   * which it pays, at the relayer's cost, which is bounded. @defaultValue none
   */
  readonly allowedFactories?: readonly string[] | undefined
  /** Symbols of known tokens, or tokens described in full. @defaultValue `['USDC']` */
  readonly assets?: readonly (string | KnownAssetOptions | AssetOptions)[] | undefined
}
