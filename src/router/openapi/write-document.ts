/** Makes an OpenAPI 3.1 document of described operations. */
import { ownPackage } from '../../http/own-package.cjs'
import { componentSchemas, referenceTo } from './components.js'
import { HEADERS, PARAMETERS, SECURITY, TAGS } from './fixed-parts.js'
import type { JsonSchema, Operation, Operations, Success } from './operation.js'
import { headersOf, ProblemResponses } from './problem-responses.js'

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
  const problems = new ProblemResponses()
  for (const [name, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = name.split(' ')
    const described = operationOf(operation, { hasSessions, problems })
    paths[path] = { ...paths[path], [method.toLowerCase()]: described }
  }
  const tags = new Set(Object.values(operations).map(({ tag }) => tag))
  const parts = {
    paths,
    components: {
      responses: problems.all(),
      parameters: PARAMETERS,
      headers: HEADERS,
      securitySchemes: SECURITY,
    },
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'x402 payment gateway',
      version: ownPackage.version ?? '0.0.0',
      summary: 'Verify and settle x402 payments, and prepare checkouts.',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    tags: TAGS.filter(({ name }) => tags.has(name)),
    ...parts,
    components: { ...parts.components, schemas: usedSchemas(parts) },
  }
}

const INTRODUCTION = `Bodies are JSON in UTF-8, of at most 64 KiB. Amounts on chain are decimal strings in the token’s smallest unit; prices are in major units. Times are ISO 8601 in UTC. \`HEAD\` is taken wherever \`GET\` is.

Errors are problem details (RFC 9457): \`code\` is for programs, \`detail\` for people. A payment that is refused is no error: it is answered with status 200, and says why.

Paths, methods and parameters that are not described here are refused.`

interface Shared {
  readonly hasSessions: boolean
  readonly problems: ProblemResponses
}

function operationOf(operation: Operation, { hasSessions, problems }: Shared): object {
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
    responses: { ...problems.of(operation), ...successes(operation) },
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
      return [{ projectToken: [] }]
    case 'merchant':
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

/** The named schemas that the document refers to, by way of others as well. */
function usedSchemas(parts: object): OpenApiDocument['components']['schemas'] {
  const schemas = componentSchemas()
  const used = new Set(['ProblemDetails'])
  const collect = (part: object): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      if (!used.has(name)) {
        used.add(name)
        collect(schemas[name] ?? {})
      }
  }
  collect(parts)
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => used.has(name)))
}
