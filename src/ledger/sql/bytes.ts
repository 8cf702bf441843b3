/** Addresses, hashes and ids as they are stored: as bytes, which are half as long as their digits. */
import { hexOf } from '../../protocol/hex.js'
import type { Hex } from '../../protocol/payment.js'

/** The bytes of an id, as a parameter of a statement. */
export function idBytes(id: string): Uint8Array {
  return Buffer.from(id, 'hex')
}

/** An id, as it was before it was stored. */
export function idOf(stored: Uint8Array): string {
  return hexOf(stored).slice(2)
}

/** An address or a hash without `0x`, as a member of a statement's rows. */
export function digitsOf(hex: Hex): string {
  return hex.slice(2)
}
