/** Addresses, hashes and ids as they are stored: as bytes, which are half as long as their digits. */
import { bytesOf, hexOf } from '../../shared/protocol/hex.js'
import type { Hex } from '../../shared/protocol/payment.js'

/** The bytes of an id, as a parameter of a statement. @throws `TypeError` if it is no id. */
export function idBytes(id: string): Uint8Array {
  return bytesOf(`0x${id}`)
}

export function idOf(stored: Uint8Array): string {
  return hexOf(stored).slice(2)
}

/**
 * An address or a hash without `0x`, as a member of a statement's rows. SQLite would make nothing of
 * anything else.
 *
 * @throws `TypeError` for anything else.
 */
export function digitsOf(hex: Hex): string {
  if (!BYTES.test(hex)) throw new TypeError('not pairs of hexadecimal digits')
  return hex.slice(2).toLowerCase()
}

/** Testing digits takes a fraction of the time of making bytes of them. */
const BYTES = /^0x(?:[0-9a-f]{2})*$/i
