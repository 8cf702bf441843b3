import { createECDH, getCurves } from 'node:crypto'
import type * as ViemAccounts from 'viem/accounts'
import { keccak_256 } from '@noble/hashes/sha3'
import { bytesOf, hexOf } from '../protocol/hex.js'
import type { Address, Hex } from '../protocol/payment.js'
import { checksumAddress } from './checksum-address.js'
import { loadPeer } from './load-peer.cjs'

export function addressOfKey(key: Hex): Address {
  // Bun has no such curve. Node need not wait until viem is loaded.
  if (!getCurves().includes('secp256k1'))
    return (loadPeer('viem/accounts') as typeof ViemAccounts).privateKeyToAddress(key)
  const curve = createECDH('secp256k1')
  curve.setPrivateKey(bytesOf(key))
  // Without the byte that says that both coordinates follow.
  const publicKey = curve.getPublicKey().subarray(1)
  return checksumAddress(hexOf(keccak_256(publicKey).subarray(12)))
}
