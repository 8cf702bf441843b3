import express, { type Request, type Response, type Router } from 'express'
import { z } from 'zod'
import { respondJson } from '../http/respond-json.js'
import { RequestProblem } from '../http/respond-problem.js'
import type { StoredProject } from '../ledger/projects.js'
import type { Parsed } from '../protocol/document.js'
import { parseStrictDocument } from '../protocol/strict-document.js'
import { invalidBody, jsonBody, readBody } from '../router/json-body.js'
import { readQuery, takesNoQuery } from '../router/read-query.js'
import { onceForKey } from '../router/repeatable-request.js'
import { adminKey, authorOf, noSuchProject, refuseConfigured, respondDone } from './changes.js'
import type { AdminContext, AdminEndpoint } from './context.js'
import { cursorSchema, limitSchema, pageOf } from './pages.js'
import { isStoredId, newProjectIdSchema } from './project-ids.js'
import { configuredView, storedView } from './project-view.js'

/** Times a change is tried while others change the same project. */
const MAX_ATTEMPTS = 20

export const LIST_QUERY = { known: ['cursor', 'limit'], tolerated: ['_'] }
export const CREATE_MEMBERS = { known: ['id', 'merchant'], tolerated: [] }
export const UPDATE_MEMBERS = { known: ['merchant'], tolerated: [] }

/** Reads the query of the list. */
export const listSchema = z.object({ cursor: cursorSchema.optional(), limit: limitSchema })
const merchantSchema = z.record(z.string(), z.unknown())
/** Reads the body that creates a project. */
export const createSchema = z.object({ id: newProjectIdSchema, merchant: merchantSchema })
/** Reads the body that changes one. */
export const updateSchema = z.object({ merchant: merchantSchema })

/** `/api/v2/admin/projects`. */
export function projectRoutes(context: AdminContext): Router {
  const router = express.Router()
  router.get('/', respondJson(context, listProjects))
  router.post('/', takesNoQuery, jsonBody, respondJson(context, createProject))
  router.get('/:id', takesNoQuery, respondJson(context, showProject))
  router.patch('/:id', takesNoQuery, jsonBody, respondJson(context, updateProject))
  router.delete('/:id', takesNoQuery, respondDone(context, deleteProject))
  return router
}

/** Lists projects: first those of the configuration, in its order, then the others, oldest first. */
const listProjects: AdminEndpoint = async (context, req) => {
  const { directory, ledger } = context
  const { cursor: after, limit } = readQuery(req, listSchema, LIST_QUERY)
  const configured = directory.configured
  // Those of the configuration come before all positions, and are counted down.
  const start = after === undefined ? 0 : Math.min(after, configured.length)
  const rest = configured.slice(start).map((project, index) => ({
    view: configuredView(project),
    position: start + index + 1,
  }))
  const stored = await ledger.projects.listProjects({
    after: Math.max(0, (after ?? 0) - configured.length),
    limit: limit + 1,
  })
  const found = [
    ...rest,
    ...stored.map((project) => ({
      // The configuration counts where it has the same id.
      view: directory.isConfigured(project.id) ? undefined : storedView(context, project),
      position: configured.length + project.position,
    })),
  ]
  const { page, next } = pageOf(found, limit, ({ position }) => position)
  return { projects: page.flatMap(({ view }) => view ?? []), ...next }
}

const createProject: AdminEndpoint = async (context, req, res) => {
  const body = readBody(req, (given) => parseStrictDocument(createSchema, given, CREATE_MEMBERS))
  const { id, merchant: settings } = body
  requireMerchant(context, settings, id)
  refuseConfigured(context, id)
  const key = adminKey(req, res, { endpoint: 'projects', body })
  const view = await onceForKey(context, key, async (claim) => {
    const outcome = await context.ledger.projects.createProject(
      { id, settings },
      authorOf(res, key),
    )
    if (outcome !== 'done') throw idTaken(id, outcome === 'deleted')
    await context.directory.refresh()
    const created = storedView(context, await requireStored(context, id))
    await claim.finish(JSON.stringify(created))
    return created
  })
  res.status(201).set('Location', `${req.baseUrl}/${id}`)
  return view
}

const showProject: AdminEndpoint = async (context, req, res) => {
  const id = idOf(req)
  const configured = context.directory.isConfigured(id) && context.directory.find(id)
  if (configured) return configuredView(configured)
  return withTag(res, storedView(context, await requireStored(context, id)))
}

/** Merges members into a merchant (RFC 7396): `null` removes one. */
const updateProject: AdminEndpoint = async (context, req, res) => {
  const id = idOf(req)
  const { merchant: changes } = readBody(req, (given) =>
    parseStrictDocument(updateSchema, given, UPDATE_MEMBERS),
  )
  refuseConfigured(context, id)
  const author = authorOf(res)
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { settings: before, version } = await requireStored(context, id)
    requireVersion(req, version)
    const members = Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null)
    const settings = Object.fromEntries(members)
    requireMerchant(context, settings, id)
    const outcome = await context.ledger.projects.updateProject({ id, settings, version }, author)
    if (outcome === 'changed') continue
    if (outcome !== 'done') throw noSuchProject()
    await context.directory.refresh()
    return withTag(res, storedView(context, await requireStored(context, id)))
  }
  throw changedMeanwhile()
}

async function deleteProject(context: AdminContext, req: Request, res: Response): Promise<void> {
  const id = idOf(req)
  refuseConfigured(context, id)
  const { version } = await requireStored(context, id)
  requireVersion(req, version)
  const outcome = await context.ledger.projects.deleteProject(id, authorOf(res))
  if (outcome !== 'done') throw noSuchProject()
  await context.directory.refresh()
}

/** Checks a merchant by the schema of the configuration. @throws {@link RequestProblem} 400 */
function requireMerchant({ readMerchant }: AdminContext, settings: object, id: string): void {
  const read: Parsed<unknown> = readMerchant(settings, id)
  if (read.ok) return
  throw invalidBody(
    read.errors.map(({ path, message }) => ({
      path: path === '' ? 'merchant' : `merchant.${path}`,
      message,
    })),
  )
}

/** Finds a project of the database. @throws {@link RequestProblem} 404 */
async function requireStored({ ledger }: AdminContext, id: string): Promise<StoredProject> {
  const project = isStoredId(id) ? await ledger.projects.findProject(id) : undefined
  if (project !== undefined) return project
  throw noSuchProject()
}

/** @throws {@link RequestProblem} 412 if `If-Match` names another version (RFC 9110 §13.1.1). */
function requireVersion(req: Request, version: number): void {
  const wanted = req.get('if-match')
  if (wanted === undefined || wanted.trim() === '*') return
  const tags = wanted.split(',').map((tag) => tag.trim())
  if (!tags.includes(tagOf(version))) throw changedMeanwhile()
}

function withTag<T extends { readonly version: number }>(res: Response, view: T): T {
  res.set('ETag', tagOf(view.version))
  return view
}

const tagOf = (version: number): string => `"${version}"`

const idOf = (req: Request): string => String(req.params['id'])

function changedMeanwhile(): RequestProblem {
  return new RequestProblem(
    'precondition_failed',
    'The project has been changed meanwhile: read it again, and change what it is now.',
  )
}

function idTaken(id: string, isDeleted: boolean): RequestProblem {
  return new RequestProblem(
    'project_exists',
    isDeleted
      ? `There was a project '${id}', and payments may belong to it: choose another id.`
      : `There is a project '${id}' already: choose another id, or change it by PATCH.`,
  )
}
