import type { Request, RequestHandler } from 'express'
import type { z } from 'zod'
import { findUnknownMembers, parseStrictDocument } from '../protocol/strict-document.js'
import { NO_QUERY, type KnownMembers } from '../protocol/strict-document.js'
import { invalidRequest } from './invalid-request.js'

/**
 * Parses the query of a request.
 *
 * @throws {@link RequestProblem} 400 with every invalid parameter.
 */
export function readQuery<T>(req: Request, schema: z.ZodType<T>, members: KnownMembers): T {
  const parsed = parseStrictDocument(schema, req.query, members)
  if (parsed.ok) return parsed.value
  throw invalidRequest('query', parsed.errors)
}

/** Refuses a query on an endpoint that would ignore it. */
export const takesNoQuery: RequestHandler = (req, _res, next) => {
  const errors = findUnknownMembers(req.query, NO_QUERY)
  next(errors.length > 0 ? invalidRequest('query', errors) : undefined)
}
