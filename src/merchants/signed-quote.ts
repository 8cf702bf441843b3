import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { AppliedRate } from '../money/rates.js'
import { EXACT, type PaymentRequirements } from '../protocol/payment.js'
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
  readonly entry: Pick<PaymentRequirements, 'scheme' | 'network' | 'asset' | 'payTo' | 'amount'>
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

/** Signs quotes with HMAC-SHA256, as `v1.<terms>.<signature>` in base64url. */
export class QuoteSigner {
  readonly #secret: () => Promise<string>

  /** @param secret - Called for each signature: the secret may be in a database. */
  constructor(secret: () => Promise<string>) {
    this.#secret = secret
  }

  /** Makes the `extra.offerId` of a checkout: 128 bits, the same each time for the same offer. */
  async nameOffer(subject: QuoteSubject): Promise<string> {
    const name = await this.#hmac(`x402-offer-${VERSION}`, '', subject)
    return CHECKOUT_ID_PREFIX + name.toString('base64url', 0, OFFER_ID_BYTES)
  }

  /** Writes the quote that goes into `extra.quote`. */
  async sign(subject: QuoteSubject, { expiresAt, applied }: QuoteTerms): Promise<string> {
    const terms = JSON.stringify({ e: expiresAt, ...(applied && { a: applied }) })
    const encoded = Buffer.from(terms).toString('base64url')
    const signature = await this.#hmac(`x402-quote-${VERSION}`, encoded, subject)
    return `${VERSION}.${encoded}.${signature.toString('base64url')}`
  }

  /** Reads a quote; `undefined` where it was signed for another subject or with another secret. */
  async read(quote: string, subject: QuoteSubject): Promise<QuoteTerms | undefined> {
    const encoded = await this.#verified(`x402-quote-${VERSION}`, quote, subject)
    if (encoded === undefined) return undefined
    const terms = termsSchema.parse(JSON.parse(Buffer.from(encoded, 'base64url').toString()))
    return { expiresAt: terms.e, applied: terms.a }
  }

  /** Writes the reference of a checkout that goes into `extra.reference`. */
  async signReference(subject: QuoteSubject, reference: string): Promise<string> {
    const encoded = Buffer.from(reference).toString('base64url')
    const signature = await this.#hmac(`x402-reference-${VERSION}`, encoded, subject)
    return `${VERSION}.${encoded}.${signature.toString('base64url')}`
  }

  /** Reads a reference; `undefined` where it was signed for another subject or with another secret. */
  async readReference(subject: QuoteSubject, signed: string): Promise<string | undefined> {
    const encoded = await this.#verified(`x402-reference-${VERSION}`, signed, subject)
    return encoded && Buffer.from(encoded, 'base64url').toString()
  }

  /** The signed part of a text; `undefined` where it was not signed for this. */
  async #verified(
    purpose: string,
    signed: string,
    subject: QuoteSubject,
  ): Promise<string | undefined> {
    if (signed.length > MAX_QUOTE_LENGTH) return undefined
    const [, encoded, signature] = QUOTE.exec(signed) ?? []
    if (encoded === undefined || signature === undefined) return undefined
    const own = await this.#hmac(purpose, encoded, subject)
    return timingSafeEqual(Buffer.from(signature, 'base64url'), own) ? encoded : undefined
  }

  async #hmac(purpose: string, terms: string, { entry, request }: QuoteSubject): Promise<Buffer> {
    const { scheme, network, asset, payTo, amount } = entry
    // Without its name: quotes for `exact` are older than other schemes.
    const use = scheme === EXACT ? purpose : `${purpose} ${scheme}`
    const caip2 = findNetwork(network)?.caip2 ?? network
    const parties = [asset.toLowerCase(), payTo.toLowerCase()]
    // As JSON, so that no part can be shifted into its neighbour.
    const signed = JSON.stringify([use, terms, caip2, ...parties, amount, ...request])
    const secret = await this.#secret()
    return createHmac('sha256', secret).update(signed).digest()
  }
}
