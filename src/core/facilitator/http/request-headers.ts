/** The headers by which a remote facilitator knows us. */
import { ConfigError, FacilitatorError } from '../../../shared/errors.js'
import { world } from '../../../shared/world.js'

/** The request to a facilitator that headers are made for. */
export interface FacilitatorRequest {
  /** `GET` for `supported`, else `POST`. */
  readonly method: 'GET' | 'POST'
  /** The whole URL. */
  readonly url: string
}

/**
 * Makes the headers of one request, for facilitators that want a new token for each.
 *
 * It runs before every request, also before one that is repeated. Where it throws, nothing is sent.
 *
 * @example
 * ```ts
 * import type { FacilitatorHeaders } from 'express-x402-gateway'
 *
 * declare function signToken(method: string, url: string): Promise<string>
 *
 * const headers: FacilitatorHeaders = async ({ method, url }) => ({
 *   authorization: `Bearer ${await signToken(method, url)}`,
 * })
 * ```
 */
export type FacilitatorHeaders = (
  request: FacilitatorRequest,
) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>

/**
 * Checks headers that are written down.
 *
 * @throws `ConfigError` that names what is wrong and repeats no value.
 */
export function checkHeaders(headers: unknown): void {
  if (typeof headers === 'function' || areHeaders(headers)) return
  throw new ConfigError(
    'facilitator.headers',
    'must be an object of strings that HTTP headers can carry, or a function that returns one',
    'invalid_type',
  )
}

/**
 * Makes the headers of a request.
 *
 * @param timeoutMs - How long a function may take (ms).
 * @throws `FacilitatorError` if the function fails, is silent for too long, or returns no headers.
 * Nothing that it throws or returns is repeated: it may hold a token or a key.
 */
export async function headersFor(
  request: FacilitatorRequest,
  headers: Readonly<Record<string, string>> | FacilitatorHeaders,
  timeoutMs: number,
): Promise<Readonly<Record<string, string>>> {
  if (typeof headers !== 'function') return headers
  let made: unknown
  try {
    made = await within(timeoutMs, headers(request))
  } catch (error) {
    // oxlint-disable-next-line eslint/preserve-caught-error -- it may contain a token
    throw unmade(`the function failed (${error instanceof Error ? error.name : 'unknown failure'})`)
  }
  if (areHeaders(made)) return made
  throw unmade('the function returned a value that is no object of header strings')
}

function unmade(why: string): FacilitatorError {
  return new FacilitatorError(
    'facilitator_unreachable',
    `The headers for the facilitator could not be made, so nothing was sent: ${why}.`,
    { isUnsent: true },
  )
}

function areHeaders(value: unknown): value is Readonly<Record<string, string>> {
  // Of a Map or a Headers, which have no own properties, nothing would be sent.
  if (typeof value !== 'object' || value === null || Symbol.iterator in value) return false
  const entries: readonly (readonly [string, unknown])[] = Object.entries(value)
  return entries.every(([name, text]) => typeof text === 'string' && isHeader(name, text))
}

function isHeader(name: string, value: string): boolean {
  try {
    return new Headers([[name, value]]).has(name)
  } catch {
    return false
  }
}

/** Rejects with a `TimeoutError` when a promise takes longer. */
async function within<T>(ms: number, promise: T | Promise<T>): Promise<T> {
  const signal = world.timeoutSignal(ms)
  return Promise.race([
    promise,
    new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    }),
  ])
}
