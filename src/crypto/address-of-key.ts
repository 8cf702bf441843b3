import { createECDH } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3'
import { bytesOf, hexOf } from '../protocol/hex.js'
import type { Address, Hex } from '../protocol/payment.js'
import { checksumAddress } from './checksum-address.js'

/** The address of the account that a private key is for. */
export function addressOfKey(key: Hex): Address {
  const curve = createECDH('secp256k1')
  curve.setPrivateKey(bytesOf(key))
  // Without the byte that says that both coordinates follow.
  const publicKey = curve.getPublicKey().subarray(1)
  return checksumAddress(hexOf(keccak_256(publicKey).subarray(12)))
}
