/** Header names of x402 v2 and the gateway API, and the codec of x402's headers. */

import { countMembers, MAX_NESTING } from './document.js'

/** Carries the PaymentRequiredResponse of a 402. */
export const PAYMENT_REQUIRED = 'PAYMENT-REQUIRED'
/** Carries the payment of a request (x402 v2). */
export const PAYMENT_SIGNATURE = 'PAYMENT-SIGNATURE'
/** The older name of {@link PAYMENT_SIGNATURE}; we read the same v2 payload from it. */
export const X_PAYMENT = 'X-PAYMENT'

/** Headers that present a payment, the newer first. */
export const PAYMENT_HEADERS = [PAYMENT_SIGNATURE, X_PAYMENT] as const

/** The same, as Node writes them. */
export const PAYMENT_HEADER_KEYS: readonly string[] = PAYMENT_HEADERS.map((name) =>
  name.toLowerCase(),
)
/** Carries the SettleResponse of a paid response. */
export const PAYMENT_RESPONSE = 'PAYMENT-RESPONSE'
/** The older name of {@link PAYMENT_RESPONSE}. */
export const X_PAYMENT_RESPONSE = 'X-PAYMENT-RESPONSE'

/** Says `none` on an error of the handler, for which nothing was charged. */
export const PAYMENT_CHARGED = 'PAYMENT-CHARGED'

/** Carries what became of the extensions of a payment, in the answer of `settle`. */
export const EXTENSION_RESPONSES = 'EXTENSION-RESPONSES'

/** Carries a project's secret identify token. */
export const PROJECT_TOKEN = 'X-Project-Identify-Token'
/** The header in which shop plugins send the same token. */
export const API_KEY = 'X-API-Key'
/** Identifies a request and its repetitions (draft-ietf-httpapi-idempotency-key). */
export const IDEMPOTENCY_KEY = 'Idempotency-Key'

/** Headers of paid routes that browsers may read. */
export const EXPOSED_HEADERS = [PAYMENT_REQUIRED, PAYMENT_RESPONSE, X_PAYMENT_RESPONSE] as const

/** Longest payment header that is decoded (bytes). */
export const MAX_PAYMENT_HEADER_BYTES = 16 * 1024

/** Standard or URL-safe alphabet, padded or not. */
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Encodes a header value: JSON, UTF-8, standard padded base64. */
export function encodeHeader(value: object): string {
  return Buffer.from(JSON.stringify(value), 'utf8').toString('base64')
}

export type DecodedHeader =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string }

/** Decodes a payment header: a JSON document in base64 or base64url, padded or not. */
export function decodeHeader(text: string): DecodedHeader {
  if (text.length > MAX_PAYMENT_HEADER_BYTES)
    return { ok: false, problem: `it is longer than ${MAX_PAYMENT_HEADER_BYTES} bytes` }
  const trimmed = text.trim()
  if (trimmed === '') return { ok: false, problem: 'it is empty' }
  if (trimmed.includes(','))
    return { ok: false, problem: 'it is there more than once, or is not base64' }
  if (!BASE64.test(trimmed)) return { ok: false, problem: 'it is not base64' }
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(Buffer.from(trimmed, 'base64')))
  } catch {
    return { ok: false, problem: 'its base64 does not hold a JSON document in UTF-8' }
  }
  if (countMembers(value) === Infinity)
    return { ok: false, problem: `it is nested deeper than ${MAX_NESTING} levels` }
  return { ok: true, value }
}

/** Longest `PAYMENT-REQUIRED` for nginx's defaults: one page for all headers, with room for others (bytes). */
export const PROXY_HEADER_BYTES = 3500

/** How nginx takes longer ones. */
export const NGINX_REMEDY =
  'nginx answers 502 unless it has proxy_buffer_size 16k; proxy_buffers 8 16k;'

/** Longest `PAYMENT-REQUIRED` for every client (bytes). */
export const CLIENT_HEADER_BYTES = 8192
