/** The extension `bazaar` of x402 v2: a 402 says what its resource takes and gives. */
import type { Declaration, InputPart } from './declaration.js'
import { embedded, type JsonSchema } from './json-schema.js'

/**
 * Longest extension (bytes of JSON). Clients send it back in a header, and Node takes 16 KiB for all headers
 * of a request.
 */
export const MAX_BAZAAR_BYTES = 4096

export interface Bazaar {
  readonly info: {
    readonly input: {
      readonly type: 'http'
      readonly method: string
      readonly [name: string]: unknown
    }
    readonly output?: { readonly type: string; readonly example?: unknown }
  }
  readonly schema: JsonSchema
  /** The route's path with its parameters: `/report/:id`. */
  readonly routeTemplate?: string
}

/** The names that the extension has for the parts of a request. */
const NAMES: Readonly<Record<InputPart, string>> = {
  params: 'pathParams',
  query: 'queryParams',
  headers: 'headers',
  body: 'body',
}

export const BODY_METHODS: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

const MAX_TEMPLATE = 256

/** A path whose parameters are whole names. Optional parts, wildcards and other hosts have no form here. */
const TEMPLATE = /^(?!.*(?:\.\.|%2e|%2f|\/\/))\/[\w/:.~%-]+$/i

/** Whether a path may be a `routeTemplate`. A buyer may have written it. */
export const isTemplate = (path: unknown): path is string =>
  typeof path === 'string' && path.length <= MAX_TEMPLATE && TEMPLATE.test(path)

/** Makes the extension of one route for each of its methods. */
export class BazaarWriter {
  readonly #declaration: Declaration
  readonly #byMethod = new Map<string, Bazaar>()
  readonly #onTooLarge: (bytes: number) => void

  /** @param onTooLarge - Called if a schema or an example is left out. */
  constructor(declaration: Declaration, onTooLarge: (bytes: number) => void) {
    this.#declaration = declaration
    this.#onTooLarge = onTooLarge
  }

  /** @param path - The route's path, if it is known. */
  write(method: string, path: string | undefined): Bazaar {
    const made = this.#of(method)
    return path?.includes('/:') && isTemplate(path) ? { ...made, routeTemplate: path } : made
  }

  #of(method: string): Bazaar {
    const made = this.#byMethod.get(method) ?? this.#fit(method)
    this.#byMethod.set(method, made)
    return made
  }

  /** The largest one that fits: with its schema, without it, and without its examples. */
  #fit(method: string): Bazaar {
    const whole = bazaarOf(this.#declaration, method)
    const bytes = bytesOf(whole)
    if (bytes <= MAX_BAZAAR_BYTES - MAX_TEMPLATE) return whole
    this.#onTooLarge(bytes)
    const short = { ...whole, schema: ANY_SCHEMA }
    if (bytesOf(short) <= MAX_BAZAAR_BYTES - MAX_TEMPLATE) return short
    return { info: { input: { type: 'http', method } }, schema: ANY_SCHEMA }
  }
}

const bytesOf = (value: object): number => Buffer.byteLength(JSON.stringify(value))

/** Takes the place of a schema that is too large. */
const ANY_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { input: { type: 'object' }, output: { type: 'object' } },
  required: ['input'],
}

/** The extension, however large. */
function bazaarOf(declaration: Declaration, method: string): Bazaar {
  const { output, examples } = declaration
  const hasOutput = output !== undefined || examples?.output !== undefined
  const type = isJson(declaration.mimeType) ? 'json' : 'text'
  return {
    info: {
      input: { type: 'http', method, ...inputExamples(declaration, method) },
      ...(hasOutput && {
        output: { type, ...(examples?.output !== undefined && { example: examples.output }) },
      }),
    },
    schema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        input: inputSchema(declaration, method),
        ...(hasOutput && {
          output: {
            type: 'object',
            properties: {
              type: { type: 'string' },
              example: embedded(output?.json ?? {}, '/properties/output/properties/example'),
            },
            required: ['type'],
          },
        }),
      },
      required: ['input'],
    },
  }
}

export function isJson(mimeType: string | undefined): boolean {
  return mimeType === undefined || /^application\/(?:[\w.-]+\+)?json\b/i.test(mimeType)
}

/** The parts that a method has. Every method has a query. */
function partsOf({ input }: Declaration, method: string): readonly InputPart[] {
  const hasBody = BODY_METHODS.has(method)
  const parts: InputPart[] = ['query']
  if (input.params) parts.push('params')
  if (input.headers) parts.push('headers')
  if (hasBody) parts.push('body')
  return parts
}

function inputExamples(declaration: Declaration, method: string): object {
  const { examples = {} } = declaration
  const shown = partsOf(declaration, method).flatMap((part) =>
    examples[part] === undefined ? [] : [[NAMES[part], examples[part]] as const],
  )
  const bodyType = BODY_METHODS.has(method) && { bodyType: 'json' }
  return { ...bodyType, ...Object.fromEntries(shown) }
}

function inputSchema(declaration: Declaration, method: string): JsonSchema {
  const isBodyMethod = BODY_METHODS.has(method)
  const parts = partsOf(declaration, method).map((part) => {
    const name = NAMES[part]
    const schema = declaration.input[part]?.json ?? { type: 'object', properties: {} }
    return [name, embedded(schema, `/properties/input/properties/${name}`)] as const
  })
  return {
    type: 'object',
    properties: {
      type: { type: 'string', const: 'http' },
      method: { type: 'string', enum: [method] },
      ...(isBodyMethod && { bodyType: { type: 'string', enum: ['json'] } }),
      ...Object.fromEntries(parts),
    },
    required: ['type', 'method', ...(isBodyMethod ? ['bodyType'] : [])],
    additionalProperties: false,
  }
}

/**
 * Whether an echoed extension still says what was advertised. It may say more.
 *
 * @param echoed - What a client sent, as it was parsed.
 */
export function echoes({ info }: Bazaar, echoed: unknown): boolean {
  const theirs = typeof echoed === 'object' && echoed !== null && 'info' in echoed && echoed.info
  return holds(info, theirs)
}

function holds(advertised: unknown, echoed: unknown): boolean {
  if (typeof advertised !== 'object' || advertised === null) return advertised === echoed
  if (typeof echoed !== 'object' || echoed === null) return false
  if (Array.isArray(advertised) !== Array.isArray(echoed)) return false
  if (Array.isArray(advertised) && advertised.length !== (echoed as readonly unknown[]).length)
    return false
  return Object.entries(advertised).every(
    ([name, value]) =>
      value === undefined ||
      (Object.hasOwn(echoed, name) && holds(value, (echoed as Record<string, unknown>)[name])),
  )
}
