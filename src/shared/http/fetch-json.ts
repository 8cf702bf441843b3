import { world } from '../world.js'

/**
 * Fetches JSON documents from other servers.
 *
 * Responses are not trusted or logged: bytes and time are bounded, redirects are not followed, and errors
 * do not contain the URL, which may contain a key.
 */

export interface JsonRequest {
  readonly headers: Readonly<Record<string, string>>
  /** @defaultValue POST with a body, else GET */
  readonly method?: 'DELETE' | 'HEAD' | 'OPTIONS' | undefined
  /** Sent as JSON. */
  readonly body?: object | undefined
  /** How long to wait for the whole response (ms). */
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Skips bodies of responses other than 2xx. */
  readonly skipsErrorBodies?: boolean
}

export type JsonResponse =
  | (Answered & { readonly kind: 'json'; readonly document: unknown })
  /** The body is not JSON, or was skipped and is empty. */
  | (Answered & { readonly kind: 'no_json'; readonly text: string })
  | (Answered & { readonly kind: 'too_long' })
  /** No complete response; `reason` is the code or name of the error, for people. */
  | { readonly kind: 'no_response'; readonly reason: string }

interface Answered {
  readonly status: number
  readonly headers: Headers
}

/** Fetches a JSON document. Never throws because of the server. */
export async function fetchJson(url: string, request: JsonRequest): Promise<JsonResponse> {
  const { method, headers, body, timeoutMs } = request
  const sent = body && { method: 'POST', body: JSON.stringify(body) }
  try {
    const response = await fetch(url, {
      ...sent,
      ...(method && { method }),
      headers,
      // Another server must not see the headers: they may contain a token.
      redirect: 'manual',
      signal: world.timeoutSignal(timeoutMs),
    })
    return await readResponse(response, request)
  } catch (error) {
    return { kind: 'no_response', reason: reasonOf(error) }
  }
}

/** The code of what failed (`ECONNREFUSED`), or the error's name. Its message may contain the URL. */
function reasonOf(error: unknown): string {
  const { cause } = Object(error) as { readonly cause?: unknown }
  const { code } = Object(cause) as { readonly code?: unknown }
  if (typeof code === 'string') return code
  return error instanceof Error ? error.name : 'unknown failure'
}

async function readResponse(
  response: Response,
  { maxBytes, skipsErrorBodies = false }: JsonRequest,
): Promise<JsonResponse> {
  const { status, ok, headers } = response
  if (skipsErrorBodies && !ok) {
    await response.body?.cancel()
    return { kind: 'no_json', status, headers, text: '' }
  }
  const text = await readBounded(response, maxBytes)
  if (text === undefined) return { kind: 'too_long', status, headers }
  try {
    return { kind: 'json', status, headers, document: JSON.parse(text) }
  } catch {
    return { kind: 'no_json', status, headers, text }
  }
}

/** Reads the text of a response; `undefined` if it is longer than `maxBytes`. */
export async function readBounded(
  response: Response,
  maxBytes: number,
): Promise<string | undefined> {
  return (await readBytes(response, maxBytes))?.toString('utf8')
}

/** Reads the body of a response; `undefined` if it is longer than `maxBytes`. */
export async function readBytes(response: Response, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  // Leaving the loop cancels the stream and closes the connection.
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
