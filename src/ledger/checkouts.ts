/** Checkouts: payment links, each paid once. */

/** Paid once, lapsed, or withdrawn by the merchant. `open` also while a payment is under way. */
export const CHECKOUT_STATUSES = ['open', 'paid', 'expired', 'canceled'] as const

export type CheckoutStatus = (typeof CHECKOUT_STATUSES)[number]

/** Open payment links of a project, at most, so that nobody with its token can fill the database. */
export const MAX_OPEN_CHECKOUTS = 10_000

/** Payment links of a project that have expired, at most, and that were canceled: the oldest give way. */
export const MAX_UNPAID_CHECKOUTS = 100_000

/** How long a payment link is kept that nobody has paid, once its time is over (ms): 90 days. */
export const CHECKOUT_KEPT_MS = 90 * 24 * 3_600_000

/** Ids of checkouts, as a regular expression: 128 random bits. */
export const CHECKOUT_ID = 'co_[0-9a-f]{32}'

export const CHECKOUT_EVENTS = [
  /** A payment link was paid. */
  'checkout.paid',
  /** A payment link has lapsed, and was not paid. */
  'checkout.expired',
] as const

export interface NewCheckout {
  readonly id: string
  readonly project: string
  /** Address of its page. */
  readonly url: string
  /** In major units, with all digits of the currency: `15.00`. */
  readonly amount: string
  readonly currency: string
  readonly reference?: string | undefined
  readonly description?: string | undefined
  readonly successUrl?: string | undefined
  readonly cancelUrl?: string | undefined
  readonly expiresInMs: number
}

/** A checkout. Times are milliseconds since the epoch, by the database's clock. */
export interface Checkout extends Omit<NewCheckout, 'expiresInMs'> {
  readonly status: CheckoutStatus
  /** Id of the payment that has paid it, or is under way. */
  readonly settlement?: string | undefined
  readonly paidAt?: number | undefined
  readonly expiresAt: number
  readonly createdAt: number
}

export interface CheckoutQuery {
  readonly project: string
  readonly status?: CheckoutStatus | undefined
  /** The last checkout of the previous page. */
  readonly after?: { readonly createdAt: number; readonly id: string } | undefined
  readonly limit: number
}

/** Why a payment may not pay a checkout. `in_progress`: another one is under way. */
export type CheckoutRefusal = 'paid' | 'in_progress' | 'expired' | 'canceled'
