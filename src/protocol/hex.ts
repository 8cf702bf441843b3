/** Hexadecimal text, and bytes as such: addresses and hashes are compared in lower case. */
import type { Hex } from './payment.js'

/** The one form in which addresses and hashes are compared and stored. */
export function lowerHex(text: string): Hex {
  return text.toLowerCase() as Hex
}

/** Compares two addresses or hashes, whatever the case of their letters. */
export function sameHex(one: string, other: string): boolean {
  return one === other || lowerHex(one) === lowerHex(other)
}

/**
 * The bytes that hexadecimal text stands for; many times as fast as in JavaScript.
 *
 * @throws `TypeError` for anything but pairs of digits: Node would leave out the rest.
 */
export function bytesOf(hex: Hex): Uint8Array {
  const bytes = Buffer.from(hex.slice(2), 'hex')
  if (bytes.length * 2 !== hex.length - 2) throw new TypeError('not pairs of hexadecimal digits')
  return bytes
}

/** Bytes as hexadecimal text. */
export function hexOf(bytes: Uint8Array): Hex {
  const { buffer, byteOffset, byteLength } = bytes
  return `0x${Buffer.from(buffer, byteOffset, byteLength).toString('hex')}`
}
