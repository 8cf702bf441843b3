/** A paid route's description: input, output, examples and tags. */
import { isObject } from '../../shared/protocol/document.js'
import { z } from 'zod'
import { ConfigError } from '../../shared/errors.js'
import { fromJsonSchema, isZodSchema, toJsonSchema, type JsonSchema } from './json-schema.js'

/** A schema: of zod 4, or a JSON Schema (2020-12). */
export type RouteSchema =
  { readonly _zod: { readonly output: unknown } } | { readonly [keyword: string]: unknown }

/**
 * Schemas for the parts of a request.
 *
 * @example
 * ```ts
 * import type { RouteInput } from 'express-x402-gateway'
 *
 * const input: RouteInput = {
 *   query: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
 * }
 * ```
 */
export interface RouteInput {
  /** Parameters of the path. Values are strings: `z.object({ id: z.coerce.number() })`. */
  readonly params?: RouteSchema
  /** Parameters of the query, which are strings as well. */
  readonly query?: RouteSchema
  /** Headers, by their names in lower case; never the payment and cookies. */
  readonly headers?: RouteSchema
  /**
   * The parsed body: put `express.json()` before `x402Protect`. It is checked before anybody has paid: at most 100,000
   * members, 64 levels deep; of a long one, only the first mistakes are found. `paymentRateLimit` counts such requests.
   */
  readonly body?: RouteSchema
}

/**
 * Examples of a request and its response.
 *
 * @example
 * ```ts
 * import type { RouteExamples } from 'express-x402-gateway'
 *
 * const examples: RouteExamples = { query: { city: 'Bern' }, output: { celsius: 21 } }
 * ```
 */
export interface RouteExamples {
  /** Parameters of the path. */
  readonly params?: Readonly<Record<string, unknown>>
  /** Parameters of the query. */
  readonly query?: Readonly<Record<string, unknown>>
  /** Headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** A body. */
  readonly body?: unknown
  /** A response. */
  readonly output?: unknown
}

/** Options of a route that describe it. */
export interface DescribingOptions {
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly input?: RouteInput | undefined
  readonly output?: RouteSchema | undefined
  readonly examples?: RouteExamples | undefined
  readonly tags?: readonly string[] | undefined
  readonly summary?: string | undefined
  readonly operationId?: string | undefined
}

/** The parts of a request that may have a schema. */
export const INPUT_PARTS = ['params', 'query', 'headers', 'body'] as const
export type InputPart = (typeof INPUT_PARTS)[number]

/** Catalogues drop longer tags, and more of them, as the official facilitator does. */
export const MAX_TAGS = 5
export const TAG = /^[\u0020-\u007e]{1,32}$/

const schema = z.custom<RouteSchema>(isObject, 'must be a zod schema or a JSON Schema')
const members = z.custom<Readonly<Record<string, unknown>>>(isObject, 'must be an object')

/** The fields of a route's options that describe it. */
export const describingFields = {
  input: z
    .strictObject({
      params: schema.optional(),
      query: schema.optional(),
      headers: schema.optional(),
      body: schema.optional(),
    })
    .optional(),
  output: schema.optional(),
  examples: z
    .strictObject({
      params: members.optional(),
      query: members.optional(),
      headers: members.optional(),
      body: z.unknown().optional(),
      output: z.unknown().optional(),
    })
    .optional(),
  tags: z
    .array(z.string().regex(TAG, 'must be 1 to 32 printable ASCII characters'))
    .max(MAX_TAGS, `must be at most ${MAX_TAGS}`)
    .optional(),
  summary: z.string().min(1).max(200).optional(),
  operationId: z
    .string()
    .regex(/^[\w.-]{1,100}$/, 'must be 1 to 100 letters, digits, dots, dashes or underscores')
    .optional(),
}

/** One schema of a route: what checks values, and what is published. */
export interface ReadSchema {
  readonly zod: z.ZodType
  readonly json: JsonSchema
  /** Whether it was written as JSON Schema: numbers of a query are then read from their text. */
  readonly isJson: boolean
}

/** A route's description, read. */
export interface Declaration extends Omit<DescribingOptions, 'input' | 'output'> {
  readonly input: Readonly<Partial<Record<InputPart, ReadSchema>>>
  readonly output?: ReadSchema | undefined
}

/**
 * Reads what a route says about itself.
 *
 * @returns `undefined` if it declares nothing: neither input, output nor examples.
 * @throws `ConfigError` for a schema that cannot be read.
 */
export function readDeclaration(options: DescribingOptions): Declaration | undefined {
  const { input = {}, output, examples } = options
  if (options.input === undefined && output === undefined && examples === undefined)
    return undefined
  const read = INPUT_PARTS.flatMap((part) => {
    const given = input[part]
    return given === undefined ? [] : [[part, readSchema(given, `input.${part}`)] as const]
  })
  return {
    ...options,
    input: Object.fromEntries(read),
    output: output && readSchema(output, 'output'),
    examples: examples && asJson(examples),
  }
}

/** Examples as JSON shows them. */
function asJson(examples: RouteExamples): RouteExamples {
  try {
    return JSON.parse(JSON.stringify(examples)) as RouteExamples
  } catch {
    throw new ConfigError('examples', 'must be JSON', 'invalid_value')
  }
}

function readSchema(given: RouteSchema, option: string): ReadSchema {
  try {
    if (isZodSchema(given)) return { zod: given, json: toJsonSchema(given), isJson: false }
    return { zod: fromJsonSchema(given), json: given, isJson: true }
  } catch (error) {
    throw new ConfigError(option, `cannot be used: ${(error as Error).message}`, 'invalid_value')
  }
}
