import type { AuthorizationKey, LedgerEntry } from '../../ledger/ledger.js'
import { recordId } from '../../ledger/ledger.js'
import { hashOf, type Purchase } from '../../ledger/purchase.js'
import { CHECKOUT_ID_PREFIX } from '../../protocol/offer-id.js'
import { readPaymentId } from '../../protocol/payment-identifier.js'
import type { PaymentPayload } from '../../protocol/payment.js'
import type { Authorization } from './authorization.js'
import type { MerchantTerms } from '../scheme.js'

/** A payment as it is presented, read. */
export interface PresentedEntry {
  readonly payload: PaymentPayload
  readonly terms: MerchantTerms | undefined
  readonly authorization: Authorization
  readonly key: AuthorizationKey
}

/** What the ledger keeps of a payment from its reservation on. */
export function entryOf({ payload, terms, authorization, key }: PresentedEntry): LedgerEntry {
  const { to: payTo, value, validBefore } = authorization
  const { project, appliedRate } = terms ?? {}
  const purchase = purchaseOf(payload, terms, key)
  return { ...key, payTo, value, validBefore, project, appliedRate, purchase }
}

/**
 * Hashes what a payment is presented for.
 *
 * Where the caller does not say what is bought, it is what the payment itself names.
 */
function purchaseOf(
  payload: PaymentPayload,
  terms: MerchantTerms | undefined,
  key: AuthorizationKey,
): Purchase {
  const { method, url = textOf(payload.resource?.['url']), client } = terms?.purchase ?? {}
  const extra = membersOf(payload.accepted['extra'])
  const offerId = textOf(extra['offerId'])
  // One that every visitor of a checkout is given is no proof of the buyer.
  const checkoutId = offerId?.startsWith(CHECKOUT_ID_PREFIX) ? offerId : undefined
  const paymentId = readPaymentId(payload)
  const id = paymentId.ok ? paymentId.value : undefined
  return {
    resource: hashOf(method, url, textOf(extra['quote']), checkoutId),
    ...(offerId !== undefined && checkoutId === undefined && { offer: hashOf(offerId) }),
    ...(id !== undefined && { paymentId: hashOf(id) }),
    ...(client !== undefined && { client: hashOf(recordId(key), client) }),
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function membersOf(value: unknown): { readonly [member: string]: unknown } {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
