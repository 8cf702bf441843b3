import type { Chain } from '../../../chain/chain.js'
import type { Asset } from '../../../money/assets.js'
import { blockTimeMs } from '../../../protocol/networks.js'
import { lowerHex } from '../../../protocol/hex.js'
import type { Address } from '../../../protocol/payment.js'
import type { RelayerPool } from '../../../relayer/pool.js'
import type { SettlementAsset } from '../erc3009.js'
import { PayerGuard, type PayerGuardOptions } from './payer-guard.js'
import { PendingSpend } from './pending-spend.js'
import { GasLimits } from './gas-limits.js'
import { GasShares } from './gas-shares.js'
import { domainSeparator } from '../digest.js'
import { TransferSimulator } from './simulate.js'

/** Dependencies of settling on one network. */
export interface SettlementNetwork {
  readonly chain: Chain
  readonly relayers: RelayerPool
  /** By lower-case address. */
  readonly assets: ReadonlyMap<Address, SettlementAsset>
  readonly gasLimits: GasLimits
  readonly pendingSpend: PendingSpend
  readonly simulator: TransferSimulator
  readonly payers: PayerGuard
  readonly gasShares: GasShares
  /** Called with what a payment or refund has cost, in wei. */
  readonly onGas?: ((project: string | undefined, wei: bigint) => void) | undefined
  /** Block time (ms). */
  readonly blockMs: number
}

/** Options of {@link createSettlementNetwork}. */
export type SettlementNetworkOptions = Pick<
  SettlementNetwork,
  'chain' | 'relayers' | 'assets' | 'onGas'
> &
  PayerGuardOptions

/** Makes the dependencies of settling on one network. */
export function createSettlementNetwork(parts: SettlementNetworkOptions): SettlementNetwork {
  const { chain, relayers, assets, onGas } = parts
  return {
    chain,
    relayers,
    assets,
    gasLimits: new GasLimits(chain),
    pendingSpend: new PendingSpend(chain),
    simulator: new TransferSimulator(chain),
    payers: new PayerGuard(parts),
    gasShares: new GasShares(),
    onGas,
    blockMs: blockTimeMs(chain.network),
  }
}

/** Prepares the tokens of a network. */
export function settlementAssets(assets: readonly Asset[]): ReadonlyMap<Address, SettlementAsset> {
  return new Map(
    assets.map(({ address: written, network: { chainId }, eip712, symbol, decimals }) => {
      const address = lowerHex(written)
      const separator = domainSeparator({ ...eip712, chainId, verifyingContract: address })
      return [address, { address, separator, symbol, decimals }] as const
    }),
  )
}
