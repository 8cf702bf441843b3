import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { AppliedRate } from '../../shared/money/rates.js'
import { EXACT, type PaymentRequirements } from '../../shared/protocol/payment.js'
import { findNetwork } from '../../shared/protocol/networks.js'
import { CHECKOUT_ID_PREFIX } from '../../shared/protocol/offer-id.js'
import { methodOf } from '../../shared/protocol/same-offer.js'
import type { Quote } from './quote.js'

export interface QuoteTerms {
  /** Unix seconds. */
  readonly expiresAt: number
  readonly applied?: AppliedRate | undefined
}

/** Subject of a quote. The quote is valid for nothing else. */
export interface QuoteSubject {
  /** Method, URL and everything else that identifies the request. */
  readonly request: readonly string[]
  readonly entry: Pick<
    PaymentRequirements,
    'scheme' | 'network' | 'asset' | 'payTo' | 'amount' | 'extra'
  >
}

export interface QuoteOccasion {
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

/** Longer than any quote that we sign. */
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

  /** @param secret - Reads the secret, which may be in a database. */
  constructor(secret: () => Promise<string>) {
    this.#secret = secret
  }

  /** Makes the `extra.offerId` of a checkout: 128 bits, always the same for the same offer. */
  async nameOffer(subject: QuoteSubject): Promise<string> {
    const name = await this.#hmac(`x402-offer-${VERSION}`, '', subject)
    return CHECKOUT_ID_PREFIX + name.toString('base64url', 0, OFFER_ID_BYTES)
  }

  /** Makes the key that names the challenges of MPP: the same one in all gateways on a ledger. */
  async challengeKey(): Promise<Buffer> {
    const secret = await this.#secret()
    return createHmac('sha256', secret).update(`mpp-challenge-${VERSION}`).digest()
  }

  async sign(subject: QuoteSubject, { expiresAt, applied }: QuoteTerms): Promise<string> {
    const terms = JSON.stringify({ e: expiresAt, ...(applied && { a: applied }) })
    const encoded = Buffer.from(terms).toString('base64url')
    const signature = await this.#hmac(`x402-quote-${VERSION}`, encoded, subject)
    return `${VERSION}.${encoded}.${signature.toString('base64url')}`
  }

  /** Reads a quote; `undefined` if it was signed for another subject or with another secret. */
  async read(quote: string, subject: QuoteSubject): Promise<QuoteTerms | undefined> {
    const encoded = await this.#verified(`x402-quote-${VERSION}`, quote, subject)
    if (encoded === undefined) return undefined
    const terms = termsSchema.parse(JSON.parse(Buffer.from(encoded, 'base64url').toString()))
    return { expiresAt: terms.e, applied: terms.a }
  }

  async signReference(subject: QuoteSubject, reference: string): Promise<string> {
    const encoded = Buffer.from(reference).toString('base64url')
    const signature = await this.#hmac(`x402-reference-${VERSION}`, encoded, subject)
    return `${VERSION}.${encoded}.${signature.toString('base64url')}`
  }

  /** Reads a reference; `undefined` if it was signed for another subject or with another secret. */
  async readReference(subject: QuoteSubject, signed: string): Promise<string | undefined> {
    const encoded = await this.#verified(`x402-reference-${VERSION}`, signed, subject)
    return encoded && Buffer.from(encoded, 'base64url').toString()
  }

  /** Verifies a signature. @returns The signed part; `undefined` if it was signed for something else. */
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
    const method = methodOf(entry)
    // `exact` by ERC-3009 needs no name here.
    const isUsual = scheme === EXACT && method === 'eip3009'
    const use = isUsual ? purpose : `${purpose} ${scheme} ${method}`
    const caip2 = findNetwork(network)?.caip2 ?? network
    const parties = [asset.toLowerCase(), payTo.toLowerCase()]
    // JSON keeps parts apart: none can be shifted into its neighbour.
    const signed = JSON.stringify([use, terms, caip2, ...parties, amount, ...request])
    const secret = await this.#secret()
    return createHmac('sha256', secret).update(signed).digest()
  }
}
