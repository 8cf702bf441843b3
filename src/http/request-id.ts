/** One id of a request, in the log, in the response and in problem details. */
import { randomUUID } from 'node:crypto'
import type { Request, Response } from 'express'
import { isFromTrustedProxy } from './public-url.js'

const HEADER = 'X-Request-Id'

/** Visible characters of ASCII, and not many of them: it is repeated in logs and headers. */
const USABLE = /^[\x21-\x7e]{1,128}$/

/**
 * The id that a request already has: one that the app has set in the response, the app's `req.id`
 * (pino-http and others), or that of the header `X-Request-Id`.
 *
 * @param source - `trusted`: the header counts only from a proxy that `trust proxy` covers.
 */
export function knownRequestId(
  req: Request,
  res: Response,
  source: 'any' | 'trusted' = 'any',
): string | undefined {
  const { id } = req as { id?: unknown }
  const isHeaderTaken = source === 'any' || isFromTrustedProxy(req)
  const candidates = [res.getHeader(HEADER), id, isHeaderTaken ? req.get(HEADER) : undefined]
  return candidates.map(String).find((text) => text !== 'undefined' && USABLE.test(text))
}

/** Makes sure that a request has an id, and that its response says so. */
export function ensureRequestId(req: Request, res: Response): string {
  const id = knownRequestId(req, res, 'trusted') ?? randomUUID()
  res.setHeader(HEADER, id)
  return id
}

/** The id that the response of a request carries. */
export function responseRequestId(res: Response): string | undefined {
  const id = res.getHeader(HEADER)
  return typeof id === 'string' && USABLE.test(id) ? id : undefined
}
