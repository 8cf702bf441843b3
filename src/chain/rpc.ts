import { setTimeout as sleep } from 'node:timers/promises'
import { ChainError } from '../errors.js'
import { createPoster } from './http-post.js'
import type { RpcFailure } from './node-errors.js'
import { redactUrl } from './redact.js'

/** Milliseconds a node is given to answer one request. */
const DEFAULT_TIMEOUT_MS = 10_000

/** Times a request that changes nothing is tried again when its answer was lost. */
const READ_RETRIES = 1

/** Milliseconds before such a retry. */
const RETRY_DELAY_MS = 100

/** What a node answered. */
export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: RpcFailure }

/** Asks a node. */
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

/** Options of {@link httpRpc}. */
export interface RpcOptions {
  readonly url: string
  /** @defaultValue 10000 */
  readonly timeoutMs?: number
}

/** Speaks JSON-RPC over HTTP. Its errors never show the URL. */
export function httpRpc({ url, timeoutMs = DEFAULT_TIMEOUT_MS }: RpcOptions): Rpc {
  const post = createPoster(url, timeoutMs)
  let lastId = 0

  const ask = async (method: string, params: readonly unknown[]): Promise<RpcAnswer> => {
    const answer = await request(method, params)
    if (!isObject(answer)) throw garbled(method)
    if (isFailure(answer.error)) {
      const { code, message, data } = answer.error
      // A node that names no code of JSON-RPC's has its words alone.
      const known = typeof code === 'number' ? code : 0
      return {
        ok: false,
        error: { code: known, message, redacted: redactUrl(message, url), data },
      }
    }
    if (answer.result === undefined) throw garbled(method)
    return { ok: true, result: answer.result }
  }

  const request = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: ++lastId, method, params })
    const { status, text } = await post(body).catch((error: unknown) => {
      throw unanswered(method, error)
    })
    const answer = parse(text)
    // Nodes also say what they refuse with a status of their own.
    if (status >= 200 && status < 300) return answer
    if (isObject(answer) && isFailure(answer.error) && 'code' in answer.error) return answer
    throw unanswered(method, new Error(`HTTP ${status}`))
  }

  const unanswered = (method: string, error: unknown): ChainError =>
    new ChainError('chain_unreachable', `The node did not answer ${method}.`, {
      cause: new Error(redactUrl(summarize(error), url)),
    })

  const read: Rpc['read'] = async (method, params) => {
    for (let retries = 0; ; retries++) {
      try {
        return await ask(method, params)
      } catch (error) {
        if (retries === READ_RETRIES) throw error
        await sleep(RETRY_DELAY_MS)
      }
    }
  }

  return { ask, read }
}

function garbled(method: string): ChainError {
  return new ChainError('chain_unreachable', `The node's answer to ${method} is not JSON-RPC.`)
}

function isObject(value: unknown): value is { error?: unknown; result?: unknown } {
  return typeof value === 'object' && value !== null
}

/** An error as a node writes it; nothing but its message is certain. */
function isFailure(
  value: unknown,
): value is { readonly message: string; readonly code?: unknown; readonly data?: unknown } {
  return isObject(value) && 'message' in value && typeof value.message === 'string'
}

/** @returns Nothing that is an answer, where it is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What went wrong, in a few words. */
function summarize(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown failure'
  // Where several addresses were tried, the message is empty.
  const { code } = error as NodeJS.ErrnoException
  return error.message || code || error.name
}
