/** The part of a record that is for the merchant's books: what was sold, and its price. */
import { sha256 } from '../shared/crypto/sha256.js'
import { withoutInvisible } from '../shared/protocol/visible-text.js'

/**
 * Describes what a payment was for. People see it and search for it; no decision depends on it.
 *
 * @example
 * ```ts
 * import type { PaymentDetails } from 'express-x402-gateway'
 *
 * const details: PaymentDetails = { route: '/report/:id', askedPrice: '$0.25', reference: 'order-7' }
 * ```
 */
export interface PaymentDetails {
  /** URL of the resource, with its query; cut after 2,048 characters. */
  readonly resource?: string | undefined
  /** HTTP method of the request that was paid for. */
  readonly method?: string | undefined
  /** The Express route that sold it: `/report/:id`. */
  readonly route?: string | undefined
  /** Digits after the point of one token. */
  readonly decimals?: number | undefined
  /** The price as it was asked: `$0.01`. */
  readonly askedPrice?: string | undefined
  /** The merchant's own name for the payment: an order number. */
  readonly reference?: string | undefined
}

/** Characters of a resource's URL that are kept. Its rest may be anything, and of any size. */
const MAX_RESOURCE_LENGTH = 2048

const MAX_METHOD_LENGTH = 32
const MAX_ROUTE_LENGTH = 500
const MAX_PRICE_LENGTH = 100

const MAX_REFERENCE_LENGTH = 200

/** Letters, marks, digits, punctuation, symbols and spaces: nothing that a page or a CSV hides. */
const REFERENCE = new RegExp(`^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]{1,${MAX_REFERENCE_LENGTH}}$`, 'u')

/** Why a reference is refused. */
export const NOT_A_REFERENCE = `must be 1 to ${MAX_REFERENCE_LENGTH} visible characters`

/** Tells whether a text can be the reference of a payment. */
export function isReference(value: unknown): value is string {
  return (
    typeof value === 'string' && value.length <= 2 * MAX_REFERENCE_LENGTH && REFERENCE.test(value)
  )
}

/** Brings details into the bounds that every ledger keeps. A reference was checked before. */
export function boundDetails(details: PaymentDetails): PaymentDetails {
  const { resource, method, route, decimals, askedPrice, reference } = details
  const bound: Writable<PaymentDetails> = {}
  if (resource !== undefined) bound.resource = boundResource(resource)
  if (method !== undefined) bound.method = withoutInvisible(method, MAX_METHOD_LENGTH)
  if (route !== undefined) bound.route = withoutInvisible(route, MAX_ROUTE_LENGTH)
  if (decimals !== undefined) bound.decimals = decimals
  if (askedPrice !== undefined) bound.askedPrice = withoutInvisible(askedPrice, MAX_PRICE_LENGTH)
  if (reference !== undefined) bound.reference = reference
  return bound
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

function boundResource(url: string): string {
  return withoutInvisible(url, MAX_RESOURCE_LENGTH)
}

/** The name under which an index knows a URL: an index holds less than a URL may have. */
export function resourceHash(url: string): string {
  return sha256(boundResource(url), 'base64url').slice(0, 22)
}
