/** Shared by all changes through the admin API. */
import type { Request, Response } from 'express'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import type { ChangeAuthor } from '../../ledger/projects.js'
import { changeAuthor } from '../serve/acting.js'
import { readHeaderKey, type KeyedRequest } from '../serve/repeatable-request.js'
import { adminOf } from './admin.js'
import type { AdminContext } from './context.js'

export function authorOf(res: Response, key?: KeyedRequest): ChangeAuthor {
  return changeAuthor(adminOf(res).name, key)
}

export function adminKey(
  req: Request,
  res: Response,
  asked: { readonly endpoint: string; readonly body: object },
): KeyedRequest | undefined {
  const project = `admin:${adminOf(res).name}`
  return readHeaderKey(req, { ...asked, res, project, endpoint: `admin/${asked.endpoint}` })
}

export function noSuchProject(): RequestProblem {
  return new RequestProblem('not_found', 'There is no project of that id.')
}

export function refuseConfigured({ directory }: AdminContext, id: string): void {
  if (!directory.isConfigured(id)) return
  throw new RequestProblem(
    'project_configured',
    `The project '${id}' comes from the configuration: change it there, and restart the gateway.`,
  )
}
