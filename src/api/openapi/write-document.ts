/** Makes an OpenAPI 3.1 document of the definitions of endpoints. */
import { ownPackage } from '../../shared/http/own-package.cjs'
import { rolesFor } from '../../core/merchants/access.js'
import type { Description, Success } from '../serve/define-endpoint.js'
import { componentSchemas, referenceTo, type JsonSchema } from './components.js'
import { HEADERS, PARAMETERS, SECURITY, TAGS } from '../serve/fixed-parts.js'
import { headersOf, ProblemResponses } from './problem-responses.js'
import { bodySchema, queryParameters } from './request-schema.js'
import { curlOf } from './curl.js'
import { describeWebhooks } from './webhooks.js'
import { Lazy } from '../../shared/http/lazy.js'
import { probeStatus, readiness } from '../documents/probe.js'

export interface OpenApiDocument {
  readonly [member: string]: unknown
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

export interface DocumentOptions {
  readonly endpoints: readonly Description[]
  /** Whether the app has the gateway's probes, somewhere. */
  readonly hasProbes: boolean
  /** Whether sessions of the console open endpoints. */
  readonly hasSessions: boolean
}

/** Makes the document, without its `servers`. */
export async function writeDocument(options: DocumentOptions): Promise<OpenApiDocument> {
  const { hasSessions } = options
  const endpoints = [...options.endpoints, ...(options.hasProbes ? probes : [])]
  const paths: Record<string, Record<string, unknown>> = {}
  const problems = new ProblemResponses()
  for (const endpoint of endpoints) {
    const { path, method } = endpoint
    // One after the other: schemas and problems are numbered and listed in the order in which they are met.
    const described = await operationOf(endpoint, { hasSessions, problems })
    paths[path] = { ...paths[path], [method.toLowerCase()]: described }
  }
  const tags = new Set(endpoints.map(({ tag }) => tag))
  const webhooks = describeWebhooks(tags)
  const parts = {
    paths,
    ...(Object.keys(webhooks).length > 0 && { webhooks }),
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

Paths, methods and parameters that are not described here are refused. In commands, \`$GATEWAY\` is the URL of the server.`

interface Shared {
  readonly hasSessions: boolean
  readonly problems: ProblemResponses
}

async function operationOf(
  endpoint: Description,
  { hasSessions, problems }: Shared,
): Promise<object> {
  const { id, tag, summary, description, body } = endpoint
  const parameters = parametersOf(endpoint)
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    security: securityOf(endpoint, hasSessions),
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: bodySchema(body), example: body.example } },
      },
    }),
    responses: { ...(await problems.of(endpoint)), ...(await successes(endpoint)) },
    'x-codeSamples': [{ lang: 'sh', label: 'curl', source: curlOf(endpoint) }],
  }
}

function parametersOf({ params = {}, query, headers = [] }: Description): readonly object[] {
  return [
    ...Object.entries(params).map(([name, description]) => ({
      name,
      in: 'path',
      required: true,
      description,
      schema: { type: 'string' },
    })),
    ...(query ? queryParameters(query) : []).map((parameter) => ({
      in: 'query',
      required: false,
      ...parameter,
    })),
    ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` })),
  ]
}

/** The scopes of tokens, or the roles of people, that have access; OpenAPI 3.1 names both as roles. */
function securityOf(endpoint: Description, hasSessions: boolean): readonly object[] {
  const { access, scope } = endpoint
  const roles = access === 'admin' ? rolesFor(endpoint) : scope === undefined ? [] : [scope]
  const project = [{ projectToken: roles }, { apiKey: roles }]
  const session = hasSessions ? [{ consoleSession: roles }] : []
  switch (access) {
    case 'anyone':
      return []
    case 'project':
      return project
    case 'merchant':
      return [...project, ...session]
    case 'admin':
      return [{ adminToken: roles }, ...session]
    case 'session':
      return [{ consoleSession: [] }]
  }
}

async function successes({ responses }: Description): Promise<Readonly<Record<string, object>>> {
  const described = Object.entries(responses).map(async ([status, success]) => [
    status,
    await successOf(success),
  ])
  return Object.fromEntries(await Promise.all(described)) as Record<string, object>
}

async function successOf({ description, document, type, headers = [] }: Success): Promise<object> {
  const reference = document && referenceTo(await document.get())
  const media = type ?? (reference && 'application/json')
  const schema = reference ?? { type: 'string' }
  return {
    description,
    headers: headersOf(headers),
    ...(media !== undefined && { content: { [media]: { schema } } }),
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

const loaded = <Schema>(schema: Schema) => new Lazy(async () => schema)

const probes: readonly Description[] = [
  {
    method: 'GET',
    path: '/livez',
    id: 'isAlive',
    tag: 'Probes',
    access: 'anyone',
    summary: 'Find out whether the process runs',
    description: 'Asks nothing outside the process.',
    responses: { 200: { description: 'It runs.', document: loaded(probeStatus) } },
  },
  {
    method: 'GET',
    path: '/readyz',
    id: 'isReady',
    tag: 'Probes',
    access: 'anyone',
    summary: 'Find out whether payments can be taken',
    description:
      'Checks the ledger, each network and its relayers, or the remote facilitator: every 3 s at most, however often it is asked. It answers within a second.',
    responses: {
      200: { description: 'Payments can be taken.', document: loaded(readiness) },
      503: {
        description: 'They cannot; `checks` says why.',
        document: loaded(readiness),
        headers: ['Retry-After'],
      },
    },
  },
]
