/**
 * Members and parameters of our own requests: those that are known, and those that are tolerated.
 *
 * The endpoints that take a price or a search are ours, and refuse unknown members: ignoring a
 * misspelled `currency` would sell euros for dollars. What x402 clients and real shops send in addition
 * is listed here, and nowhere else. The bodies of verify and settle are x402 documents, which may be
 * extended anywhere: they stay tolerant.
 */

/** The members that a request may have. */
export interface KnownMembers {
  readonly known: readonly string[]
  /** Not read, and not refused. */
  readonly tolerated: readonly string[]
}

/** x402 clients write these on top of every document. */
const ENVELOPE = ['x402Version', 'protocolVersion', 'extensions'] as const

/** `POST /api/v2/payment/requirements`. */
export const REQUIREMENTS_MEMBERS: KnownMembers = {
  known: ['resourceUrl', 'requestedAmount', 'currency', 'description', 'mimeType'],
  tolerated: ENVELOPE,
}

/** `POST /api/v2/merchant/checkout-prepare`. Its `resource` is x402's, and may have any members. */
export const CHECKOUT_MEMBERS: KnownMembers = {
  known: ['amount', 'currency', 'resource'],
  tolerated: ENVELOPE,
}

/** The query of `GET /api/v2/merchant/settlements`. `_` is how some HTTP clients evade caches. */
export const SETTLEMENTS_QUERY: KnownMembers = {
  known: ['cursor', 'limit', 'status', 'from', 'to'],
  tolerated: ['_'],
}

/** The query of endpoints that take none. */
export const NO_QUERY: KnownMembers = { known: [], tolerated: ['_'] }
