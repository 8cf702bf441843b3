import type { Asset, DomainName } from '../../../../shared/money/assets.js'
import type { OfferExtra } from '../../scheme.js'

/** Finds the domain in which a token takes approvals by signature (EIP-2612). */
export type FindPermitDomain = (asset: Asset) => DomainName | undefined

/**
 * What an offer of a payment by Permit2 says beside its amount. With a domain, clients may sign their approval to
 * Permit2 as well: it is settled with the payment.
 */
export function permit2Extra(domain: DomainName | undefined): OfferExtra {
  return { ...domain, assetTransferMethod: 'permit2' }
}
