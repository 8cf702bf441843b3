import type { Chain } from '../../chain/chain.js'
import type { Asset } from '../../money/assets.js'
import { blockTimeMs } from '../../protocol/block-time.js'
import type { Address, Hex } from '../../protocol/payment.js'
import type { RelayerPool } from '../../relayer/pool.js'
import { lowerHex } from './authorization.js'
import { domainSeparator } from './verify/digest.js'
import { createGasLimits, type GasLimits } from './settle/gas-limits.js'
import { createSimulator, type SimulateTransfer } from './verify/simulate.js'
import { createPayerGuard, type PayerGuard, type PayerGuardOptions } from './payer-guard.js'
import { createPendingSpend, type PendingSpend } from './pending-spend.js'

/** A token we settle, with its EIP-712 domain hashed once: ours, never the client's `extra`. */
export interface SettlementAsset {
  readonly address: Address
  readonly separator: Hex
}

/** All that settling on one network takes. */
export interface SettlementNetwork {
  readonly chain: Chain
  readonly relayers: RelayerPool
  /** By lower-case address. */
  readonly assets: ReadonlyMap<Address, SettlementAsset>
  readonly gasLimits: GasLimits
  readonly pendingSpend: PendingSpend
  readonly simulate: SimulateTransfer
  readonly payers: PayerGuard
  /** Milliseconds between two blocks. */
  readonly blockMs: number
}

/** What {@link createSettlementNetwork} is given. */
export type SettlementNetworkOptions = Pick<SettlementNetwork, 'chain' | 'relayers' | 'assets'> &
  PayerGuardOptions

/** Puts together what settling on one network takes. */
export function createSettlementNetwork(parts: SettlementNetworkOptions): SettlementNetwork {
  const { chain, relayers, assets } = parts
  return {
    ...{ chain, relayers, assets },
    gasLimits: createGasLimits(parts),
    pendingSpend: createPendingSpend(chain),
    simulate: createSimulator(chain),
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
