import type { Asset } from '../../../money/assets.js'
import { lowerHex } from '../../../protocol/hex.js'
import type { Address, Hex } from '../../../protocol/payment.js'
import { domainSeparator } from '../eip712.js'
import { permit2Separator } from '../permit2/contracts.js'

/** A token we settle, with its EIP-712 domain hashed once: ours, never the client's `extra`. */
export interface SettlementAsset {
  readonly address: Address
  readonly separator: Hex
  /** That of Permit2 on the token's chain. */
  readonly permit2Separator: Hex
  /** As configured here. */
  readonly symbol?: string
  readonly decimals?: number
}

/** Prepares the tokens of a network. */
export function settlementAssets(assets: readonly Asset[]): ReadonlyMap<Address, SettlementAsset> {
  return new Map(
    assets.map(({ address: written, network: { chainId }, eip712, symbol, decimals }) => {
      const address = lowerHex(written)
      const separator = domainSeparator({ ...eip712, chainId, verifyingContract: address })
      const settled = { address, separator, permit2Separator: permit2Separator(chainId) }
      return [address, { ...settled, symbol, decimals }] as const
    }),
  )
}
