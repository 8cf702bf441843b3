import { concatHex, hexToBigInt, numberToHex, slice } from 'viem/utils'
import type { Hex } from '../../src/shared/protocol/payment.js'

/** Order of secp256k1's group. */
export const SECP256K1_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The other forms of a 65-byte signature with v 27 or 28, which anybody can make of it. */
export function rewrite(signature: Hex): Record<'v01' | 'highS' | 'compact', Hex> {
  const r = slice(signature, 0, 32)
  const s = hexToBigInt(slice(signature, 32, 64))
  const odd = slice(signature, 64) === '0x1c'
  const word = (value: bigint): Hex => numberToHex(value, { size: 32 })
  return {
    v01: concatHex([r, word(s), odd ? '0x01' : '0x00']),
    highS: concatHex([r, word(SECP256K1_ORDER - s), odd ? '0x1b' : '0x1c']),
    /** EIP-2098. */
    compact: concatHex([r, word(s | (odd ? 1n << 255n : 0n))]),
  }
}
