import type { RequestHandler, Response } from 'express'
import type { Logger } from '../logger.js'
import { findNameProblems } from '../ucp/authority.js'

/** Remembers, for one request, how to find the root URL under which `/ucp/…` is published. */
export function setDocsUrl(res: Response, find: () => string): void {
  res.locals['x402DocsUrl'] = find
}

/** The root URL under which `/ucp/…` is published. */
export function docsUrlOf(res: Response): string {
  return (res.locals['x402DocsUrl'] as () => string)()
}

/** What is known of the handler's name, and of where its documents are. */
export interface HandlerNameContext {
  readonly handlerId: string
  readonly publicUrl: string | undefined
  readonly docsUrl: string | undefined
  readonly logger: Logger
}

/**
 * Makes a handler that warns, at its first request, of a name that platforms would refuse.
 *
 * It stands where the UCP handler is shown to somebody: who has no use for UCP is not bothered. A
 * URL that nobody configured, but a request named, says nothing.
 */
export function warnOfHandlerName(context: HandlerNameContext): RequestHandler {
  const { handlerId, publicUrl, docsUrl = publicUrl, logger } = context
  let isDone = docsUrl === undefined
  return function warnOnce(_req, _res, next) {
    if (!isDone && docsUrl !== undefined)
      for (const problem of findNameProblems({ id: handlerId, docsUrl })) logger.warn(problem)
    isDone = true
    next()
  }
}
