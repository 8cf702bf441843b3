/** The forms of addresses and numbers on the wire. */

/** Exclusive upper bound of Solidity's `uint256`. */
export const UINT256_LIMIT = 1n << 256n

/** Canonical decimal: no sign, space, exponent or leading zero; 78 digits hold every `uint256`. */
const CANONICAL_UINT = /^(0|[1-9][0-9]{0,77})$/

/** An address, whatever its checksum. */
export const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Reads a `uint256` from its canonical decimal form; `undefined` for any other text. */
export function parseUint256(text: string): bigint | undefined {
  if (!CANONICAL_UINT.test(text)) return undefined
  const value = BigInt(text)
  return value < UINT256_LIMIT ? value : undefined
}

/** Type guard for the form of an address, whatever its checksum. */
export function isHexAddress(text: string): text is `0x${string}` {
  return ADDRESS.test(text)
}
