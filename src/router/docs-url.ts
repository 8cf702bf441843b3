import type { RequestHandler, Response } from 'express'
import { findNameProblems } from '../ucp/authority.js'
import type { RouterContext } from './context.js'

/**
 * Stores for one request how to find the URL where the router is mounted, as the client sees it.
 *
 * @param docsUrl - Where `/ucp/…` is published, if elsewhere.
 */
export function setRootUrl(res: Response, find: () => string, docsUrl?: string): void {
  res.locals['x402RootUrl'] = find
  res.locals['x402DocsUrl'] = docsUrl
}

/** The URL where the router is mounted, without a slash at its end. */
export function rootUrlOf(res: Response): string {
  return (res.locals['x402RootUrl'] as () => string)()
}

/** The root URL under which `/ucp/…` is published. */
export function docsUrlOf(res: Response): string {
  return (res.locals['x402DocsUrl'] as string | undefined) ?? rootUrlOf(res)
}

/**
 * Makes a handler that warns, at its first request, of a handler name that platforms would refuse.
 *
 * Mounted only on routes that show the UCP handler, so that gateways without UCP are not warned. A URL
 * that was not configured, but comes from a request, is not checked.
 */
export function warnOfHandlerName(context: RouterContext): RequestHandler {
  const { handlerId, publicUrl, docsUrl = publicUrl, logger } = context
  let isDone = docsUrl === undefined
  return function warnOnce(_req, _res, next) {
    if (!isDone && docsUrl !== undefined)
      for (const problem of findNameProblems({ id: handlerId, docsUrl })) logger.warn(problem)
    isDone = true
    next()
  }
}
