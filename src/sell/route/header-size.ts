/** How large the `PAYMENT-REQUIRED` headers of a gateway are: proxies and clients have limits. */
import type { FacilitatorCore } from '../../core/facilitator/facilitator.js'
import type { Merchant } from '../../core/merchants/project.js'
import { Quoter } from '../../core/quotes/quote.js'
import type { RateSource } from '../../shared/money/rates.js'
import type { NetworkNameStyle } from '../../shared/protocol/networks.js'
import { EXACT } from '../../shared/protocol/payment.js'
import { NOT_PAID, paymentRequired, type AskedPayment } from './payment-required.js'

/** A URL as long as many are, where the real one is not known yet. */
export const TYPICAL_URL = `https://${'x'.repeat(56)}`

/** Most bytes of a URL that count: the client chooses how long it is. */
const MAX_URL_BYTES = 256

/** Token units of an offer where the price is not known. */
const TYPICAL_AMOUNT = 1_000_000n

export class HeaderSizes {
  readonly #largest = new Map<string, number>()

  note(project: string, bytes: number): void {
    this.#largest.set(project, Math.max(bytes, this.#largest.get(project) ?? 0))
  }

  /** The largest one of a merchant; of a typical route if none has asked yet. */
  of(merchant: Merchant, context: TypicalContext): number {
    return this.#largest.get(merchant.project) ?? typicalHeaderBytes(context, merchant)
  }
}

export function headerBytesOf(asked: Omit<AskedPayment, 'dialects'>): number {
  const text = JSON.stringify(paymentRequired(asked, { error: NOT_PAID }))
  return Math.ceil(Buffer.byteLength(text) / 3) * 4
}

/** The part of a header's length that does not depend on how long a URL a client asks for. */
export function ownHeaderBytes(headerBytes: number, url: string): number {
  const excess = Math.max(0, Buffer.byteLength(url) - MAX_URL_BYTES)
  return headerBytes - Math.ceil((excess * 4) / 3)
}

/** Dependencies of {@link typicalHeaderBytes}. */
interface TypicalContext {
  readonly rates: RateSource
  readonly networkNames: NetworkNameStyle
  readonly issuer?: AskedPayment['issuer']
  readonly facilitator: Pick<FacilitatorCore, 'formats'>
}

/** Bytes of the header for a route without a description that takes all tokens of a merchant. */
function typicalHeaderBytes(
  { rates, networkNames, issuer, facilitator }: TypicalContext,
  merchant: Merchant,
): number {
  const quoter = new Quoter(merchant, rates, facilitator.formats)
  const offered = merchant.accepts.filter(
    (asset) => merchant.crossCurrency || asset.currency === merchant.currency,
  )
  const accepts = offered.flatMap((asset) =>
    quoter.entries({ scheme: EXACT, asset, amount: TYPICAL_AMOUNT }, { networkNames }),
  )
  return headerBytesOf({ resource: { url: TYPICAL_URL, description: '' }, accepts, issuer })
}

/** Writes a number of bytes for people: `8,192`. */
export function formatBytes(bytes: number): string {
  // The locale's own way loads its data, which takes 30 ms.
  return String(bytes).replaceAll(/\B(?=(\d{3})+$)/g, ',')
}
