import { takesErc3009, type Asset } from '../../../../shared/money/assets.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import type { Address, Hex } from '../../../../shared/protocol/payment.js'
import { domainSeparator } from '../../../../shared/crypto/eip712.js'
import { permit2Separator } from '../permit2/contracts.js'

/** A token we settle, with its EIP-712 domain hashed once: ours, never the client's `extra`. */
export interface SettlementAsset {
  readonly address: Address
  /** Absent if it is not taken by ERC-3009. */
  readonly separator?: Hex | undefined
  readonly permit2Separator: Hex
  /** As configured here. */
  readonly symbol?: string
  readonly decimals?: number
}

export function settlementAssets(assets: readonly Asset[]): ReadonlyMap<Address, SettlementAsset> {
  return new Map(
    assets.map((asset) => {
      const { address: written, network, symbol, decimals } = asset
      const address = lowerHex(written)
      const token = { chainId: network.chainId, verifyingContract: address }
      const separator = takesErc3009(asset)
        ? domainSeparator({ ...asset.eip712, ...token })
        : undefined
      const settled = { address, separator, permit2Separator: permit2Separator(network.chainId) }
      return [address, { ...settled, symbol, decimals }] as const
    }),
  )
}
