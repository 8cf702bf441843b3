/** Checks a request by the schemas that its route declares. */
import type { Request } from 'express'
import { ConfigError } from '../../shared/errors.js'
import { countMembers, MAX_NESTING, parseDocumentAsync } from '../../shared/protocol/document.js'
import type { DocumentError, Parsed } from '../../shared/protocol/document.js'
import { PAYMENT_HEADER_KEYS } from '../../shared/protocol/headers.js'
import {
  INPUT_PARTS,
  type Declaration,
  type InputPart,
  type ReadSchema,
} from '../../core/catalogue/declaration.js'
import { propertiesOf } from '../../core/catalogue/json-schema.js'
import { world } from '../../shared/world.js'

/** Mistakes that one response lists, at most. */
const MAX_ERRORS = 50

/** Members of one part, on all levels. */
const MAX_MEMBERS = 100_000

/** Members of a part of which all mistakes are found. */
const MAX_CHECKED_WHOLLY = 256

const PARSED_BY_EXPRESS = /^\s*application\/(?:[\w.-]+\+)?(?:json|x-www-form-urlencoded)\b/i

export type ReadInput = Readonly<Partial<Record<InputPart, unknown>>>

/** Time for all checks of a request (ms). */
const MAX_CHECK_MS = 10_000

/**
 * Reads a request by the schemas of its route.
 *
 * @returns What the schemas make of it, or every mistake.
 * @throws `ConfigError` if the app has not parsed the body, or if its checks do not end within
 * {@link MAX_CHECK_MS}; whatever a check throws.
 */
export async function readInput({ input }: Declaration, req: Request): Promise<Parsed<ReadInput>> {
  if (input.body !== undefined) requireParsed(req)
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = world.setTimeout(() => reject(tooLate()), MAX_CHECK_MS)
  })
  try {
    return await Promise.race([checkParts(input, req), late])
  } finally {
    world.clearTimeout(timer)
  }
}

const tooLate = () =>
  new ConfigError(
    'input',
    `has a check that did not end within ${MAX_CHECK_MS / 1000} s; nothing was charged. Bound what it waits for`,
    'out_of_range',
  )

const TOO_LARGE = `must have at most ${MAX_MEMBERS} members, nested at most ${MAX_NESTING} levels deep`

async function checkParts(input: Declaration['input'], req: Request): Promise<Parsed<ReadInput>> {
  const values: Partial<Record<InputPart, unknown>> = {}
  const errors: DocumentError[] = []
  for (const part of INPUT_PARTS) {
    const schema = input[part]
    if (schema === undefined) continue
    const value: unknown = part === 'headers' ? ordinaryHeaders(req) : req[part]
    const members = countMembers(value, MAX_MEMBERS)
    if (members > MAX_MEMBERS) return { ok: false, errors: [{ path: part, message: TOO_LARGE }] }
    const abortEarly = members > MAX_CHECKED_WHOLLY
    const read = await parseDocumentAsync(schema.zod, valueOf(schema, part, value), { abortEarly })
    if (read.ok) values[part] = read.value
    else
      errors.push(
        ...read.errors.map(({ path, message }) => ({
          path: path === '' ? part : `${part}.${path}`,
          message,
        })),
      )
  }
  if (errors.length > 0) return { ok: false, errors: errors.slice(0, MAX_ERRORS) }
  return { ok: true, value: values }
}

/** Headers that a handler must not see: they have the payment, or the paywall's cookie with it. */
const HIDDEN = new Set([...PAYMENT_HEADER_KEYS, 'cookie'])

/** The headers of a request, without its payment: a schema may take headers that it does not name. */
function ordinaryHeaders({ headers }: Request): object {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HIDDEN.has(name)))
}

/** @throws `ConfigError` if the request has a body that a parser of Express would have parsed. */
function requireParsed(req: Request): void {
  const { body, headers } = req as { readonly body?: unknown } & Request
  if (body !== undefined || !PARSED_BY_EXPRESS.test(headers['content-type'] ?? '')) return
  const isEmpty =
    headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0
  if (isEmpty) return
  throw new ConfigError(
    'input.body',
    `needs a parsed body, and that of ${req.method} ${req.baseUrl}${req.path} was not parsed: put express.json() before x402Protect`,
    'missing_option',
  )
}

/**
 * The value that is checked. Everything but a body arrives as text: where the schema is JSON Schema, which
 * cannot convert, numbers and booleans are read from it.
 */
function valueOf({ json, isJson }: ReadSchema, part: InputPart, value: unknown): unknown {
  if (part === 'body' || !isJson || typeof value !== 'object' || value === null) return value
  const types = propertiesOf(json)
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => [name, fromText(types[name]?.['type'], text)]),
  )
}

function fromText(type: unknown, text: unknown): unknown {
  if (type === 'array' && typeof text === 'string') return [text]
  if (typeof text !== 'string') return text
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text
  const isNumber = type === 'number' || type === 'integer'
  return isNumber && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : text
}
