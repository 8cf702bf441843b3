import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { HeldLease } from './held-budget.js'
import { setHead, type HeadArguments } from './response-head.js'
import { headersSince, MAX_STORED_BYTES, type GivenAnswer } from './stored-answer.js'
import { optionalArguments, toBytes, type WriteCallback } from './write-arguments.js'

/** How a handler's answer came to its end. */
export type HeldEnd =
  /** It is complete; nothing of it has been sent. */
  | { readonly how: 'ended'; readonly status: number }
  /** The client went away before it was complete. */
  | { readonly how: 'aborted' }
  /** It is larger than what may be held. */
  | { readonly how: 'too_large' }
  /** Too much is held for others at this moment. */
  | { readonly how: 'no_room' }

/** How much of an answer is held. */
export interface HeldLimits {
  /** Body bytes beyond which the answer is given up as `too_large`. */
  readonly maxHeldBytes: number
  /** Room in the memory of all held answers; where it ends, the answer is given up as `no_room`. */
  readonly lease?: HeldLease
}

/** Members whose values tell how far an answer has got; while it is held, the handler's view. */
const VIEWS = ['headersSent', 'writableEnded'] as const

/**
 * An answer that is kept back until it is known whether it may go out.
 *
 * To the handler nothing is different: write callbacks are called, `headersSent` and `writableEnded`
 * are what they would be. `write` never asks to wait while there is room: what is held is bounded
 * anyway, and middleware in front (compression) keeps `drain` listeners back until the head is
 * written. Once an answer is given up, the handler writes into the void, as if its client were gone.
 *
 * Whatever wrapped the response before us sees the answer when it is let out.
 */
export class HeldResponse {
  /** How the handler's answer ended. Never rejects. */
  readonly finished: Promise<HeldEnd>
  readonly #res: ServerResponse
  readonly #limits: HeldLimits
  /** What stands where the gates are, middleware of the app included. */
  readonly #original
  readonly #headersBefore: OutgoingHttpHeaders
  readonly #statusBefore: number
  readonly #body: Buffer[] = []
  /** Streams that are piped into the response. */
  readonly #sources = new Set<Readable>()
  #finish: (end: HeldEnd) => void = () => undefined
  #trailers: Parameters<ServerResponse['addTrailers']>[0] | undefined
  /** Fixed with the first byte. */
  #status: number | undefined
  #heldBytes = 0
  #isEnded = false
  #isGivenUp = false
  #isClientGone = false
  /** An answer has gone out: this one, or another in its place. */
  #isAnswered = false

  constructor(res: ServerResponse, limits: HeldLimits) {
    const { write, end, writeHead, flushHeaders, addTrailers } = res
    const { writeEarlyHints, writeProcessing } = res
    this.#original = {
      ...{ write, end, writeHead, flushHeaders, addTrailers },
      ...{ writeEarlyHints, writeProcessing },
    }
    this.#res = res
    this.#limits = limits
    this.#headersBefore = res.getHeaders()
    this.#statusBefore = res.statusCode
    this.finished = new Promise((resolve) => (this.#finish = resolve))
    res.once('close', this.#onClose)
    res.on('pipe', this.#onPipe)
    res.on('unpipe', this.#onUnpipe)
    Object.assign(res, this.#gates())
    this.#show('headersSent', () => this.#status !== undefined)
    this.#show('writableEnded', () => this.#isEnded)
  }

  /** Whether the client is gone; changes while the answer is held. */
  get clientGone(): boolean {
    return this.#isClientGone
  }

  /** The answer as it stands, to be stored. */
  answer(): GivenAnswer {
    return {
      status: this.#status ?? this.#res.statusCode,
      headers: headersSince(this.#headersBefore, this.#res.getHeaders()),
      body: this.#heldBytes <= MAX_STORED_BYTES ? Buffer.concat(this.#body) : undefined,
    }
  }

  /** Lets the answer out as the handler wrote it. */
  send(): void {
    const res = this.#res
    this.#isAnswered = true
    this.#open()
    if (this.#status !== undefined) res.statusCode = this.#status
    if (this.#trailers !== undefined) res.addTrailers(this.#trailers)
    const [first, ...others] = this.#body
    if (first === undefined) res.end()
    else res.end(others.length === 0 ? first : Buffer.concat(this.#body))
    this.#forget()
  }

  /**
   * Drops the answer, also its headers; the response is as it was before the handler. Does nothing
   * once an answer has gone out.
   */
  discard(): void {
    if (this.#isAnswered) return
    const res = this.#res
    this.#open()
    this.#forget()
    for (const name of res.getHeaderNames()) res.removeHeader(name)
    for (const [name, value] of Object.entries(this.#headersBefore))
      if (value !== undefined) res.setHeader(name, value)
    res.statusCode = this.#statusBefore
    res.statusMessage = ''
  }

  /**
   * Drops the answer and sends another in its place. Whatever the handler does to the response from
   * then on does nothing, and what it pipes into it is ended.
   *
   * @param respond - Writes and ends the other answer before it returns.
   */
  replace(respond: () => void): void {
    if (this.#isAnswered) return
    const res = this.#res
    this.discard()
    this.#isAnswered = true
    this.#isGivenUp = true
    try {
      respond()
      // A session that is stored first ends it later: the head must not wait until the gates are shut.
      if (!res.headersSent) res.writeHead(res.statusCode)
    } finally {
      Object.assign(res, this.#gates(), shutHeaders(res))
      // A pipe lets go of its own accord when the response has finished, but does not close its source.
      const sources = [...this.#sources]
      const endSources = (): void => this.#endSources(sources)
      res.once('finish', endSources)
      res.once('close', endSources)
    }
  }

  readonly #onClose = (): void => {
    this.#isClientGone = true
    if (!this.#isEnded) this.#giveUp('aborted')
  }

  readonly #onPipe = (source: Readable): void => void this.#sources.add(source)

  readonly #onUnpipe = (source: Readable): void => void this.#sources.delete(source)

  #giveUp(how: 'aborted' | 'too_large' | 'no_room'): void {
    this.#isGivenUp = true
    this.#forget()
    this.#finish({ how })
  }

  #forget(): void {
    this.#body.length = 0
    this.#limits.lease?.release()
  }

  /** What takes the place of the response's own methods. */
  #gates() {
    const res = this.#res
    return {
      write: (chunk: unknown, ...rest: readonly unknown[]): boolean => {
        const { encoding, callback } = optionalArguments(rest)
        if (this.#isOver) return refuseWrite(callback)
        const bytes = toBytes(chunk, encoding)
        this.#start()
        this.#hold(bytes)
        if (callback) process.nextTick(callback)
        return !this.#isGivenUp
      },
      end: (...args: readonly unknown[]): ServerResponse => {
        const [chunk, ...rest] = typeof args[0] === 'function' ? [undefined, args[0]] : args
        const { encoding, callback } = optionalArguments(rest)
        if (this.#isOver) {
          refuseWrite(callback)
          return res
        }
        const bytes = chunk === undefined || chunk === null ? undefined : toBytes(chunk, encoding)
        // May throw, where somebody wrapped it: then nothing has ended.
        const status = this.#start()
        if (bytes) this.#hold(bytes)
        if (callback) res.once('finish', callback)
        this.#isEnded = true
        this.#finish({ how: 'ended', status })
        return res
      },
      writeHead: (...head: HeadArguments): ServerResponse => {
        if (this.#isOver) return res
        setHead(res, head)
        this.#status ??= head[0]
        return res
      },
      flushHeaders: (): void => {
        if (!this.#isOver) this.#start()
      },
      addTrailers: (trailers: Parameters<ServerResponse['addTrailers']>[0]): void => {
        this.#trailers = trailers
      },
      // These would leave before the answer.
      writeEarlyHints: (_hints: unknown, callback?: () => void): void => {
        if (callback) process.nextTick(callback)
      },
      writeProcessing: (): void => undefined,
    }
  }

  get #isOver(): boolean {
    return this.#isEnded || this.#isGivenUp
  }

  /**
   * Does what Node does before the first byte leaves: it calls `writeHead`, which others may have
   * wrapped to add their headers, and the status is fixed.
   */
  #start(): number {
    if (this.#status === undefined) this.#res.writeHead(this.#res.statusCode)
    return (this.#status ??= this.#res.statusCode)
  }

  #hold(bytes: Buffer): void {
    const { maxHeldBytes, lease } = this.#limits
    this.#heldBytes += bytes.length
    if (this.#heldBytes > maxHeldBytes) this.#giveUp('too_large')
    else if (lease?.take(bytes.length) === false) this.#giveUp('no_room')
    else this.#body.push(bytes)
  }

  /** Gives the response its own methods back. */
  #open(): void {
    const res = this.#res
    res.off('close', this.#onClose)
    // Whatever wrapped the gates meanwhile has had its say.
    Object.assign(res, this.#original)
    for (const view of VIEWS) Reflect.deleteProperty(res, view)
  }

  #show(view: (typeof VIEWS)[number], get: () => boolean): void {
    Object.defineProperty(this.#res, view, { configurable: true, get })
  }

  /** Ends what was piped into a response that takes nothing any more. */
  #endSources(sources: readonly Readable[]): void {
    for (const source of sources) {
      source.unpipe(this.#res)
      // The request shares its socket with the answer.
      if (source !== this.#res.req) source.destroy()
    }
  }
}

/** Keeps back everything that is written to a response from now on. */
export function holdResponse(res: ServerResponse, limits: HeldLimits): HeldResponse {
  return new HeldResponse(res, limits)
}

/** Header methods that do nothing: Node's own throw once the head has been sent. */
function shutHeaders(res: ServerResponse) {
  const nothing = (): ServerResponse => res
  return {
    setHeader: nothing,
    setHeaders: nothing,
    appendHeader: nothing,
    removeHeader: (): void => undefined,
    writeContinue: (): void => undefined,
  }
}

/**
 * Says of a write that its response is closed. Not before other events have had their turn: who
 * writes on and on would keep them all waiting.
 */
function refuseWrite(callback: WriteCallback | undefined): false {
  if (callback)
    setImmediate(
      callback,
      Object.assign(new Error('The response is closed.'), { code: 'ERR_STREAM_DESTROYED' }),
    )
  return false
}
