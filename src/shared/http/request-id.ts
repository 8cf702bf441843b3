/** The id of a request in log, response and problem details. */
import type { Request, Response } from 'express'
import { isFromTrustedProxy } from './public-url.js'
import { world } from '../world.js'

const HEADER = 'X-Request-Id'

/** Short, visible ASCII: it is repeated in logs and headers. */
const USABLE = /^[\x21-\x7e]{1,128}$/

/**
 * The existing id of a request: the one that the app has set on the response, `req.id` (pino-http and
 * others), or the header `X-Request-Id`.
 *
 * @param source - `trusted`: takes the header only from a proxy that `trust proxy` covers.
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

export function ensureRequestId(req: Request, res: Response): string {
  const id = knownRequestId(req, res, 'trusted') ?? world.randomUUID()
  res.setHeader(HEADER, id)
  return id
}

export function responseRequestId(res: Response): string | undefined {
  const id = res.getHeader(HEADER)
  return typeof id === 'string' && USABLE.test(id) ? id : undefined
}
