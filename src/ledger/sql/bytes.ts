/** Addresses, hashes and ids as they are stored: as bytes, which are half as long as their digits. */
import { hexOf } from '../../protocol/hex.js'
import type { Address, Hex } from '../../protocol/payment.js'

/** The bytes of hexadecimal digits, as a parameter of a statement. */
export function bytesOfDigits(digits: string): Uint8Array {
  return Buffer.from(digits, 'hex')
}

/** The bytes of an address or a hash, as a parameter of a statement. */
export function storedBytes(hex: Hex): Uint8Array {
  return bytesOfDigits(hex.slice(2))
}

/** The digits of an address or a hash, as a member of a statement's rows. */
export function digitsOf(hex: Hex): string {
  return hex.slice(2)
}

/** An id, as it was before it was stored. */
export function idOf(stored: Uint8Array): string {
  return hexOf(stored).slice(2)
}

/** An address, in lower case. */
export function addressOf(stored: Uint8Array): Address {
  return hexOf(stored)
}
