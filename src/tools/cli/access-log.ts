import type { RequestHandler } from 'express'
import { onceClosed } from '../../shared/http/once-closed.js'
import { ensureRequestId } from '../../shared/http/request-id.js'

/** Longest path in a log line. */
const MAX_PATH = 1024

/**
 * Gives each request an id, and logs it when it ends if there is a `write`. Query and headers may hold
 * secrets and are left out.
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
