import { getAddress } from 'viem/utils'
import type { AuthorizationKey } from '../../ledger/ledger.js'
import type { Address, ExactEvmPayload, Hex } from '../../protocol/payment.js'

/** What the payer signed (ERC-3009 `TransferWithAuthorization`), parsed. */
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

/** Parses an authorization whose shape was checked. Addresses and nonce become lower case. */
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

/** What identifies an authorization on chain and in the ledger. */
export function authorizationKey(
  { from, nonce }: Authorization,
  { chainId, asset }: { chainId: number; asset: Address },
): AuthorizationKey {
  return { chainId, asset, from, nonce }
}

/** An address as people and wallets write it: with the checksum of EIP-55. */
export function displayAddress(address: Address): Address {
  return getAddress(address)
}

/** The one form in which addresses and hashes are compared. */
export function lowerHex(text: string): Hex {
  return text.toLowerCase() as Hex
}
