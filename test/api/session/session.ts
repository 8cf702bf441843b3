import { once } from 'node:events'
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { GatewayApi } from '../api.js'

/** An answer with all its headers, cookies included. */
export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
  readonly body: any
}

/** What a request of a browser has. Headers may be any, unlike those of `fetch`. */
export interface BrowserRequest {
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: unknown
}

/** Sends a request as it is written: no path is normalised, and no header is forbidden. */
export async function sendRaw(
  url: string,
  method: string,
  path: string,
  { headers = {}, body }: BrowserRequest = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const text =
    body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  const sent = httpRequest({
    ...{ hostname, port, method, path, agent: false },
    headers: {
      ...(text !== undefined && {
        'Content-Type': 'application/json',
        'Content-Length': Buffer.byteLength(text),
      }),
      ...(headers as Record<string, string | string[]>),
    },
  })
  sent.end(text)
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const answered = Buffer.concat(chunks).toString('utf8')
  let document: unknown
  try {
    document = JSON.parse(answered)
  } catch {
    document = undefined
  }
  const { statusCode = 0, headers: received } = response
  return { status: statusCode, headers: received, text: answered, body: document }
}

/** A browser at a gateway: it has at most one cookie, and sends what browsers send by themselves. */
export class Browser {
  cookie: string | undefined
  readonly #url: string
  readonly #prefix: string

  constructor({ url }: Pick<GatewayApi, 'url'>, prefix = '') {
    this.#url = url
    this.#prefix = prefix
  }

  async send(method: string, path: string, request: BrowserRequest = {}): Promise<RawAnswer> {
    const answer = await sendRaw(this.#url, method, this.#prefix + path, {
      ...request,
      headers: {
        ...(method !== 'GET' && method !== 'HEAD' && { Origin: this.#url }),
        'Sec-Fetch-Site': 'same-origin',
        ...(this.cookie !== undefined && { Cookie: this.cookie }),
        ...request.headers,
      },
    })
    for (const line of answer.headers['set-cookie'] ?? []) this.#take(line)
    return answer
  }

  signIn(token: string): Promise<RawAnswer> {
    return this.send('POST', '/console/session', { body: { token } })
  }

  #take(line: string): void {
    const [pair = ''] = line.split(';', 1)
    this.cookie = /; Max-Age=0\b/i.test(line) ? undefined : pair
  }
}
