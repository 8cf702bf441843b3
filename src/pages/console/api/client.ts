/** Requests of the page, and their problems. */

import { randomHex } from '../../../shared/protocol/random-hex.js'

/** A mistake in a member of a request. */
export interface FieldError {
  readonly path: string
  readonly message: string
}

interface ProblemDocument {
  readonly code?: string
  readonly detail?: string
  readonly errors?: readonly FieldError[]
  readonly requestId?: string
  readonly delivering?: boolean
}

/** A failed request: the gateway’s problem details, or no answer. */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldError[]
  readonly requestId: string | undefined
  /** Of a refund: what was paid for is being delivered at this moment. */
  readonly isDelivering: boolean

  constructor(status: number, document: ProblemDocument) {
    super(document.detail ?? `The gateway answered with status ${status}.`)
    this.status = status
    this.code = document.code ?? 'unknown'
    this.errors = Array.isArray(document.errors) ? document.errors : []
    this.requestId = document.requestId
    this.isDelivering = document.delivering === true
  }

  /** The mistake in a member or one of its parts. */
  errorOf(path: string): string | undefined {
    return this.errors.find((one) => one.path === path || one.path.startsWith(`${path}.`))?.message
  }
}

export interface RequestOptions {
  readonly body?: unknown
  /** Value of `Idempotency-Key`. */
  readonly key?: string | undefined
  /** Version to change. */
  readonly version?: number | undefined
  readonly signal?: AbortSignal
}

/** Relative, so that the gateway may be mounted anywhere. */
const API = '../api/v2/'

let onSessionEnd: () => void = () => undefined

export function setSessionEnd(listener: () => void): void {
  onSessionEnd = listener
}

export const apiUrl = (path: string): string => API + path

/**
 * Asks an endpoint of the API.
 *
 * @param path - Below `/api/v2/`.
 * @throws {@link Problem}
 */
export async function ask<T>(
  method: string,
  path: string,
  options: RequestOptions = {},
): Promise<T> {
  try {
    return await send<T>(method, apiUrl(path), options)
  } catch (error) {
    if (error instanceof Problem && error.status === 401) {
      error.message = 'Your session ended. Nothing was changed: try again.'
      onSessionEnd()
    }
    throw error
  }
}

/** Sends a request relative to the page. @throws {@link Problem} */
export async function send<T>(
  method: string,
  url: string,
  { body, key, version, signal }: RequestOptions = {},
): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (key !== undefined) headers['Idempotency-Key'] = key
  if (version !== undefined) headers['If-Match'] = `"${version}"`
  const response = await fetch(url, {
    method,
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted) throw error
    throw new Problem(0, {
      code: 'unreachable',
      detail: 'The gateway does not answer. Check that it runs and that you are online.',
    })
  })
  const document: unknown = await response.json().catch(() => undefined)
  if (!response.ok) throw problemOf(response, document)
  return document as T
}

function problemOf(response: Response, document: unknown): Problem {
  const isObject = typeof document === 'object' && document !== null
  const problem = new Problem(response.status, isObject ? document : {})
  const wait = response.headers.get('retry-after')
  if (response.status === 429 && wait !== null)
    problem.message = `Too many requests. Try again in ${wait} seconds.`
  if (problem.code === 'precondition_failed') problem.message = 'Somebody changed this merchant.'
  return problem
}

export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  return new Problem(0, { code: 'page_error', detail: String(error) })
}

/** Makes an idempotency key. `crypto.randomUUID` is missing over plain HTTP. */
export const newKey = (): string => randomHex(16)
