/** Clients that pay for MCP tools, unmodified, at one and the same tool. */
import { beforeEach, describe, expect, it } from '@jest/globals'
import { Client as Client2, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer as Server1 } from '@modelcontextprotocol/sdk/server/mcp.js'
import { createMcpHandler, McpServer as Server2 } from '@modelcontextprotocol/server'
import { withX402Client } from 'agents/x402'
import { experimental_createMCPClient as createAiClient } from 'ai'
import express from 'express'
import { privateKeyToAccount } from 'viem/accounts'
import { withPayment } from 'x402-mcp/client'
import { z } from 'zod'
import type { ToolServer } from '../../src/mcp.js'
import type { PaymentRequired } from '../../src/shared/protocol/payment.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { useShop } from '../support/shop.js'
import { signPayment } from '../support/sign-payment.js'
import { mcpEndpoint } from '../support/tool-shop.js'

const devnet = useDevnet()
const account = () => privateKeyToAccount(devnet.payers[0]!.privateKey)
const about = { name: 'weather', version: '1.0.0' }
const bern = { name: 'forecast', arguments: { city: 'Bern' } }

let before = 0n
beforeEach(async () => {
  before = await balanceOf(devnet, devnet.merchant.address)
})
const earned = async () => (await balanceOf(devnet, devnet.merchant.address)) - before

/** Declares the same tool on either server. */
let addForecast: <Server extends ToolServer>(server: Server) => Server

/** The handler of a server of the second generation. */
let modern: ReturnType<typeof createMcpHandler>

const shop = useShop(devnet, (app, { paidTool }) => {
  addForecast = (server) => {
    const output = { celsius: z.number() }
    const tool = { price: '$0.01', input: { city: z.string() }, output, v1: true }
    paidTool(server, 'forecast', tool, ({ city }) => ({
      content: [{ type: 'text', text: `Sunny in ${city}` }],
      structuredContent: { celsius: 21 },
    }))
    return server
  }
  app.post(
    '/mcp',
    express.json(),
    mcpEndpoint(() => addForecast(new Server1(about))),
  )
  modern = createMcpHandler(() => addForecast(new Server2(about)))
})

/** Both servers, and each generation of clients that reaches them. */
const url = () => new URL(`${shop.url}/mcp`)
const fetchModern = (input: string | URL, init?: RequestInit) =>
  modern.fetch(new Request(input, init))

async function client1(): Promise<Client1> {
  const client = new Client1(about)
  await client.connect(new Transport1(url()))
  return client
}

async function client2(): Promise<Client2> {
  const client = new Client2(about)
  const transport = new StreamableHTTPClientTransport(url(), { fetch: fetchModern })
  await client.connect(transport)
  return client
}

describe('agents 0.32 of Cloudflare', () => {
  it.each([
    ['sdk 1', client1],
    ['sdk 2', client2],
  ] as const)('buys with a client of %s, and is told what was settled', async (_name, connect) => {
    const client = await connect()
    const network = 'eip155:84532'
    const paying = withX402Client(client as Client2, { network, account: account() })
    const { tools } = await paying.listTools()
    expect(tools[0]?.description).toContain('you will be charged $0.01')
    const answer = await paying.callTool(null, bern)
    expect(answer).toMatchObject({
      content: [{ text: 'Sunny in Bern' }],
      structuredContent: { celsius: 21 },
      _meta: { 'x402/payment-response': { success: true, network } },
    })
    expect(await earned()).toBe(10_000n)
    await client.close()
  })
})

it('x402-mcp 0.0.5 buys in version 1, as its model does by two tools', async () => {
  const client = await createAiClient({ transport: new Transport1(url()) })
  const options = { account: account(), network: 'base-sepolia' } as const
  const paying = await withPayment(client, options)
  const tools = (await paying.tools()) as unknown as Record<string, AiTool>
  const asked = await tools['forecast']!.execute(bern.arguments, {})
  const { accepts } = JSON.parse(asked.content[1]!.text) as { accepts: unknown[] }
  const [paymentRequirements] = accepts
  const { paymentAuthorization } = await tools['generatePaymentAuthorization']!.execute(
    { paymentRequirements },
    {},
  )
  const paid = { ...bern.arguments, paymentAuthorization }
  expect(await tools['forecast']!.execute(paid, {})).toMatchObject({
    content: [{ text: 'Sunny in Bern' }],
    _meta: { 'x402.payment-response': { success: true, network: 'base-sepolia' } },
  })
  expect(await earned()).toBe(10_000n)
  await client.close()
})

interface AiTool {
  execute(
    args: object,
    options: object,
  ): Promise<{ content: { text: string }[]; paymentAuthorization: string }>
}

describe('a client that speaks org.x402/payment of MCP 2026-07-28', () => {
  const capabilities = { extensions: { 'org.x402/payment': {} } }

  async function request(method: string, params: object, _meta: object = {}) {
    const envelope = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': capabilities,
      'io.modelcontextprotocol/clientInfo': about,
    }
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method,
      params: { ...params, _meta: { ...envelope, ..._meta } },
    }
    const response = await fetchModern(url(), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...('name' in params && { 'mcp-name': String(params.name) }),
      },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    const json = text.startsWith('{') ? text : text.split('data: ').at(-1)!
    return (JSON.parse(json) as { result: Record<string, unknown> }).result
  }

  it('is told that the server speaks it', async () => {
    expect(await request('server/discover', {})).toMatchObject({ capabilities })
  })

  it('is asked by a result of its own, and buys', async () => {
    const asked = await request('tools/call', bern)
    expect(asked).toMatchObject({
      resultType: 'payment_required',
      paymentRequired: { x402Version: 2, resource: { url: 'mcp://tool/forecast' } },
    })
    const { accepts, resource } = asked['paymentRequired'] as PaymentRequired
    const payload = { resource: { ...resource } }
    const payment = await signPayment(devnet.payers[0]!, accepts[0]!, { payload })
    const bought = await request('tools/call', bern, { 'x402/payment': payment })
    expect(bought).toMatchObject({
      resultType: 'complete',
      structuredContent: { celsius: 21 },
      _meta: { 'x402/payment-response': { success: true } },
    })
    expect(await earned()).toBe(10_000n)
  })
})
