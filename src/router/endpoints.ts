/** Which endpoints there are, and which methods each takes. */
import type { RequestHandler } from 'express'
import { RequestProblem } from '../http/respond-problem.js'

/** A method of an endpoint. GET includes HEAD. */
export type EndpointMethod = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** The methods of each endpoint, by its path. `{id}` stands for one segment. */
export type Endpoints = Readonly<Record<string, readonly EndpointMethod[]>>

/** Patterns of the placeholders that do not stand for exactly one segment. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  version: String.raw`\d{4}-\d{2}-\d{2}`,
}

/** Makes a handler that refuses paths without an endpoint, and methods that an endpoint does not have. */
export function checkEndpoint(endpoints: Endpoints): RequestHandler {
  const find = endpointFinder(endpoints)
  return function check(req, res, next) {
    if (!isDecodable(req.path))
      return next(new RequestProblem('invalid_request', 'The path is not percent-encoded UTF-8.'))
    const methods = find(req.path.replace(/\/$/, ''))
    if (methods === undefined)
      return next(
        new RequestProblem(
          'not_found',
          `There is no ${req.path} here; there is ${Object.keys(endpoints).join(', ')}.`,
        ),
      )
    const method = req.method === 'HEAD' ? 'GET' : req.method
    if ((methods as readonly string[]).includes(method)) return next()
    const allowed = methods.flatMap((one) => (one === 'GET' ? ['GET', 'HEAD'] : [one]))
    res.set('Allow', [...allowed, 'OPTIONS'].join(', '))
    if (req.method === 'OPTIONS') return void res.status(204).end()
    const taken = methods.join(' and ')
    next(new RequestProblem('method_not_allowed', `${req.path} takes ${taken}, not ${req.method}.`))
  }
}

/** Finds the methods of a path: an endpoint of exactly that path, else the first whose pattern fits. */
function endpointFinder(
  endpoints: Endpoints,
): (path: string) => readonly EndpointMethod[] | undefined {
  const exact = new Map(Object.entries(endpoints))
  const patterns = Object.entries(endpoints)
    .filter(([path]) => path.includes('{'))
    .map(([path, methods]) => ({ pattern: patternOf(path), methods }))
  return (path) => exact.get(path) ?? patterns.find(({ pattern }) => pattern.test(path))?.methods
}

function patternOf(path: string): RegExp {
  const parts = path.split(/\{(\w+)\}/).map((part, index) => {
    const isPlaceholder = index % 2 === 1
    return isPlaceholder
      ? (PLACEHOLDERS[part] ?? '[^/]+')
      : part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  })
  return new RegExp(`^${parts.join('')}$`)
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path)
    return true
  } catch {
    return false
  }
}
