/** Complete responses that deliver nothing, and are free whatever the app says. */
import type { Request, Response } from 'express'
import type { DeclaredRoutes } from '../discovery/declared-routes.js'
import { isPaidAt } from '../discovery/express-routes.js'

/** A response that is sent without the headers and the body of its handler. */
export interface Undelivered {
  readonly kind: 'undelivered'
  readonly status: number
  /** Where it leads. */
  readonly location?: string
}

/** Statuses of a failed condition or range. */
const CONDITIONAL = [304, 412, 416]

/** Statuses that clients follow by themselves, with the same payment. */
const REDIRECT = [301, 302, 303, 307, 308]

/** Dependencies of {@link readUndelivered}. */
export interface RedirectContext {
  readonly declaredRoutes: DeclaredRoutes
  readonly publicUrl?: string | undefined
}

/** @returns `undefined` for a response that may be charged for. */
export function readUndelivered(
  context: RedirectContext,
  { req, res }: { readonly req: Request; readonly res: Response },
  status: number,
): Undelivered | undefined {
  if (CONDITIONAL.includes(status)) return { kind: 'undelivered', status }
  const location = REDIRECT.includes(status) ? res.getHeader('location') : undefined
  // A write was made by now, unless it is to be made there.
  const isRepeated = status >= 307 || req.method === 'GET' || req.method === 'HEAD'
  if (typeof location !== 'string' || !isRepeated) return undefined
  return leadsToPaid(context, req, location) ? { kind: 'undelivered', status, location } : undefined
}

/**
 * Whether a redirect leads to a paid route of the same app, or only adds a slash: clients follow it with a payment
 * that is not good there. Everything else may be the signed link that was bought.
 */
function leadsToPaid(
  { declaredRoutes, publicUrl }: RedirectContext,
  req: Request,
  location: string,
): boolean {
  // A buyer may name any host. So without `publicUrl`, no absolute URL is one of this app.
  const root = new URL(publicUrl ?? 'http://unnamed.invalid')
  const own = new URL(req.originalUrl, root)
  if (!URL.canParse(location, own.href)) return false
  const { origin, pathname, search } = new URL(location, own)
  if (origin !== root.origin) return false
  if (pathname === `${own.pathname}/` && search === own.search) return true
  return isPaidAt(req.app, declaredRoutes, { method: req.method, path: pathname })
}
