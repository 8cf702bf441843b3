import { privateKeyToAddress } from 'viem/accounts'
import type { Address, Hex } from '../protocol/payment.js'

/** The address of the account that a private key is for. */
export function addressOfKey(key: Hex): Address {
  return privateKeyToAddress(key)
}
