import type { Request, RequestHandler, Response } from 'express'
import { ipKeyGenerator } from 'express-rate-limit'
import { LRUCache } from 'lru-cache'
import { growingTo } from '../../shared/growing-to.js'
import { sha256 } from '../../shared/crypto/sha256.js'
import { FailedAttempts } from '../../shared/http/failed-attempts.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { Slots } from '../../shared/http/slots.js'
import { projectTokenOf } from '../serve/authenticate.js'
import { rootUrlOf } from '../serve/docs-url.js'
import { setLimitKey } from '../serve/rate-limit.js'
import type { ConsoleSessions, OpenSession } from './console-sessions.js'
import { requireSameOrigin } from './same-origin.js'
import { cookieScope, readSessionCookie } from './session-cookie.js'

/** Cookies without a session that one address may send: further ones get a 429. */
const UNKNOWN = { windowMs: 60_000, limit: 30 }

/** Look-ups at once, in all and for one address, of addresses that are beyond this limit. */
const LOOK_UPS = { total: 16, perKey: 4 }

/** Sessions that are remembered as valid: once they have ended, their cookies do not count as failures. */
const MAX_REMEMBERED = 10_000

export class SessionAccess {
  readonly #sessions: ConsoleSessions
  readonly #unknown = new FailedAttempts(UNKNOWN)
  readonly #lookUps = new Slots(LOOK_UPS)
  readonly #seen = new LRUCache<string, true>(growingTo(MAX_REMEMBERED))

  constructor(sessions: ConsoleSessions) {
    this.#sessions = sessions
  }

  /**
   * Finds the session of a request.
   *
   * @throws {@link RequestProblem} 403 for a request of another site, 401 for two cookies, 429 for too many
   * without a session.
   */
  async find(req: Request, res: Response): Promise<OpenSession | undefined> {
    const root = rootUrlOf(res)
    const secret = readSessionCookie(req, cookieScope(root))
    if (secret === undefined) return undefined
    requireSameOrigin(req, root)
    if (secret === '') return undefined
    const hash = sha256(secret, 'hex')
    const isSeen = this.#seen.has(hash)
    const { waitSeconds } = isSeen ? { waitSeconds: 0 } : await this.#unknown.begin(req)
    // A session is let in even if others at the same address have used up its limit. Their cookies must not keep the
    // database busy, however.
    const end = waitSeconds === 0 ? undefined : this.#lookUps.take(addressOf(req))
    if (typeof end === 'string') throw tooManyUnknown(res, waitSeconds)
    let isUnknown = false
    try {
      const session = await this.#sessions.use(secret)
      isUnknown = session === undefined
      if (isUnknown) this.#seen.delete(hash)
      else this.#seen.set(hash, true)
      if (isUnknown && waitSeconds > 0) throw tooManyUnknown(res, waitSeconds)
      return session
    } finally {
      end?.()
      // Neither is a failure of the ledger.
      if (!isSeen && !isUnknown) await this.#unknown.succeed(req)
    }
  }

  /**
   * Makes a handler that finds out whose session a request has, unless it has a token. It refuses only
   * requests of other sites.
   *
   * @param take - Notes who it is. @returns Whether the session is good for what is asked.
   */
  identify(take: (session: OpenSession, res: Response) => boolean): RequestHandler {
    return (req, res, next) => {
      if (req.headers.cookie === undefined || hasToken(req)) return next()
      const note = async (): Promise<void> => {
        const session = await this.find(req, res)
        if (session === undefined || !take(session, res)) return
        setLimitKey(res, limitKeyOf(session))
      }
      note().then(next, next)
    }
  }
}

function tooManyUnknown(res: Response, seconds: number): RequestProblem {
  res.set('Retry-After', String(seconds))
  return new RequestProblem(
    'rate_limited',
    `More than ${UNKNOWN.limit} requests with cookies of no session in ${UNKNOWN.windowMs / 1000} s; sign in again after the seconds of Retry-After.`,
  )
}

const addressOf = (req: Request): string => ipKeyGenerator(req.ip ?? '')

/**
 * The key that requests of a session are counted by. All sessions of a project count together: a token opens twenty. They
 * count apart from the project's shops, whose limit a page with many requests must not use up.
 */
function limitKeyOf(session: OpenSession): string {
  return session.role === 'merchant'
    ? `console:project:${session.holder.project.id}`
    : `console:admin:${session.admin.name}`
}

/** Whether a request says by itself who sends it. The password of a proxy in front does not. */
function hasToken(req: Request): boolean {
  return projectTokenOf(req) !== undefined || /^Bearer\b/i.test(req.get('authorization') ?? '')
}
