/**
 * Tools of MCP servers that cost money: `express-x402-gateway/mcp`.
 *
 * @packageDocumentation
 */
import './shared/http/check-node.js'
import { defaultGateway } from './gateway/default-gateway.js'
import type { PaidTool } from './sell/mcp/tool-options.js'

/**
 * Registers a tool that costs money, on the default gateway. For a gateway of your own, there is
 * `createGateway(options).paidTool`.
 *
 * @param server - An `McpServer` of `@modelcontextprotocol/server` 2 or `@modelcontextprotocol/sdk` 1.
 * @param name - Name of the tool.
 * @param tool - Its `price`, `description`, schemas (`input`, `output`), and what else the SDK's `registerTool` takes.
 * @param handler - Runs paid calls, by the arguments and what the SDK hands over, with the payment as `x402`.
 * @returns What the SDK's `registerTool` returns.
 * @throws `ConfigError` with code `config_invalid`, naming every variable that is missing or wrong, and every option
 * that cannot work.
 *
 * @example
 * ```ts
 * import { paidTool, type ToolServer } from 'express-x402-gateway/mcp'
 * import { z } from 'zod'
 *
 * declare const server: ToolServer // new McpServer({ name: 'weather', version: '1.0.0' })
 * const tool = { price: '$0.01', description: 'The weather of tomorrow', input: { city: z.string() } }
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
  ToolHandler,
  ToolPayment,
  ToolPrice,
  ToolResult,
  ToolSchema,
  ToolServer,
} from './sell/mcp/tool-options.js'
