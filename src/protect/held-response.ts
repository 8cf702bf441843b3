import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { HeldBody, type HeldLimits } from './held-body.js'
import { showProgress, type HeldProgress } from './held-progress.js'
import { PipedSources } from './piped-sources.js'
import { ignoredHeaderMethods, setHead, type HeadArguments } from './response-head.js'
import { headersSince, MAX_STORED_BYTES, type RecordedResponse } from './stored-response.js'
import { optionalArguments, refuseWrite, toBytes } from './write-arguments.js'

/** How a handler's response ended. */
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
 * have their usual values. `write` returns true while there is room: memory is bounded anyway, and
 * middleware in front (compression) delays `drain` listeners until the head is written. Once the
 * response is given up, what the handler writes is discarded, as if its client had disconnected.
 *
 * Middleware that wrapped the response before sees it when it is sent.
 */
export class HeldResponse implements HeldProgress {
  /** How the handler's response ended. Never rejects. */
  readonly finished: Promise<HeldEnd>
  readonly #res: ServerResponse
  /** The methods that the gates replaced, including those of the app's middleware. */
  readonly #original
  /** The head before the handler ran. */
  readonly #headersBefore: OutgoingHttpHeaders
  readonly #statusBefore: number
  readonly #body: HeldBody
  readonly #sources: PipedSources
  #finish: (end: HeldEnd) => void = () => undefined
  #trailers: Trailers | undefined
  /** Fixed with the first byte. */
  #status: number | undefined
  /** The handler has ended its response. */
  #isEnded = false
  /** What the handler writes is discarded. */
  #isGivenUp = false
  #isClientGone = false
  #isHeld = true
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
    res.once('close', this.#onClose)
    this.#sources = new PipedSources(res)
    this.#closeGates()
    showProgress(this)
  }

  get res(): ServerResponse {
    return this.#res
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  get headersSent(): boolean {
    return this.#status !== undefined
  }

  get writableEnded(): boolean {
    return this.#isEnded
  }

  /** Whether the client has disconnected; changes while the response is held. */
  get clientGone(): boolean {
    return this.#isClientGone
  }

  /** The body so far, as the handler wrote it; empty once it was dropped. */
  get body(): Buffer {
    return this.#body.read() ?? Buffer.alloc(0)
  }

  /** The response so far, to be stored. */
  response(): RecordedResponse {
    return {
      status: this.#status ?? this.#res.statusCode,
      headers: headersSince(this.#headersBefore, this.#res.getHeaders()),
      body:
        this.#body.size <= MAX_STORED_BYTES ? (this.#body.read() ?? Buffer.alloc(0)) : undefined,
    }
  }

  /** Sends the response as the handler wrote it. */
  send(): void {
    const res = this.#res
    this.#isSent = true
    this.#openGates()
    if (this.#status !== undefined) res.statusCode = this.#status
    if (this.#trailers !== undefined) res.addTrailers(this.#trailers)
    const body = this.#body.read()
    if (body === undefined) res.end()
    else res.end(body)
    this.#body.drop()
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

  /** Replaces the response's own methods. */
  #closeGates(): void {
    Object.assign(this.#res, {
      write: this.#write,
      end: this.#end,
      writeHead: this.#writeHead,
      flushHeaders: (): void => {
        if (!this.#isOver) this.#start()
      },
      addTrailers: (trailers: Trailers): void => {
        this.#trailers = trailers
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
    Object.assign(res, this.#original)
    this.#isHeld = false
  }

  readonly #write = (chunk: unknown, ...rest: readonly unknown[]): boolean => {
    const { encoding, callback } = optionalArguments(rest)
    if (this.#isOver) return refuseWrite(callback)
    const bytes = toBytes(chunk, encoding)
    this.#start()
    this.#hold(bytes)
    if (callback) process.nextTick(callback)
    return !this.#isGivenUp
  }

  readonly #end = (...args: readonly unknown[]): ServerResponse => {
    const res = this.#res
    const [chunk, ...rest] = typeof args[0] === 'function' ? [undefined, args[0]] : args
    const { encoding, callback } = optionalArguments(rest)
    if (this.#isOver) {
      refuseWrite(callback)
      return res
    }
    const bytes = chunk === undefined || chunk === null ? undefined : toBytes(chunk, encoding)
    // Throws if a wrapped `writeHead` does: the response has not ended then.
    const status = this.#start()
    if (bytes) this.#hold(bytes)
    if (callback) res.once('finish', callback)
    this.#isEnded = true
    this.#finish({ kind: 'ended', status })
    return res
  }

  readonly #writeHead = (...head: HeadArguments): ServerResponse => {
    if (this.#isOver) return this.#res
    setHead(this.#res, head)
    this.#status ??= head[0]
    return this.#res
  }

  get #isOver(): boolean {
    return this.#isEnded || this.#isGivenUp
  }

  /**
   * Fixes the head, as Node does before the first byte is sent: calls `writeHead`, which others may
   * have wrapped to add their headers.
   */
  #start(): number {
    if (this.#status === undefined) this.#res.writeHead(this.#res.statusCode)
    return (this.#status ??= this.#res.statusCode)
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
