/** The reference of a checkout, which its entries of `accepts` carry to the settlement. */
import { isReference } from '../../ledger/payment-details.js'
import type { Merchant } from '../../core/merchants/project.js'
import type { QuoteSigner, QuoteSubject } from '../../core/quotes/signed-quote.js'
import type { PaymentRequirements } from '../../shared/protocol/payment.js'

/**
 * Adds `extra.reference` to an entry: the reference, signed for this project and offer.
 *
 * Payers see it and send it back. They can neither write another one nor take that of another checkout
 * without taking its whole entry, which the shop sees when it compares entries.
 */
export async function withReference(
  quotes: QuoteSigner,
  merchant: Merchant,
  { entry, reference }: { readonly entry: PaymentRequirements; readonly reference: string },
) {
  const signed = await quotes.signReference(subjectOf(merchant, entry), reference)
  return { ...entry, extra: { ...entry.extra, reference: signed } }
}

/** Reads the reference of an entry; `undefined` without one, and where it was not signed for this entry. */
export async function checkoutReferenceOf(
  quotes: QuoteSigner,
  merchant: Merchant,
  entry: PaymentRequirements,
): Promise<string | undefined> {
  const signed = entry.extra?.['reference']
  if (typeof signed !== 'string') return undefined
  const reference = await quotes.readReference(subjectOf(merchant, entry), signed)
  return isReference(reference) ? reference : undefined
}

/** What the id of a checkout's offer is made for. */
export function offerSubjectOf(
  { project }: Pick<Merchant, 'project'>,
  { url, entry }: { readonly url: string; readonly entry: PaymentRequirements },
): QuoteSubject {
  return { request: ['project', project, 'resource', url], entry }
}

/** The offer's id names the resource of the checkout. */
function subjectOf({ project }: Merchant, entry: PaymentRequirements): QuoteSubject {
  return { request: ['project', project, 'offer', String(entry.extra?.['offerId'])], entry }
}
