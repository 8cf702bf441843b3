/** `/console/session`: signing in and out. */
import type { Response } from 'express'
import { z } from 'zod'
import type { FailedAttempts } from '../../shared/http/failed-attempts.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { defineEndpoint, type Call } from '../serve/define-endpoint.js'
import { rootUrlOf } from '../serve/docs-url.js'
import type { AdminContext } from '../admin/context.js'
import type { ConsoleSessions, OpenSession } from './console-sessions.js'
import { requireSameOrigin } from './same-origin.js'
import type { SessionAccess } from './session-access.js'
import { clearSessionCookie, cookieScope, setSessionCookie } from './session-cookie.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { ownPackage } from '../../shared/http/own-package.cjs'
import { takesErc3009 } from '../../shared/money/assets.js'
import { formatNetwork, gasTokenOf } from '../../shared/protocol/networks.js'
import { explorerUrl } from '../admin/explorers.js'
import { scopesOfRole, scopesOfToken, type Admin } from '../../core/merchants/access.js'
import type { TokenHolder } from '../../core/merchants/project-directory.js'

const documents = lazyDocuments(() => import('../documents/admin.js'))

/** Wrong tokens that one address may try. */
export const FAILURES = { windowMs: 60_000, limit: 10 }

const NOT_A_TOKEN = 'must be an admin token, or an identify token of a project'

export interface SessionContext extends AdminContext {
  readonly sessions: ConsoleSessions
  readonly access: SessionAccess
  readonly failures: FailedAttempts
}

const common = { path: '/console/session', tag: 'Console' } as const

/** Signing in and out look for a session themselves. */
const problems = ['unauthorized', 'forbidden', 'cross_origin', 'ledger_unavailable'] as const

export const sessionEndpoints = [
  defineEndpoint({
    ...common,
    method: 'GET',
    id: 'getSession',
    access: 'session',
    summary: 'Get the session',
    description: 'Who is signed in, and until when.',
    responses: { 200: { description: 'The session.', document: documents('session') } },
    async handle(context: SessionContext, { req, res }) {
      const session = await context.access.find(req, res)
      if (session !== undefined) return sessionDocument(context, session)
      throw unauthorized(res, 'There is no session: sign in with a token.')
    },
  }),
  defineEndpoint({
    ...common,
    method: 'POST',
    id: 'signIn',
    access: 'anyone',
    summary: 'Sign in',
    description:
      'Turns a token into a session, whose cookie only the browser sees. Taken from pages of the gateway only; an address may try ten wrong tokens a minute.',
    body: {
      schema: z.object({
        token: z
          .string(NOT_A_TOKEN)
          .min(1, NOT_A_TOKEN)
          .max(1000, NOT_A_TOKEN)
          .meta({ description: 'An admin token, or an identify token of a project.' }),
      }),
      example: { token: 'x402_…' },
    },
    responses: {
      200: { description: 'Signed in.', document: documents('session'), headers: ['Set-Cookie'] },
    },
    problems,
    handle: signIn,
  }),
  defineEndpoint({
    ...common,
    method: 'DELETE',
    id: 'signOut',
    access: 'anyone',
    summary: 'Sign out',
    description: 'Ends the session, if there is one.',
    responses: { 204: { description: 'Signed out.', headers: ['Set-Cookie'] } },
    problems,
    async handle({ sessions, access }: SessionContext, { req, res }) {
      const root = rootUrlOf(res)
      requireSameOrigin(req, root)
      const session = await access.find(req, res)
      if (session !== undefined) await sessions.close(session.hash)
      clearSessionCookie(res, cookieScope(root))
      return undefined
    },
  }),
]

async function signIn(
  context: SessionContext,
  { req, res, readBody }: Call<unknown, { readonly token: string }>,
) {
  const { sessions, access, failures } = context
  const root = rootUrlOf(res)
  requireSameOrigin(req, root)
  const { token } = readBody()
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
  if (identity.role === 'merchant' && !identity.holder.scopes.includes('read'))
    throw new RequestProblem(
      'forbidden',
      "This token may not read, so there is nothing to show: sign in with one that has the scope 'read'.",
    )
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

function unauthorized(res: Response, detail: string): RequestProblem {
  res.set('WWW-Authenticate', 'ConsoleSession realm="x402 gateway console"')
  return new RequestProblem('unauthorized', detail)
}

/** A session as the page gets it: who is signed in, until when, and what the page needs to show payments. */
function sessionDocument(
  { networks, networkNames }: Pick<AdminContext, 'networks' | 'networkNames'>,
  session: OpenSession,
) {
  const { role, expiresAt } = session
  return {
    role,
    ...(session.role === 'admin' ? adminMembers(session.admin) : merchantMembers(session.holder)),
    expiresAt: new Date(expiresAt).toISOString(),
    version: ownPackage.version ?? 'unknown',
    networks: networks.map(({ network, assets }) => ({
      network: formatNetwork(network, networkNames),
      chainId: network.chainId,
      name: network.name,
      testnet: network.testnet,
      gasToken: gasTokenOf(network),
      explorerUrl: explorerUrl(network),
      assets: assets.map((asset) => {
        const { address, symbol, decimals, currency } = asset
        return { address, symbol, decimals, currency, refundable: takesErc3009(asset) }
      }),
    })),
  }
}

function adminMembers({ name, role }: Admin) {
  return { name, adminRole: role, scopes: scopesOfRole(role) }
}

function merchantMembers({ project: { id, merchant }, scopes }: TokenHolder) {
  return { name: merchant?.name ?? id, project: id, scopes: scopesOfToken(scopes) }
}
