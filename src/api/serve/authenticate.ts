import type { Request, RequestHandler, Response } from 'express'
import type { Logger } from '../../shared/logger.js'
import { scopesOfToken, type Scope } from '../../core/merchants/access.js'
import type { Merchant, Project } from '../../core/merchants/project.js'
import type { ProjectDirectory, TokenHolder } from '../../core/merchants/project-directory.js'
import { API_KEY, PROJECT_TOKEN } from '../../shared/protocol/headers.js'
import { RETRY_AFTER_SECONDS } from '../../shared/http/problem-status.js'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import type { Guard } from './guard.js'

/**
 * Makes a handler that finds the project of a request, and refuses none.
 *
 * A token that comes with an `Origin` is in a browser, where anyone can read it. It works, but the
 * operator is warned once per project.
 */
export function identifyProject(directory: ProjectDirectory, logger: Logger): RequestHandler {
  const warned = new Set<string>()
  const take = (req: Request, res: Response, holder: TokenHolder | undefined): void => {
    if (holder !== undefined) setHolder(res, holder)
    const project = holder?.project
    if (project !== undefined && req.get('origin') !== undefined && !warned.has(project.id)) {
      warned.add(project.id)
      logger.warn(
        'An identify token was sent by a browser. It is a secret of the server: replace it.',
        { project: project.id },
      )
    }
  }
  return function identify(req, res, next) {
    const token = projectTokenOf(req)
    const holder = token === undefined ? undefined : directory.findByToken(token)
    take(req, res, holder)
    if (token === undefined || holder !== undefined || directory.isLoaded) return next()
    const lookAgain = (): void => {
      take(req, res, directory.findByToken(token))
      // Before the projects are loaded, the token may still be valid: the response is 503, not 401.
      res.locals['x402ProjectUnknown'] = !directory.isLoaded
    }
    directory.whenLoaded().then(lookAgain).then(next, next)
  }
}

/** The 503 while it is not known which projects there are. */
export function notLoaded(): RequestProblem {
  return new RequestProblem(
    'ledger_unavailable',
    'The gateway has just started, and could not read its projects yet: try again later.',
  )
}

/** The identify token of a request, in either of its headers; {@link PROJECT_TOKEN} counts if both are there. */
export function projectTokenOf(req: Request): string | undefined {
  return req.get(PROJECT_TOKEN) ?? req.get(API_KEY)
}

export function setProject(res: Response, project: Project): void {
  res.locals['x402Project'] = project
}

export function setHolder(res: Response, holder: TokenHolder): void {
  setProject(res, holder.project)
  res.locals['x402Holder'] = holder
}

/** The token that a request of a project has, or that its session was opened with. */
export function holderOf(res: Response): TokenHolder | undefined {
  return res.locals['x402Holder'] as TokenHolder | undefined
}

export function projectOf(res: Response): Project | undefined {
  return res.locals['x402Project'] as Project | undefined
}

export function ownProject(res: Response): Project {
  const project = projectOf(res)
  if (project !== undefined) return project
  throw new Error('No project was authenticated.')
}

/**
 * Makes the guard of a project's endpoints. It refuses requests without a valid token, or whose token lacks the
 * endpoint's scope, and keeps responses to the others out of caches.
 */
export function requireProject(directory: Pick<ProjectDirectory, 'hasTokens'>): Guard {
  return ({ scope }) =>
    function require(req, res, next) {
      res.set('Cache-Control', 'no-store')
      const holder = holderOf(res)
      if (holder !== undefined)
        return next(scopesOfToken(holder.scopes).includes(scope) ? undefined : lacks(scope))
      if (res.locals['x402ProjectUnknown'] === true) {
        res.set('Retry-After', String(RETRY_AFTER_SECONDS))
        return next(notLoaded())
      }
      res.set('WWW-Authenticate', `ProjectToken header="${PROJECT_TOKEN}"`)
      const given = [PROJECT_TOKEN, API_KEY].find((name) => req.get(name) !== undefined)
      const problem = given
        ? `The token in ${given} belongs to no project.`
        : `The header ${PROJECT_TOKEN} is missing.`
      next(
        new RequestProblem(
          'unauthorized',
          directory.hasTokens ? problem : `${problem} ${NO_TOKENS}`,
        ),
      )
    }
}

function lacks(scope: Scope): RequestProblem {
  const remedy =
    scope === 'manage' || scope === 'own'
      ? 'Use a token with all scopes, or ask the operator of the gateway.'
      : `Use a token with the scope '${scope}', or ask the operator of the gateway for one.`
  return new RequestProblem('forbidden', `This token may not do that. ${remedy}`)
}

const NO_TOKENS =
  'No project has a token yet: make one with `npx express-x402-gateway token`, and set it as X402_PROJECT_TOKEN or in `tokens` of a project.'

/**
 * The merchant of an authenticated request.
 *
 * @throws {@link RequestProblem} 404 if its project has none.
 */
export function merchantOf(res: Response): Merchant {
  const merchant = projectOf(res)?.merchant
  if (merchant !== undefined) return merchant
  throw new RequestProblem(
    'merchant_not_configured',
    'This project has no merchant yet, so nobody can be paid.',
  )
}
