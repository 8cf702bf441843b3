import type { IncomingMessage, ServerResponse } from 'node:http'
import { listen } from './http.js'

/** What the proxy does to one request. */
export type Fault =
  /** Passes it on, but the connection breaks before the answer. */
  | { readonly kind: 'drop_answer' }
  /** Breaks the connection; the node never sees it. */
  | { readonly kind: 'drop_request' }
  /** Passes it on after so many milliseconds. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Answers with something that is not JSON-RPC. */
  | { readonly kind: 'garble' }
  /** Answers with an HTTP status. */
  | { readonly kind: 'http'; readonly status: number }
  /** Answers with a JSON-RPC error. */
  | { readonly kind: 'refuse'; readonly code: number; readonly message: string }
  /** Answers with these bytes. */
  | { readonly kind: 'raw'; readonly text: string }
  /** Answers with this result. */
  | { readonly kind: 'answer'; readonly result: unknown }
  /** Passes it on twice at once, and answers with what came first. */
  | { readonly kind: 'duplicate' }
  /** Passes it on, and shows the result first; where that says `drop`, the answer is lost. */
  | { readonly kind: 'inspect'; readonly see: (result: unknown) => 'pass' | 'drop' }

type MaybeFault = Fault | undefined

/** A JSON-RPC proxy between a gateway and its node, in which faults happen. */
export interface RpcProxy {
  readonly url: string
  /** Requests seen, by method, in order. */
  readonly methods: string[]
  /** Decides about each request; `undefined` lets it pass. */
  fault:
    ((method: string, params: readonly unknown[]) => MaybeFault | Promise<MaybeFault>) | undefined
  close(): Promise<void>
}

/** How the node behind a proxy seems to be. */
export interface RpcProxyOptions {
  /** Name in its URL; must lead to this machine. @defaultValue '127.0.0.1' */
  readonly hostname?: string
  /** Whether it has `eth_sendRawTransactionSync`: not all have. @defaultValue false */
  readonly hasSync?: boolean
}

/** Whether a method broadcasts a transaction. */
export const isSend = (method: string): boolean => method.startsWith('eth_sendRawTransaction')

/** Starts a proxy in front of a node. Its URL holds a key, as providers' do. */
export async function startRpcProxy(
  target: string,
  { hasSync = false, hostname = '127.0.0.1' }: RpcProxyOptions = {},
): Promise<RpcProxy> {
  const methods: string[] = []
  const { port, close } = await listen((req, res) => {
    void relay(req, res).catch(() => res.destroy())
  })
  const proxy: RpcProxy = {
    url: `http://${hostname}:${port}/v2/secret-provider-key`,
    methods,
    fault: undefined,
    close,
  }
  return proxy

  async function relay(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const { id, method, params } = JSON.parse(body) as {
      id: unknown
      method: string
      params?: unknown[]
    }
    const reply = (answer: object): void => {
      res.setHeader('content-type', 'application/json')
      res.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    }
    if (method === 'eth_sendRawTransactionSync' && !hasSync)
      return reply({ error: { code: -32601, message: 'Method not found' } })
    methods.push(method)
    const fault = await proxy.fault?.(method, params ?? [])
    switch (fault?.kind) {
      case 'drop_request':
        return void res.destroy()
      case 'garble':
        return void res.end('<html>upstream error</html>')
      case 'raw':
        return void res.end(fault.text)
      case 'http':
        return void res.writeHead(fault.status).end('{}')
      case 'refuse':
        return reply({ error: { code: fault.code, message: fault.message } })
      case 'answer':
        return reply({ result: fault.result })
      case 'delay':
        await new Promise((resolve) => setTimeout(resolve, fault.ms))
        break
      case 'duplicate':
      case 'drop_answer':
      case 'inspect':
      case undefined:
        break
    }
    const passOn = async (): Promise<string> => {
      const headers = { 'content-type': 'application/json' }
      const upstream = await fetch(target, { method: 'POST', headers, body })
      return upstream.text()
    }
    const text = await (fault?.kind === 'duplicate' ? Promise.any([passOn(), passOn()]) : passOn())
    if (fault?.kind === 'drop_answer') return void res.destroy()
    if (fault?.kind === 'inspect') {
      const { result } = JSON.parse(text) as { result?: unknown }
      if (fault.see(result) === 'drop') return void res.destroy()
    }
    res.setHeader('content-type', 'application/json')
    res.end(text)
  }
}
