/**
 * Compares every answer of every gateway that a test serves with the OpenAPI document.
 *
 * Jest loads this file before each test file. It looks at what responses write, whichever server and
 * client the test has, and knows those of the gateway's router by what the router keeps with them. An
 * answer that the document does not describe fails the test in which it was given.
 */
import { afterAll, afterEach } from '@jest/globals'
import { ServerResponse, type IncomingMessage } from 'node:http'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { Answered } from './openapi-validator.js'

/** A response of Express. */
interface WatchedResponse extends ServerResponse {
  readonly req: IncomingMessage & { readonly baseUrl?: string; readonly body?: unknown }
  readonly locals?: Readonly<Record<string, unknown>>
}

const chunksOf = new WeakMap<ServerResponse, Buffer[]>()
const { write, end } = ServerResponse.prototype
let answers: Answered[] = []

ServerResponse.prototype.write = function watchedWrite(this: WatchedResponse, ...given: unknown[]) {
  note(this, given)
  return Reflect.apply(write, this, given) as boolean
}
ServerResponse.prototype.end = function watchedEnd(this: WatchedResponse, ...given: unknown[]) {
  note(this, given)
  keep(this)
  return Reflect.apply(end, this, given) as ServerResponse
}

afterEach(validateAnswers)
afterAll(async () => {
  Object.assign(ServerResponse.prototype, { write, end })
  await validateAnswers()
})

function note(res: WatchedResponse, [chunk, encoding]: readonly unknown[]): void {
  if (res.locals?.['x402RootUrl'] === undefined || res.writableEnded) return
  if (!chunksOf.has(res)) {
    chunksOf.set(res, [])
    // Ours is not one of the app's listeners, of which Node takes more than ten for a leak.
    res.setMaxListeners(res.getMaxListeners() + 1)
    // What is cut by either side never ends.
    res.once('close', () => keep(res, true))
  }
  const isText = typeof chunk === 'string'
  if (isText) chunksOf.get(res)?.push(Buffer.from(chunk, bufferEncoding(encoding)))
  else if (chunk instanceof Uint8Array) chunksOf.get(res)?.push(Buffer.from(chunk))
}

const bufferEncoding = (given: unknown): BufferEncoding =>
  typeof given === 'string' ? (given as BufferEncoding) : 'utf8'

function keep(res: WatchedResponse, isCut = false): void {
  const chunks = chunksOf.get(res)
  if (chunks === undefined) return
  chunksOf.delete(res)
  const { method = '', baseUrl = '', url = '', body: requestBody } = res.req
  // As the router has seen it: an app may have rewritten the URL.
  const seen = baseUrl + url
  const path = /(?:\/api\/v2|\/ucp|\/console)(?:[/?].*)?$/.exec(seen)?.[0] ?? seen
  const [type = ''] = String(res.getHeader('content-type') ?? '').split(';', 1)
  answers.push({
    ...{ method, path, requestBody, status: res.statusCode, type, isCut },
    body: decoded(Buffer.concat(chunks), res.getHeader('content-encoding')),
  })
}

function decoded(body: Buffer, encoding: unknown): string {
  if (body.length === 0) return ''
  if (encoding === 'gzip') return gunzipSync(body).toString('utf8')
  if (encoding === 'br') return brotliDecompressSync(body).toString('utf8')
  if (encoding === 'deflate') return inflateSync(body).toString('utf8')
  return body.toString('utf8')
}

async function validateAnswers(): Promise<void> {
  const given = answers
  answers = []
  if (given.length === 0) return
  // Most test files ask no gateway: they do not wait for the document.
  const { wholeValidator } = await import('./openapi-validator.js')
  const validator = await wholeValidator()
  const wrong = given.flatMap((answer) => {
    const problem = validator.explain(answer)
    if (problem === undefined) return []
    return [`${answer.method} ${answer.path} → ${answer.status} ${problem}`]
  })
  if (wrong.length > 0)
    throw new Error(`The OpenAPI document does not describe:\n${[...new Set(wrong)].join('\n')}`)
}
