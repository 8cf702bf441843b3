import type { RequestHandler } from 'express'
import { isFromTrustedProxy } from '../http/public-url.js'
import type { Logger } from '../logger.js'

/**
 * Makes a handler that warns, once, of a proxy that is not trusted. All clients behind it have one address, so
 * what a stranger does wrong counts for everybody.
 */
export function warnOfProxy(logger: Logger): RequestHandler {
  let isDone = false
  return function warnOnce(req, _res, next) {
    if (!isDone && req.headers['x-forwarded-for'] !== undefined && !isFromTrustedProxy(req)) {
      isDone = true
      logger.warn(
        'X-Forwarded-For came from an address that is not trusted, and was ignored. If it is the address of your proxy, set X402_TRUST_PROXY (--trust-proxy, trustProxy): until then, all clients share the limits of that address.',
        { ip: req.socket.remoteAddress },
      )
    }
    next()
  }
}
