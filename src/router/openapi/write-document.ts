/** Makes an OpenAPI 3.1 document of described operations. */
import { STATUS_CODES } from 'node:http'
import { ownPackage } from '../../http/own-package.cjs'
import { STATUS } from '../../http/problem-status.js'
import { componentSchemas, referenceTo } from './components.js'
import { HEADERS, PARAMETERS, SECURITY, TAGS } from './fixed-parts.js'
import type {
  JsonSchema,
  Operation,
  OperationProblem,
  Operations,
  ResponseHeader,
  Success,
} from './operation.js'
import { codeOf, PROBLEM_TEXTS, problemSchema } from './problems.js'

/** An OpenAPI document. */
export interface OpenApiDocument {
  readonly [member: string]: unknown
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

/** What a document depends on. */
export interface DocumentOptions {
  readonly operations: Operations
  /** Whether sessions of the console open operations. */
  readonly hasSessions: boolean
}

/** Makes the document, without its `servers`. */
export function writeDocument({ operations, hasSessions }: DocumentOptions): OpenApiDocument {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = name.split(' ')
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationOf(operation, hasSessions) }
  }
  const tags = new Set(Object.values(operations).map(({ tag }) => tag))
  const document = {
    openapi: '3.1.1',
    info: {
      title: 'x402 payment gateway',
      version: ownPackage.version ?? '0.0.0',
      summary: 'Verify and settle x402 payments, and prepare checkouts.',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    tags: TAGS.filter(({ name }) => tags.has(name)),
    paths,
    components: {
      parameters: PARAMETERS,
      headers: HEADERS,
      securitySchemes: SECURITY,
      schemas: componentSchemas(),
    },
  }
  return { ...document, components: { ...document.components, schemas: usedSchemas(document) } }
}

const INTRODUCTION = `Bodies are JSON in UTF-8, of at most 64 KiB. Amounts on chain are decimal strings in the token’s smallest unit; prices are in major units. Times are ISO 8601 in UTC. \`HEAD\` is taken wherever \`GET\` is.

Errors are problem details (RFC 9457): \`code\` is for programs, \`detail\` for people. A payment that is refused is no error: it is answered with status 200, and says why.

Paths, methods and parameters that are not described here are refused.`

function operationOf(operation: Operation, hasSessions: boolean): object {
  const { id, tag, summary, description, body } = operation
  const parameters = parametersOf(operation)
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: securityOf(operation, hasSessions),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: body.schema, example: body.example } },
      },
    }),
    responses: { ...successes(operation), ...problems(operation) },
  }
}

function parametersOf({ path = {}, query = [], headers = [] }: Operation): readonly object[] {
  return [
    ...Object.entries(path).map(([name, description]) => ({
      ...{ name, in: 'path', required: true, description },
      schema: { type: 'string' },
    })),
    ...query.map((parameter) => ({ in: 'query', required: false, ...parameter })),
    ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ]
}

function securityOf({ access }: Operation, hasSessions: boolean): readonly object[] {
  const session = hasSessions ? [{ consoleSession: [] }] : []
  switch (access) {
    case 'anyone':
      return []
    case 'project':
      return [{ projectToken: [] }, ...session]
    case 'admin':
      return [{ adminToken: [] }, ...session]
    case 'session':
      return [{ consoleSession: [] }]
  }
}

function successes({ responses }: Operation): Readonly<Record<string, object>> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, success]) => [status, successOf(success)]),
  )
}

function successOf({ description, document, type, headers = [] }: Success): object {
  const media = type ?? (document && 'application/json')
  const isJson = type === undefined && document !== undefined
  const schema = isJson ? referenceTo(document) : { type: 'string' }
  // What OpenAPI 3.1 has no word for: the documents of a stream.
  const events = !isJson && document !== undefined && { 'x-event-data': referenceTo(document) }
  return {
    description,
    headers: headersOf(headers),
    ...(media !== undefined && { content: { [media]: { schema, ...events } } }),
  }
}

/** The problems of an operation, by their status. Those of one status are told apart by `code`. */
function problems(operation: Operation): Readonly<Record<string, object>> {
  const byStatus = new Map<number, Map<string, OperationProblem>>()
  for (const problem of operation.problems) {
    const code = codeOf(problem)
    const status = STATUS[code].api
    const known = byStatus.get(status) ?? new Map<string, OperationProblem>()
    // One with members of its own comes instead of the plain one.
    if (typeof problem !== 'string' || !known.has(code)) known.set(code, problem)
    byStatus.set(status, known)
  }
  return Object.fromEntries(
    [...byStatus].map(([status, known]) => [status, problemResponse(status, [...known.values()])]),
  )
}

function problemResponse(status: number, found: readonly OperationProblem[]): object {
  const lines = found.map((problem) => {
    const code = codeOf(problem)
    return `- \`${code}\`: ${PROBLEM_TEXTS[code]}`
  })
  const schemas = found.map((problem) => referenceTo(problemSchema(problem)))
  const schema = schemas.length === 1 ? schemas[0] : { oneOf: schemas }
  return {
    description: `${STATUS_CODES[status]}\n\n${lines.join('\n')}`,
    headers: headersOf(headersOfStatus(status)),
    content: { 'application/problem+json': { schema } },
  }
}

function headersOfStatus(status: number): readonly ResponseHeader[] {
  if (status === 401) return ['WWW-Authenticate']
  return status === 429 || status === 502 || status === 503 ? ['Retry-After'] : []
}

function headersOf(names: readonly ResponseHeader[]): object {
  const all = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy', ...names]
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

/** The named schemas that the document refers to, by way of others as well. */
function usedSchemas(document: {
  readonly paths: object
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}): Readonly<Record<string, JsonSchema>> {
  const { schemas } = document.components
  const used = new Set(['ProblemDetails'])
  const collect = (part: object): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      if (!used.has(name)) {
        used.add(name)
        collect(schemas[name] ?? {})
      }
  }
  collect(document.paths)
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
}
