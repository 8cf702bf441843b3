import { ConfigError, RateError } from '../errors.js'
import { fetchJson } from '../http/fetch-json.js'
import { isHttpUrl } from '../http/http-url.js'
import { cachedRates } from './cached-rates.js'
import { crossRates } from './cross-rates.js'
import { readDecimal, type Decimal } from './decimal.js'
import type { Rate, RateSource } from './rates.js'
import { world } from '../world.js'

/** A rate of an API. */
export interface HttpRate {
  /** Price of one unit of the base currency in the quote currency. Numbers are read in their shortest decimal form. */
  readonly rate: number | string
  /** When the rate held, in Unix seconds. */
  readonly asOf: number
}

/**
 * Options of {@link httpRates}.
 *
 * @example
 * ```ts
 * import type { HttpRatesOptions } from 'express-x402-gateway'
 *
 * const ecb: HttpRatesOptions = { url: 'https://api.frankfurter.dev/v1', name: 'ECB' }
 * ```
 */
export interface HttpRatesOptions {
  /**
   * Root of an API like Frankfurter's (`https://api.frankfurter.dev/v1`), which answers
   * `<url>/latest?base=EUR&symbols=USD`; for other APIs, a function that returns the URL of a pair.
   */
  readonly url: string | ((base: string, quote: string) => string)
  /**
   * Reads a parsed response; returns `undefined` if the API does not know the pair. An error counts as
   * an unreadable response. @defaultValue reads Frankfurter's format
   */
  readonly read?: (answer: unknown, base: string, quote: string) => HttpRate | undefined
  /** Name of the source, in settlements and errors. @defaultValue `'http'` */
  readonly name?: string
  /** Headers of every request, for APIs with a key. @defaultValue no headers */
  readonly headers?: Readonly<Record<string, string>>
  /** How long to wait for a complete response (ms). @defaultValue 5000 */
  readonly timeoutMs?: number
  /**
   * Highest age of a rate, counted from its `asOf` (s).
   * @defaultValue one day; six days with Frankfurter's format, which has rates of banking days only
   */
  readonly maxAgeSeconds?: number
  /** How long a rate is used without asking again (s). @defaultValue 300 */
  readonly freshSeconds?: number
  /** How long a rate is used if the API does not respond (s). @defaultValue 3600 */
  readonly staleSeconds?: number
  /** Milliseconds since the epoch. @defaultValue `Date.now` */
  readonly now?: () => number
}

const DEFAULT_TIMEOUT_MS = 5000
const DAY_SECONDS = 86_400
const BANKING_DAYS_SECONDS = 6 * DAY_SECONDS
const DEFAULT_FRESH_SECONDS = 300
const DEFAULT_STALE_SECONDS = 3600

/** One pair takes about a hundred bytes. */
const MAX_ANSWER_BYTES = 256 * 1024

const UNREADABLE = 'gave an unreadable answer'

/** Statuses of APIs for unknown currencies. */
const UNKNOWN_PAIR = [404, 422]

/**
 * Reads rates from a JSON API, cached and crossed through USD.
 *
 * Its methods throw {@link RateError} (`rate_unavailable`) when the API cannot be reached or has no
 * usable rate. No error contains the URL, which may hold a key. Redirects are not followed, and
 * responses of more than 256 KiB are refused.
 *
 * @param options - The API and its caching.
 * @returns The option `rates` of `createGateway`, or a part of it.
 * @throws {@link ConfigError} (`config_invalid`) when `url` is not an absolute http(s) URL.
 *
 * @example
 * ```ts
 * import { httpRates } from 'express-x402-gateway'
 *
 * const ecb = httpRates({ url: 'https://api.frankfurter.dev/v1', name: 'ECB' })
 * const bank = httpRates({
 *   url: (base, quote) => `https://bank.example/rates/${base}-${quote}`,
 *   read: (response) => {
 *     const { mid, at } = response as { mid: string; at: number }
 *     return { rate: mid, asOf: at }
 *   },
 * })
 * ```
 */
export function httpRates(options: HttpRatesOptions): RateSource {
  const { name = 'http', now = world.now, read = readFrankfurter } = options
  const { maxAgeSeconds = options.read === undefined ? BANKING_DAYS_SECONDS : DAY_SECONDS } =
    options
  const urlOf = urlFunction(options.url)

  const api: RateSource = {
    async getRate(base, quote): Promise<Rate | undefined> {
      const fail = (what: string): RateError =>
        new RateError('rate_unavailable', `The rate source '${name}' ${what}.`)
      const answer = await fetchDocument(urlOf(base, quote), options, fail)
      if (answer === undefined) return undefined
      const found = readSafely(() => read(answer, base, quote), fail)
      if (found === undefined) return undefined
      const rate = toDecimal(found.rate)
      if (rate === undefined || !Number.isFinite(found.asOf))
        throw fail(`gave no valid rate for ${base}/${quote}`)
      const until = found.asOf + maxAgeSeconds
      if (now() > until * 1000) throw fail(`has only an old rate for ${base}/${quote}`)
      return { rate, asOf: Math.floor(found.asOf), source: name, until }
    },
  }
  const { freshSeconds = DEFAULT_FRESH_SECONDS, staleSeconds = DEFAULT_STALE_SECONDS } = options
  return crossRates(cachedRates(api, { freshSeconds, staleSeconds, now }))
}

type Fail = (what: string) => RateError

function urlFunction(url: HttpRatesOptions['url']): (base: string, quote: string) => string {
  if (typeof url === 'function') return url
  if (!isHttpUrl(url))
    throw new ConfigError(
      'rates.url',
      'must be an absolute http(s) URL, or a function',
      'invalid_url',
    )
  return (base, quote) => {
    const asked = new URL(url)
    asked.pathname = `${asked.pathname.replace(/\/+$/, '')}/latest`
    asked.searchParams.set('base', base)
    asked.searchParams.set('symbols', quote)
    return asked.href
  }
}

/** Asks the API. @returns `undefined` if it does not know the pair. */
async function fetchDocument(
  url: string,
  { headers = {}, timeoutMs = DEFAULT_TIMEOUT_MS }: HttpRatesOptions,
  fail: Fail,
): Promise<unknown> {
  const response = await fetchJson(url, {
    headers: { accept: 'application/json', ...headers },
    timeoutMs,
    maxBytes: MAX_ANSWER_BYTES,
    skipsErrorBodies: true,
  })
  if (response.kind === 'no_response') throw fail(`did not answer: ${response.reason}`)
  if (response.kind === 'too_long') throw fail('gave an answer that is too long')
  if (UNKNOWN_PAIR.includes(response.status)) return undefined
  if (response.status !== 200) throw fail(`answered HTTP ${response.status}`)
  if (response.kind === 'no_json') throw fail(UNREADABLE)
  return response.document
}

/** Runs `read` and drops its own error, whose message may repeat the document. */
function readSafely<T>(read: () => T, fail: Fail): T {
  try {
    return read()
  } catch {
    throw fail(UNREADABLE)
  }
}

function toDecimal(rate: unknown): Decimal | undefined {
  const value = readDecimal(rate)
  return value !== undefined && value.units > 0n ? value : undefined
}

/** `{ "base": "EUR", "date": "2026-01-30", "rates": { "USD": 1.19 } }` */
function readFrankfurter(answer: unknown, base: string, quote: string): HttpRate | undefined {
  const { base: answered, date, rates } = answer as Partial<Record<string, unknown>>
  const rate = (rates as Record<string, unknown>)[quote]
  if (rate === undefined) return undefined
  if (answered !== base) throw new TypeError('another base')
  return { rate: rate as number, asOf: Date.parse(`${String(date)}T00:00:00Z`) / 1000 }
}
