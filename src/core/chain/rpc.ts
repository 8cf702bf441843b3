import { ChainError } from '../../shared/errors.js'
import { isThrottled, type RpcFailure } from './node-errors.js'
import { createPost, type Post } from './post.js'
import { world } from '../../shared/world.js'

/** How long a node may take to answer (ms). */
const DEFAULT_TIMEOUT_MS = 10_000

/** How often a read is repeated when its answer was lost. */
const READ_RETRIES = 1

/** How long to wait before such a retry (ms). */
const RETRY_DELAY_MS = 100

/**
 * How long a throttled read is repeated, and the pauses between attempts (ms). Pauses double, and vary, so
 * that requests that were refused together do not return together.
 */
const THROTTLED_MS = { most: 3000, pause: 50, longestPause: 500 }

const TOO_MANY_REQUESTS = 429

export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: RpcFailure }

export interface Rpc {
  /**
   * Sends one JSON-RPC request.
   *
   * @throws {@link ChainError} `chain_unreachable` when no answer came: no connection, a time-out, an
   * HTTP error, something that is not JSON-RPC.
   */
  ask(method: string, params: readonly unknown[]): Promise<RpcAnswer>
  /**
   * The same for a request that changes nothing: tried again once when its answer was lost, and for a
   * few seconds while the node takes no requests.
   */
  read(method: string, params: readonly unknown[]): Promise<RpcAnswer>
}

export interface HttpRpcOptions {
  readonly url: string
  /** @defaultValue 10000 */
  readonly timeoutMs?: number | undefined
  readonly onRequest?: RequestListener | undefined
}

export interface EndedRequest {
  /** One of the methods that this package calls. */
  readonly method: string
  /** `refused`: the node answered with an error; a revert is one. */
  readonly outcome: 'answered' | 'refused' | 'unreachable'
  readonly seconds: number
}

export type RequestListener = (request: EndedRequest) => void

/** JSON-RPC over HTTP. Its errors never show the URL. */
export class HttpRpc implements Rpc {
  readonly #url: string
  readonly #post: Post
  readonly #onRequest: RequestListener | undefined
  /** How long throttled reads are repeated (ms). */
  readonly #patienceMs: number
  #lastId = 0

  constructor({ url, timeoutMs = DEFAULT_TIMEOUT_MS, onRequest }: HttpRpcOptions) {
    this.#onRequest = onRequest
    this.#url = url
    this.#patienceMs = Math.min(timeoutMs, THROTTLED_MS.most)
    this.#post = createPost(url, timeoutMs)
  }

  async ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    const onRequest = this.#onRequest
    if (onRequest === undefined) return this.#ask(method, params)
    const startedAt = world.elapsed()
    const report = (outcome: EndedRequest['outcome']): void =>
      onRequest({ method, outcome, seconds: (world.elapsed() - startedAt) / 1000 })
    try {
      const answer = await this.#ask(method, params)
      report(answer.ok ? 'answered' : 'refused')
      return answer
    } catch (error) {
      report('unreachable')
      throw error
    }
  }

  async #ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    const answer = await this.#request(method, params)
    if (!isObject(answer)) throw garbled(method)
    if (isFailure(answer.error)) {
      const { code, message, data } = answer.error
      // Without a JSON-RPC code the words alone are classified.
      const known = typeof code === 'number' ? code : 0
      const redacted = redactUrl(message, this.#url)
      return { ok: false, error: { code: known, message, redacted, data } }
    }
    if (answer.result === undefined) throw garbled(method)
    return { ok: true, result: answer.result }
  }

  async read(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    const end = world.elapsed() + this.#patienceMs
    for (
      let pauseMs = THROTTLED_MS.pause;
      ;
      pauseMs = Math.min(pauseMs * 2, THROTTLED_MS.longestPause)
    ) {
      const answer = await this.#readOnce(method, params)
      if (answer.ok || !isThrottled(answer.error)) return answer
      const pause = pauseMs * (0.5 + world.random() / 2)
      if (world.elapsed() + pause > end) return answer
      await world.sleep(pause)
    }
  }

  async #readOnce(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
    for (let retries = 0; ; retries++) {
      try {
        return await this.ask(method, params)
      } catch (error) {
        if (retries === READ_RETRIES) throw error
        await world.sleep(RETRY_DELAY_MS)
      }
    }
  }

  async #request(method: string, params: readonly unknown[]): Promise<unknown> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++this.#lastId, method, params })
    const { status, text } = await this.#post(body).catch((error: unknown) => {
      throw this.#unanswered(method, error)
    })
    const answer = parse(text)
    if (status >= 200 && status < 300) return answer
    if (status === TOO_MANY_REQUESTS) return tooManyRequests(answer)
    // Some nodes refuse with an HTTP status of their own.
    if (isObject(answer) && isFailure(answer.error) && 'code' in answer.error) return answer
    throw this.#unanswered(method, new Error(`HTTP ${status}`))
  }

  #unanswered(method: string, error: unknown): ChainError {
    return new ChainError('chain_unreachable', `The node did not answer ${method}.`, {
      cause: new Error(redactUrl(summarize(error), this.#url)),
    })
  }
}

/** A refusal by HTTP status, in the node's words where it has some. */
function tooManyRequests(answer: unknown): unknown {
  const error = isObject(answer) ? answer.error : undefined
  const message = isFailure(error) ? error.message : `HTTP ${TOO_MANY_REQUESTS}`
  return { error: { code: TOO_MANY_REQUESTS, message } }
}

function garbled(method: string): ChainError {
  return new ChainError('chain_unreachable', `The node's answer to ${method} is not JSON-RPC.`)
}

function isObject(value: unknown): value is { error?: unknown; result?: unknown } {
  return typeof value === 'object' && value !== null
}

/** An error object of a node; only its message is certain. */
function isFailure(
  value: unknown,
): value is { readonly message: string; readonly code?: unknown; readonly data?: unknown } {
  return isObject(value) && 'message' in value && typeof value.message === 'string'
}

/** @returns `undefined` when the text is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function summarize(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure'
  // The message is empty when several addresses were tried.
  const { code } = error as NodeJS.ErrnoException
  return error.message || code || error.name
}

/** Shortest part of a URL's path, query or user info that counts as a key. */
const SHORTEST_KEY = 8

/**
 * Removes a URL and the keys in it from a text.
 *
 * Providers put their keys into the path, the query or the user info, and nodes and HTTP libraries
 * repeat them in their errors.
 */
export function redactUrl(text: string, url: string): string {
  let redacted = text.replaceAll(url, '[rpc url]')
  for (const secret of secretsOf(url)) redacted = redacted.replaceAll(secret, '[redacted]')
  return redacted
}

function secretsOf(url: string): readonly string[] {
  if (!URL.canParse(url)) return []
  const { host, hostname, pathname, searchParams, username, password } = new URL(url)
  const parts = [...pathname.split('/'), ...searchParams.values(), username, password]
  // A name of one word, as containers have, is no secret, and may be any word of a message.
  const names = [host, hostname].filter((name) => /[.:]/.test(name))
  return [...names, ...parts.filter((part) => part.length >= SHORTEST_KEY)]
}
