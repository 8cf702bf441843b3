import { z } from 'zod'
import type { ReadablePayment } from '../../../../shared/protocol/decoded-payment.js'
import { lowerHex } from '../../../../shared/protocol/hex.js'
import { methodOf } from '../../../../shared/protocol/same-offer.js'
import { domainSeparator } from '../../../../shared/crypto/eip712.js'
import { permit2Separator } from '../permit2/contracts.js'
import type { SettlementAsset } from '../transfer/settlement-asset.js'

/** The EIP-712 domain of a token, as an offer carries it. */
const eip712Schema = z.object({ name: z.string(), version: z.string() })

/**
 * A token that is not configured here, by the domain in the offer that was paid.
 *
 * Its payer signed under that domain. Nobody else could make a signature for another one.
 */
export function assetAsOffered({
  key: { chainId },
  requirements,
}: ReadablePayment): SettlementAsset | undefined {
  const address = lowerHex(requirements.asset)
  const domain = eip712Schema.safeParse(requirements.extra)
  // Permit2 does without the token's domain.
  if (!domain.success && methodOf(requirements) !== 'permit2') return undefined
  const { name = '', version = '' } = domain.data ?? {}
  const separator = domainSeparator({ name, version, chainId, verifyingContract: address })
  return { address, separator, permit2Separator: permit2Separator(chainId) }
}
