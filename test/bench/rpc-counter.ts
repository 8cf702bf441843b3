import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A proxy in front of a node that counts what it is asked. */
export interface RpcCounter {
  readonly url: string
  /** Calls by method, each member of a JSON-RPC batch counted, since the last reset. */
  counts(): ReadonlyMap<string, number>
  reset(): void
  close(): Promise<void>
}

interface RpcRequest {
  readonly method: string
}

/** Starts a counting proxy. */
export async function startRpcCounter(target: string): Promise<RpcCounter> {
  let counts = new Map<string, number>()
  const server = createServer((req, res) => {
    void passOn(req, res).catch(() => res.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  async function passOn(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const message = JSON.parse(body) as RpcRequest | RpcRequest[]
    for (const { method } of Array.isArray(message) ? message : [message])
      counts.set(method, (counts.get(method) ?? 0) + 1)
    const headers = { 'content-type': 'application/json' }
    const upstream = await fetch(target, { method: 'POST', headers, body })
    res.setHeader('content-type', 'application/json').end(await upstream.text())
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts: () => counts,
    reset: () => void (counts = new Map()),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close').catch(() => undefined)
    },
  }
}
