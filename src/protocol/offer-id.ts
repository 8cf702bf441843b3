/**
 * `extra.offerId`: what ties a payment to the answer that asked for it.
 *
 * Clients echo the entry of `accepts` that they pay, and it never goes on chain. A client that sends the
 * same id again is the buyer; an authorization and its signature are public, and prove nothing.
 */
import { randomBytes } from 'node:crypto'
import type { PaymentRequirements } from './payment.js'

/** Bytes of an id: 128 bits. */
const ID_BYTES = 16

/** Makes an id that nobody can guess: 128 random bits in base64url. */
export function newOfferId(): string {
  return randomBytes(ID_BYTES).toString('base64url')
}

/**
 * Prefix of a checkout's id. The id is the same each time the checkout is prepared, and for each visitor:
 * it names what is bought, and does not prove who buys it.
 */
export const CHECKOUT_ID_PREFIX = 'checkout.'

/** Writes an id into the entries of one answer. */
export function withOfferId(
  accepts: readonly PaymentRequirements[],
  offerId: string,
): readonly PaymentRequirements[] {
  return accepts.map((entry) => ({ ...entry, extra: { ...entry.extra, offerId } }))
}
