/** Changes to a project of the database, by an operator or by the merchant. */
import type { Request, Response } from 'express'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import type { ChangeAuthor, PausedBy, StoredProject, ProjectUpdate } from '../../ledger/projects.js'
import { isObject, membersOf } from '../../shared/protocol/document.js'
import type { DocumentError, Parsed } from '../../shared/protocol/document.js'
import { invalidBody } from '../serve/json-body.js'
import { noSuchProject, refuseConfigured } from './changes.js'
import type { AdminContext } from './context.js'
import { isStoredId } from './project-ids.js'
import { storedView } from './project-view.js'
import { mayAdmin, rolesFor } from '../../core/merchants/access.js'
import { sameHex } from '../../shared/protocol/hex.js'
import { adminOf } from './admin.js'
import { forbidden } from './authenticate-admin.js'

/** How often a change is tried while others change the same project. */
const MAX_ATTEMPTS = 20

export interface AskedChange {
  readonly req: Request
  readonly res: Response
  readonly id: string
  readonly author: ChangeAuthor
  readonly by: PausedBy
  /** Members to merge into the merchant (RFC 7396). */
  readonly merchant?: Readonly<Record<string, unknown>> | undefined
  readonly paused?: boolean | undefined
}

/**
 * Changes a project, also while others change it.
 *
 * @returns The project as it is now.
 * @throws {@link RequestProblem} 400, 404, 409 or 412
 */
export async function changeProject(context: AdminContext, asked: AskedChange) {
  const { req, res, id, author } = asked
  refuseConfigured(context, id)
  const { projects } = context.ledger
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = await requireStored(context, id)
    const { version } = before
    requireVersion(req, version)
    const settings = merge(before.settings, asked.merchant ?? {})
    const pausedBy = pauseOf(before.pausedBy, asked)
    // A pause is possible even while the merchant does not fit the configuration.
    if (asked.merchant !== undefined) requireMerchant(context, { id, settings })
    const wanted = { settings, payTo: asked.merchant?.['payTo'] }
    const plan = planPayTo(context, res, { before, wanted })
    const outcome = await projects.updateProject({ id, version, pausedBy, ...plan }, author)
    if (outcome === 'changed') continue
    if (outcome !== 'done') throw noSuchProject()
    context.wakeWebhooks?.()
    await context.directory.refresh()
    return withTag(res, storedView(context, await requireStored(context, id)))
  }
  throw changedMeanwhile()
}

/** Merges members into an object; `null` removes one (RFC 7396). */
function merge(target: object, changes: object): Record<string, unknown> {
  const merged = new Map<string, unknown>(Object.entries(target))
  for (const [name, value] of Object.entries(changes)) {
    const before = merged.get(name)
    if (value === null) merged.delete(name)
    else merged.set(name, isObject(value) ? merge(membersOf(before), value) : value)
  }
  return Object.fromEntries(merged)
}

/** Who has the project paused after a change. @throws {@link RequestProblem} 409 */
function pauseOf(
  before: PausedBy | undefined,
  { paused, by }: Pick<AskedChange, 'paused' | 'by'>,
): PausedBy | undefined {
  if (paused === undefined) return before
  if (paused) return before === 'operator' ? before : by
  if (before === 'operator' && by === 'merchant')
    throw new RequestProblem(
      'merchant_paused',
      'The operator of the gateway has paused this merchant: only the operator can resume it.',
    )
  return undefined
}

/**
 * Checks a merchant by the schema of the configuration.
 *
 * @param others - Mistakes in the rest of the body: a form shows all at once.
 * @throws {@link RequestProblem} 400
 */
export function requireMerchant(
  { readMerchant }: AdminContext,
  { id, settings }: { readonly id: string; readonly settings: object },
  others: readonly DocumentError[] = [],
): void {
  const read: Parsed<unknown> = readMerchant(settings, id)
  const wrong = read.ok ? [] : read.errors
  const errors = wrong.map(({ path, message }) => ({
    path: path === '' ? 'merchant' : `merchant.${path}`,
    message,
  }))
  if (others.length + errors.length > 0) throw invalidBody([...others, ...errors])
}

/** Finds a project of the database. @throws {@link RequestProblem} 404 */
export async function requireStored({ ledger }: AdminContext, id: string): Promise<StoredProject> {
  const project = isStoredId(id) ? await ledger.projects.findProject(id) : undefined
  if (project !== undefined) return project
  throw noSuchProject()
}

/** @throws {@link RequestProblem} 412 if `If-Match` names another version (RFC 9110 §13.1.1). */
export function requireVersion(req: Request, version: number): void {
  const wanted = req.get('if-match')
  if (wanted === undefined || wanted.trim() === '*') return
  const tags = wanted.split(',').map((tag) => tag.trim())
  if (!tags.includes(tagOf(version))) throw changedMeanwhile()
}

export function withTag<T extends { readonly version: number }>(res: Response, view: T): T {
  res.set('ETag', tagOf(view.version))
  return view
}

const tagOf = (version: number): string => `"${version}"`

function changedMeanwhile(): RequestProblem {
  return new RequestProblem(
    'precondition_failed',
    'The project has been changed meanwhile: read it again, and change what it is now.',
  )
}

/** A change of the address, as an endpoint. */
const REDIRECT = { method: 'PATCH', scope: 'own' } as const

interface WantedSettings {
  readonly settings: object
  readonly payTo: unknown
}

/**
 * Decides which address is paid from now on, and which one later.
 *
 * @param before - Its settings were valid, and so are the wanted ones.
 * @throws `RequestProblem` 403 for an admin who is no owner
 */
function planPayTo(
  { payToDelayMs }: Pick<AdminContext, 'payToDelayMs'>,
  res: Response,
  { before, wanted }: { readonly before: StoredProject; readonly wanted: WantedSettings },
): Pick<ProjectUpdate, 'settings' | 'nextPayTo'> {
  const { settings, payTo } = wanted
  const { payTo: now = '' } = before.settings as { readonly payTo?: string }
  const waiting = before.nextPayTo?.payTo
  if (typeof payTo !== 'string') return { settings }
  if (waiting !== undefined && sameHex(payTo, waiting))
    return { settings: { ...settings, payTo: now } }
  if (waiting === undefined && sameHex(payTo, now)) return { settings }
  const admin = adminOf(res)
  if (!mayAdmin(admin.role, REDIRECT)) throw forbidden(admin, rolesFor(REDIRECT))
  if (sameHex(payTo, now) || payToDelayMs === 0) return { settings, nextPayTo: 'none' }
  const nextPayTo = { payTo, afterMs: payToDelayMs }
  return { settings: { ...settings, payTo: now }, nextPayTo }
}
