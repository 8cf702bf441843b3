/**
 * `extra.offerId`: ties a payment to the answer that asked for it.
 *
 * Clients echo the entry of `accepts` that they pay, and it never goes on chain. The buyer is the
 * client that sends the id again; authorization and signature are public and prove nothing.
 */
import { randomFillSync } from 'node:crypto'
import type { PaymentRequirements } from './payment.js'

/** 128 bits. */
const ID_BYTES = 16

/** Random bytes for many ids: to draw 16 of them takes 8 µs of the 25 that a 402 takes (Node 24). */
const pool = Buffer.allocUnsafe(ID_BYTES * 512)
let drawn = pool.length

/** Makes an id that nobody can guess: 128 random bits in base64url. */
export function newOfferId(): string {
  if (drawn === pool.length) {
    randomFillSync(pool)
    drawn = 0
  }
  const start = drawn
  drawn += ID_BYTES
  return pool.toString('base64url', start, drawn)
}

/**
 * Prefix of a checkout's id. The id is the same for every preparation and visitor: it identifies the
 * purchase, not the buyer.
 */
export const CHECKOUT_ID_PREFIX = 'checkout.'

/** Writes an id into the entries of one answer. */
export function withOfferId(accepts: readonly PaymentRequirements[], offerId: string) {
  return accepts.map((entry) => ({ ...entry, extra: { ...entry.extra, offerId } }))
}
