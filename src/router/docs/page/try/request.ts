/** A request that the page sends, and its answer. */
import type { Operation, Parameter } from '../state/document.js'
import { tokenHeaders, type Tokens } from './tokens.js'

/** What a form has. */
export interface Filled {
  readonly operation: Operation
  readonly parameters: readonly Parameter[]
  /** By their names. */
  readonly values: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly tokens: Tokens
}

export interface PreparedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly statusText: string
  readonly milliseconds: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly text: string
  readonly isOpen: boolean
}

/** Characters that are shown of a body. */
const MAX_SHOWN = 200_000

/** Makes the request of a form. */
export function prepare({ operation, parameters, values, body, tokens }: Filled): PreparedRequest {
  const given = (place: Parameter['in']): readonly (readonly [string, string])[] =>
    parameters
      .filter((one) => one.in === place && (values[one.name] ?? '') !== '')
      .map(({ name }) => [name, values[name] ?? ''] as const)
  let { path } = operation
  for (const [name, value] of given('path'))
    path = path.replace(`{${name}}`, encodeURIComponent(value))
  const url = new URL(rootOf(operation) + path)
  for (const [name, value] of given('query')) url.searchParams.set(name, value)
  return {
    method: operation.method,
    url: url.href,
    headers: {
      ...tokenHeaders(operation, tokens),
      ...Object.fromEntries(given('header')),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body }),
  }
}

/** Where the gateway is, as this page was loaded: `<root>/api/v2/docs/`. */
function rootOf({ server }: Operation): string {
  const root = new URL('../../..', location.href).href.replace(/\/$/, '')
  if (server === undefined) return root
  // The policy of the page allows requests to its own origin only.
  return new URL(new URL(server).pathname, location.href).href.replace(/\/$/, '')
}

/** Sends a request. @param show - Called with the answer, again for each part of a stream. */
export async function send(
  request: PreparedRequest,
  signal: AbortSignal,
  show: (answer: Answer) => void,
): Promise<void> {
  const { url, ...init } = request
  const startedAt = performance.now()
  const response = await fetch(url, { ...init, signal, cache: 'no-store', redirect: 'follow' })
  const milliseconds = Math.round(performance.now() - startedAt)
  const { status, statusText } = response
  const headers = [...response.headers]
  let text = ''
  const tell = (isOpen: boolean): void =>
    show({ status, statusText, milliseconds, headers, isOpen, text: text.slice(0, MAX_SHOWN) })
  tell(true)
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  try {
    for (;;) {
      const part = await reader?.read()
      if (part === undefined || part.done || text.length > MAX_SHOWN) break
      text += decoder.decode(part.value, { stream: true })
      tell(true)
    }
  } finally {
    await reader?.cancel().catch(() => undefined)
    tell(false)
  }
}

/** The same request for a terminal. Tokens are left out. */
export function curlOf({ method, url, headers, body }: PreparedRequest): string {
  const parts = [`curl -X ${method} ${quote(url)}`]
  for (const [name, value] of Object.entries(headers))
    parts.push(`-H ${quote(`${name}: ${SECRETS.includes(name) ? SECRET : value}`)}`)
  if (body !== undefined) parts.push(`-d ${quote(body)}`)
  return parts.join(' \\\n  ')
}

const SECRETS: readonly string[] = ['X-Project-Identify-Token', 'Authorization']
const SECRET = '…'

const quote = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** A body, easier to read if it is JSON. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}
