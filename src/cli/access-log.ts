import type { RequestHandler } from 'express'
import { onceClosed } from '../http/once-closed.js'
import { ensureRequestId } from '../http/request-id.js'

/** Longest path that is written. */
const MAX_PATH = 1024

/**
 * Makes a handler that gives each request its id and, where it is asked to, writes a line when the
 * request has ended. The line has neither query nor headers, which may hold secrets.
 *
 * @param write - Writes the line; `undefined` for none.
 */
export function logAccess(write: ((fields: object) => void) | undefined): RequestHandler {
  return function identifyRequest(req, res, next) {
    const requestId = ensureRequestId(req, res)
    if (write === undefined) return next()
    const startedAt = performance.now()
    // Routers change `req.url` while they run.
    const { method, path, ip } = req
    onceClosed(res, () => {
      const project = (res.locals['x402Project'] as { readonly id: string } | undefined)?.id
      write({
        requestId,
        method,
        path: path.slice(0, MAX_PATH),
        status: res.statusCode,
        ms: Math.round((performance.now() - startedAt) * 10) / 10,
        ...(project !== undefined && { project }),
        ip,
        ...(!res.writableFinished && { aborted: true }),
      })
    })
    next()
  }
}
