/** One HTTP exchange, as it is on the wire, and what is left of it when chance and time are taken out. */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

/** What a case asks. */
export interface Ask {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** Sent as it is; anything but text is sent as JSON. */
  readonly body?: unknown
}

/** What came back, byte for byte. */
export interface RawAnswer {
  readonly status: number
  readonly statusMessage: string
  /** Names and values in turn, in the order and case in which they were sent. */
  readonly rawHeaders: readonly string[]
  readonly body: string
}

/** An answer as it is committed: chance and time are placeholders. */
export interface RecordedAnswer {
  readonly case: string
  readonly request: string
  readonly status: string
  /** `Name: value`, in order and case. */
  readonly headers: readonly string[]
  readonly body: string
}

/** Headers that carry a JSON document in base64, in lower case. */
const DOCUMENT_HEADERS = ['payment-required', 'payment-response', 'x-payment-response']

/** Sends a request on a connection of its own; the `Host` is always the same. */
export async function send(port: number, ask: Ask): Promise<RawAnswer> {
  const { method = 'GET', path, headers = {}, body } = ask
  const isJson = body !== undefined && typeof body !== 'string'
  const outgoing = request({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    headers: {
      Host: 'shop.example',
      ...(isJson && { 'Content-Type': 'application/json' }),
      ...(headers as Record<string, string | string[]>),
    },
  })
  outgoing.end(isJson ? JSON.stringify(body) : body)
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  return {
    status: response.statusCode ?? 0,
    statusMessage: response.statusMessage ?? '',
    rawHeaders: response.rawHeaders,
    body: await text(response),
  }
}

/** The value of a header of an answer. */
export function headerOf({ rawHeaders }: RawAnswer, name: string): string | undefined {
  const at = rawHeaders.findIndex(
    (one, index) => index % 2 === 0 && one.toLowerCase() === name.toLowerCase(),
  )
  return at < 0 ? undefined : rawHeaders[at + 1]
}

/**
 * Replaces what differs between two runs.
 *
 * @param isFixed - Tells 32-byte values that are the same in every run, such as the nonces of our own
 * authorizations, from hashes of transactions.
 */
export function record(
  name: string,
  { method = 'GET', path }: Ask,
  { answer, isFixed }: { readonly answer: RawAnswer; readonly isFixed: (hex: string) => boolean },
): RecordedAnswer {
  const clean = (value: string): string => withoutChance(value, isFixed)
  const body = clean(shortBody(answer))
  const headers: string[] = []
  for (let index = 0; index < answer.rawHeaders.length; index += 2) {
    const [header = '', value = ''] = answer.rawHeaders.slice(index, index + 2)
    const isTag = header.toLowerCase() === 'etag' && body !== answer.body
    headers.push(`${header}: ${isTag ? '<etag>' : clean(headerValue(answer, header, value))}`)
  }
  return {
    case: name,
    request: `${method} ${clean(path)}`,
    status: `${answer.status} ${answer.statusMessage}`,
    headers,
    body,
  }
}

/** What is there already is not written twice, but must be the same to the byte. */
function shortBody(answer: RawAnswer): string {
  const document = headerOf(answer, 'PAYMENT-REQUIRED')
  if (document !== undefined && decode(document) === answer.body)
    return '<the document of PAYMENT-REQUIRED>'
  if (isPage(answer)) return '<the page of the paywall>'
  return answer.body.replace(/x{1000,}/, (film) => `<${film.length} times x>`)
}

/** The page has tests of its own, and a script that each build makes. */
const isPage = ({ body }: RawAnswer): boolean => body.startsWith('<!doctype html>')

function headerValue(answer: RawAnswer, header: string, value: string): string {
  // Stored answers have their names in lower case.
  const name = header.toLowerCase()
  if (name === 'date') return '<date>'
  if (name === 'content-length' && isPage(answer)) return '<bytes>'
  if (name === 'content-security-policy')
    return value.replaceAll(/'nonce-[^']+'/g, "'nonce-<nonce>'")
  // Five seconds are ours; anything else is what is left of a window.
  if (name === 'retry-after' && value !== '5') return '<seconds>'
  if (name === 'ratelimit') return value.replace(/t=\d+/g, 't=<seconds>')
  if (name === 'x-payment-response' && headerOf(answer, 'PAYMENT-RESPONSE') === value)
    return '<as PAYMENT-RESPONSE>'
  if (!DOCUMENT_HEADERS.includes(name)) return value
  const json = decode(value)
  // Another base64 of the same document is another answer.
  return Buffer.from(json, 'utf8').toString('base64') === value ? `base64(${json})` : value
}

function decode(value: string): string {
  return Buffer.from(value, 'base64').toString('utf8')
}

function withoutChance(value: string, isFixed: (hex: string) => boolean): string {
  return value
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replace(/0x[0-9a-f]{64}/g, (hex) => (isFixed(hex) ? hex : '<hash>'))
    .replace(/"offerId":"[A-Za-z0-9_-]{22}"/g, '"offerId":"<offerId>"')
    .replace(/"nextCursor":"([A-Za-z0-9_-]+)"/g, (_all, cursor: string) => {
      const place = Buffer.from(cursor, 'base64url').toString('latin1')
      return `"nextCursor":"base64url(${place})"`
    })
    .replace(/(?<![0-9a-zA-Z])[0-9a-f]{32}(?![0-9a-zA-Z])/g, '<id>')
}
