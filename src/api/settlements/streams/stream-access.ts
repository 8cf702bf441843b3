/** Access to streams, and its end. */
import type { Request, Response } from 'express'
import { onceClosed } from '../../../shared/http/once-closed.js'
import { RETRY_AFTER_SECONDS } from '../../../shared/http/problem-status.js'
import { RequestProblem } from '../../../shared/http/respond-problem.js'
import { projectOf, projectTokenOf } from '../../serve/authenticate.js'
import type { RouterContext } from '../../context.js'
import { limitKeyOf } from '../../serve/rate-limit.js'
import type { SharedSlots, SlotOwner } from './streams.js'

interface SlotRequest {
  readonly req: Request
  readonly res: Response
  readonly owner: SlotOwner
  /** Name of the streams in problems. */
  readonly what: string
}

/**
 * Takes a slot for a stream. A project has its share once: its tokens and all sessions count together.
 *
 * @returns A function that gives the slot back. It is given back anyway when the connection ends.
 * @throws {@link RequestProblem} 429 or 503 with `Retry-After`
 */
export function takeSlot(slots: SharedSlots, { req, res, owner, what }: SlotRequest): () => void {
  const project = owner === 'projects' ? projectOf(res)?.id : undefined
  const taken = slots[owner].take(project ?? limitKeyOf(req, res))
  if (typeof taken === 'function') {
    onceClosed(res, taken)
    return taken
  }
  res.set('Retry-After', String(RETRY_AFTER_SECONDS))
  throw taken === 'perKey'
    ? new RequestProblem('rate_limited', `You have too many ${what} open at once: close one first.`)
    : new RequestProblem('server_busy', `The gateway has too many ${what} open at once.`)
}

/** Sets the function that tells whether the request of a response would still be let in. */
export function setAccessCheck(res: Response, isOpen: () => Promise<boolean>): void {
  res.locals['x402AccessCheck'] = isOpen
}

/** Makes a function that tells whether a request would still be let in. */
export function accessCheckOf(
  { directory }: RouterContext,
  req: Request,
  res: Response,
): () => Promise<boolean> {
  const check = res.locals['x402AccessCheck'] as (() => Promise<boolean>) | undefined
  if (check !== undefined) return check
  const [token, project] = [projectTokenOf(req), projectOf(res)]
  if (token === undefined || project === undefined) return async () => true
  return async () => directory.findByToken(token)?.project.id === project.id
}
