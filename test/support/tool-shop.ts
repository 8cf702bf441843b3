/** MCP servers with paid tools, of both generations of the SDK, and clients that are connected to them. */
import { Client as Client2, InMemoryTransport as Pair2 } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport as Pair1 } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer as Server1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { McpServer as Server2 } from '@modelcontextprotocol/server'
import type { RequestHandler } from 'express'
import type { PaidTool, ToolServer } from '../../src/mcp.js'
import type { PaymentRequired, SettleResponse } from '../../src/shared/protocol/payment.js'
import { signPayment, type SigningOverrides, type TestPayer } from './sign-payment.js'

export type Generation = 'sdk 1' | 'sdk 2'
export const GENERATIONS: readonly Generation[] = ['sdk 1', 'sdk 2']

/** What a call is given, whichever client has made it. */
export interface Answer {
  readonly content: readonly { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: boolean
  readonly _meta?: Readonly<Record<string, unknown>>
}

interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: (progress: { readonly progress: number }) => void
}

export interface ToolClient {
  call(
    name: string,
    args?: object,
    request?: CallOptions & { readonly _meta?: object },
  ): Promise<Answer>
  /** Asks, and signs what is asked for. */
  sign(name: string, args: object, payer: TestPayer, overrides?: SigningOverrides): Promise<object>
  pay(name: string, args: object, payment: unknown, options?: CallOptions): Promise<Answer>
  readonly listed: () => Promise<
    readonly { readonly name: string; readonly _meta?: object | undefined }[]
  >
  close(): Promise<void>
}

/** Answers each request with a server of its own, of the first generation. */
export function mcpEndpoint(open: () => Server1): RequestHandler {
  return (req, res, next) => {
    const server = open()
    const transport = new StreamableHTTPServerTransport({})
    res.once('close', () => void server.close())
    server
      .connect(transport)
      .then(() => transport.handleRequest(req, res, req.body))
      .catch(next)
  }
}

/** Declares tools on a server, as an app does. */
export type Tools = (server: ToolServer, paidTool: PaidTool) => void

/** Connects a client to a server of its own. */
export async function openToolClient(
  paidTool: PaidTool,
  tools: Tools,
  generation: Generation,
): Promise<ToolClient> {
  const about = { name: 'test', version: '1.0.0' }
  const isFirst = generation === 'sdk 1'
  const server = isFirst ? new Server1(about) : new Server2(about)
  tools(server, paidTool)
  const client = isFirst ? new Client1(about) : new Client2(about)
  const [one, other] = isFirst ? Pair1.createLinkedPair() : Pair2.createLinkedPair()
  await server.connect(one)
  await client.connect(other)
  const call: ToolClient['call'] = async (name, args = {}, { _meta, ...options } = {}) => {
    const params = { name, arguments: { ...args }, ...(_meta && { _meta: { ..._meta } }) }
    const answer =
      client instanceof Client1
        ? await client.callTool(params, undefined, options)
        : await client.callTool(params, options)
    return answer as unknown as Answer
  }
  return {
    call,
    async sign(name, args, payer, overrides) {
      const { accepts, resource } = requiredOf(await call(name, args))
      const payload = { resource: { ...resource }, ...overrides?.payload }
      return signPayment(payer, accepts[0]!, { ...overrides, payload })
    },
    pay: (name, args, payment, options) =>
      call(name, args, { ...options, _meta: { 'x402/payment': payment } }),
    listed: async () => (await client.listTools()).tools,
    async close() {
      await client.close()
      await server.close()
    },
  }
}

/** Whether a client of a tool gets its result for a payment that it has just signed. */
export async function getsResult(
  client: ToolClient,
  name: string,
  payer: TestPayer,
): Promise<boolean> {
  const payment = await client.sign(name, {}, payer)
  const answer = await client.pay(name, {}, payment).catch(() => undefined)
  return answer !== undefined && answer.isError !== true
}

/** What an unpaid call asks for. */
export function requiredOf({ content }: Answer): PaymentRequired {
  return JSON.parse(content[0]!.text) as PaymentRequired
}

/** What an answer says of its payment. */
export function receiptOf({ _meta }: Answer): SettleResponse | undefined {
  return _meta?.['x402/payment-response'] as SettleResponse | undefined
}
