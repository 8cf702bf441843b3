import { checkTerms, sameOffer } from '../facilitator/exact-evm/checks.js'
import { EXACT } from '../protocol/payment.js'
import type { PaymentPayload, PaymentRequirements } from '../protocol/payment.js'
import type { Reason } from '../protocol/reasons.js'
import type { Offer, PaidRoute } from './route.js'

/** Finds the entry of `accepts` that a payment was made for, or says why there is none. */
export function matchOffer(
  route: PaidRoute,
  offer: Offer,
  { payload, accepted }: { payload: PaymentPayload; accepted: PaymentRequirements },
): PaymentRequirements | Reason {
  if (accepted.scheme !== EXACT) return 'unsupported_scheme'
  const mismatch = checkTerms(accepted, route.merchant)
  if (mismatch !== undefined) return mismatch
  const paidFor = payload.resource?.['url']
  if (paidFor !== undefined && !sameUrl(paidFor, offer.resource.url)) return 'resource_mismatch'
  return offer.accepts.find((entry) => sameOffer(entry, accepted)) ?? 'accepted_mismatch'
}

function sameUrl(one: unknown, other: string): boolean {
  if (one === other) return true
  if (typeof one !== 'string' || !URL.canParse(one) || !URL.canParse(other)) return false
  return new URL(one).href === new URL(other).href
}
