import type { RequestHandler } from 'express'
import { isFromTrustedProxy } from '../../shared/http/public-url.js'
import type { Logger } from '../../shared/logger.js'

/**
 * Warns once about a proxy that is not trusted. All clients behind it share one address, and so one rate
 * limit.
 */
export function warnOfProxy(logger: Logger): RequestHandler {
  let isDone = false
  return function warnOnce(req, _res, next) {
    if (!isDone && req.headers['x-forwarded-for'] !== undefined && !isFromTrustedProxy(req)) {
      isDone = true
      logger.warn(
        'Ignored X-Forwarded-For from an address that is not trusted. If that is your proxy, set X402_TRUST_PROXY (--trust-proxy, trustProxy): until then, all clients share the limits of its address.',
        { ip: req.socket.remoteAddress },
      )
    }
    next()
  }
}
