/** The executor: a contract that makes calls for the relayers that its code names (contracts/executor.yul). */
import { keccak_256 } from '@noble/hashes/sha3'
import { checksumAddress } from '../../shared/crypto/checksum-address.js'
import { bytesOf, hexOf, lowerHex } from '../../shared/protocol/hex.js'
import type { Address, Hex } from '../../shared/protocol/payment.js'
import { executorCreation, executorRuntime } from './executor-code.js'
import type { Call } from './types.js'

/** The deterministic deployer: deploys what follows 32 bytes of salt, at the address of EIP-1014. */
export const DEPLOYER = '0x4e59b44847b379578588920cA78FbF26c0B4956C'

const SALT: Hex = `0x${'00'.repeat(32)}`

export interface ExecutorContract {
  readonly address: Address
  readonly code: Hex
  /** Deploys it. Anyone may send this call. */
  readonly deployment: Call
}

/** Describes the executor of these relayers; their order does not matter. */
export function executorOf(relayers: readonly Address[]): ExecutorContract {
  const list = [...new Set(relayers.map(lowerHex))].toSorted()
  const creation = joined(executorCreation, ...list)
  return {
    address: create2Address(creation),
    code: joined(executorRuntime, ...list),
    deployment: { to: DEPLOYER, data: joined(SALT, creation) },
  }
}

/** The address at which the deployer deploys (EIP-1014). */
function create2Address(creation: Hex): Address {
  const hash = hexOf(keccak_256(bytesOf(creation)))
  const named = keccak_256(bytesOf(joined('0xff', DEPLOYER, SALT, hash)))
  return checksumAddress(hexOf(named.subarray(12)))
}

function joined(...parts: readonly Hex[]): Hex {
  return `0x${parts.map((part) => part.slice(2)).join('')}`
}
