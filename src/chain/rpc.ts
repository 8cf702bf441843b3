import { setTimeout as sleep } from 'node:timers/promises'
import { ChainError } from '../errors.js'
import { createPost, type Post } from './http-post.js'
import type { RpcFailure } from './node-errors.js'
import { redactUrl } from './redact.js'

/** Milliseconds a node is given to answer one request. */
const DEFAULT_TIMEOUT_MS = 10_000

/** Times a read is tried again when its answer was lost. */
const READ_RETRIES = 1

/** Milliseconds before such a retry. */
const RETRY_DELAY_MS = 100

/** What a node answered. */
export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: RpcFailure }

/** Sends requests to a node. */
export interface Rpc {
  /**
   * Sends one JSON-RPC request.
   *
   * @throws {@link ChainError} `chain_unreachable` when no answer came: no connection, a time-out, an
   * HTTP error, something that is not JSON-RPC.
   */
  ask(method: string, params: readonly unknown[]): Promise<RpcAnswer>
  /** The same for a request that changes nothing: tried again once when its answer was lost. */
  read(method: string, params: readonly unknown[]): Promise<RpcAnswer>
}

/** Options of {@link HttpRpc}. */
export interface HttpRpcOptions {
  readonly url: string
  /** @defaultValue 10000 */
  readonly timeoutMs?: number | undefined
}

/** JSON-RPC over HTTP. Its errors never show the URL. */
export class HttpRpc implements Rpc {
  readonly #url: string
  readonly #post: Post
  /** The id of the last request. */
  #lastId = 0

  constructor({ url, timeoutMs = DEFAULT_TIMEOUT_MS }: HttpRpcOptions) {
    this.#url = url
    this.#post = createPost(url, timeoutMs)
  }

  async ask(method: string, params: readonly unknown[]): Promise<RpcAnswer> {
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
    for (let retries = 0; ; retries++) {
      try {
        return await this.ask(method, params)
      } catch (error) {
        if (retries === READ_RETRIES) throw error
        await sleep(RETRY_DELAY_MS)
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

/** A short description of an error. */
function summarize(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure'
  // The message is empty when several addresses were tried.
  const { code } = error as NodeJS.ErrnoException
  return error.message || code || error.name
}
