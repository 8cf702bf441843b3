/** The authorization of an `exact` payment on EVM (ERC-3009), in parsed form. */
import { lowerHex } from './hex.js'
import type { Address, ExactEvmPayload, Hex } from './payment.js'

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
export function parseAuthorization(wire: ExactEvmPayload['authorization']): Authorization {
  return {
    from: lowerHex(wire.from),
    to: lowerHex(wire.to),
    value: BigInt(wire.value),
    validAfter: BigInt(wire.validAfter),
    validBefore: BigInt(wire.validBefore),
    nonce: lowerHex(wire.nonce),
  }
}
