import { createECDH, getCurves } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3'
import { bytesOf, hexOf } from '../protocol/hex.js'
import type { Address, Hex } from '../protocol/payment.js'
import { checksumAddress } from './checksum-address.js'
import { loadCurve } from './native-secp256k1.js'

export function addressOfKey(key: Hex): Address {
  return addressOfPublicKey(publicKeyOf(key))
}

export function addressOfPublicKey(publicKey: Uint8Array): Address {
  return checksumAddress(hexOf(keccak_256(publicKey).subarray(12)))
}

/** Both coordinates, 64 bytes. */
export function publicKeyOf(key: Hex): Uint8Array {
  // Bun has no such curve. Node need not wait until another one is loaded.
  if (!getCurves().includes('secp256k1'))
    return loadCurve().getPublicKey(bytesOf(key), false).subarray(1)
  const curve = createECDH('secp256k1')
  curve.setPrivateKey(bytesOf(key))
  // Without the byte that says that both coordinates follow.
  return curve.getPublicKey().subarray(1)
}
