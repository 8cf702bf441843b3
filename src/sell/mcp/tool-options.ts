/** How tools of an MCP server are declared. Nothing of an SDK is imported: both generations have `registerTool`. */
import type { Price } from '../../shared/money/price.js'
import type { PaidRequest } from '../flow/paid-request.js'
import type { ProtectOptions } from '../route/options.js'
import type { UpToPrice } from '../route/up-to-price.js'

/** A server of the MCP SDK: `McpServer` of `@modelcontextprotocol/server`, or of `@modelcontextprotocol/sdk`. */
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

/** What a call costs: a price, a function of its arguments, or the most that it may cost. */
export type ToolPrice<Input extends ToolSchema | undefined = undefined> =
  | Price
  | ArgumentsFunction<Input>
  | (Omit<UpToPrice, 'upTo'> & { readonly upTo: Price | ArgumentsFunction<Input> })

type SharedOption = 'maxTimeoutSeconds' | 'minValiditySeconds' | 'earlierPrices' | 'v1'

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
  /** As `registerTool` takes it, and so are the next two. */
  readonly title?: string | undefined
  readonly annotations?: object | undefined
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

/** Handles paid calls: by the arguments, and the SDK's own second argument with the payment in `x402`. */
export type ToolHandler<Server extends ToolServer, Input extends ToolSchema | undefined> = (
  args: ToolArguments<Input>,
  extra: ExtraOf<Server> & { readonly x402: ToolPayment },
) => ToolResult | Promise<ToolResult>

/** Registers a tool that costs money: `paidTool(server, 'forecast', { price: '$0.01' }, handler)`. */
// oxlint-disable-next-line eslint/max-params -- those of the SDK's registerTool, and its server
export type PaidTool = <
  Server extends ToolServer,
  const Input extends ToolSchema | undefined = undefined,
>(
  server: Server,
  name: string,
  tool: PaidToolOptions<Input>,
  handler: ToolHandler<Server, Input>,
) => ReturnType<Server['registerTool']>
