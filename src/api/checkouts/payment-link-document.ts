/** How the API writes checkouts. */
import { isoTime } from '../../ledger/time-zone.js'
import type { Checkout } from '../../ledger/checkouts.js'

export function checkoutDocument(checkout: Checkout) {
  const { id, url, status, amount, currency, settlement, paidAt, expiresAt, createdAt } = checkout
  const { reference, description, successUrl, cancelUrl } = checkout
  return {
    id,
    url,
    status,
    amount,
    currency,
    ...(reference !== undefined && { reference }),
    ...(description !== undefined && { description }),
    ...(successUrl !== undefined && { successUrl }),
    ...(cancelUrl !== undefined && { cancelUrl }),
    ...(settlement !== undefined && { settlement }),
    ...(paidAt !== undefined && { paidAt: isoTime(paidAt) }),
    expiresAt: isoTime(expiresAt),
    createdAt: isoTime(createdAt),
  }
}
