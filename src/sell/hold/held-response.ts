import { ServerResponse, type OutgoingHttpHeaders } from 'node:http'
import { isClosed, onceClosed } from '../../shared/http/once-closed.js'
import { MAX_STORED_BYTES } from '../../ledger/once/store.js'
import { destroyLater } from './destroy-later.js'
import { HeldBody, type HeldLimits } from './held-body.js'
import { PipedSources } from './piped-sources.js'
import { fixHead, ignoredHeaderMethods, markHead, type HeadArguments } from './response-head.js'
import { headersSince, type RecordedResponse } from '../respond/stored-response.js'
import { optionalArguments, refuseWrite, toBytes, type WriteCallback } from './write-arguments.js'

export type HeldEnd =
  /** It is complete; nothing of it has been sent. */
  | { readonly kind: 'ended'; readonly status: number }
  /** The client disconnected before it was complete. */
  | { readonly kind: 'aborted' }
  /** It is larger than `maxHeldBytes`. */
  | { readonly kind: 'too_large' }
  /** The memory for all held responses is used up. */
  | { readonly kind: 'no_room' }
  /** The gateway closes. */
  | { readonly kind: 'stopped' }

type Trailers = Parameters<ServerResponse['addTrailers']>[0]

/**
 * A response that is held back until the payment for it is settled.
 *
 * The handler notices no difference: write callbacks are called, `headersSent` and `writableEnded`
 * have their usual values, and what Node would refuse to send is refused by the same call with the same
 * error. `write` returns true while there is room: memory is bounded anyway, and
 * middleware in front (compression) delays `drain` listeners until the head is written. Once the
 * response is given up, what the handler writes is discarded, as if its client had disconnected.
 *
 * Middleware that wrapped the response before sees it when it is sent.
 */
export class HeldResponse {
  /** How the handler's response ended. Never rejects. */
  readonly finished: Promise<HeldEnd>
  readonly #res: ServerResponse
  /** The methods that the gates replaced, including those of the app's middleware. */
  readonly #original
  readonly #headersBefore: OutgoingHttpHeaders
  readonly #statusBefore: number
  readonly #body: HeldBody
  readonly #sources: PipedSources
  #finish: (end: HeldEnd) => void = () => undefined
  /** Lets the app destroy the response again, which has to wait while this one is complete. */
  #allowDestroy: (() => void) | undefined
  /** A response with the same head, which Node has written; fixed with the first byte. */
  #head: ServerResponse | undefined
  /** The head was fixed before the handler ended the response, so that its length was not known. */
  #isStreamed = false
  #isEnded = false
  /** The handler's writes are discarded. */
  #isGivenUp = false
  #isClientGone = false
  /** A response has gone out: this one, or its replacement. */
  #isSent = false

  /** Holds everything that is written to a response from now on. */
  constructor(res: ServerResponse, limits: HeldLimits) {
    const { write, end, writeHead, flushHeaders, addTrailers } = res
    const { writeEarlyHints, writeProcessing } = res
    const early = { writeEarlyHints, writeProcessing }
    this.#original = { write, end, writeHead, flushHeaders, addTrailers, ...early }
    this.#res = res
    this.#body = new HeldBody(limits)
    this.#headersBefore = res.getHeaders()
    this.#statusBefore = res.statusCode
    this.finished = new Promise((resolve) => (this.#finish = resolve))
    this.#sources = new PipedSources(res)
    this.#closeGates()
    Object.defineProperty(res, 'writableEnded', { configurable: true, get: () => this.#isEnded })
    onceClosed(res, this.#onClose)
  }

  /** Whether the client has disconnected; changes while the response is held. */
  get clientGone(): boolean {
    return this.#isClientGone || isClosed(this.#res)
  }

  /** The body so far, as the handler wrote it; empty once it was dropped. */
  get body(): Buffer {
    return this.#body.read() ?? Buffer.alloc(0)
  }

  /** Whether its `Content-Length`, if it has one, is that of its body: else clients wait, or get a part. */
  get fitsLength(): boolean {
    const { req, statusCode } = this.#res
    const length = this.#res.getHeader('content-length')
    const hasBody = req.method !== 'HEAD' && statusCode !== 204
    return length === undefined || !hasBody || Number(length) === this.#body.size
  }

  response(): RecordedResponse {
    return {
      status: this.#head?.statusCode ?? this.#res.statusCode,
      headers: headersSince(this.#headersBefore, this.#res.getHeaders()),
      body:
        this.#body.size <= MAX_STORED_BYTES ? (this.#body.read() ?? Buffer.alloc(0)) : undefined,
    }
  }

  /** Changes headers, which are fixed for the handler. */
  amend(change: (res: ServerResponse) => void): void {
    markHead(this.#res, undefined)
    try {
      change(this.#res)
    } finally {
      markHead(this.#res, this.#head)
    }
  }

  /**
   * Sends the response as the handler wrote it.
   *
   * @throws What middleware in front throws. Unless the head has been written, another response may be.
   */
  send(): void {
    const res = this.#res
    const { statusCode, statusMessage } = this.#head ?? res
    const body = this.#body.read()
    this.#isSent = true
    this.#openGates()
    Object.assign(res, { statusCode, statusMessage })
    try {
      if (this.#isStreamed) res.writeHead(statusCode)
      if (body === undefined) res.end()
      else res.end(body)
    } catch (error) {
      this.#isSent = res.headersSent
      throw error
    } finally {
      this.#body.drop()
    }
  }

  /**
   * Drops the response and resets its head to what it was before the handler ran. Does nothing once a
   * response has gone out.
   */
  discard(): void {
    if (this.#isSent) return
    const res = this.#res
    this.#openGates()
    this.#body.drop()
    for (const name of res.getHeaderNames()) res.removeHeader(name)
    for (const [name, value] of Object.entries(this.#headersBefore))
      if (value !== undefined) res.setHeader(name, value)
    res.addTrailers({})
    res.statusCode = this.#statusBefore
    res.statusMessage = ''
  }

  /**
   * Drops the response and sends another one in its place. From then on, the handler's calls have no
   * effect, and the streams that it pipes into the response are destroyed.
   *
   * @param respond - Writes and ends the other response before it returns.
   */
  replace(respond: () => void): void {
    if (this.#isSent) return
    const res = this.#res
    this.discard()
    this.#isSent = true
    this.#isGivenUp = true
    try {
      respond()
      // Session middleware may delay `end` until the session is stored. The head has to be written
      // before the gates close.
      if (!res.headersSent) res.writeHead(res.statusCode)
    } finally {
      this.#closeGates()
      Object.assign(res, ignoredHeaderMethods(res))
      this.#sources.destroyAfterResponse()
    }
  }

  /** Gives the response up, unless its handler has ended it: the gateway closes. */
  stop(): void {
    if (!this.#isOver) this.#giveUp('stopped')
  }

  readonly #onClose = (): void => {
    this.#isClientGone = true
    if (!this.#isEnded) this.#giveUp('aborted')
  }

  #closeGates(): void {
    Object.assign(this.#res, {
      write: this.#write,
      end: this.#end,
      writeHead: this.#writeHead,
      flushHeaders: (): void => {
        if (!this.#isOver) this.#start()
      },
      addTrailers: (trailers: Trailers): void => {
        if (!this.#isOver) this.#original.addTrailers.call(this.#res, trailers)
      },
      // Informational responses would be sent at once, while this one is held.
      writeEarlyHints: (_hints: unknown, callback?: () => void): void => {
        if (callback) process.nextTick(callback)
      },
      writeProcessing: (): void => undefined,
    })
  }

  /** Gives the response its own methods back. Middleware that wrapped the gates has already run. */
  #openGates(): void {
    const res = this.#res
    res.off('close', this.#onClose)
    markHead(res, undefined)
    Object.assign(res, this.#original)
    Reflect.deleteProperty(res, 'writableEnded')
    this.#allowDestroy?.()
    this.#allowDestroy = undefined
  }

  readonly #write = (chunk: unknown, ...rest: readonly unknown[]): boolean => {
    const { encoding, callback } = optionalArguments(rest)
    if (this.#isOver) return this.#refuse(callback)
    const bytes = toBytes(chunk, encoding)
    const { head } = this.#start()
    if (head.strictContentLength) head.write(bytes)
    this.#hold(bytes)
    if (callback) process.nextTick(callback)
    return !this.#isGivenUp
  }

  readonly #end = (...args: readonly unknown[]): ServerResponse => {
    const res = this.#res
    const [chunk, ...rest] = typeof args[0] === 'function' ? [undefined, args[0]] : args
    const { encoding, callback } = optionalArguments(rest)
    if (this.#isOver) {
      if (this.#isEnded && !chunk && callback) res.once('finish', callback)
      else this.#refuse(callback)
      return res
    }
    // As Node does, which takes an empty string, null and 0 for nothing.
    const bytes = chunk ? toBytes(chunk, encoding) : undefined
    // Throws what Node would, and what a wrapped `writeHead` does: the response has not ended then.
    const { head, isFirst } = this.#start()
    if (head.strictContentLength) head.end(bytes)
    if (bytes) this.#hold(bytes)
    if (callback) res.once('finish', callback)
    this.#isStreamed = !isFirst
    this.#isEnded = true
    this.#allowDestroy = destroyLater(res)
    this.#finish({ kind: 'ended', status: head.statusCode })
    return res
  }

  readonly #writeHead = (...head: HeadArguments): ServerResponse => {
    const res = this.#res
    if (this.#isGivenUp) return res
    // Throws that the head has been sent. Middleware in front is not told of heads that are not written.
    if (this.#head !== undefined)
      return Reflect.apply(ServerResponse.prototype.writeHead, res, head)
    this.#head = fixHead(res, head)
    return res
  }

  get #isOver(): boolean {
    return this.#isEnded || this.#isGivenUp
  }

  #refuse(callback: WriteCallback | undefined): false {
    return refuseWrite(
      callback,
      this.#isEnded ? 'ERR_STREAM_WRITE_AFTER_END' : 'ERR_STREAM_DESTROYED',
    )
  }

  /**
   * Fixes the head, as Node does before the first byte is sent: calls `writeHead`, which others may
   * have wrapped to add their headers.
   */
  #start(): { readonly head: ServerResponse; readonly isFirst: boolean } {
    if (this.#head !== undefined) return { head: this.#head, isFirst: false }
    const res = this.#res
    res.writeHead(res.statusCode)
    return { head: (this.#head ??= fixHead(res, [res.statusCode])), isFirst: true }
  }

  #hold(bytes: Buffer): void {
    const exceeded = this.#body.add(bytes)
    if (exceeded !== undefined) this.#giveUp(exceeded)
  }

  #giveUp(kind: Exclude<HeldEnd['kind'], 'ended'>): void {
    this.#isGivenUp = true
    this.#body.drop()
    this.#finish({ kind })
  }
}
