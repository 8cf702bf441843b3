/** Which pages may use the cookie of a session: those of the gateway itself. */
import type { Request } from 'express'
import { RequestProblem } from '../../shared/http/respond-problem.js'

/**
 * Refuses a request of another origin.
 *
 * Browsers send `Origin` with every request but `GET` and `HEAD`, and no page can change it. `SameSite` alone
 * lets through what other sites of the same domain send.
 *
 * @param root - URL of the gateway, as the client sees it.
 * @throws {@link RequestProblem} 403
 */
export function requireSameOrigin(req: Request, root: string): void {
  const { origin } = new URL(root)
  if (req.method === 'GET' || req.method === 'HEAD') return requireOwnPage(req, origin)
  const given = req.get('origin')
  if (given === origin) return
  const from = given === undefined ? 'has no header Origin' : 'comes from another origin'
  throw new RequestProblem(
    'cross_origin',
    `The request ${from}: with a cookie, only pages of ${origin} can change anything. If that is not where you are, the gateway's publicUrl, or 'trust proxy' of its app, needs to be set.`,
  )
}

/** Browsers send `Sec-Fetch-Site` with every request to a URL that is HTTPS or on this machine. */
function requireOwnPage(req: Request, origin: string): void {
  const site = req.get('sec-fetch-site') ?? 'none'
  if (site === 'same-origin' || site === 'none') return
  throw new RequestProblem(
    'cross_origin',
    `The request comes from a page of another site: with a cookie, only pages of ${origin} can read.`,
  )
}
