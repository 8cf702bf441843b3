/** Schemas of the values in documents. */
import { z } from 'zod'
import { ADDRESS, parseUint256 } from './primitives.js'

export const uint256 = z.string().refine((text) => parseUint256(text) !== undefined, {
  error: 'must be a decimal integer below 2^256, without sign, spaces, exponent or leading zeros',
})

export const address = z.string().regex(ADDRESS, 'must be an address: 0x and 40 hexadecimal digits')

export const bytes32 = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'must be 32 bytes: 0x and 64 hexadecimal digits')

/** Long enough for an ERC-6492 wrapper, short enough to decode without further limits. */
export const signature = z
  .string()
  .max(8194)
  .regex(/^0x([0-9a-fA-F]{2})+$/, 'must be a signature: 0x and pairs of hexadecimal digits')
