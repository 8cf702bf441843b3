/** Complete responses that deliver nothing, and are free whatever the app says. */
import type { Request, Response } from 'express'
import type { DeclaredRoutes } from '../discovery/declared-routes.js'
import { findRoutes, isPaid } from '../discovery/express-routes.js'

/** A response that is sent without the headers and the body of its handler. */
export interface Undelivered {
  readonly kind: 'undelivered'
  readonly status: number
  /** Where it leads. */
  readonly location?: string
}

/** Statuses of a failed condition or range. */
const CONDITIONAL = [304, 412, 416]

/**
 * Statuses that clients follow by themselves, with the same payment: it is not good at another paid route, nor behind a
 * slash. Whatever else a redirect leads to may be the signed link that was bought.
 */
const REDIRECT = [301, 302, 303, 307, 308]

/** Dependencies of {@link readUndelivered}. */
export interface RedirectContext {
  readonly declaredRoutes: DeclaredRoutes
  readonly publicUrl?: string | undefined
}

/** @returns `undefined` for a response that may be charged for. */
export function readUndelivered(
  { declaredRoutes, publicUrl }: RedirectContext,
  { req, res }: { readonly req: Request; readonly res: Response },
  status: number,
): Undelivered | undefined {
  if (CONDITIONAL.includes(status)) return { kind: 'undelivered', status }
  const location = REDIRECT.includes(status) ? res.getHeader('location') : undefined
  const method = req.method === 'HEAD' ? 'GET' : req.method
  // A write was made by now, unless it is to be made there.
  if (typeof location !== 'string' || (method !== 'GET' && status < 307)) return undefined
  // A buyer may name any host. So without `publicUrl`, no absolute URL is one of this app.
  const root = new URL(publicUrl ?? 'http://unnamed.invalid')
  const own = new URL(URL.canParse(req.originalUrl, root.href) ? req.originalUrl : '/', root)
  if (!URL.canParse(location, own.href)) return undefined
  const { origin, pathname, search } = new URL(location, own)
  const addsSlash = pathname === `${own.pathname}/` && search === own.search
  const isFree =
    addsSlash || isPaid(findRoutes(req.app, declaredRoutes), { method, path: pathname })
  return origin === root.origin && isFree ? { kind: 'undelivered', status, location } : undefined
}
