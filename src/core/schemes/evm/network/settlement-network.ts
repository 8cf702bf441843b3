import type { Chain } from '../../../chain/chain.js'
import { NEVER_FACTORIES } from '../../../chain/account-factories.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import { blockTimeMs } from '../../../../shared/protocol/networks.js'
import type { Address } from '../../../../shared/protocol/payment.js'
import type { RelayerPool } from '../../../relayer/pool.js'
import { Deployments } from './deployments.js'
import { PayerGuard, type PayerGuardOptions } from './payer-guard.js'
import { PendingSpend } from './pending-spend.js'
import { GasLimits } from './gas-limits.js'
import { GasShares } from './gas-shares.js'
import type { ProjectGas } from './project-gas.js'
import type { SettlementAsset } from '../transfer/settlement-asset.js'
import { TransferSimulator } from './simulate.js'

export interface SettlementNetwork {
  readonly chain: Chain
  readonly relayers: RelayerPool
  /** By lower-case address. */
  readonly assets: ReadonlyMap<Address, SettlementAsset>
  readonly gasLimits: GasLimits
  readonly pendingSpend: PendingSpend
  readonly simulator: TransferSimulator
  readonly payers: PayerGuard
  readonly deployments: Deployments
  readonly gasShares: GasShares
  readonly projectGas: ProjectGas
  /** Contracts that may deploy accounts of payers (ERC-6492), in lower case. */
  readonly factories: ReadonlySet<Address>
  /** Called with what a payment or refund has cost, in wei. */
  readonly onGas?: ((project: string | undefined, wei: bigint) => void) | undefined
  /** Block time (ms). */
  readonly blockMs: number
}

export type SettlementNetworkOptions = Pick<
  SettlementNetwork,
  'chain' | 'relayers' | 'assets' | 'onGas' | 'projectGas'
> &
  PayerGuardOptions & { readonly allowedFactories?: readonly Address[] | undefined }

export function createSettlementNetwork(parts: SettlementNetworkOptions): SettlementNetwork {
  const { chain, relayers, assets, onGas, projectGas } = parts
  return {
    chain,
    relayers,
    assets,
    gasLimits: new GasLimits(chain),
    pendingSpend: new PendingSpend(chain, parts.now),
    simulator: new TransferSimulator(chain),
    payers: new PayerGuard(parts),
    deployments: new Deployments(),
    gasShares: new GasShares(assets),
    projectGas,
    factories: usableFactories(parts),
    onGas,
    blockMs: blockTimeMs(chain.network),
  }
}

/** The allowed factories, without the contracts and accounts that payments depend on. */
function usableFactories({
  allowedFactories = [],
  assets,
  relayers,
}: SettlementNetworkOptions): ReadonlySet<Address> {
  const { addresses, executor } = relayers
  const never = new Set(
    [
      ...NEVER_FACTORIES,
      ...assets.keys(),
      ...addresses,
      ...(executor ? [executor.address] : []),
    ].map(lowerHex),
  )
  return new Set(allowedFactories.map(lowerHex).filter((factory) => !never.has(factory)))
}
