import type { Chain } from '../../chain/chain.js'
import type { Asset } from '../../money/assets.js'
import { blockTimeMs } from '../../protocol/block-time.js'
import type { Address, Hex } from '../../protocol/payment.js'
import type { RelayerPool } from '../relayer/relayer-pool.js'
import { lowerHex } from './authorization.js'
import { domainSeparator } from './digest.js'
import { createGasBook, type GasBook } from './gas.js'
import { createLook, type LookAtTransfer } from './look.js'
import { createPayerGuard, type PayerGuard, type PayerGuardOptions } from './payer-guard.js'
import { createPendingSpend, type PendingSpend } from './pending-spend.js'

/** A token we settle, with its EIP-712 domain hashed once: ours, never the client's `extra`. */
export interface SettlementAsset {
  readonly address: Address
  readonly separator: Hex
}

/** All that settling on one network takes. */
export interface NetworkCore {
  readonly chain: Chain
  readonly relayers: RelayerPool
  /** By lower-case address. */
  readonly assets: ReadonlyMap<Address, SettlementAsset>
  readonly gas: GasBook
  readonly pendingSpend: PendingSpend
  readonly look: LookAtTransfer
  readonly payers: PayerGuard
  /** Milliseconds between two blocks. */
  readonly blockMs: number
}

/** What {@link createNetworkCore} is given. */
export type NetworkParts = Pick<NetworkCore, 'chain' | 'relayers' | 'assets'> & PayerGuardOptions

/** Puts together what settling on one network takes. */
export function createNetworkCore(parts: NetworkParts): NetworkCore {
  const { chain, relayers, assets } = parts
  return {
    ...{ chain, relayers, assets },
    gas: createGasBook(parts),
    pendingSpend: createPendingSpend(chain),
    look: createLook(chain),
    payers: createPayerGuard(parts),
    blockMs: blockTimeMs(chain.network),
  }
}

/** Prepares the tokens of a network. */
export function settlementAssets(assets: readonly Asset[]): ReadonlyMap<Address, SettlementAsset> {
  return new Map(
    assets.map(({ address, network, eip712 }) => {
      const key = lowerHex(address)
      const separator = domainSeparator({
        ...eip712,
        chainId: network.chainId,
        verifyingContract: key,
      })
      return [key, { address: key, separator }]
    }),
  )
}
