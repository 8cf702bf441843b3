/** How tools of an MCP server are declared. Nothing of an SDK is imported: both generations have `registerTool`. */
import type { Price } from '../../shared/money/price.js'
import type { PaidRequest } from '../flow/paid-request.js'
import type { ProtectOptions } from '../route/options.js'
import type { UpToPrice } from '../route/up-to-price.js'

/** A server of the MCP SDK: `McpServer` of `@modelcontextprotocol/server`, or of `@modelcontextprotocol/sdk`. */
export interface ToolServer {
  /** Registers a tool. */
  registerTool(name: string, config: never, handler: never): unknown
}

/** A schema of zod, or of another library that speaks Standard Schema; or an object of them: `{ city: z.string() }`. */
export type ToolSchema =
  { readonly '~standard': object } | Readonly<Record<string, { readonly '~standard': object }>>

/** What the schema of a tool's `input` makes of the arguments of a call. */
export type ToolArguments<Input extends ToolSchema | undefined> = Input extends undefined
  ? Readonly<Record<string, never>>
  : Input extends { readonly '~standard': { readonly types?: infer Types } }
    ? NonNullable<Types> extends { readonly output: infer Output }
      ? Output
      : unknown
    : {
        readonly [Name in keyof Input]: Input[Name] extends ToolSchema
          ? ToolArguments<Input[Name]>
          : unknown
      }

/** What a call costs: a price, a function of its arguments, or the most that it may cost. */
export type ToolPrice<Input extends ToolSchema | undefined = undefined> =
  | Price
  | ((args: ToolArguments<Input>) => Price | Promise<Price>)
  | (Pick<UpToPrice, 'defaultCharge'> & {
      readonly upTo: Price | ((args: ToolArguments<Input>) => Price | Promise<Price>)
    })

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
  'maxTimeoutSeconds' | 'minValiditySeconds' | 'earlierPrices' | 'v1' | 'protocols'
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
  /** Hints for clients. */
  readonly annotations?: object | undefined
  /** Metadata for clients. */
  readonly _meta?: Readonly<Record<string, unknown>> | undefined
}

/** The payment for a call, as its handler sees it: see {@link PaidRequest}. */
export type ToolPayment = Pick<
  PaidRequest,
  'payer' | 'amount' | 'asset' | 'network' | 'requirements' | 'payload' | 'waive' | 'charge'
>

/** What a tool answers, of which the SDK has the whole type. */
export interface ToolResult {
  /** Texts, images and other blocks, for the model. */
  readonly content?: readonly object[]
  /** The same for programs, by the schema `output`. */
  readonly structuredContent?: object
  /** Whether the call has failed, and costs nothing. */
  readonly isError?: boolean
  /** Metadata; the receipt is added to it. */
  readonly _meta?: object
}

/** The second argument of the SDK's own handlers, as those of resources have it, with the payment. */
export type ToolExtra<Server extends ToolServer> = {
  readonly x402: ToolPayment
} & (Server extends { registerResource(...given: infer Given): unknown }
  ? Given extends [...unknown[], (...read: infer Read) => unknown]
    ? Read extends [...unknown[], infer Extra]
      ? Extra
      : unknown
    : unknown
  : unknown)

/** Handles paid calls. */
export type ToolHandler<Server extends ToolServer, Input extends ToolSchema | undefined> = (
  args: ToolArguments<Input>,
  extra: ToolExtra<Server>,
) => ToolResult | Promise<ToolResult>

/** Registers a tool that costs money: `paidTool(server, 'forecast', { price: '$0.01' }, handler)`. */
export type PaidTool = <
  Server extends ToolServer,
  const Input extends ToolSchema | undefined = undefined,
  // oxlint-disable-next-line eslint/max-params -- those of the SDK's registerTool, and its server
>(
  server: Server,
  name: string,
  tool: PaidToolOptions<Input>,
  handler: ToolHandler<Server, Input>,
) => ReturnType<Server['registerTool']>
