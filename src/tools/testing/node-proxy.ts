import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { closeServer } from '../../shared/http/close-server.js'
import { listenLocally } from '../../shared/http/listen-locally.js'
import { letEnd } from './stay-up.js'

export interface NodeRequest {
  readonly method: string
  readonly params: readonly unknown[]
}

/** Passes a request to the node, breaks its connection, or answers it. */
export type Verdict =
  | 'pass'
  | 'drop'
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }

/** A proxy between the gateway of one shop and the chain, so that the node can fail for this shop only. */
export class NodeProxy {
  /** Decides on each request. @defaultValue all pass */
  onRequest: ((request: NodeRequest) => Verdict | Promise<Verdict>) | undefined
  /** The node's URL for the gateway. */
  url = ''
  readonly #server: Server
  readonly #node: string

  private constructor(node: string) {
    this.#node = node
    // The gateway reuses connections; it must not send on one that is being closed.
    this.#server = createServer({ keepAliveTimeout: 0 }, (req, res) => {
      this.#relay(req, res).catch(() => res.destroy())
    })
  }

  static async start(node: string): Promise<NodeProxy> {
    const proxy = new NodeProxy(node)
    proxy.url = await listenLocally(proxy.#server)
    letEnd(proxy.#server)
    return proxy
  }

  /** Stops it and breaks open connections. */
  close(): Promise<void> {
    return closeServer(this.#server)
  }

  async #relay(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await text(req)
    const { id, method, params } = JSON.parse(body) as NodeRequest & { readonly id: unknown }
    const verdict = (await this.onRequest?.({ method, params })) ?? 'pass'
    if (verdict === 'drop') return void res.destroy()
    res.setHeader('content-type', 'application/json')
    if (verdict !== 'pass') return void res.end(JSON.stringify({ jsonrpc: '2.0', id, ...verdict }))
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(this.#node, { method: 'POST', headers, body })
    res.end(await answer.text())
  }
}
