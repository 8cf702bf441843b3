/** A handler's response as it is stored, for a payer who asks for it again. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { Response } from 'express'
import { onceClosed } from '../../shared/http/once-closed.js'
import { MAX_STORED_BYTES } from '../../ledger/once/store.js'
import type { Problem } from '../../shared/http/respond-problem.js'
import type { Receipt } from '../route/payment-dialect.js'
import { keepPrivate } from './cache-control.js'
import { exposeHeaders, respondRouteProblem } from './respond.js'

export interface RecordedResponse {
  readonly status: number
  /** The headers that were added since the handler began. */
  readonly headers: OutgoingHttpHeaders
  /** `undefined` if it is too large, or was not written to its end. */
  readonly body: Buffer | undefined
}

interface StoredResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number | readonly string[]>>
  /** Base64. */
  readonly body?: string
  /** Whether its payment was not settled yet when it was stored. @defaultValue false */
  readonly isUnpaid?: boolean
  /** What its handler charged, in units of the token. Absent where the price is fixed. */
  readonly charge?: string | undefined
}

/** Headers that belong to a connection or a moment: they are not stored. */
const TRANSIENT_HEADERS = ['connection', 'keep-alive', 'transfer-encoding', 'date']

/** The headers that were added or changed since `before`. Names are in lower case. */
export function headersSince(
  before: OutgoingHttpHeaders,
  now: OutgoingHttpHeaders,
): OutgoingHttpHeaders {
  const isNew = ([name, value]: [string, unknown]): boolean =>
    value !== undefined &&
    !TRANSIENT_HEADERS.includes(name) &&
    JSON.stringify(before[name]) !== JSON.stringify(value)
  const added = Object.fromEntries(Object.entries(now).filter(isNew))
  const cookies = added['set-cookie']
  if (cookies === undefined) return added
  // Cookies that the app has set before belong to that request, for example the one of a session.
  const earlier = [before['set-cookie']].flat()
  return {
    ...added,
    'set-cookie': [cookies]
      .flat()
      .map(String)
      .filter((one) => !earlier.includes(one)),
  }
}

/** @param unsigned - The receipt of a response without its body, which perhaps nobody got. @defaultValue its own */
export function serializeResponse(
  { status, headers, body }: RecordedResponse,
  unsigned: Receipt = {},
): string {
  if (body) return JSON.stringify({ status, headers, body: body.toString('base64') })
  const receipt = Object.entries(unsigned).map(([name, value]) => [name.toLowerCase(), value])
  return JSON.stringify({ status, headers: { ...headers, ...Object.fromEntries(receipt) } })
}

/**
 * Serializes a response whose payment is pending.
 *
 * @param charge - What its handler charged, where the price is a maximum.
 * @returns `undefined` for a response without a body: nothing could be given for the payment later.
 */
export function serializeUnpaid(
  { status, headers, body }: RecordedResponse,
  charge?: bigint,
): string | undefined {
  if (body === undefined) return undefined
  const stored: StoredResponse = {
    status,
    headers: headers as StoredResponse['headers'],
    body: body.toString('base64'),
    isUnpaid: true,
    charge: charge?.toString(),
  }
  return JSON.stringify(stored)
}

/** What the handler of a stored response charged, in units of the token; `undefined` where the price is fixed. */
export function chargeOf(stored: string): bigint | undefined {
  const { charge } = JSON.parse(stored) as StoredResponse
  return charge === undefined ? undefined : BigInt(charge)
}

export function isUnpaid(stored: string): boolean {
  return (JSON.parse(stored) as StoredResponse).isUnpaid === true
}

export function withReceipt(stored: string, receipt: Receipt): string {
  const { status, headers, body } = JSON.parse(stored) as StoredResponse
  return JSON.stringify({ status, body, headers: { ...headers, ...receipt } })
}

/** In place of a stored response whose body was not stored. */
export const ANSWER_NOT_KEPT = {
  code: 'answer_not_kept',
  detail:
    'This payment was settled and its answer was given once; the answer was too large, or was cut short, and was not kept.',
} as const satisfies Problem

/** Reads a stored response, and which of its headers are the receipt. */
export function readStored(stored: string) {
  const { status, headers, body } = JSON.parse(stored) as StoredResponse
  const receipt = Object.entries(headers).filter(([name]) =>
    /^(x-payment-response|payment-(response|receipt))$/i.test(name),
  )
  return {
    status,
    headers,
    receipt: Object.fromEntries(receipt) as Receipt,
    body: body === undefined ? body : Buffer.from(body, 'base64'),
  }
}

/**
 * Responds with a stored response.
 *
 * If its body was not stored, responds with 410: the payment was settled and the response was given
 * once. The headers report the settlement then, too, so that the client does not pay again.
 *
 * @param stored - By {@link serializeResponse}.
 */
export function respondAgain(res: Response, stored: string): void {
  const { status, headers, receipt, body } = readStored(stored)
  if (body === undefined) {
    for (const [name, value] of Object.entries(receipt)) res.setHeader(name, value)
    return respondRouteProblem(res, ANSWER_NOT_KEPT)
  }
  res.status(status)
  for (const [name, value] of Object.entries(headers))
    // Cookies that the app has set for this request stay.
    if (name.toLowerCase() === 'set-cookie') res.append(name, [value].flat().map(String))
    else res.setHeader(name, value)
  exposeHeaders(res, Object.keys(receipt))
  // Headers that the app set before the route are not in the store.
  keepPrivate(res)
  res.end(body)
}

/**
 * Records a response while it is sent.
 *
 * @returns Resolves once the handler has ended the response; without its body if that is too large,
 * or if the client disconnected before the end.
 */
export function recordResponse(res: Response): Promise<RecordedResponse> {
  const { write, end, writeHead } = res
  const before = res.getHeaders()
  const chunks: Buffer[] = []
  let bytes = 0
  let status: number | undefined
  const record = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
    const copy =
      typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : Buffer.from(chunk)
    bytes += copy.length
    if (bytes <= MAX_STORED_BYTES) chunks.push(copy)
    else chunks.length = 0
  }
  return new Promise((resolve) => {
    const recorded = (isWhole: boolean): RecordedResponse => ({
      status: status ?? res.statusCode,
      headers: headersSince(before, res.getHeaders()),
      body: isWhole && bytes <= MAX_STORED_BYTES ? Buffer.concat(chunks) : undefined,
    })
    onceClosed(res, () => resolve(recorded(false)))
    const recording = {
      // The handler may set another status once the head is sent: that has no effect.
      writeHead(...head: unknown[]) {
        const written = Reflect.apply(writeHead, res, head) as Response
        status ??= res.statusCode
        return written
      },
      write(...args: unknown[]) {
        record(args[0], args[1])
        return Reflect.apply(write, res, args) as boolean
      },
      end(...args: unknown[]) {
        Object.assign(res, { write, end })
        record(args[0], args[1])
        const ended = Reflect.apply(end, res, args) as Response
        resolve(recorded(true))
        return ended
      },
    }
    Object.assign(res, recording)
  })
}

function encodingOf(encoding: unknown): BufferEncoding | undefined {
  return typeof encoding === 'string' ? (encoding as BufferEncoding) : undefined
}
