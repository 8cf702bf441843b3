/** Makes the ledger's entry of a payment. */
import type { AppliedRate } from '../shared/money/rates.js'
import type { Payment, ReadablePayment } from '../shared/protocol/decoded-payment.js'
import { membersOf } from '../shared/protocol/document.js'
import { lowerHex } from '../shared/protocol/hex.js'
import { CHECKOUT_ID_PREFIX } from '../shared/protocol/offer-id.js'
import { recordId, type LedgerEntry } from './record.js'
import { boundDetails, type PaymentDetails } from './payment-details.js'
import { hashOf, type Purchase } from './purchase.js'

type PurchaseTerm = 'method' | 'url' | 'route' | 'price' | 'body' | 'client' | 'asker'

export interface EntryTerms {
  readonly project?: string | undefined
  readonly appliedRate?: AppliedRate | undefined
  /** The resource that is bought, and the buyer. */
  readonly purchase?:
    (Partial<Record<PurchaseTerm, string | undefined>> & Pick<Purchase, 'access'>) | undefined
  /** Further details for its record. Of a refund, those of its payment. */
  readonly details?: PaymentDetails | undefined
}

/**
 * The entry of a payment.
 *
 * @param refundOf - The payment that it refunds, if any.
 */
export function ledgerEntryOf(
  payment: ReadablePayment,
  terms: EntryTerms | undefined,
  refundOf?: string,
): LedgerEntry {
  const { key, facts, requirements } = payment
  const { payTo, amount: value, validBefore } = facts
  const { project, appliedRate } = terms ?? {}
  const purchase = purchaseOf(payment, terms)
  const details = detailsOf(payment, terms)
  const asset = lowerHex(requirements.asset)
  return {
    ...key,
    scheme: requirements.scheme,
    asset,
    payTo,
    value,
    validBefore,
    project,
    appliedRate,
    purchase,
    details,
    refundOf,
  }
}

export function detailsOf(payment: Payment, terms: EntryTerms | undefined): PaymentDetails {
  const resource = urlOf(payment, terms)
  return boundDetails({ resource, method: terms?.purchase?.method, ...terms?.details })
}

/** The URL of the resource: the caller's, or else the payment's. */
function urlOf({ payload }: Payment, terms: EntryTerms | undefined): string | undefined {
  return terms?.purchase?.url ?? textOf(payload.resource?.['url'])
}

/**
 * Hashes the purchase that a payment is presented for.
 *
 * The payment itself fills in what the caller leaves out.
 */
function purchaseOf(payment: ReadablePayment, terms: EntryTerms | undefined): Purchase {
  const { payload, paymentId, key } = payment
  const { method, route, price, body, client, asker, access } = terms?.purchase ?? {}
  const url = urlOf(payment, terms)
  const extra = membersOf(payload.accepted['extra'])
  const offerId = textOf(extra['offerId'])
  // A checkout gives the same id to all its visitors: it does not prove who the buyer is.
  const checkoutId = offerId?.startsWith(CHECKOUT_ID_PREFIX) ? offerId : undefined
  const proof = checkoutId === undefined ? offerId : undefined
  const id = paymentId.ok ? paymentId.value : undefined
  // The address counts only where nothing better proves the buyer.
  const address = proof === undefined && id === undefined ? client : undefined
  return {
    // Without a URL, a payment is bound to nothing but its asker.
    resource: hashOf(
      method,
      url,
      textOf(extra['quote']),
      checkoutId,
      url === undefined ? asker : '',
      body,
      route,
    ),
    ...(price !== undefined && { price }),
    ...(proof !== undefined && { offer: hashOf(proof) }),
    ...(id !== undefined && { paymentId: hashOf(id) }),
    ...(address !== undefined && { client: hashOf(recordId(key), address) }),
    ...(asker !== undefined && { asker: hashOf(asker) }),
    ...(access && { access }),
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
