import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { headersSince, MAX_STORED_BYTES, type GivenAnswer } from './stored-answer.js'

/** How a handler's answer came to its end. */
export type HeldEnd =
  /** It is complete; nothing of it has been sent. */
  | { readonly how: 'ended'; readonly status: number }
  /** The client went away before it was complete. */
  | { readonly how: 'aborted' }
  /** It is larger than what may be held. */
  | { readonly how: 'too_large' }

/** An answer that is kept back until it is known whether it may go out. */
export interface HeldResponse {
  /** How the handler's answer ended. Never rejects. */
  readonly finished: Promise<HeldEnd>
  /** Whether the client is gone; changes while the answer is held. */
  readonly clientGone: boolean
  /** The answer as it stands, to be stored. */
  answer(): GivenAnswer
  /** Lets the answer out as the handler wrote it. */
  send(): void
  /** Drops the answer, also its headers; the response is as it was before the handler. */
  discard(): void
}

type WriteCallback = (error?: Error | null) => void

/** Members whose values tell how far an answer has got; while it is held, the handler's view. */
const VIEWS = ['headersSent', 'writableEnded'] as const

/**
 * Keeps back everything that is written to a response from now on.
 *
 * To the handler nothing is different: callbacks are called, `write` says when to wait and `drain`
 * when to go on, `headersSent` and `writableEnded` are what they would be. Whatever wrapped the
 * response before us (compression, say) sees the answer when it is let out.
 *
 * @param maxHeldBytes - Body bytes beyond which the answer is given up as `too_large`.
 */
export function holdResponse(res: ServerResponse, maxHeldBytes: number): HeldResponse {
  const { write, end, writeHead, flushHeaders } = res
  const original = { write, end, writeHead, flushHeaders }
  const headersBefore = res.getHeaders()
  const statusBefore = res.statusCode
  const body: Buffer[] = []
  let head: unknown[] | undefined
  let status: number | undefined
  let heldBytes = 0
  let sinceDrain = 0
  let ended = false
  let clientGone = false
  let givenUp = false

  let finish: (how: HeldEnd) => void
  const finished = new Promise<HeldEnd>((resolve) => (finish = resolve))
  const giveUp = (how: 'aborted' | 'too_large'): void => {
    givenUp = true
    body.length = 0
    finish({ how })
  }
  const onClose = (): void => {
    clientGone = true
    if (!ended) giveUp('aborted')
  }
  res.once('close', onClose)

  /**
   * Does what Node does before the first byte leaves: it calls `writeHead`, which others may have
   * wrapped to add their headers, and the status is fixed.
   */
  const start = (): number => {
    if (status === undefined) {
      res.writeHead(res.statusCode)
      head = undefined
    }
    return (status ??= res.statusCode)
  }

  const hold = (chunk: unknown, encoding: BufferEncoding | undefined): void => {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : toBuffer(chunk)
    heldBytes += bytes.length
    sinceDrain += bytes.length
    if (givenUp) return
    if (heldBytes > maxHeldBytes) giveUp('too_large')
    else body.push(bytes)
  }

  const gates = {
    write(chunk: unknown, ...rest: [BufferEncoding?, WriteCallback?] | [WriteCallback?]) {
      const { encoding, callback } = optionalArguments(rest)
      if (ended) return false
      start()
      hold(chunk, encoding)
      if (callback) process.nextTick(callback)
      if (sinceDrain < res.writableHighWaterMark) return true
      setImmediate(() => {
        sinceDrain = 0
        res.emit('drain')
      })
      return false
    },
    end(...args: [unknown?, BufferEncoding?, WriteCallback?] | [WriteCallback?]) {
      const [chunk, ...rest] = typeof args[0] === 'function' ? [undefined, args[0]] : args
      const { encoding, callback } = optionalArguments(rest)
      if (ended) return res
      if (chunk !== undefined && chunk !== null) hold(chunk, encoding)
      if (callback) res.once('finish', callback)
      ended = true
      finish({ how: 'ended', status: start() })
      return res
    },
    writeHead(...args: [number, ...unknown[]]) {
      res.statusCode = args[0]
      status ??= args[0]
      head = args
      return res
    },
    flushHeaders() {
      start()
    },
  }
  Object.assign(res, gates)
  Object.defineProperty(res, 'headersSent', { configurable: true, get: () => status !== undefined })
  Object.defineProperty(res, 'writableEnded', { configurable: true, get: () => ended })

  const letGo = (): void => {
    res.off('close', onClose)
    // Whatever wrapped the gates meanwhile has had its say.
    Object.assign(res, original)
    for (const view of VIEWS) Reflect.deleteProperty(res, view)
  }

  return {
    finished,
    get clientGone() {
      return clientGone
    },
    answer: () => ({
      status: res.statusCode,
      headers: headersSince(headersBefore, { ...res.getHeaders(), ...headersOf(head) }),
      body: heldBytes <= MAX_STORED_BYTES ? Buffer.concat(body) : undefined,
    }),
    send() {
      letGo()
      if (head !== undefined) Reflect.apply(writeHead, res, head)
      if (body.length === 0) res.end()
      else res.end(body.length === 1 ? body[0] : Buffer.concat(body))
    },
    discard() {
      letGo()
      body.length = 0
      for (const name of res.getHeaderNames()) res.removeHeader(name)
      for (const [name, value] of Object.entries(headersBefore))
        if (value !== undefined) res.setHeader(name, value)
      res.statusCode = statusBefore
      res.statusMessage = ''
    },
  }
}

function optionalArguments(rest: readonly unknown[]): {
  encoding: BufferEncoding | undefined
  callback: WriteCallback | undefined
} {
  const [first, second] = rest
  return {
    encoding: typeof first === 'string' ? (first as BufferEncoding) : undefined,
    callback: [first, second].find((one): one is WriteCallback => typeof one === 'function'),
  }
}

/** Headers given to `writeHead`: an object, pairs, or names and values in turn. */
function headersOf(head: readonly unknown[] = []): OutgoingHttpHeaders {
  const given = head.find((one) => typeof one === 'object' && one !== null) ?? {}
  const flat: readonly unknown[] = Array.isArray(given)
    ? given.flat()
    : Object.entries(given).flat()
  const headers: Record<string, unknown> = {}
  for (let index = 0; index < flat.length; index += 2)
    headers[String(flat[index]).toLowerCase()] = flat[index + 1]
  return headers as OutgoingHttpHeaders
}

/** @throws TypeError for what Node would not write either. */
function toBuffer(chunk: unknown): Buffer {
  if (chunk instanceof Uint8Array) return Buffer.from(chunk)
  throw new TypeError('The chunk must be a string, a Buffer or a Uint8Array.')
}
