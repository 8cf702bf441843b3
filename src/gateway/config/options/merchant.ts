/** Options of projects and their merchants. */
import type { RedeemWithoutProof } from '../../../ledger/purchase.js'
import type { PaywallOptions } from '../../../sell/paywall/options.js'

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
