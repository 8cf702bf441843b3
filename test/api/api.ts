import { expect } from '@jest/globals'
import express, { type Express } from 'express'
import { createGateway, type Gateway } from '../../src/gateway/gateway.js'
import type { Logger } from '../../src/shared/logger.js'
import type { GatewayOptions } from '../../src/gateway/config/options.js'
import { listen } from '../support/http.js'
import { SHOP_TOKEN } from '../support/devnet.js'

/** What was logged, as text; errors with their causes. */
export interface RecordedLog extends Logger {
  readonly lines: string[]
}

/** A logger that remembers. */
export function recordLog(): RecordedLog {
  const lines: string[] = []
  const write = (level: string) => (message: string, fields?: object) => {
    lines.push([level, message, JSON.stringify(fields ?? {}, plain)].join(' '))
  }
  return {
    lines,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
}

function plain(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (!(value instanceof Error)) return value
  const { message, stack, cause } = value
  return { ...value, message, stack, cause }
}

/** An answer of the API. */
export interface ApiAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into any document
  readonly body: any
}

/** A gateway behind HTTP, with a client. */
export interface GatewayApi {
  readonly url: string
  readonly gateway: Gateway
  readonly log: RecordedLog
  /** POSTs JSON, or a raw body, with the shop's token unless headers say otherwise. */
  post(
    path: string,
    body?: unknown,
    headers?: Record<string, string | undefined>,
  ): Promise<ApiAnswer>
  get(path: string, headers?: Record<string, string | undefined>): Promise<ApiAnswer>
  send(method: string, path: string, init?: RequestInit): Promise<ApiAnswer>
  close(): Promise<void>
}

/** How the gateway is put into its app. */
export interface Mounting {
  /** Runs before the router is mounted. */
  readonly prepare?: (app: Express) => void
  readonly prefix?: string
}

/** Serves a gateway's router. */
export async function serveGateway(
  options: GatewayOptions,
  { prepare, prefix = '' }: Mounting = {},
): Promise<GatewayApi> {
  const log = recordLog()
  const gateway = createGateway({ logger: log, ...options })
  const app = express()
  prepare?.(app)
  app.use(prefix || '/', gateway.gatewayRouter())
  app.get('/own', (_req, res) => void res.send('the app’s own'))
  const server = await listen(app)

  const send: GatewayApi['send'] = async (method, path, init) => {
    const response = await fetch(server.url + prefix + path, { method, ...init })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: readJson(text) }
  }
  const withToken = (headers: Record<string, string | undefined> = {}): Record<string, string> => {
    const all = { 'X-Project-Identify-Token': SHOP_TOKEN, ...headers }
    return Object.fromEntries(
      Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
    )
  }
  return {
    url: server.url,
    gateway,
    log,
    send,
    get: (path, headers) => send('GET', path, { headers: withToken(headers) }),
    post: (path, body, headers) =>
      send('POST', path, {
        headers: withToken({ 'Content-Type': 'application/json', ...headers }),
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    async close() {
      await server.close()
      await gateway.close()
    },
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The body of an error of this kind. */
export function problemOf(status: number, code: string, title: string): object {
  return {
    type: `urn:x402-gateway:problem:${code}`,
    title,
    status,
    code,
    detail: expect.any(String),
    requestId: expect.any(String),
  }
}

/** Asks a devnet's node, also what only a local chain does. */
export async function askNode(
  { rpcUrl }: { readonly rpcUrl: string },
  method: string,
  ...params: readonly unknown[]
): Promise<unknown> {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = (await response.json()) as { result?: unknown; error?: object }
  if (error !== undefined) throw new Error(`${method}: ${JSON.stringify(error)}`)
  return result
}
