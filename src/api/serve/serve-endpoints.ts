/** Serves endpoints: finds that of a request, checks access, query and limit, and writes the answer. */
import type { Request, RequestHandler, Response } from 'express'
import { z } from 'zod'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { parseDocument } from '../../shared/protocol/document.js'
import { parseStrictDocument } from '../../shared/protocol/strict-document.js'
import type { RouterContext } from '../context.js'
import { shapeOf } from './define-endpoint.js'
import type { Access, Call, Description, Endpoint } from './define-endpoint.js'
import type { Guard } from './guard.js'
import { invalidRequest } from './invalid-request.js'
import { jsonBody, readBody } from './json-body.js'
import { limitSome } from './rate-limit.js'

export interface Served extends Description {
  /** Answers a request. @throws `RequestProblem`, or what `handle` throws */
  readonly answer: (req: Request, res: Response, params: Params) => Promise<void>
}

type Params = Readonly<Record<string, string>>

/** Endpoints below a path of their own. The gateway owns all paths below it. */
export interface MountedApi {
  readonly prefix: string
  readonly endpoints: readonly Served[]
  /** Find out who sends a request, before it is counted (`setLimitKey`). They refuse none. */
  readonly identify: readonly RequestHandler[]
}

export interface Mounted {
  readonly mounted?: readonly MountedApi[]
  /** Finds the project of a request below `/api/v2/merchant` that has no token. Refuses none. */
  readonly identifyMerchant?: RequestHandler
}

export type Guards = Partial<Readonly<Record<Access, Guard>>>

export function bindEndpoints<Context extends RouterContext>(
  context: Context,
  endpoints: readonly Endpoint<Context>[],
  guards: Guards = {},
): readonly Served[] {
  const limited = new Set(endpoints.flatMap(({ limit }) => limit ?? []))
  if (context.rateLimit === false) limited.delete('reads')
  const limits = new Map([...limited].map((name) => [name, limitSome(name, context.logger)]))
  return endpoints.map((endpoint) => {
    const guard = guardOf(endpoint, guards)
    return {
      ...endpoint,
      async answer(req, res, params) {
        if (guard) await pass(guard, req, res)
        const early = { req, res, param: (name: string) => params[name] ?? '' }
        if (endpoint.before) await endpoint.before(context, early)
        const query = endpoint.ignoresQuery === true ? undefined : readQuery(endpoint, req)
        const limit = endpoint.limit && limits.get(endpoint.limit)
        if (limit) await pass(limit, req, res)
        if (endpoint.body !== undefined) await pass(jsonBody, req, res)
        const call = { ...early, query, readBody: () => parseBody(endpoint, req) }
        if (endpoint.respond) await endpoint.respond(context, call)
        else await context.requests.during(respondDocument(context, endpoint, call))
      },
    }
  })
}

function guardOf(
  { access, scope, path, method }: Description,
  guards: Guards,
): RequestHandler | undefined {
  if (access === 'anyone' || access === 'session') return undefined
  const guard = guards[access]
  if (guard !== undefined && scope !== undefined) return guard({ method, scope })
  throw new Error(`Nobody checks the access to ${path}.`)
}

async function respondDocument<Context>(
  context: Context,
  { handle, responses }: Endpoint<Context>,
  call: Call,
): Promise<void> {
  const { res } = call
  res.status(Number(Object.keys(responses)[0]))
  const document = await handle?.(context, call)
  if (document === undefined) res.end()
  else writeJson(res, document as object)
}

/** Like Express's `res.json`, in one write and without an ETag, since nothing may be cached. */
function writeJson(res: Response, document: object): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  // Each response belongs to one project, and may contain the host that its request named.
  res.setHeader('Cache-Control', 'no-store')
  res.end(JSON.stringify(document))
}

function pass(middleware: RequestHandler, req: Request, res: Response): Promise<void> {
  return new Promise((resolve, reject) => {
    middleware(req, res, (error?: unknown) => (error === undefined ? resolve() : reject(error)))
  })
}

const NO_QUERY = z.object({})

/** @throws `RequestProblem` 400 with every invalid parameter */
function readQuery({ query = NO_QUERY }: Description, req: Request): unknown {
  const parsed = parseStrictDocument(query, req.query, {
    known: Object.keys(query.shape),
    // By which some clients evade caches.
    tolerated: ['_'],
  })
  if (parsed.ok) return parsed.value
  throw invalidRequest('query', parsed.errors)
}

function parseBody({ body }: Description, req: Request): unknown {
  if (body === undefined) return undefined
  const { schema, tolerates = [] } = body
  if (tolerates === 'any') return readBody(req, (given) => parseDocument(schema, given))
  const members = { known: Object.keys(shapeOf(schema)), tolerated: tolerates }
  return readBody(req, (given) => parseStrictDocument(schema, given, members))
}

/** Paths that a 404 names at most. */
const MAX_NAMED = 10

/** Names the paths that begin with the most segments of a path that does not exist. */
function nearest(path: string, known: readonly string[]): string {
  const segments = path.split('/')
  const sharedWith = (other: string): number => {
    const others = other.split('/')
    const first = segments.findIndex((segment, index) => segment !== others[index])
    return first === -1 ? segments.length : first
  }
  const most = Math.max(...known.map(sharedWith))
  const near = known.filter((one) => sharedWith(one) === most)
  return near.slice(0, MAX_NAMED).join(', ') + (near.length > MAX_NAMED ? ', and more' : '')
}

/** Patterns of the placeholders that do not stand for exactly one segment. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  version: String.raw`\d{4}-\d{2}-\d{2}`,
}

/**
 * Makes the handler of all endpoints. It refuses paths without an endpoint, and methods that a path does
 * not take.
 */
export function serveEndpoints(served: readonly Served[]): RequestHandler {
  const paths = pathsOf(served)
  const find = pathFinder(paths)
  return function serve(req, res, next) {
    if (!isDecodable(req.path))
      return next(new RequestProblem('invalid_request', 'The path is not percent-encoded UTF-8.'))
    const found = find(req.path.replace(/\/$/, ''))
    if (found === undefined)
      return next(
        new RequestProblem(
          'not_found',
          `There is no ${req.path} here. Near it: ${nearest(req.path, [...paths.keys()])}.`,
        ),
      )
    const { methods, params } = found
    const endpoint = methods.get(req.method === 'HEAD' ? 'GET' : req.method)
    if (endpoint !== undefined) return void endpoint.answer(req, res, params).catch(next)
    const taken = [...methods.keys()]
    const allowed = taken.flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one]))
    res.set('Allow', [...allowed, 'OPTIONS'].join(', '))
    if (req.method === 'OPTIONS') return void res.status(204).end()
    next(
      new RequestProblem(
        'method_not_allowed',
        `${req.path} takes ${taken.join(' and ')}, not ${req.method}.`,
      ),
    )
  }
}

type Methods = ReadonlyMap<string, Served>

function pathsOf(served: readonly Served[]): ReadonlyMap<string, Methods> {
  const paths = new Map<string, Map<string, Served>>()
  for (const endpoint of served) {
    const methods = paths.get(endpoint.path) ?? new Map<string, Served>()
    paths.set(endpoint.path, methods.set(endpoint.method, endpoint))
  }
  return paths
}

interface Found {
  readonly methods: Methods
  readonly params: Params
}

/** Finds the endpoints of a path: those of exactly that path, else the first whose pattern fits. */
function pathFinder(paths: ReadonlyMap<string, Methods>): (path: string) => Found | undefined {
  const patterns = [...paths]
    .filter(([path]) => path.includes('{'))
    .map(([path, methods]) => ({ pattern: patternOf(path), methods }))
  return (path) => {
    const exact = paths.get(path)
    if (exact !== undefined) return { methods: exact, params: {} }
    for (const { pattern, methods } of patterns) {
      const params = pattern.exec(path)?.groups
      if (params !== undefined) return { methods, params: decoded(params) }
    }
    return undefined
  }
}

function patternOf(path: string): RegExp {
  const parts = path.split(/\{(\w+)\}/).map((part, index) => {
    const isPlaceholder = index % 2 === 1
    return isPlaceholder
      ? `(?<${part}>${PLACEHOLDERS[part] ?? '[^/]+'})`
      : part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  })
  return new RegExp(`^${parts.join('')}$`)
}

function decoded(params: Params): Params {
  return Object.fromEntries(
    Object.entries(params).map(([name, text]) => [name, decodeURIComponent(text)]),
  )
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
