import { setMaxListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { ChainError } from '../errors.js'
import { onceClosed } from './once-closed.js'
import { world } from '../world.js'

/** Time for last answers and writes after the cut-off (ms), and how much of it a node may take. */
const LAST_ANSWERS_MS = 2000
const LAST_ASKING_MS = 1000

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
  /** Ends the waits of requests for nodes and other gateways. */
  readonly #asking = new Set<() => void>()
  #isLate = false
  #onEnd: () => void = () => undefined

  constructor() {
    // Open requests listen to it, and Node takes more than ten listeners for a leak.
    setMaxListeners(0, this.#cutOff.signal)
  }

  /** Aborted when the gateway begins to close and refuses new requests. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  /**
   * Aborted when open requests run out of time: nothing is sent or waited for any more. Its reason is a `ChainError`
   * (`chain_unreachable`).
   */
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
   * Waits for a node or another gateway, but not so long that the request could not be answered any more before the
   * gateway is closed.
   *
   * @param onLate - Gets what was waited for in vain.
   * @throws `ChainError` (`chain_unreachable`) when time is over, and what `asking` rejects with.
   */
  ask<T>(asking: Promise<T>, onLate: (found: T) => void = () => undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      let isWaiting = true
      const end = (): void => {
        isWaiting = false
        this.#asking.delete(end)
        reject(this.cutOff.reason)
      }
      this.#asking.add(end)
      if (this.#isLate) end()
      asking
        .finally(() => this.#asking.delete(end))
        .then((found) => (isWaiting ? resolve(found) : onLate(found)), reject)
    })
  }

  /**
   * Refuses new requests and waits for open ones. After the timeout, remaining ones are cut off and
   * answered with what is known. Never rejects.
   */
  async close(timeoutMs: number): Promise<void> {
    this.#stopping.abort()
    for (const one of this.#unanswered) if ('shouldKeepAlive' in one) one.shouldKeepAlive = false
    await this.#until(() => this.#unanswered.size === 0, timeoutMs)
    this.#cutOff.abort(
      new ChainError('chain_unreachable', 'The gateway is closing, and cannot wait longer.'),
    )
    const late = world.setTimeout(() => {
      this.#isLate = true
      for (const end of this.#asking) end()
    }, LAST_ASKING_MS)
    await this.#until(() => this.#unanswered.size + this.#working.size === 0, LAST_ANSWERS_MS)
    world.clearTimeout(late)
  }

  #end<T>(open: Set<T>, one: T): void {
    open.delete(one)
    this.#onEnd()
  }

  #until(isOver: () => boolean, timeoutMs: number): Promise<void> {
    if (isOver()) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = world.setTimeout(resolve, Math.min(timeoutMs, LONGEST_MS))
      this.#onEnd = () => {
        if (!isOver()) return
        world.clearTimeout(timer)
        resolve()
      }
    })
  }
}
