/** Hexadecimal text: addresses and hashes are compared in lower case. */
import type { Hex } from './payment.js'

/** The one form in which addresses and hashes are compared and stored. */
export function lowerHex(text: string): Hex {
  return text.toLowerCase() as Hex
}

/** Compares two addresses or hashes, whatever the case of their letters. */
export function sameHex(one: string, other: string): boolean {
  return one === other || lowerHex(one) === lowerHex(other)
}
