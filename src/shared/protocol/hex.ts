/** Hexadecimal text and bytes. Addresses and hashes are compared in lower case. */
import type { Hex } from './payment.js'

/** Form of addresses and hashes for comparison and storage. */
export function lowerHex(text: string): Hex {
  return text.toLowerCase() as Hex
}

export function sameHex(one: string, other: string): boolean {
  return one === other || lowerHex(one) === lowerHex(other)
}

/**
 * Decodes hexadecimal text, many times as fast as in JavaScript.
 *
 * @throws `TypeError` for anything but pairs of digits: Node would drop the rest.
 */
export function bytesOf(hex: Hex): Uint8Array {
  const bytes = Buffer.from(hex.slice(2), 'hex')
  if (bytes.length * 2 !== hex.length - 2) throw new TypeError('not pairs of hexadecimal digits')
  return bytes
}

export function hexOf(bytes: Uint8Array): Hex {
  const { buffer, byteOffset, byteLength } = bytes
  return `0x${Buffer.from(buffer, byteOffset, byteLength).toString('hex')}`
}
