import express, { type Request, type RequestHandler } from 'express'
import type { DocumentError, Parsed } from '../../shared/protocol/document.js'
import { countMembers, MAX_NESTING } from '../../shared/protocol/document.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { invalidRequest } from './invalid-request.js'

const MAX_BODY_BYTES = 64 * 1024

// Not strict: `null` and `1` are JSON, and are refused for their shape.
const readJson = express.json({ limit: MAX_BODY_BYTES, strict: false })

/** Reads a JSON body, unless the app has read it before. */
export const jsonBody: RequestHandler = (req, res, next) => {
  if (hasBody(req) && req.is('json') === false)
    return next(
      new RequestProblem(
        'unsupported_media_type',
        "The body must be JSON: send it with 'Content-Type: application/json'.",
      ),
    )
  readJson(req, res, (error?: unknown) =>
    next(error === undefined ? undefined : bodyProblem(error)),
  )
}

/**
 * Parses the body of a request.
 *
 * @throws {@link RequestProblem} 400 with every invalid member.
 */
export function readBody<T>(req: Request, parse: (body: unknown) => Parsed<T>): T {
  if (countMembers(req.body) === Infinity)
    throw invalidBody([{ path: '', message: `is nested deeper than ${MAX_NESTING} levels` }])
  const parsed = parse(req.body)
  if (parsed.ok) return parsed.value
  throw invalidBody(parsed.errors)
}

export const invalidBody = (errors: readonly DocumentError[]): RequestProblem =>
  invalidRequest('body', errors)

function hasBody(req: Request): boolean {
  return req.headers['transfer-encoding'] !== undefined || Number(req.get('content-length')) > 0
}

function bodyProblem(error: unknown): unknown {
  const { type, status } = error as { type?: string; status?: number }
  if (type === 'entity.parse.failed') return unreadable('invalid_json', 'The body is not JSON.')
  if (status === 413)
    return new RequestProblem(
      'payload_too_large',
      `The body is larger than ${MAX_BODY_BYTES} bytes.`,
    )
  if (status === 415)
    return new RequestProblem(
      'unsupported_media_type',
      'The body must be JSON in UTF-8, as it is or compressed with gzip, deflate or br.',
    )
  // Truncated, of another length than announced, or compressed in another way than announced.
  if (status === 400) return unreadable('invalid_request', 'The body cannot be read to its end.')
  return error
}

function unreadable(code: 'invalid_json' | 'invalid_request', detail: string): RequestProblem {
  return new RequestProblem(code, detail, { errors: [{ path: '', message: detail }] })
}
