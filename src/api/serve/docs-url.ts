import type { Response } from 'express'
import { findNameProblems } from '../../shared/protocol/ucp-authority.js'
import type { RouterContext } from '../context.js'

/** Stores for one request how to find the URL where the router is mounted, as the client sees it. */
export function setRootUrl(res: Response, find: () => string): void {
  res.locals['x402RootUrl'] = find
}

/** The URL where the router is mounted, without a slash at its end. */
export function rootUrlOf(res: Response): string {
  return (res.locals['x402RootUrl'] as () => string)()
}

const checked = new WeakSet<RouterContext>()

/**
 * The root URL under which `/ucp/…` is published.
 *
 * When it is asked for first, and is configured, names of the handler that platforms would refuse are warned
 * of: gateways without UCP are not.
 */
export function docsUrlOf(context: RouterContext, res: Response): string {
  const { handlerId: id, publicUrl, docsUrl = publicUrl, logger } = context
  if (docsUrl !== undefined && !checked.has(context))
    for (const problem of findNameProblems({ id, docsUrl })) logger.warn(problem)
  checked.add(context)
  return context.docsUrl ?? rootUrlOf(res)
}
