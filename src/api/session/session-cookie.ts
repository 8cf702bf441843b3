/** The cookie that holds the secret of a session. */
import type { Request, Response } from 'express'
import { RequestProblem } from '../../shared/http/respond-problem.js'

const NAME = 'x402-console'

/** 32 bytes in base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/

/** Where cookies of the console belong: the root of the gateway, as browsers see it. */
export interface CookieScope {
  readonly isSecure: boolean
  /** `/`, or where the gateway is mounted. */
  readonly path: string
}

export function cookieScope(root: string): CookieScope {
  const { protocol, pathname } = new URL(root)
  return { isSecure: protocol === 'https:', path: pathname }
}

/**
 * Reads the secret of a request.
 *
 * @returns `undefined` without a cookie of the console; `''` for one that is no secret.
 * @throws {@link RequestProblem} 401 for two: another site of the same domain may have set the second, so
 * that its visitor works in a session that is not his own.
 */
export function readSessionCookie(req: Request, scope: CookieScope): string | undefined {
  const name = nameIn(scope)
  const values = (req.headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1))
  const [value, second] = values
  if (second !== undefined)
    throw new RequestProblem(
      'unauthorized',
      `The request has ${values.length} cookies ${name}: delete the cookies of this site, and sign in again.`,
    )
  if (value === undefined) return undefined
  return SECRET.test(value) ? value : ''
}

export function setSessionCookie(
  res: Response,
  scope: CookieScope,
  session: { readonly secret: string; readonly maxAgeMs: number },
): void {
  const seconds = Math.floor(session.maxAgeMs / 1000)
  writeCookie(res, scope, `${session.secret}; Max-Age=${seconds}`)
}

export function clearSessionCookie(res: Response, scope: CookieScope): void {
  writeCookie(res, scope, '; Max-Age=0')
}

function writeCookie(res: Response, scope: CookieScope, value: string): void {
  const { isSecure, path } = scope
  const attributes = `Path=${path}; HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}`
  res.append('Set-Cookie', `${nameIn(scope)}=${value}; ${attributes}`)
}

/** Browsers take a cookie with a prefix from this host, or over TLS, only (RFC 6265bis §4.1.3). */
function nameIn({ isSecure, path }: CookieScope): string {
  if (!isSecure) return NAME
  return path === '/' ? `__Host-${NAME}` : `__Secure-${NAME}`
}
