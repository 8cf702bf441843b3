import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server of a test. */
export interface TestServer {
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

/** Serves an app on a free port of 127.0.0.1. */
export async function listen(app: RequestListener): Promise<TestServer> {
  // Room for headers that are too long for us, but not for the server.
  // Idle connections are the client's to close: it must not send into one that is being closed.
  const options = { maxHeaderSize: 64 * 1024, keepAliveTimeout: 0 }
  const server = createServer(options, app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close').catch(() => undefined)
    },
  }
}

/** Decodes a header that carries a JSON document. */
export function decodeDocument<T>(value: string | null | undefined): T {
  return JSON.parse(Buffer.from(value ?? '', 'base64').toString('utf8')) as T
}

/** Encodes a payment as its header carries it. */
export function paymentHeader(payment: object): Record<string, string> {
  return { 'PAYMENT-SIGNATURE': Buffer.from(JSON.stringify(payment)).toString('base64') }
}
