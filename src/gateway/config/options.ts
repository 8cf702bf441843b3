/** The options of a gateway, as developers and operators write them. */
import type { Facilitator } from '../../core/facilitator/facilitator.js'
import type { RateLimitOptions } from '../../shared/http/rate-limiter.js'
import type { Ledger } from '../../ledger/index.js'
import type { RedeemWithoutProof } from '../../ledger/purchase.js'
import type { FieldsFirstLogger, Logger } from '../../shared/logger.js'
import type { AdminRole } from '../../core/merchants/access.js'
import type { HttpRatesOptions } from '../../shared/money/http-rates.js'
import type { RateSource } from '../../shared/money/rates.js'
import type { PaywallOptions } from '../../sell/paywall/options.js'
import type { NetworkNameStyle } from '../../shared/protocol/networks.js'

export type { RateLimitOptions }

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

/**
 * Who is paid, in which tokens, and on which terms.
 *
 * @example
 * ```ts
 * import type { MerchantOptions } from 'express-x402-gateway'
 *
 * const merchant: MerchantOptions = {
 *   name: 'Acme',
 *   payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
 *   currency: 'EUR',
 *   accepts: [{ network: 'base', asset: 'USDC' }],
 *   crossCurrency: true,
 *   fxBufferBps: 50,
 * }
 * ```
 */
export interface MerchantOptions {
  /** Name for people. @defaultValue none */
  readonly name?: string | undefined
  /** Address that is paid, with its checksum (EIP-55) or in lower case. */
  readonly payTo: string
  /** Currency of prices that name none (ISO 4217). @defaultValue `'USD'` */
  readonly currency?: string | undefined
  /**
   * Tokens the merchant takes, in the order in which they are offered.
   * @defaultValue all of the gateway's
   */
  readonly accepts?: readonly { readonly network: string; readonly asset: string }[] | undefined
  /** Whether tokens of other currencies are offered too, through a rate. @defaultValue false */
  readonly crossCurrency?: boolean | undefined
  /** Added to amounts that come from a rate, in hundredths of a percent, 0 to 10000. @defaultValue 0 */
  readonly fxBufferBps?: number | undefined
  /** Lowest price, a decimal string in the merchant's currency. @defaultValue none */
  readonly minAmount?: string | undefined
  /** Highest price, a decimal string in the merchant's currency. @defaultValue none */
  readonly maxAmount?: string | undefined
  /** Seconds a payer should let an authorization live, 10 to 86400. @defaultValue 300 */
  readonly maxTimeoutSeconds?: number | undefined
  /**
   * Whether verify and settle of the API repeat the result of a payment that comes again with its
   * `payment-identifier`.
   *
   * The identifier is the buyer's: a shop that does not record what it served would serve twice for
   * one payment. Without this option, an identifier is only bound to its payment. The result for a
   * repeated `Idempotency-Key`, which the shop itself chooses, is always repeated.
   * @defaultValue false
   */
  readonly repeatSettlements?: boolean | undefined
  /**
   * Who may redeem an open payment (paid, but not answered yet) when the client dropped the
   * `extra.offerId` of its offer and sent no `payment-identifier`: nobody, or the address that
   * presented the payment first. The API does not know the buyer's address; there, anybody may who
   * presents the payment within a minute of its first presentation. @defaultValue `'same-address'`
   */
  readonly redeemWithoutProof?: RedeemWithoutProof | undefined
  /**
   * How the payment page looks where this merchant is paid: `logo`, `accent` and `texts` of
   * {@link PaywallOptions}. A route's own `paywall` comes first, that of the gateway last.
   * @defaultValue none
   */
  readonly branding?: Pick<PaywallOptions, 'logo' | 'accent' | 'texts'> | undefined
  /**
   * Whether the public catalogue of the gateway, `/discovery/resources`, lists what was sold: URL,
   * description, price, how often and when last. Origins such as `'https://shop.example'` are of servers
   * that settle here: what they sell is listed, too. @defaultValue true
   */
  readonly listed?: boolean | readonly string[] | undefined
  /**
   * Whether buyers and resource servers of x402 version 1 are served, too: by routes, and by verify, settle
   * and supported of the API. @defaultValue the gateway's
   */
  readonly v1?: boolean | undefined
}

/**
 * Someone who may use the admin API.
 *
 * @example
 * ```ts
 * import type { AdminPerson } from 'express-x402-gateway'
 *
 * const helper: AdminPerson = {
 *   name: 'Ada',
 *   role: 'support',
 *   token: process.env['ADA_TOKEN'] ?? '',
 * }
 * ```
 */
export interface AdminPerson {
  /** The audit log names them so. No two people have the same name. */
  readonly name: string
  /** What they may do: see {@link AdminRole}. */
  readonly role: AdminRole
  /** `sha256:…` as `express-x402-gateway token` prints it, or the token in plain text. */
  readonly token: string
}

/**
 * Access to the admin API: `tokens`, `people`, or both.
 *
 * @example
 * ```ts
 * import type { AdminOptions } from 'express-x402-gateway'
 *
 * const admin: AdminOptions = {
 *   people: [
 *     { name: 'Ada', role: 'owner', token: process.env['ADA_TOKEN'] ?? '' },
 *     { name: 'Support desk', role: 'support', token: process.env['DESK_TOKEN'] ?? '' },
 *   ],
 *   payToDelay: '48h',
 * }
 * ```
 */
export interface AdminOptions {
  /**
   * Tokens of owners without a name: `sha256:…` as `express-x402-gateway token` prints it, or tokens in plain
   * text. The audit log calls each by the beginning of its hash. @defaultValue none
   */
  readonly tokens?: readonly string[] | undefined
  /** People with a name and a role, each with their own token. @defaultValue none */
  readonly people?: readonly AdminPerson[] | undefined
  /**
   * How long a changed `payTo` of a merchant waits until it is paid: a number and `m`, `h` or `d`. Its
   * webhooks are told at once, and until then the change can be taken back. @defaultValue no delay
   */
  readonly payToDelay?: string | undefined
}

/**
 * A tenant of the gateway: its identify tokens and, once it has one, its merchant.
 *
 * @example
 * ```ts
 * import type { ProjectOptions } from 'express-x402-gateway'
 *
 * const acme: ProjectOptions = {
 *   id: 'acme',
 *   merchant: { payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C' },
 * }
 * ```
 */
export interface ProjectOptions {
  /** Unique name, used in logs, events and the option `merchant` of routes. */
  readonly id: string
  /**
   * Identify tokens that authenticate the project at the API: `sha256:…` as
   * `express-x402-gateway token` prints it, or tokens in plain text. @defaultValue none
   */
  readonly tokens?: readonly string[] | undefined
  /** Who is paid. @defaultValue none: payments are refused until there is one */
  readonly merchant?: MerchantOptions | undefined
  /**
   * Whether its payments are refused for now, with `merchant_paused`. Those that are under way are finished,
   * and refunds work. @defaultValue false
   */
  readonly paused?: boolean | undefined
  /**
   * Gas that its payments may take in a day (UTC) beyond what they carry: 10 for each millionth of the token that they
   * move, and at most 100,000 each. After that, payments that do not carry their own gas are refused with
   * `settlement_too_expensive`. @defaultValue 50000000000
   */
  readonly gasBudget?: number | undefined
}

/**
 * Settings of webhooks, which projects register at the API.
 *
 * @example
 * ```ts
 * import { createGateway, type WebhookOptions } from 'express-x402-gateway'
 *
 * // A gateway on the machine of a developer, whose shop listens on localhost.
 * const webhooks: WebhookOptions = { allowPrivate: true }
 * const gateway = createGateway({ webhooks })
 * await gateway.close()
 * ```
 */
export interface WebhookOptions {
  /**
   * Whether webhooks may lead to private addresses, and over `http:`. Anyone with a project's token can
   * then make the gateway post to every host that it reaches: for development, and for networks where all
   * merchants are your own. @defaultValue false
   */
  readonly allowPrivate?: boolean | undefined
}

/**
 * Metrics for Prometheus.
 *
 * @example
 * ```ts
 * import type { MetricsOptions } from 'express-x402-gateway'
 *
 * const metrics: MetricsOptions = { token: process.env['METRICS_TOKEN'] ?? '' }
 * ```
 */
export interface MetricsOptions {
  /**
   * Token that Prometheus sends as `Authorization: Bearer`, at least 16 characters.
   * @defaultValue none: anyone who reaches `/metrics` can read it
   */
  readonly token?: string | undefined
  /**
   * Address on which `serve` listens for `/metrics`. One that is not of this machine needs a `token`.
   * Ignored outside `serve`. @defaultValue `'127.0.0.1'`
   */
  readonly host?: string | undefined
  /** Port on which `serve` listens for `/metrics`; 0 for a free one. @defaultValue 9464 */
  readonly port?: number | undefined
}

/**
 * A source of rates: fixed ones by pair (`{ 'EUR/USD': '1.08' }`), a JSON API, or an object with the method
 * `getRate`.
 *
 * @example
 * ```ts
 * import type { RatesOptions } from 'express-x402-gateway'
 *
 * const fixed: RatesOptions = { 'EUR/USD': '1.08' }
 * const ecb: RatesOptions = { http: { url: 'https://api.frankfurter.dev/v1' } }
 * ```
 */
export type RatesOptions =
  Readonly<Record<string, string>> | { readonly http: Omit<HttpRatesOptions, 'now'> } | RateSource

/** What the options say of a JSON API with rates. */
export type HttpRatesEntry = Extract<RatesOptions, { readonly http: object }>['http']

/**
 * Options of `createGateway`. All but functions and instances can be in `gateway.config.json`.
 *
 * `undefined` counts as not given, for every option.
 *
 * @example
 * ```ts
 * import type { GatewayOptions } from 'express-x402-gateway'
 *
 * const options: GatewayOptions = {
 *   publicUrl: 'https://pay.example.com',
 *   networks: {
 *     base: { rpcUrl: 'https://base.example', relayerKeys: [process.env['RELAYER_KEY'] ?? ''] },
 *   },
 *   projects: [
 *     { id: 'shop', merchant: { payTo: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C' } },
 *   ],
 *   rates: [{ http: { url: 'https://api.frankfurter.dev/v1' } }, { 'EUR/USD': '1.08' }],
 * }
 * ```
 */
export interface GatewayOptions {
  /** Root URL of the app as its clients see it. @defaultValue taken from each request */
  readonly publicUrl?: string | undefined
  /** Name of the UCP handler, a reverse domain name. @defaultValue `'xyz.vendor.gateway_payment'` */
  readonly handlerId?: string | undefined
  /** How networks are written: `eip155:8453` or `base`. @defaultValue `'caip2'` */
  readonly networkNames?: NetworkNameStyle | undefined
  /**
   * Whether buyers and resource servers of x402 version 1 are served, too, where neither a project nor a
   * route says otherwise. @defaultValue `false`
   */
  readonly v1?: boolean | undefined
  /** Networks by their name, `base`, or CAIP-2 id, `'eip155:8453'`. @defaultValue none */
  readonly networks?: Readonly<Record<string, NetworkOptions>> | undefined
  /** Tenants of the gateway. @defaultValue none */
  readonly projects?: readonly ProjectOptions[] | undefined
  /**
   * Turns on the admin API below `/api/v2/admin`, and with it the projects that the ledger keeps
   * beside those of `projects`. @defaultValue off
   */
  readonly admin?: AdminOptions | undefined
  /**
   * Whether the router serves the console at `/console`: a web page for operators and merchants, who
   * sign in with their tokens. It needs `admin`. @defaultValue `true` with `admin`
   */
  readonly console?: boolean | undefined
  /**
   * Rates that convert prices into tokens of other currencies; of several sources, the first that
   * knows the pair. @defaultValue no rates
   */
  readonly rates?: RatesOptions | readonly RatesOptions[] | undefined
  /**
   * Secret that quotes are signed with, at least 32 characters.
   * @defaultValue random; shared through an SQL ledger
   */
  readonly quoteSecret?: string | undefined
  /** Limits requests to the API; `false` for no limit. @defaultValue 600 requests a minute */
  readonly rateLimit?: RateLimitOptions | false | undefined
  /**
   * Limits requests to paid routes that carry a payment, or whose body is checked (`input.body`), by address (`req.ip`)
   * and, once a payment was verified, by payer. Further requests get a 429 and are not charged; the same payment can be
   * used later. Behind a proxy, Express needs `trust proxy` to tell addresses apart.
   * @defaultValue false; with `facilitator`, 200 requests a minute
   */
  readonly paymentRateLimit?: RateLimitOptions | false | undefined
  /**
   * The page that browsers get from a paid route instead of a 402 in JSON, where a route has no
   * `paywall` of its own; `false` for JSON to all. @defaultValue a page with the merchant's name
   */
  readonly paywall?: PaywallOptions | false | undefined
  /** Settings of the UCP handler. @defaultValue none */
  readonly ucp?:
    | {
        /** Root URL under which the handler's documents are published. @defaultValue where the router is mounted */
        readonly docsUrl?: string | undefined
      }
    | undefined
  /** Settings of webhooks. @defaultValue none */
  readonly webhooks?: WebhookOptions | undefined
  /** Verifies and settles elsewhere: `httpFacilitator({ url, token })`. @defaultValue in this process */
  readonly facilitator?: Facilitator | undefined
  /** Where payments are recorded. @defaultValue in memory */
  readonly ledger?: Ledger | undefined
  /**
   * Receives warnings and errors: `console`, winston, pino, bunyan, or an object of your own.
   * @defaultValue Node's process warnings
   */
  readonly logger?: Logger | FieldsFirstLogger | undefined
  /**
   * Collects metrics, for `metricsRouter()`, and for `serve` on a port of their own. Needs the package
   * `prom-client`. @defaultValue false
   */
  readonly metrics?: boolean | MetricsOptions | undefined
  /**
   * Makes one OpenTelemetry span for each payment, with a child for each phase. Needs the package
   * `@opentelemetry/api`, and an SDK that the app has set up. @defaultValue false
   */
  readonly traces?: boolean | undefined
  /**
   * Which proxies in front of `serve` are trusted: their addresses and subnets, separated by commas, the names
   * `loopback`, `linklocal` and `uniquelocal`, or how many proxies there are. Only behind these, a client has the
   * address of `X-Forwarded-For`. The words are those of Express's `trust proxy`, which an app sets itself.
   * @defaultValue `'loopback'`
   */
  readonly trustProxy?: string | number | false | undefined
  /** Milliseconds a request waits for its settlement before it is answered as pending. @defaultValue 25000 */
  readonly settleTimeoutMs?: number | undefined
  /** The clock, in milliseconds since the epoch, for tests. @defaultValue `Date.now` */
  readonly now?: (() => number) | undefined
}
