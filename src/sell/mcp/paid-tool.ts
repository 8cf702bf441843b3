import type { Response } from 'express'
import { ConfigError } from '../../shared/errors.js'
import { formatDecimal } from '../../shared/money/decimal.js'
import { parsePrice, type Price } from '../../shared/money/price.js'
import { closestName } from '../../shared/protocol/did-you-mean.js'
import { isObject } from '../../shared/protocol/document.js'
import { EVM_CHARGE } from '../../shared/protocol/mpp.js'
import { chargeCall } from '../flow/charge-call.js'
import type { Exit } from '../flow/exits.js'
import type { Caller } from '../flow/paid-call.js'
import type { CountRequest } from '../flow/payment-rate-limit.js'
import type { PaidRoutesContext } from '../flow/x402-protect.js'
import { ROUTE_OPTION_NAMES, speaksMpp, type PriceFunction } from '../route/options.js'
import { declareRoute, type FindRoute } from '../route/route-finder.js'
import { isUpTo, type DeclaredPrice } from '../route/up-to-price.js'
import { HeldTool, type CallHandler, type HandledTool } from './hold-result.js'
import { EXTENSION, ToolCall, type HandlerExtra } from './tool-call.js'
import type { PaidTool, PaidToolOptions, ToolResult, ToolSchema } from './tool-options.js'
import { problemResult, resultOf } from './tool-result.js'

type Options = PaidToolOptions<ToolSchema | undefined>

type DeclaredTool = HandledTool & { readonly url: string; readonly find: FindRoute }

/** The SDK's server, as far as it is used here. */
interface Registrar {
  registerTool(name: string, config: object, handler: (...given: never[]) => unknown): unknown
  isConnected?(): boolean
  readonly server?: { registerCapabilities?(capabilities: object): void }
}

/** ISO 4217's own code: the merchant, who may be another one for each call, has the currency. */
const NO_CURRENCY = 'XXX'

const USAGE =
  "takes a server, a name, a tool and its handler: paidTool(server, 'forecast', { price: '$0.01' }, handler)"

const NOT_COMPARABLE = {
  code: 'invalid_request',
  detail:
    'The arguments cannot be compared with those of another call: they are too long, nested too deeply, or no plain data. Nothing was charged.',
} as const

const FAILED = {
  code: 'internal_error',
  detail: 'This tool has failed on the side of its seller. Present the same payment again later.',
} as const

/** Makes the `paidTool` of a gateway. @internal */
export function createPaidTool(gateway: PaidRoutesContext): PaidTool {
  // oxlint-disable-next-line eslint/max-params -- those of the SDK's registerTool, and its server
  const paidTool = (server: Registrar, name: string, options: Options, handler: CallHandler) => {
    const isServer = typeof server?.registerTool === 'function'
    if (
      !isServer ||
      typeof name !== 'string' ||
      !isObject(options) ||
      typeof handler !== 'function'
    )
      throw new ConfigError('paidTool', USAGE, 'invalid_type')
    checkNames(options)
    const tool = declareTool(gateway, { name, output: options.output, handler }, options)
    const run = (args: unknown, extra: HandlerExtra): Promise<ToolResult> => {
      const { requests } = gateway
      const call = new ToolCall(tool.url, args, extra)
      return requests.addCall(requests.during(answerCall(gateway, tool, call)))
    }
    nameExtensions(server, options)
    const takesNothing = options.input === undefined
    const handle = takesNothing ? (extra: HandlerExtra) => run({}, extra) : run
    return server.registerTool(name, configOf(options), handle)
  }
  return paidTool as PaidTool
}

/** Options that tools share with routes. */
const SHARED_OPTIONS = [
  'merchant',
  'v1',
  'earlierPrices',
  'maxTimeoutSeconds',
  'minValiditySeconds',
  'protocols',
]
/** Options that the SDK does not get. */
const OWN_OPTIONS = new Set(['price', 'input', 'output', ...SHARED_OPTIONS])
const OPTIONS = [...OWN_OPTIONS, 'description', 'title', 'annotations', '_meta']

/** @throws `ConfigError` for misspelt options, and for those that only routes have. The SDK has further members. */
function checkNames(options: object): void {
  for (const name of Object.keys(options).filter((one) => !OPTIONS.includes(one))) {
    const meant = closestName(name, OPTIONS)
    if (ROUTE_OPTION_NAMES.includes(name))
      throw new ConfigError(name, 'only routes have this option: remove it', 'unknown_option')
    if (meant !== undefined)
      throw new ConfigError(name, `did you mean '${meant}'?`, 'unknown_option')
  }
}

/** @throws `ConfigError` for a price or an option that cannot work. */
function declareTool(
  gateway: PaidRoutesContext,
  tool: HandledTool,
  options: Options,
): DeclaredTool {
  const { price, description } = options
  // As `@x402/mcp` writes it; `?` and `#` would end the name.
  const url = `mcp://tool/${encodeURI(tool.name).replaceAll(/[?#]/g, encodeURIComponent)}`
  // Nobody could find the server by the URL of its tool: no catalogue lists it.
  const context = { ...gateway, catalogue: undefined, headerSizes: undefined }
  const own = Object.entries(options).filter(([name]) => SHARED_OPTIONS.includes(name))
  const { find } = declareRoute(context, byArguments(price), {
    ...Object.fromEntries(own),
    description,
    resourceUrl: () => url,
    paywall: false,
  })
  return { ...tool, url, find }
}

/** A price whose functions take the arguments of a call, as one of a route, whose functions take its request. */
function byArguments(price: Options['price']): DeclaredPrice {
  const adapt = (one: Price | ((args: never) => unknown)): Price | PriceFunction =>
    typeof one === 'function'
      ? (req) => one((req as unknown as ToolCall).body as never) as Price | Promise<Price>
      : one
  if (isUpTo(price)) return { ...price, upTo: adapt(price.upTo) }
  return adapt(price)
}

/** The config for `registerTool`, with the marks by which Cloudflare's `agents` tells its model the price of a call. */
function configOf(options: Options): object {
  const { price, input: inputSchema, output: outputSchema } = options
  const config = Object.entries(options).filter(([name]) => !OWN_OPTIONS.has(name))
  const dollars = dollarsOf(price)
  const _meta = {
    ...options._meta,
    'agents-x402/paymentRequired': true,
    ...(dollars !== undefined && { 'agents-x402/priceUSD': dollars }),
  }
  return { ...Object.fromEntries(config), inputSchema, outputSchema, _meta }
}

/** A fixed price in dollars; `undefined` for every other. */
function dollarsOf(price: Options['price']): number | undefined {
  if (typeof price === 'function' || isUpTo(price)) return undefined
  const parsed = parsePrice(price, { defaultCurrency: NO_CURRENCY })
  const isInDollars = parsed.kind === 'fiat' && parsed.currency === 'USD'
  return isInDollars ? Number(formatDecimal(parsed.amount)) : undefined
}

/** Names the ways of paying to clients, unless they know by now what the server can. */
function nameExtensions(server: Registrar, options: Options): void {
  if (server.isConnected?.() === true) return
  const { method, intent } = EVM_CHARGE
  server.server?.registerCapabilities?.({
    extensions: { [EXTENSION]: {} },
    ...(speaksMpp(options) && {
      experimental: { payment: { methods: [method], intents: [intent] } },
    }),
  })
}

/** Answers a call. @throws What its handler throws. A failure of the gateway is logged, and not explained. */
async function answerCall(
  gateway: PaidRoutesContext,
  tool: DeclaredTool,
  call: ToolCall,
): Promise<ToolResult> {
  // Its payment could buy another call.
  if (call.argumentsHash === undefined) return problemResult(NOT_COMPARABLE)
  const held = new HeldTool(gateway, tool, call)
  const exit = await charge(gateway, tool, { call, held }).catch((error: unknown) => {
    gateway.logger.error(`The tool ${tool.name} could not be sold.`, { error })
    return undefined
  })
  if (exit === undefined) return problemResult(FAILED)
  return held.answer ?? resultOf(exit, { call, hasOutput: tool.output !== undefined })
}

/** Charges for a call. @returns How it ends, if not with the handler's result. */
async function charge(
  gateway: PaidRoutesContext,
  { find }: DeclaredTool,
  { call, held }: { readonly call: ToolCall; readonly held: HeldTool },
): Promise<Exit> {
  if (gateway.requests.stopping.aborted) return { kind: 'shutting_down' }
  let exit: Exit = { kind: 'over' }
  const route = await find(call)
  if (route === undefined) return { kind: 'nobody_paid' }
  await chargeCall(gateway, {
    route,
    caller: callerOf(call, gateway.countRequest),
    offer: () => route.offers.make(call),
    delivery: held,
    end: (one) => (exit = one),
  })
  return exit
}

function callerOf(view: ToolCall, countRequest: CountRequest | undefined): Caller {
  return {
    view,
    requestId: undefined,
    get isGone() {
      return view.signal?.aborted === true
    },
    async count(payer) {
      // Its address is known to the server in front alone.
      if (payer !== undefined) return countRequest?.({ req: view.req, res: {} as Response, payer })
    },
  }
}
