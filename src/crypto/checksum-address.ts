import { getAddress } from 'viem/utils'
import type { Address } from '../protocol/payment.js'

/** Writes an address with its checksum (ERC-55). */
export function checksumAddress(address: Address): Address {
  return getAddress(address)
}
