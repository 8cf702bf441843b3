/** A handler's answer, as it is stored for a payer who asks for it again. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { Response } from 'express'
import { answerProblem } from './answers.js'
import { keepPrivate } from './cache-control.js'

/** Bytes of a body beyond which it is not stored: only that it was paid for is. */
export const MAX_STORED_BYTES = 256 * 1024

/** An answer that went out, or is about to. */
export interface GivenAnswer {
  readonly status: number
  /** Those that were not there before the handler. */
  readonly headers: OutgoingHttpHeaders
  /** `undefined` where it is too large, or was not recorded to its end. */
  readonly body: Buffer | undefined
}

/** Headers of one connection, or of one moment: they are not part of an answer. */
const PASSING_HEADERS = ['connection', 'keep-alive', 'transfer-encoding', 'date']

/** The headers that came since `before`. Names are in lower case. */
export function headersSince(
  before: OutgoingHttpHeaders,
  now: OutgoingHttpHeaders,
): OutgoingHttpHeaders {
  const isNew = ([name, value]: [string, unknown]): boolean =>
    value !== undefined && !PASSING_HEADERS.includes(name) && !sameValue(before[name], value)
  return Object.fromEntries(Object.entries(now).filter(isNew))
}

/** Writes an answer for a store. */
export function writeAnswer({ status, headers, body }: GivenAnswer): string {
  return JSON.stringify({ status, headers, body: body?.toString('base64') })
}

/**
 * Gives a stored answer again.
 *
 * Where its body was too large to be stored, 410: it was paid for and given, and is gone. The
 * settlement is in its headers all the same, so that nobody pays again by mistake.
 */
export function answerAgain(res: Response, text: string): void {
  const { status, headers, body } = JSON.parse(text) as StoredAnswer
  if (body === undefined) {
    for (const [name, value] of Object.entries(headers))
      if (/^(x-)?payment-response$/i.test(name)) res.setHeader(name, value)
    return answerProblem(res, {
      status: 410,
      code: 'answer_not_kept',
      detail:
        'This payment was settled and its answer was given once; the answer was too large, or was cut short, and was not kept.',
    })
  }
  res.status(status)
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  // What the app sets in front of the route is not in the store.
  keepPrivate(res)
  res.end(Buffer.from(body, 'base64'))
}

/** A {@link GivenAnswer}, as JSON has it. */
interface StoredAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | number | readonly string[]>>
  /** Base64. */
  readonly body?: string
}

/**
 * Records an answer on its way out.
 *
 * @returns What went out, once the handler has ended it; without its body where that is too large,
 * or where the client was gone before the end.
 */
export function recordAnswer(res: Response): Promise<GivenAnswer> {
  const { write, end } = res
  const before = res.getHeaders()
  const chunks: Buffer[] = []
  let bytes = 0
  const record = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return
    const copy =
      typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)) : Buffer.from(chunk)
    bytes += copy.length
    if (bytes <= MAX_STORED_BYTES) chunks.push(copy)
    else chunks.length = 0
  }
  return new Promise((resolve) => {
    const given = (isWhole: boolean): GivenAnswer => ({
      status: res.statusCode,
      headers: headersSince(before, res.getHeaders()),
      body: isWhole && bytes <= MAX_STORED_BYTES ? Buffer.concat(chunks) : undefined,
    })
    res.once('close', () => resolve(given(false)))
    Object.assign(res, {
      write(...args: unknown[]) {
        record(args[0], args[1])
        return Reflect.apply(write, res, args) as boolean
      },
      end(...args: unknown[]) {
        Object.assign(res, { write, end })
        record(args[0], args[1])
        const ended = Reflect.apply(end, res, args) as Response
        resolve(given(true))
        return ended
      },
    })
  })
}

function encodingOf(encoding: unknown): BufferEncoding | undefined {
  return typeof encoding === 'string' ? (encoding as BufferEncoding) : undefined
}

function sameValue(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
