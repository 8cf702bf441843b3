/** ERC-3009 on the wire: the authorization of a payment, and its parsed form. */
import { z } from 'zod'
import { parseDocument, type Parsed } from './document.js'
import { lowerHex } from './hex.js'
import type { Address, Hex } from './payment.js'
import { address, bytes32, signature, uint256 } from './wire-schemas.js'

/** `payload` of a payment by ERC-3009. Numbers are canonical decimal strings. */
export interface Erc3009Payload {
  readonly signature: string
  readonly authorization: {
    readonly from: string
    readonly to: string
    readonly value: string
    readonly validAfter: string
    readonly validBefore: string
    readonly nonce: string
  }
}

export const erc3009Schema = z.looseObject({
  signature,
  authorization: z.looseObject({
    from: address,
    to: address,
    value: uint256,
    validAfter: uint256,
    validBefore: uint256,
    nonce: bytes32,
  }),
}) satisfies z.ZodType<Erc3009Payload>

export const parseErc3009Payload = (value: unknown): Parsed<Erc3009Payload> =>
  parseDocument<Erc3009Payload>(erc3009Schema, value)

/** The payer's signed message (`TransferWithAuthorization`). Addresses and nonce are lower case. */
export interface Authorization {
  readonly from: Address
  readonly to: Address
  /** Token units. */
  readonly value: bigint
  /** Unix seconds; valid only after. */
  readonly validAfter: bigint
  /** Unix seconds; valid only before. */
  readonly validBefore: bigint
  readonly nonce: Hex
}

export const AUTHORIZATION_TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

/** Parses an authorization of the right shape. */
export function parseAuthorization(wire: Erc3009Payload['authorization']): Authorization {
  return {
    from: lowerHex(wire.from),
    to: lowerHex(wire.to),
    value: BigInt(wire.value),
    validAfter: BigInt(wire.validAfter),
    validBefore: BigInt(wire.validBefore),
    nonce: lowerHex(wire.nonce),
  }
}
