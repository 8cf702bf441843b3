import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { closeServer } from '../../shared/http/close-server.js'
import { readBounded } from '../../shared/http/fetch-json.js'
import { listenLocally } from '../../shared/http/listen-locally.js'
import { isSigned } from '../../operate/webhooks/signature.js'

/** Longest message, and longest answer of the app (bytes). */
const MAX_BYTES = 1024 * 1024

/** How long to wait for the app's answer (ms): less than the gateway waits. */
const FORWARD_MS = 9000

/** How much of the app's answer is passed on (characters). */
const PASSED_ON = 500

/** Headers that let the app verify a message itself. */
const FORWARDED_HEADERS = [
  'content-type',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
] as const

export interface Heard {
  readonly type: string
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
  readonly result: string
}

interface WebhookListenerOptions {
  readonly forwardTo: string | undefined
  readonly onHeard: (heard: Heard) => void
}

export class WebhookListener {
  readonly #options: WebhookListenerOptions
  readonly #server: Server
  /** Set once the webhook is registered. Until then no message is accepted. */
  #secret: string | undefined

  constructor(options: WebhookListenerOptions) {
    this.#options = options
    this.#server = createServer((req, res) => {
      this.#receive(req, res).catch(() => res.destroy())
    })
  }

  async listen(port: number): Promise<string> {
    const url = await listenLocally(this.#server, port).catch((error: unknown) => {
      const { code } = error as NodeJS.ErrnoException
      throw new Error(`--port: cannot listen on 127.0.0.1:${port} (${code ?? 'unknown'}).`)
    })
    return `${url}/`
  }

  accept(secret: string): void {
    this.#secret = secret
  }

  close(): Promise<void> {
    return closeServer(this.#server)
  }

  async #receive(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await readText(req)
    if (body === undefined) return void res.writeHead(413).end()
    const headers = Object.fromEntries(
      FORWARDED_HEADERS.map((name) => [name, req.headers[name]?.toString()]),
    )
    const secret = this.#secret
    if (secret === undefined || !isSigned(body, headers, secret))
      return void res.writeHead(401).end('The signature does not match the webhook’s secret.')
    const { status, text, result } = await this.#forward(body, headers)
    const event = JSON.parse(body) as Omit<Heard, 'result'>
    this.#options.onHeard({ ...event, result })
    res.writeHead(status).end(text)
  }

  async #forward(body: string, headers: Readonly<Record<string, string | undefined>>) {
    const { forwardTo } = this.#options
    if (forwardTo === undefined) return { status: 200, text: '', result: 'printed' }
    try {
      const response = await fetch(forwardTo, {
        method: 'POST',
        headers: Object.entries(headers).flatMap(([name, value]) => (value ? [[name, value]] : [])),
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(FORWARD_MS),
      })
      const text = ((await readBounded(response, MAX_BYTES)) ?? '').slice(0, PASSED_ON)
      return { status: response.status, text, result: `HTTP ${response.status}` }
    } catch {
      const result = `no response from ${new URL(forwardTo).origin}`
      return { status: 502, text: result, result }
    }
  }
}

async function readText(req: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
