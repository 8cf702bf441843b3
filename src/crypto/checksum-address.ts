import { getAddress } from 'viem/utils'
import type { Address } from '../protocol/payment.js'

/** An address as people and wallets write it: with the checksum of EIP-55. */
export function checksumAddress(address: Address): Address {
  return getAddress(address)
}
