/** Who sends a request about a project: the project itself, by its token, or an admin on its behalf. */
import type { Response } from 'express'
import { sha256 } from '../../shared/crypto/sha256.js'
import type { AuditedChange, ChangeAuthor } from '../../ledger/projects.js'
import type { Merchant, Project } from '../../core/merchants/project.js'
import { holderOf, merchantOf, ownProject, projectOf, setProject } from './authenticate.js'
import type { RouterContext } from '../context.js'
import type { KeyedRequest } from './repeatable-request.js'
import { world } from '../../shared/world.js'

/** The merchant of a request's settlements, and its tokens. */
export type Payee = Pick<Merchant, 'project' | 'accepts'>

interface Acting {
  readonly admin: string
  readonly project: Project
  /** Tokens of settlements whose project has no merchant any more. */
  readonly accepts: Payee['accepts']
}

/** Has the handlers behind find a project, as if it had sent the request itself. */
export function actFor(res: Response, acting: Acting): void {
  setProject(res, acting.project)
  res.locals['x402Acting'] = acting
}

function actingOf(res: Response): Acting | undefined {
  return res.locals['x402Acting'] as Acting | undefined
}

/**
 * The payee of an authenticated request.
 *
 * @throws {@link RequestProblem} 404 if a project that asks for itself has no merchant.
 */
export function payeeOf(res: Response): Payee {
  const acting = actingOf(res)
  if (acting === undefined) return merchantOf(res)
  const { project, accepts } = acting
  return project.merchant ?? { project: project.id, accepts }
}

/** The scope of an `Idempotency-Key` at an endpoint. Each admin has a scope apart from the project's. */
export function keyScopeOf(res: Response, endpoint: string) {
  const project = projectOf(res)?.id ?? ''
  const admin = actingOf(res)?.admin
  if (admin === undefined) return { project, endpoint }
  return { project: `admin:${admin}`, endpoint: `admin/${endpoint} ${project}` }
}

/** The admin who makes the change of a request; `undefined` for a project that acts for itself. */
export function authorOf(res: Response, key?: KeyedRequest): ChangeAuthor | undefined {
  const admin = actingOf(res)?.admin
  return admin === undefined ? undefined : changeAuthor(admin, key)
}

/** A merchant that makes a change itself: with the token, where the ledger has it. */
export function merchantAuthor(res: Response, key?: KeyedRequest): ChangeAuthor {
  const { token, label } = holderOf(res) ?? {}
  const name = ['merchant', token, label && `(${label})`].filter(Boolean).join(' ')
  return changeAuthor(name, key)
}

/**
 * Who makes a change.
 *
 * @param key - Names the change: a request that is repeated after its process has died changes nothing
 * again. Without it, each call names a change of its own.
 */
export function changeAuthor(actor: string, key?: KeyedRequest): ChangeAuthor {
  const change = key ? nameOf(key) : world.randomBytes(16).toString('hex')
  return { actor, change }
}

/** Something that an admin does for a project, and no change of it. */
interface Act extends Pick<AuditedChange, 'action' | 'after'> {
  /** Names it, so that it is written once, however often it is repeated. */
  readonly change?: string
}

/** Writes to the audit log what an admin does for a project. Of a project itself, nothing is written. */
export async function noteAct(
  { ledger }: RouterContext,
  res: Response,
  { change, ...act }: Act,
): Promise<void> {
  const author = authorOf(res)
  if (author === undefined) return
  const by = { ...author, ...(change !== undefined && { change }) }
  await ledger.projects.noteAct({ ...act, project: ownProject(res).id }, by)
}

/** A name for what a request with an `Idempotency-Key` does: the same for its repetitions. */
export function nameOf({ key, fingerprint }: KeyedRequest): string {
  return sha256(`${key} ${fingerprint}`, 'hex')
}

export function endpointsFor({ ledger }: RouterContext, res: Response, key?: KeyedRequest) {
  return ledger.webhooks.endpoints.by(authorOf(res, key) ?? merchantAuthor(res, key))
}
