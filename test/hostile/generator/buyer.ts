/** Sends requests as they are, and reads what is answered. */
import { Agent, request as httpRequest } from 'node:http'
import type { WireRequest } from './mutation.js'

/** What was answered. */
export interface WireAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

/** Milliseconds that a gateway has to answer. */
const PATIENCE_MS = 60_000

/** Sends a request, header by header. */
export function send(
  gateway: string,
  method: string,
  { path, headers, body }: WireRequest,
): Promise<WireAnswer> {
  const { hostname, port } = new URL(gateway)
  const length = body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))]
  const all = ['Host', `${hostname}:${port}`, ...headers.flat(), ...length]
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { agent, hostname, port, method, path, headers: all, timeout: PATIENCE_MS },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const { statusCode: status = 0, headers: answered } = response
          resolve({ status, headers: answered, body: Buffer.concat(chunks).toString('utf8') })
        })
      },
    )
    request.on('timeout', () => request.destroy(new Error('no answer')))
    request.on('error', reject)
    request.end(body)
  })
}
