/** Describes the paid routes of an app in OpenAPI 3.1, with what x402scan and MPP read about prices. */
import { formatDecimal } from '../../shared/money/decimal.js'
import { membersOf } from '../../shared/protocol/document.js'
import { EVM_CHARGE } from '../../shared/protocol/mpp.js'
import { isPermit2 } from '../../shared/protocol/same-offer.js'
import { speaksMpp } from '../route/options.js'
import { BODY_METHODS, isJson } from '../../core/catalogue/bazaar.js'
import type { Declaration, InputPart } from '../../core/catalogue/declaration.js'
import type { AdvertisedPrice } from './declared-routes.js'
import { openApiPath, parametersOf, type FoundRoute } from './express-routes.js'
import { embedded, propertiesOf, type JsonSchema } from '../../core/catalogue/json-schema.js'

/**
 * An OpenAPI 3.1 document.
 *
 * @example
 * ```ts
 * import type { OpenApiDocument } from 'express-x402-gateway'
 *
 * const pathsOf = ({ paths }: OpenApiDocument): readonly string[] => Object.keys(paths)
 * ```
 */
export interface OpenApiDocument {
  /** Version of OpenAPI. */
  readonly openapi: string
  /** What is described. */
  readonly info: {
    readonly title: string
    readonly version: string
    readonly [member: string]: unknown
  }
  /** Operations by path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>
  /** Everything else. */
  readonly [member: string]: unknown
}

/** A paid route with its price now. */
export interface PricedRoute extends FoundRoute {
  readonly price: AdvertisedPrice
}

export interface DescribedApp {
  /** Root URL, without a slash at its end. */
  readonly root: string
  readonly routes: readonly PricedRoute[]
}

/** Version of the described API, which the gateway does not know. */
const VERSION = '1.0.0'

/** How to buy, for agents: it stands in the document and in `llms.txt`. */
export const GUIDANCE =
  'Each operation costs money. Send the request without a payment: the 402 has an offer in the header PAYMENT-REQUIRED (x402 version 2, base64 of JSON). Sign it with a stablecoin wallet, and send the same request again with the signed payment in PAYMENT-SIGNATURE. An x402 client does both. If an answer is lost, send the same payment again; never sign a second one while the first may still be settled.'

export function writeOpenApi({ root, routes }: DescribedApp): OpenApiDocument {
  const paths: Record<string, Record<string, object>> = {}
  const tags = new Set<string>()
  const ids = new Set<string>()
  for (const route of routes) {
    const path = openApiPath(route.path)
    if (path === undefined) continue
    const method = route.method.toLowerCase()
    const operationId = uniqueId(route, ids)
    paths[path] = { ...paths[path], [method]: { operationId, ...operationOf(route, path) } }
    for (const tag of route.route.options.tags ?? []) tags.add(tag)
  }
  return {
    openapi: '3.1.1',
    info: {
      title: titleOf({ root, routes }),
      version: VERSION,
      description: 'Resources that are paid for with x402.',
      contact: { url: root },
      'x-guidance': GUIDANCE,
    },
    'x-service-info': {
      categories: [...tags],
      docs: { homepage: root, apiReference: `${root}/openapi.json`, llms: `${root}/llms.txt` },
    },
    servers: [{ url: root }],
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: { schemas: { PaymentRequired: PAYMENT_REQUIRED, Problem: PROBLEM } },
  }
}

/** The name of the seller, if there is one; otherwise of the host. */
export function titleOf({ root, routes }: DescribedApp): string {
  const sellers = new Set(routes.flatMap(({ price }) => price.seller ?? []))
  return sellers.size === 1 ? ([...sellers][0] ?? '') : new URL(root).host
}

function operationOf({ method, path, route, price }: PricedRoute, openPath: string): object {
  const { options, declaration } = route
  const { description = '', tags } = options
  const pointer = `/paths/${escaped(openPath)}/${method.toLowerCase()}`
  const body = declaration?.input.body
  const { summary = description || `${method} ${openPath}` } = options
  return {
    summary,
    ...(description !== '' && { description }),
    ...(tags && { tags }),
    // Paid operations need no key.
    security: [],
    'x-payment-info': paymentInfo(price, speaksMpp(options)),
    parameters: parameters(path, declaration, pointer),
    ...(BODY_METHODS.has(method) && {
      requestBody: {
        required: body !== undefined,
        content: {
          'application/json': {
            schema: embedded(
              body?.json ?? {},
              `${pointer}/requestBody/content/application~1json/schema`,
            ),
            ...exampleOf(declaration?.examples?.body),
          },
        },
      },
    }),
    responses: responses(options.mimeType, declaration, pointer),
  }
}

/** Names an operation. Paths like `/a-b` and `/a/b` have the same words, and a route may have several methods. */
function uniqueId({ method, path, route }: PricedRoute, taken: Set<string>): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(Boolean)
  const wanted = route.options.operationId ?? [method.toLowerCase(), ...words].join('_')
  let id = wanted
  for (let n = 2; taken.has(id); n++) id = `${wanted}_${n}`
  taken.add(id)
  return id
}

const exampleOf = (example: unknown) => (example === undefined ? {} : { example })

/**
 * The price for both readers: x402scan takes `price` and `protocols`, MPP takes `offers`, and each ignores the
 * other's.
 */
function paymentInfo(advertised: AdvertisedPrice, isMpp: boolean): object {
  const { isMaximum = false, entries = [] } = advertised
  const currency = entries.find((entry) => !isPermit2(entry))?.asset
  const offers = entries.map(({ amount, asset }) => ({
    amount: isMaximum ? null : amount,
    currency: asset,
  }))
  return {
    price: priceOf(advertised),
    protocols: [{ x402: {} }, ...(isMpp ? [{ mpp: { ...EVM_CHARGE, currency } }] : [])],
    offers: (offers.length > 0 ? offers : [{ amount: null }]).map((offer) => ({
      intent: 'charge',
      method: 'evm',
      ...offer,
    })),
  }
}

function priceOf({ price, range, isMaximum }: AdvertisedPrice): object {
  if (range !== undefined) {
    const min = isMaximum ? '0' : formatDecimal(range.min)
    return { mode: 'dynamic', currency: range.currency, min, max: formatDecimal(range.max) }
  }
  if (price?.kind === 'fiat') {
    const { currency } = price
    const amount = formatDecimal(price.amount)
    return isMaximum
      ? { mode: 'dynamic', currency, min: '0', max: amount }
      : { mode: 'fixed', currency, amount }
  }
  // Also for token units: their worth is not known here.
  return { mode: 'dynamic', min: '0' }
}

const IN = { params: 'path', query: 'query', headers: 'header' } as const

function parameters(
  path: string,
  declaration: Declaration | undefined,
  pointer: string,
): readonly object[] {
  const named = parametersOf(path)
  const listed = (Object.keys(IN) as (keyof typeof IN)[]).flatMap((part) =>
    parametersIn(part, declaration, part === 'params' ? named : undefined),
  )
  return [...listed, PAYMENT_PARAMETER].map((parameter, index) => ({
    ...parameter,
    schema: embedded(parameter.schema, `${pointer}/parameters/${index}/schema`),
  }))
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly schema: JsonSchema
}

/** @param named - The names that the path has, which all are parameters. @defaultValue those of the schema */
function parametersIn(
  part: keyof typeof IN,
  declaration: Declaration | undefined,
  named?: readonly string[],
): readonly Parameter[] {
  const json = declaration?.input[part]?.json ?? {}
  const schemas = propertiesOf(json)
  const required = Array.isArray(json['required']) ? (json['required'] as readonly unknown[]) : []
  const examples = exampleParts(declaration, part)
  return (named ?? Object.keys(schemas)).map((name) => ({
    name,
    in: IN[part],
    required: named !== undefined || required.includes(name),
    schema: schemas[name] ?? { type: 'string' },
    ...exampleOf(examples[name]),
  }))
}

function exampleParts(
  declaration: Declaration | undefined,
  part: InputPart,
): Readonly<Record<string, unknown>> {
  return membersOf(declaration?.examples?.[part])
}

const PAYMENT_PARAMETER: Parameter & { readonly description: string } = {
  name: 'PAYMENT-SIGNATURE',
  in: 'header',
  required: false,
  description:
    'The signed payment (x402 version 2): base64 of JSON. Without it, the response is a 402.',
  schema: { type: 'string' },
}

function responses(
  mimeType: string | undefined,
  declaration: Declaration | undefined,
  pointer: string,
): object {
  const media = mimeType ?? 'application/json'
  const output = declaration?.output?.json
  const schema = output ?? (isJson(mimeType) ? {} : { type: 'string' })
  return {
    200: {
      description: 'What was paid for.',
      headers: { 'PAYMENT-RESPONSE': PAYMENT_RESPONSE },
      content: {
        [media]: {
          schema: embedded(schema, `${pointer}/responses/200/content/${escaped(media)}/schema`),
          ...exampleOf(declaration?.examples?.output),
        },
      },
    },
    ...(declaration &&
      Object.keys(declaration.input).length > 0 && {
        400: problem('The request is not as it is described here. This request was not charged.'),
      }),
    402: {
      description: 'What the request costs, and how to pay.',
      headers: { 'PAYMENT-REQUIRED': PAYMENT_REQUIRED_HEADER },
      content: {
        'application/json': { schema: { $ref: '#/components/schemas/PaymentRequired' } },
        'text/html': { schema: { type: 'string' } },
      },
    },
    503: problem(
      'The payment cannot be taken now. Present the same payment again after Retry-After.',
    ),
    default: { description: 'Another answer of the app. One of 400 or above is not charged for.' },
  }
}

const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
})

const PAYMENT_REQUIRED_HEADER = {
  description: 'The body of the 402 in base64.',
  schema: { type: 'string' },
}

const PAYMENT_RESPONSE = {
  description: 'The settlement: base64 of JSON with success, transaction, network and payer.',
  schema: { type: 'string' },
}

const PAYMENT_REQUIRED: JsonSchema = {
  type: 'object',
  description: 'An offer (x402 version 2).',
  properties: {
    x402Version: { const: 2 },
    error: { type: 'string' },
    errorMessage: { type: 'string' },
    resource: {
      type: 'object',
      properties: {
        url: { type: 'string' },
        description: { type: 'string' },
        mimeType: { type: 'string' },
      },
      required: ['url'],
    },
    accepts: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          scheme: { type: 'string' },
          network: { type: 'string' },
          amount: { type: 'string', pattern: '^[0-9]+$' },
          asset: { type: 'string' },
          payTo: { type: 'string' },
          maxTimeoutSeconds: { type: 'integer' },
          extra: { type: 'object' },
        },
        required: ['scheme', 'network', 'amount', 'asset', 'payTo', 'maxTimeoutSeconds'],
      },
    },
    extensions: { type: 'object' },
  },
  required: ['x402Version', 'resource', 'accepts'],
}

const PROBLEM: JsonSchema = {
  type: 'object',
  description: 'Problem details (RFC 9457).',
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: { path: { type: 'string' }, message: { type: 'string' } },
        required: ['path', 'message'],
      },
    },
  },
  required: ['type', 'title', 'status', 'detail', 'code'],
}

/** A token of a JSON Pointer (RFC 6901). */
const escaped = (token: string): string => token.replaceAll('~', '~0').replaceAll('/', '~1')
