/** Addresses, hashes and ids as they are stored: as bytes, which are half as long as their digits. */
import { hexOf } from '../../protocol/hex.js'
import type { Hex } from '../../protocol/payment.js'

/** Pairs of digits: of anything else, Node and SQLite would leave out the rest or all. */
const PAIRS = /^(?:[0-9a-f]{2})*$/
const PREFIXED_PAIRS = /^0x(?:[0-9a-f]{2})*$/i

/** The bytes of an id, as a parameter of a statement. @throws `TypeError` for what is no id. */
export function idBytes(id: string): Uint8Array {
  if (!PAIRS.test(id)) throw new TypeError('not pairs of hexadecimal digits')
  return Buffer.from(id, 'hex')
}

/** An id, as it was before it was stored. */
export function idOf(stored: Uint8Array): string {
  return hexOf(stored).slice(2)
}

/**
 * An address or a hash without `0x`, as a member of a statement's rows.
 *
 * @throws `TypeError` for what is neither.
 */
export function digitsOf(hex: Hex): string {
  if (!PREFIXED_PAIRS.test(hex)) throw new TypeError('not pairs of hexadecimal digits')
  return hex.slice(2)
}
