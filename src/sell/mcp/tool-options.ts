/** How tools of an MCP server are declared. Nothing of an SDK is imported: both generations have `registerTool`. */
import type { Price } from '../../shared/money/price.js'
import type { PaidRequest } from '../flow/paid-request.js'
import type { ProtectOptions } from '../route/options.js'
import type { UpToPrice } from '../route/up-to-price.js'

/**
 * A server of the MCP SDK: `McpServer` of `@modelcontextprotocol/server` or `@modelcontextprotocol/sdk`.
 *
 * @example
 * ```ts
 * import { paidTool, type ToolServer } from 'express-x402-gateway/mcp'
 *
 * export const addTime = (server: ToolServer) =>
 *   paidTool(server, 'time', { price: '$0.001' }, () => ({
 *     content: [{ type: 'text', text: new Date().toISOString() }],
 *   }))
 * ```
 */
export interface ToolServer {
  registerTool(name: string, config: never, handler: never): unknown
}

/** A schema of zod, or of another library that speaks Standard Schema. */
interface StandardSchema {
  readonly '~standard': object
}

/** A schema, or an object of schemas: `{ city: z.string() }`. */
export type ToolSchema = StandardSchema | Readonly<Record<string, StandardSchema>>

type OutputOf<Schema> = Schema extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : unknown

/** What the schema of a tool's `input` makes of the arguments of a call. */
export type ToolArguments<Input extends ToolSchema | undefined> = [Input] extends [undefined]
  ? Readonly<Record<string, never>>
  : Input extends StandardSchema
    ? OutputOf<Input>
    : { readonly [Name in keyof Input]: OutputOf<Input[Name]> }

type ArgumentsFunction<Input extends ToolSchema | undefined> = (
  args: ToolArguments<Input>,
) => Price | Promise<Price>

/**
 * What a call costs: a price, a function of its arguments, or the most that it may cost.
 *
 * @example
 * ```ts
 * import { paidTool, type ToolServer } from 'express-x402-gateway/mcp'
 * import { z } from 'zod'
 *
 * declare const server: ToolServer
 * const tool = { price: { upTo: '$0.10' }, input: { text: z.string() } }
 * paidTool(server, 'translate', tool, ({ text }, { x402 }) => {
 *   x402.charge((text.length * 0.00001).toFixed(6))
 *   return { content: [{ type: 'text', text: text.toUpperCase() }] }
 * })
 * ```
 */
export type ToolPrice<Input extends ToolSchema | undefined = undefined> =
  | Price
  | ArgumentsFunction<Input>
  | (Omit<UpToPrice, 'upTo'> & { readonly upTo: Price | ArgumentsFunction<Input> })

/** Options that a paid tool shares with a paid route. */
type SharedOption =
  'maxTimeoutSeconds' | 'minValiditySeconds' | 'earlierPrices' | 'maxHeldBytes' | 'v1'

/**
 * A paid tool. Further members of the SDK's own `registerTool` are handed on to it.
 *
 * @example
 * ```ts
 * import type { PaidToolOptions } from 'express-x402-gateway/mcp'
 * import { z } from 'zod'
 *
 * const input = { city: z.string() }
 * export const forecast: PaidToolOptions<typeof input> = {
 *   price: ({ city }) => (city === 'Bern' ? '$0.01' : '$0.02'),
 *   description: 'The weather of tomorrow',
 *   input,
 * }
 * ```
 */
export interface PaidToolOptions<Input extends ToolSchema | undefined = undefined> extends Pick<
  ProtectOptions,
  SharedOption
> {
  /** What a call costs. */
  readonly price: ToolPrice<Input>
  /** What it does, for agents, and what is sold, in its offers. @defaultValue empty */
  readonly description?: string | undefined
  /** Schema of its arguments, as `registerTool` takes it: `{ city: z.string() }`. @defaultValue no arguments */
  readonly input?: Input
  /** Schema of its `structuredContent`. A result that does not fit is not charged. @defaultValue none */
  readonly output?: ToolSchema | undefined
  /** Id of the project that is paid. @defaultValue the only project with a merchant */
  readonly merchant?: string | undefined
  /** Name for people. */
  readonly title?: string | undefined
  /** Hints for clients, such as `readOnlyHint`. */
  readonly annotations?: object | undefined
  /** Metadata of the tool. */
  readonly _meta?: Readonly<Record<string, unknown>> | undefined
}

/** The payment for a call, as its handler sees it: see {@link PaidRequest}. */
export type ToolPayment = Pick<
  PaidRequest,
  'payer' | 'amount' | 'asset' | 'network' | 'requirements' | 'payload' | 'waive' | 'charge'
>

/** What a tool answers, of which the SDK has the whole type. */
export interface ToolResult {
  readonly content?: readonly object[]
  readonly structuredContent?: object
  readonly isError?: boolean
  readonly _meta?: object
}

type HandlerOf<Server extends ToolServer> = Server['registerTool'] extends (
  name: never,
  config: never,
  handler: infer Handler,
) => unknown
  ? Handler
  : never

type SecondOf<Handler> = Handler extends (...given: infer Given) => unknown
  ? Given extends [unknown, infer Extra]
    ? Extra
    : never
  : never

type ExtraOf<Server extends ToolServer> = [SecondOf<HandlerOf<Server>>] extends [never]
  ? unknown
  : SecondOf<HandlerOf<Server>>

/**
 * Handles the calls of a paid tool, once their payment is verified.
 *
 * @param args - The arguments, as the schema of `input` makes them.
 * @param extra - The SDK's own second argument, with the payment in `x402`.
 * @returns The result, which is held until the payment is settled. With `isError: true` it is not charged.
 */
export type ToolHandler<Server extends ToolServer, Input extends ToolSchema | undefined> = (
  args: ToolArguments<Input>,
  extra: ExtraOf<Server> & { readonly x402: ToolPayment },
) => ToolResult | Promise<ToolResult>

/**
 * Registers a tool that costs money.
 *
 * A call without a payment gets an offer, in the words of every client that pays for tools: x402's transport for MCP,
 * its extension `org.x402/payment`, and Cloudflare's `agents`. With a payment, the handler runs, and its result is held
 * until the payment is settled. A result with `isError`, a handler that throws, and a call that was cancelled are not
 * charged. A payment buys one call of this tool with the arguments that it was offered for.
 *
 * @param server - An `McpServer` of the MCP SDK, of either generation.
 * @param name - Name of the tool. Its resource is `mcp://tool/<name>`.
 * @param tool - Its price, and what `registerTool` takes; `input` and `output` are its schemas.
 * @param handler - Runs paid calls.
 * @returns What the SDK's `registerTool` returns.
 * @throws `ConfigError` (`config_invalid`) for a price or an option that cannot work.
 */
export type PaidTool = <
  Server extends ToolServer,
  const Input extends ToolSchema | undefined = undefined,
>(
  server: Server,
  name: string,
  tool: PaidToolOptions<Input>,
  handler: ToolHandler<Server, Input>,
) => ReturnType<Server['registerTool']>
