/** The server suite of MCP's own conformance tests, at a server that is paid, and at the same one without prices. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { localhostHostValidation } from '@modelcontextprotocol/sdk/server/middleware/hostHeaderValidation.js'
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import express, { type RequestHandler } from 'express'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { temporaryFolder, useCleanup } from '../support/cleanup.js'
import { conformanceTools, openConformanceServer } from '../support/conformance-server.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { startProgram } from '../support/program.js'
import { useShop } from '../support/shop.js'
import { openToolClient, type ToolClient, type Tools } from '../support/tool-shop.js'

const devnet = useDevnet()
const toEnd = useCleanup(afterAll)
const income = () => balanceOf(devnet, devnet.merchant.address)

const free = (server: McpServer): void => {
  for (const { name, description, input, handler } of conformanceTools)
    server.registerTool(name, { description, inputSchema: input }, handler)
}
const terms = { price: '$0.01', protocols: ['x402', 'mpp'] } as const
const paid: Tools = (server, paidTool) => {
  for (const { name, handler, ...tool } of conformanceTools)
    paidTool(server, name, { ...terms, ...tool }, handler as never)
}
const paidBeside: Tools = (server, paidTool) => {
  const tool = { ...terms, description: 'A paid tool' }
  paidTool(server, 'paid', tool, () => ({ content: [{ type: 'text', text: 'sold' }] }))
}

/** Signs for calls. Offers are for a tool and its arguments, whichever connection has asked for them. */
let buyer: ToolClient

/** Adds to a call the payment that a paying client would add. */
const payCalls: RequestHandler = async (req, _res, next) => {
  const { method, params } = (req.body ?? {}) as { method?: string; params?: CallParams }
  if (method === 'tools/call' && params !== undefined) {
    const payment = await buyer.sign(params.name, params.arguments ?? {}, devnet.payers[0]!)
    params._meta = { ...params._meta, 'x402/payment': payment }
  }
  next()
}

interface CallParams {
  readonly name: string
  readonly arguments?: object
  _meta?: object
}

/** Answers with a server for each session, as the SDK's documentation has it. */
function sessions(declare: (server: McpServer) => void): RequestHandler {
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void transports.set(id, transport),
    })
    const server = openConformanceServer(declare)
    toEnd.push(() => server.close())
    await server.connect(transport)
    return transport
  }
  return async (req, res) => {
    const transport = transports.get(req.get('mcp-session-id') ?? '') ?? (await open())
    await transport.handleRequest(req, res, req.body)
  }
}

const shop = useShop(devnet, (app, { paidTool }) => {
  app.use(localhostHostValidation(), express.json())
  app.all('/free', sessions(free))
  app.all(
    '/beside',
    sessions((server) => {
      free(server)
      paidBeside(server, paidTool)
    }),
  )
  app.all(
    '/unpaid',
    sessions((server) => paid(server, paidTool)),
  )
  app.all(
    '/paid',
    payCalls,
    sessions((server) => paid(server, paidTool)),
  )
})

const require = createRequire(import.meta.url)
const manifest = require.resolve('@modelcontextprotocol/conformance/package.json')
const preload = new URL('../support/node-22-fs.mjs', import.meta.url).href

/** Runs the suite. @returns The outcome of each check, by its scenario. */
async function outcomes(path: string): Promise<Record<string, readonly string[]>> {
  const folder = temporaryFolder(toEnd)
  const program = join(dirname(manifest), 'dist', 'index.js')
  const url = shop.url + path
  const args = ['--import', preload, program, 'server', '--url', url, '--output-dir', folder]
  const suite = startProgram(args, {})
  toEnd.push(() => suite.end('SIGKILL'))
  // Its exit code says whether all is well, and the checks say what is not.
  await suite.exitCode()
  const found = readdirSync(folder).map((name) => {
    const checks = JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as Check[]
    const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT/.exec(name)?.[1] ?? name
    const told = checks.map(({ id, status, errorMessage }) =>
      [id, status, errorMessage].filter(Boolean).join(': '),
    )
    return [scenario, told] as const
  })
  return Object.fromEntries(found)
}

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO'
  readonly errorMessage?: string
}

let expected: Record<string, readonly string[]>
beforeAll(async () => {
  expected = await outcomes('/free')
  buyer = await openToolClient(shop.gateway.paidTool, paid, 'sdk 1')
})
afterAll(() => buyer.close())

it('passes at the server without prices', () => {
  expect(Object.keys(expected).length).toBeGreaterThan(25)
  expect(Object.values(expected).flat()).not.toContainEqual(expect.stringMatching(/: FAILURE/))
})

it('finds the same with a paid tool beside the others', async () => {
  expect(await outcomes('/beside')).toEqual(expected)
})

it('finds the same where each tool has a price that is paid', async () => {
  const before = await income()
  expect(await outcomes('/paid')).toEqual(expected)
  // Each tool was called once, and one of them ends with an error.
  expect((await income()) - before).toBe(10_000n * BigInt(conformanceTools.length - 1))
})

it('misses where nobody pays what the tools would have given, and nothing else', async () => {
  const before = await income()
  const unpaid = await outcomes('/unpaid')
  const missed = Object.keys(expected).filter((name) => unpaid[name]?.[0] !== expected[name]?.[0])
  expect(missed).toHaveLength(10)
  for (const name of missed) expect(name).toMatch(/^(tools-call|elicitation)-/)
  expect(await income()).toBe(before)
})
