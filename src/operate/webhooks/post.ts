import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { Receiver } from './receiver-url.js'
import { world } from '../../shared/world.js'

const MAX_RESPONSE_BYTES = 64 * 1024

/** How much of a failed response is kept (characters). */
const KEPT_CHARACTERS = 500

export interface PostedMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** How long to wait for the whole response (ms). */
  readonly timeoutMs: number
  /** Aborted when the result is no longer wanted. */
  readonly signal: AbortSignal
}

export type PostResult =
  | {
      readonly kind: 'response'
      readonly status: number
      readonly text: string
      readonly retryAfter: string | undefined
    }
  | { readonly kind: 'no_response'; readonly reason: string }

/**
 * Posts a message to the checked addresses of a receiver, without resolving its host again. Does not
 * follow redirects. Never rejects.
 */
export function post(
  { url, addresses }: Extract<Receiver, { kind: 'allowed' }>,
  message: PostedMessage,
): Promise<PostResult> {
  const { headers, body, timeoutMs, signal } = message
  const { request } = url.protocol === 'https:' ? https : http
  return new Promise((resolve) => {
    const client = request(url, {
      method: 'POST',
      headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
      // A new connection: an open one may lead to another address.
      agent: false,
      lookup: lookupIn(addresses),
      signal,
    })
    const timer = world.setTimeout(() => client.destroy(new TimeoutError(timeoutMs)), timeoutMs)
    const end = (result: PostResult): void => {
      world.clearTimeout(timer)
      resolve(result)
      client.destroy()
    }
    let isAnswered = false
    client.on('error', (error) => {
      // The status counts, even if the rest of the response does not arrive.
      if (!isAnswered) end({ kind: 'no_response', reason: reasonOf(error) })
    })
    client.on('response', (response) => {
      isAnswered = true
      const status = response.statusCode ?? 0
      const retryAfter = response.headers['retry-after']
      const finish = (text: string): void => end({ kind: 'response', status, text, retryAfter })
      readStart(response).then(finish, () => finish(''))
    })
    client.end(body)
  })
}

/** Reads a response up to the size limit and returns its beginning. */
async function readStart(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    if (bytes < KEPT_CHARACTERS * 4) chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MAX_RESPONSE_BYTES) break
  }
  // PostgreSQL stores neither null characters nor half a surrogate pair.
  const text = Buffer.concat(chunks).toString('utf8').replaceAll('\0', '')
  return text.slice(0, KEPT_CHARACTERS).replace(/[\uD800-\uDBFF]$/, '')
}

function lookupIn(addresses: readonly string[]): LookupFunction {
  return (_hostname, options, callback) => {
    const found = addresses.map((address) => ({ address, family: isIP(address) }))
    const [first] = found
    if (options.all === true) return callback(null, found)
    callback(null, first?.address ?? '', first?.family)
  }
}

class TimeoutError extends Error {
  constructor(timeoutMs: number) {
    super(`There was no response within ${timeoutMs / 1000} s.`)
  }
}

/** Messages for the merchant. Node's own messages contain addresses. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The connection was refused.',
  ECONNRESET: 'The connection was closed before a response.',
  EPIPE: 'The connection was closed before a response.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The host cannot be reached.',
  ETIMEDOUT: 'The connection was not answered in time.',
  CERT_HAS_EXPIRED: 'The certificate has expired.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: 'The certificate is self-signed.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The certificate is of an unknown authority.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host.',
}

function reasonOf(error: Error): string {
  if (error instanceof TimeoutError) return error.message
  const { code } = error as NodeJS.ErrnoException
  const known = code === undefined ? undefined : REASONS[code]
  if (known !== undefined) return known
  const kind = code !== undefined && /^\w{1,40}$/.test(code) ? code : error.name
  return `The request failed (${kind}).`
}
