/** The options of a gateway, as developers and operators write them. */
import type { Facilitator, NetworkFacilitator } from '../../core/facilitator/facilitator.js'
import type { PaymentHooks } from '../../core/schemes/payment-hooks.js'
import type { RateLimitOptions } from '../../shared/http/rate-limiter.js'
import type { Ledger } from '../../ledger/index.js'
import type { ProjectEvent } from '../../ledger/webhooks.js'
import type { FieldsFirstLogger, Logger } from '../../shared/logger.js'
import type { HttpRatesOptions } from '../../shared/money/http-rates.js'
import type { RateSource } from '../../shared/money/rates.js'
import type { PaywallOptions } from '../../sell/paywall/options.js'
import type { NetworkNameStyle } from '../../shared/protocol/networks.js'
import type { AdminOptions } from './options/admin.js'
import type { ProjectOptions } from './options/merchant.js'
import type { NetworkOptions } from './options/network.js'

export type { RateLimitOptions }

/**
 * A webhook that the configuration declares, for the payments of the only configured merchant. The API lists it, and
 * does not change it.
 *
 * When the gateway starts, the ledger's declared webhooks become these: one that is missing here is deleted, with its
 * pending deliveries, and a changed secret replaces the old one at once. A gateway without the option, such as `serve`
 * beside an app, leaves them as they are; an empty list deletes them all. Mistakes throw `config_invalid`.
 *
 * @example
 * ```ts
 * import { createGateway, fromEnvironment, type DeclaredWebhook } from 'express-x402-gateway'
 *
 * const webhook: DeclaredWebhook = {
 *   url: 'https://shop.example/hooks',
 *   secret: process.env['X402_WEBHOOK_SECRET'] ?? '',
 *   events: ['payment.settled', 'payment.corrected'],
 * }
 * const open = () => createGateway({ ...fromEnvironment(), webhooks: [webhook] })
 * ```
 */
export interface DeclaredWebhook {
  /** Where events are posted: an `https:` URL on the public Internet, unless `allowPrivate`. */
  readonly url: string
  /** Signs deliveries, as Standard Webhooks does: `whsec_` and 24 to 64 bytes in base64. */
  readonly secret: string
  /** Events to send, such as `'payment.settled'`. @defaultValue all */
  readonly events?: readonly ProjectEvent[] | undefined
}

/**
 * Settings of webhooks, which projects register at the API, and which `endpoints` declares.
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
  /** Webhooks of the only configured merchant, ten at most. @defaultValue those of the last start that had any */
  readonly endpoints?: readonly DeclaredWebhook[] | undefined
}

/**
 * The key that signs offers and receipts: the extension `offer-receipt` of x402 v2, in its EIP-712 form.
 *
 * @example
 * ```ts
 * import type { ReceiptOptions } from 'express-x402-gateway'
 *
 * const receipts: ReceiptOptions = { privateKey: process.env['RECEIPT_KEY'] ?? '' }
 * ```
 */
export interface ReceiptOptions {
  /** Private key of an account of its own: no merchant's, and no relayer's. `0x` and 64 hexadecimal digits. */
  readonly privateKey: string
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
export interface GatewayOptions extends PaymentHooks {
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
  /** Signs offers, and receipts for what was delivered. @defaultValue nothing is signed */
  readonly receipts?: ReceiptOptions | undefined
  /** Limits requests to the API; `false` for no limit. @defaultValue 600 requests a minute */
  readonly rateLimit?: RateLimitOptions | false | undefined
  /**
   * Limits requests to paid routes that carry a payment, or whose body is checked (`input.body`), by address (`req.ip`)
   * and, once a payment was verified, by payer. Further requests get a 429 and are not charged; the same payment can be
   * used later. Behind a proxy, Express needs `trust proxy` to tell addresses apart.
   * @defaultValue false; where a `facilitator` verifies, 200 requests a minute
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
  /** Webhooks that are declared, as a list, or settings of webhooks. @defaultValue none */
  readonly webhooks?: readonly DeclaredWebhook[] | WebhookOptions | undefined
  /**
   * Verifies and settles elsewhere: `httpFacilitator({ url, token })`. A list has one for each of its networks, for all
   * payments or a share of them, and this process settles the others. @defaultValue in this process
   */
  readonly facilitator?: Facilitator | readonly NetworkFacilitator[] | undefined
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
