/** `/console/session`: signing in and out. */
import express, { type Request, type Response, type Router } from 'express'
import { z } from 'zod'
import { FailedAttempts } from '../../http/failed-attempts.js'
import { respondJson } from '../../http/respond-json.js'
import { RequestProblem } from '../../http/respond-problem.js'
import { parseStrictDocument } from '../../protocol/strict-document.js'
import { rootUrlOf } from '../../router/docs-url.js'
import { jsonBody, readBody } from '../../router/json-body.js'
import { takesNoQuery } from '../../router/read-query.js'
import { respondDone } from '../changes.js'
import type { AdminContext } from '../context.js'
import type { ConsoleSessions } from './console-sessions.js'
import { requireSameOrigin } from './same-origin.js'
import type { SessionAccess } from './session-access.js'
import { clearSessionCookie, cookieScope, setSessionCookie } from './session-cookie.js'
import { sessionDocument } from './session-document.js'

/** Wrong tokens that one address may try. */
const FAILURES = { windowMs: 60_000, limit: 10 }

export const SIGN_IN_MEMBERS = { known: ['token'], tolerated: [] }

const NOT_A_TOKEN = 'must be an admin token, or an identify token of a project'

/** Reads the body that signs in. */
export const signInSchema = z.object({
  token: z.string(NOT_A_TOKEN).min(1, NOT_A_TOKEN).max(1000, NOT_A_TOKEN),
})

/** What the routes need. */
export interface SessionContext {
  readonly context: AdminContext
  readonly sessions: ConsoleSessions
  readonly access: SessionAccess
}

/** `/console/session`. */
export function sessionRoutes(parts: SessionContext): Router {
  const router = express.Router()
  const failures = new FailedAttempts(FAILURES)
  router.use(takesNoQuery)
  const { context } = parts
  router.get(
    '/',
    respondJson(context, (_context, req, res) => showSession(parts, req, res)),
  )
  router.post(
    '/',
    jsonBody,
    respondJson(context, (_context, req, res) => signIn(parts, { req, res, failures })),
  )
  router.delete(
    '/',
    respondDone(context, (_context, req, res) => signOut(parts, req, res)),
  )
  return router
}

async function showSession({ context, access }: SessionContext, req: Request, res: Response) {
  const session = await access.find(req, res)
  if (session !== undefined) return sessionDocument(context, session)
  throw unauthorized(res, 'There is no session: sign in with a token.')
}

interface SignIn {
  readonly req: Request
  readonly res: Response
  readonly failures: FailedAttempts
}

async function signIn(
  { context, sessions, access }: SessionContext,
  { req, res, failures }: SignIn,
) {
  const root = rootUrlOf(res)
  requireSameOrigin(req, root)
  const { token } = readBody(req, (body) =>
    parseStrictDocument(signInSchema, body, SIGN_IN_MEMBERS),
  )
  const { waitSeconds, isLast } = await failures.begin(req)
  const identity = await sessions.identify(token).catch(async (error: unknown) => {
    // The ledger's failure is not the visitor's.
    await failures.succeed(req)
    throw error
  })
  // A good token is let in even if others at the same address have used up its limit.
  if (identity === undefined && waitSeconds > 0) throw tooManyFailures(res, waitSeconds)
  if (identity === undefined) {
    if (isLast)
      context.logger.warn(
        'Wrong tokens at the console: further ones of this address are refused for a minute.',
        { ip: req.ip },
      )
    throw unauthorized(res, 'The token is unknown, or was revoked: check that it is complete.')
  }
  await failures.succeed(req)
  // The previous session of this browser ends.
  const previous = await access.find(req, res).catch(() => undefined)
  const session = await sessions.open(token, identity, req.ip)
  if (previous !== undefined) await sessions.close(previous.hash)
  const maxAgeMs = session.longestMs
  setSessionCookie(res, cookieScope(root), { secret: session.secret, maxAgeMs })
  return sessionDocument(context, session)
}

function tooManyFailures(res: Response, seconds: number): RequestProblem {
  res.set('Retry-After', String(seconds))
  return new RequestProblem(
    'rate_limited',
    `${FAILURES.limit} tokens from this address were wrong within ${FAILURES.windowMs / 1000} s: try again in ${seconds} s.`,
  )
}

async function signOut(
  { sessions, access }: SessionContext,
  req: Request,
  res: Response,
): Promise<void> {
  const root = rootUrlOf(res)
  requireSameOrigin(req, root)
  const session = await access.find(req, res)
  if (session !== undefined) await sessions.close(session.hash)
  clearSessionCookie(res, cookieScope(root))
}

function unauthorized(res: Response, detail: string): RequestProblem {
  res.set('WWW-Authenticate', 'ConsoleSession realm="x402 gateway console"')
  return new RequestProblem('unauthorized', detail)
}
