/**
 * Tools of MCP servers that cost money: `express-x402-gateway/mcp`.
 *
 * @packageDocumentation
 */
import './shared/http/check-node.js'
import { defaultGateway } from './gateway/default-gateway.js'
import type { PaidTool } from './index.js'

/**
 * Registers a tool that costs money, on the default gateway. For a gateway of your own, there is
 * `createGateway(options).paidTool`.
 *
 * A call without a payment gets an offer, in the words of every client that pays for tools: x402's transport for MCP,
 * its extension `org.x402/payment`, Cloudflare's `agents` and, with `v1`, `x402-mcp`. With a payment, the handler runs,
 * and its result is held until the payment is settled. Errors and calls that were cancelled are not charged. A payment
 * buys one call of this tool, with the arguments that it was offered for.
 *
 * @param server - An `McpServer` of `@modelcontextprotocol/server` 2 or `@modelcontextprotocol/sdk` 1.
 * @param name - Name of the tool. What is sold is `mcp://tool/<name>`.
 * @param tool - Its `price`, its schemas `input` and `output`, and what else the SDK's `registerTool` takes.
 * @param handler - Runs paid calls.
 * @returns What the SDK's `registerTool` returns.
 * @throws `ConfigError` (`config_invalid`), naming every variable and option that cannot work.
 *
 * @example
 * ```ts
 * import { paidTool, type ToolServer } from 'express-x402-gateway/mcp'
 * import { z } from 'zod'
 *
 * declare const server: ToolServer // new McpServer({ name: 'weather', version: '1.0.0' })
 * const tool = { price: '$0.01', input: { city: z.string() } }
 * paidTool(server, 'forecast', tool, ({ city }, { x402 }) => ({
 *   content: [{ type: 'text', text: `Sunny in ${city}, paid by ${x402.payer}` }],
 * }))
 * ```
 */
export const paidTool: PaidTool = (server, ...tool) => defaultGateway().paidTool(server, ...tool)

export type {
  PaidTool,
  PaidToolOptions,
  ToolArguments,
  ToolExtra,
  ToolHandler,
  ToolPayment,
  ToolPrice,
  ToolResult,
  ToolSchema,
  ToolServer,
} from './index.js'
