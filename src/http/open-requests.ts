import { setMaxListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { onceClosed } from './once-closed.js'

/** Time for last answers and writes after the cut-off (ms). */
const LAST_ANSWERS_MS = 2000

/** Longest delay of a timer (ms). */
const LONGEST_MS = 2 ** 31 - 1

/**
 * The open requests of a gateway, and their end when it closes. Requests are counted before any payment is
 * taken, so each is either refused or waited for.
 */
export class OpenRequests {
  readonly #stopping = new AbortController()
  readonly #cutOff = new AbortController()
  /** Unanswered responses and calls without HTTP. */
  readonly #unanswered = new Set<object>()
  /** Work that may still write to the ledger, with or without its client. */
  readonly #working = new Set<Promise<unknown>>()
  /** Called whenever one of them ends. */
  #onEnd: () => void = () => undefined

  constructor() {
    // Open requests listen to it, and Node takes more than ten listeners for a leak.
    setMaxListeners(0, this.#cutOff.signal)
  }

  /** Aborted when the gateway begins to close and refuses new requests. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /** Aborted when open requests run out of time: nothing is sent or waited for any more. */
  get cutOff(): AbortSignal {
    return this.#cutOff.signal
  }

  /**
   * Counts a request until its response is over.
   *
   * @returns `false` if the gateway is closing and the request must be refused.
   */
  add(res: ServerResponse): boolean {
    if (this.stopping.aborted) {
      // A kept-alive connection would bring further requests.
      res.shouldKeepAlive = false
      return false
    }
    this.#unanswered.add(res)
    onceClosed(res, () => this.#end(this.#unanswered, res))
    return true
  }

  /** Counts a call without HTTP. */
  addCall<T>(call: Promise<T>): Promise<T> {
    this.#unanswered.add(call)
    const end = (): void => this.#end(this.#unanswered, call)
    call.then(end, end)
    return call
  }

  /** Counts work that may write to the ledger. */
  during<T>(work: Promise<T>): Promise<T> {
    this.#working.add(work)
    const end = (): void => this.#end(this.#working, work)
    work.then(end, end)
    return work
  }

  /**
   * Refuses new requests and waits for open ones. After the timeout, remaining ones are cut off and
   * answered with what is known. Never rejects.
   */
  async close(timeoutMs: number): Promise<void> {
    this.#stopping.abort()
    for (const one of this.#unanswered) if ('shouldKeepAlive' in one) one.shouldKeepAlive = false
    await this.#until(() => this.#unanswered.size === 0, timeoutMs)
    this.#cutOff.abort()
    await this.#until(() => this.#unanswered.size + this.#working.size === 0, LAST_ANSWERS_MS)
  }

  #end<T>(open: Set<T>, one: T): void {
    open.delete(one)
    this.#onEnd()
  }

  #until(isOver: () => boolean, timeoutMs: number): Promise<void> {
    if (isOver()) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.min(timeoutMs, LONGEST_MS))
      this.#onEnd = () => {
        if (!isOver()) return
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
