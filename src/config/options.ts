/** The options of a gateway, as developers and operators write them. */
import type { ChainlinkRatesOptions } from '../chain/chainlink-rates.js'
import type { Facilitator } from '../facilitator/facilitator.js'
import type { RateLimitOptions } from '../http/rate-limiter.js'
import type { Ledger } from '../ledger/ledger.js'
import type { RedeemWithoutProof } from '../ledger/purchase.js'
import type { Logger } from '../logger.js'
import type { HttpRatesOptions } from '../money/http-rates.js'
import type { RateSource } from '../money/rates.js'
import type { NetworkNameStyle } from '../protocol/networks.js'

export type { RateLimitOptions }

/** A token that is not in our own table. It must speak ERC-3009. */
export interface AssetOptions {
  readonly address: string
  readonly symbol: string
  /** Digits after the point of one token. */
  readonly decimals: number
  /** The currency it is pegged to (ISO 4217): one token is one of it. */
  readonly currency?: string
  /**
   * What `rates` call the token: `ETH`. Where it has no `currency`, merchants with `crossCurrency`
   * take it at this rate; without either it takes no fiat prices.
   * @defaultValue none; `symbol` for the guard of a pegged token
   */
  readonly rateSymbol?: string
  /**
   * Takes a pegged token off every offer while `rates` say that it is off its currency by more than
   * this, in hundredths of a percent, or do not say anything.
   * @defaultValue no guard
   */
  readonly depegGuardBps?: number
  /** EIP-712 domain of the token, exactly as its contract has it. */
  readonly eip712: { readonly name: string; readonly version: string }
}

/** A token of our own table, with settings. */
export interface KnownAssetOptions extends Pick<AssetOptions, 'rateSymbol' | 'depegGuardBps'> {
  /** Symbol or address: `USDC`. */
  readonly asset: string
}

/** One network that payments are settled on. */
export interface NetworkOptions {
  /** JSON-RPC over HTTP. Not needed with a remote `facilitator`. */
  readonly rpcUrl?: string
  /** Private keys of the accounts that send transactions and pay their gas. */
  readonly relayerKeys?: readonly string[]
  /** Most that is offered for gas, in gwei; while it costs more, nothing is sent. @defaultValue no limit */
  readonly maxFeePerGasGwei?: number
  /** Seconds after which a transaction that blocks go by without is sent again at a higher price. @defaultValue 30 */
  readonly replaceAfterSeconds?: number
  /**
   * Whether accounts with code may pay: smart accounts (ERC-1271), and accounts that delegate to a
   * contract (EIP-7702). Their code runs at the relayer's cost; what they cost it is bounded in any
   * case, see the event `relayerLoss`. @defaultValue true
   */
  readonly acceptContractPayers?: boolean
  /** Symbols of known tokens, or tokens described in full. @defaultValue `['USDC']` */
  readonly assets?: readonly (string | KnownAssetOptions | AssetOptions)[]
}

/** Who is paid, in what, and on which terms. */
export interface MerchantOptions {
  readonly name?: string
  /** Where the money goes. */
  readonly payTo: string
  /** Currency of prices that name none (ISO 4217). @defaultValue `'USD'` */
  readonly currency?: string
  /** Tokens it takes, in the order in which they are offered. @defaultValue all of the gateway's */
  readonly accepts?: readonly { readonly network: string; readonly asset: string }[]
  /** Also offer tokens of other currencies, through a rate. @defaultValue false */
  readonly crossCurrency?: boolean
  /** Added to amounts that come from a rate, in hundredths of a percent. @defaultValue 0 */
  readonly fxBufferBps?: number
  /** Least price it takes, a decimal string in its currency. @defaultValue none */
  readonly minAmount?: string
  /** Highest price it takes, a decimal string in its currency. @defaultValue none */
  readonly maxAmount?: string
  /** Seconds a payer should let an authorization live. @defaultValue 300 */
  readonly maxTimeoutSeconds?: number
  /**
   * Whether verify and settle of the API repeat the answer to a payment that comes again with its
   * `payment-identifier`. The identifier is the buyer's: a shop that keeps no book of what it served
   * would serve him twice for one payment. Without this, an identifier only binds to its payment. The
   * answer to a repeated `Idempotency-Key`, which is the shop's own word, is always repeated.
   * @defaultValue false
   */
  readonly repeatSettlements?: boolean
  /**
   * Who may redeem a payment that is open (paid, but not answered yet) where the client dropped the
   * `extra.offerId` of its offer and named no `payment-identifier`: nobody, or the address that
   * presented it first. The API does not know the buyer's address; there, anybody who presents it within a
   * minute of its first presentation. @defaultValue `'same-address'`
   */
  readonly redeemWithoutProof?: RedeemWithoutProof
}

/** A tenant: its secret identify tokens, and its merchant once there is one. */
export interface ProjectOptions {
  readonly id: string
  /** `sha256:…` as `express-x402-gateway token` prints it, or a token itself. */
  readonly tokens?: readonly string[]
  readonly merchant?: MerchantOptions
}

/**
 * Where rates come from: fixed ones by pair (`{ 'EUR/USD': '1.08' }`), Chainlink's feeds on a chain
 * (by the gateway's own `rpcUrl` of that network, unless another is given), a JSON API, or a source.
 */
export type RatesOptions =
  | Readonly<Record<string, string>>
  | { readonly chainlink: Omit<ChainlinkRatesOptions, 'rpcUrl' | 'now'> & { rpcUrl?: string } }
  | { readonly http: Omit<HttpRatesOptions, 'now'> }
  | RateSource

/** What the options say of Chainlink's feeds. */
export type ChainlinkRatesEntry = Extract<RatesOptions, { readonly chainlink: object }>['chainlink']

/** What the options say of a JSON API with rates. */
export type HttpRatesEntry = Extract<RatesOptions, { readonly http: object }>['http']

/** Options of `createGateway`. All but functions and instances can stand in `gateway.config.json`. */
export interface GatewayOptions {
  /** Root of the app as its clients see it. @defaultValue taken from each request */
  readonly publicUrl?: string
  /** Name of the UCP handler. @defaultValue `'xyz.vendor.gateway_payment'` */
  readonly handlerId?: string
  /** How networks are written: `eip155:8453` or `base`. @defaultValue `'caip2'` */
  readonly networkNames?: NetworkNameStyle
  /** By short name or CAIP-2 id. */
  readonly networks?: Readonly<Record<string, NetworkOptions>>
  readonly projects?: readonly ProjectOptions[]
  /** What turns prices into tokens of other currencies; of several sources the first that knows. */
  readonly rates?: RatesOptions | readonly RatesOptions[]
  /**
   * Signs quotes, at least 32 characters. @defaultValue random; shared through an SQL ledger
   */
  readonly quoteSecret?: string
  /** Limits requests to the API; `false` for no limit. */
  readonly rateLimit?: RateLimitOptions | false
  /**
   * Limits requests to paid routes that bring a payment, by address (`req.ip`) and, once a payment
   * was verified, by payer. Beyond it they are answered 429 and not charged; the same payment is good
   * later. Behind a proxy, Express needs `trust proxy` to tell addresses apart. @defaultValue false
   */
  readonly paymentRateLimit?: RateLimitOptions | false
  readonly ucp?: {
    /** Root under which the handler's documents are published. @defaultValue where the router is mounted */
    readonly docsUrl?: string
  }
  /** Verify and settle elsewhere: `httpFacilitator({ url, token })`. @defaultValue in this process */
  readonly facilitator?: Facilitator
  /** @defaultValue in memory */
  readonly ledger?: Ledger
  /** @defaultValue warnings and errors as Node's process warnings */
  readonly logger?: Logger
  /**
   * Bytes of all answers of paid routes that are held at once until they are paid. Beyond it, and
   * for one payer beyond a quarter of it, paid routes answer 503. @defaultValue 256 MiB
   */
  readonly maxHeldBytesTotal?: number
  /** Milliseconds a settlement is waited for before it is answered as pending. @defaultValue 25000 */
  readonly settleTimeoutMs?: number
  /** Milliseconds since the epoch, for tests that own the clock. @defaultValue `Date.now` */
  readonly now?: () => number
}
