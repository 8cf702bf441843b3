import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { AppliedRate } from '../money/rates.js'
import type { PaymentRequirements } from '../protocol/payment.js'
import { findNetwork } from '../protocol/networks.js'
import { CHECKOUT_ID_PREFIX } from '../protocol/offer-id.js'
import type { Quote } from './quote.js'

/** What a signed quote promises. */
export interface QuoteTerms {
  /** Unix seconds after which the quote is no longer honoured. */
  readonly expiresAt: number
  /** The rate that the amount comes from, where one was needed. */
  readonly applied?: AppliedRate | undefined
}

/** What a quote is for. It is not valid for anything else. */
export interface QuoteSubject {
  /** Method, URL and whatever else distinguishes what the request asks for. */
  readonly request: readonly string[]
  /** The quoted entry of `accepts`. */
  readonly entry: Pick<PaymentRequirements, 'network' | 'asset' | 'payTo' | 'amount'>
}

/** Signs quotes and verifies them. */
export interface QuoteSigner {
  /** Writes the quote that goes into `extra.quote`. */
  sign(subject: QuoteSubject, terms: QuoteTerms): Promise<string>
  /** Reads a quote; `undefined` where it was signed for another subject or with another secret. */
  read(quote: string, subject: QuoteSubject): Promise<QuoteTerms | undefined>
}

/** Makes offer ids that are the same each time for the same offer. */
export interface OfferNamer {
  /** Returns 128 bits that cannot be guessed, for `extra.offerId` of a checkout. */
  nameOffer(subject: QuoteSubject): Promise<string>
}

/** When a quote is made, and for which request. */
export interface QuoteOccasion {
  /** See {@link QuoteSubject}. */
  readonly request: QuoteSubject['request']
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** Adds `extra.quote` to an entry; it expires after the entry's `maxTimeoutSeconds`. */
export async function signQuote(
  signer: QuoteSigner,
  { entry, applied }: Quote,
  { request, now }: QuoteOccasion,
): Promise<Quote> {
  const expiresAt = Math.floor(now / 1000) + entry.maxTimeoutSeconds
  const quote = await signer.sign({ request, entry }, { expiresAt, applied })
  return { entry: { ...entry, extra: { ...entry.extra, quote } }, applied }
}

const VERSION = 'v1'

/** 128 bits. */
const OFFER_ID_BYTES = 16

/** Quotes that we sign are shorter. */
const MAX_QUOTE_LENGTH = 2048

const QUOTE = /^v1\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{43})$/

const termsSchema = z.object({
  e: z.int(),
  a: z
    .object({
      price: z.string(),
      currency: z.string(),
      rate: z.string(),
      asOf: z.int(),
      source: z.string(),
    })
    .optional(),
})

/**
 * Signs quotes with HMAC-SHA256, as `v1.<terms>.<signature>` in base64url.
 *
 * @param secret - Called for each signature: the secret may be in a database.
 */
export function createQuoteSigner(secret: () => Promise<string>): QuoteSigner & OfferNamer {
  const signatureOf = (terms: string, subject: QuoteSubject): Promise<Buffer> =>
    hmac(`x402-quote-${VERSION}`, terms, subject)

  const hmac = async (purpose: string, terms: string, subject: QuoteSubject): Promise<Buffer> => {
    const { network, asset, payTo, amount } = subject.entry
    // As JSON, so that no part can be shifted into its neighbour.
    const signed = JSON.stringify([
      purpose,
      terms,
      findNetwork(network)?.caip2 ?? network,
      asset.toLowerCase(),
      payTo.toLowerCase(),
      amount,
      ...subject.request,
    ])
    return createHmac('sha256', await secret())
      .update(signed)
      .digest()
  }

  return {
    async nameOffer(subject) {
      const name = await hmac(`x402-offer-${VERSION}`, '', subject)
      return CHECKOUT_ID_PREFIX + name.toString('base64url', 0, OFFER_ID_BYTES)
    },
    async sign(subject, { expiresAt, applied }) {
      const terms = JSON.stringify({ e: expiresAt, ...(applied && { a: applied }) })
      const encoded = Buffer.from(terms).toString('base64url')
      const signature = await signatureOf(encoded, subject)
      return `${VERSION}.${encoded}.${signature.toString('base64url')}`
    },
    async read(quote, subject) {
      if (quote.length > MAX_QUOTE_LENGTH) return undefined
      const [, encoded, signature] = QUOTE.exec(quote) ?? []
      if (encoded === undefined || signature === undefined) return undefined
      const presented = Buffer.from(signature, 'base64url')
      if (!timingSafeEqual(presented, await signatureOf(encoded, subject))) return undefined
      const terms = termsSchema.parse(JSON.parse(Buffer.from(encoded, 'base64url').toString()))
      return { expiresAt: terms.e, applied: terms.a }
    },
  }
}
