/** `/api/v2/admin/projects` */
import type { Request, Response } from 'express'
import { z } from 'zod'
import { RequestProblem } from '../http/respond-problem.js'
import type { StoredProject } from '../ledger/projects.js'
import type { Parsed } from '../protocol/document.js'
import { defineEndpoint } from '../router/define-endpoint.js'
import { notLoaded } from '../router/authenticate.js'
import { invalidBody } from '../router/json-body.js'
import { onceForKey } from '../router/repeatable-request.js'
import { adminKey, authorOf, noSuchProject, refuseConfigured } from './changes.js'
import type { AdminContext } from './context.js'
import { isStoredId, newProjectIdSchema, PROJECT_ID } from './project-ids.js'
import { listProjects, projectListQuery } from './project-list.js'
import { projectView, storedView } from './project-view.js'
import { lazyDocuments } from '../router/lazy-documents.js'

const documents = lazyDocuments(() => import('./documents.js'))

/** How often a change is tried while others change the same project. */
const MAX_ATTEMPTS = 20

const EXAMPLE = { name: 'Acme', payTo: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }

const merchant = z.record(z.string(), z.unknown()).meta({
  description:
    'Who is paid, and in what, as in the configuration: `payTo`, and, if needed, `name`, `currency`, `accepts`, `crossCurrency`, `fxBufferBps`, `minAmount`, `maxAmount`, `maxTimeoutSeconds`.',
  examples: [EXAMPLE],
})

const common = { tag: 'Admin: projects', access: 'admin', scope: 'manage' } as const
const one = { ...common, path: '/api/v2/admin/projects/{id}', params: { id: PROJECT_ID } } as const

/** `/api/v2/admin/projects` */
export const projectEndpoints = [
  defineEndpoint({
    ...common,
    method: 'GET',
    path: '/api/v2/admin/projects',
    id: 'listProjects',
    summary: 'List projects',
    description:
      'Projects of the configuration and of the database, in pages: all, or those that a search finds.',
    query: projectListQuery,
    responses: { 200: { description: 'A page.', document: documents('projectList') } },
    async handle(context: AdminContext, { query }) {
      const { directory } = context
      await directory.refresh()
      if (!directory.isLoaded) throw notLoaded()
      const { page, total, next } = listProjects(directory.all, query)
      return { projects: page.map(projectView), total, ...next }
    },
  }),
  defineEndpoint({
    ...common,
    method: 'POST',
    path: '/api/v2/admin/projects',
    id: 'createProject',
    summary: 'Create a project',
    description: 'A project with its merchant. It has no token yet.',
    headers: ['Idempotency-Key'],
    body: {
      schema: z.object({
        id: newProjectIdSchema.meta({
          description: 'Id of the new project.',
          examples: ['acme'],
        }),
        merchant,
      }),
      example: { id: 'acme', merchant: EXAMPLE },
    },
    responses: {
      201: { description: 'Created.', document: documents('project'), headers: ['Location'] },
    },
    problems: ['project_exists', 'project_configured'],
    async handle(context: AdminContext, { req, res, readBody }) {
      const body = readBody()
      const { id, merchant: settings } = body
      requireMerchant(context, settings, id)
      refuseConfigured(context, id)
      const key = adminKey(req, res, { endpoint: 'projects', body })
      const view = await onceForKey(context, key, async (claim) => {
        const { projects } = context.ledger
        const outcome = await projects.createProject({ id, settings }, authorOf(res, key))
        if (outcome !== 'done') throw idTaken(id, outcome === 'deleted')
        await context.directory.refresh()
        const created = storedView(context, await requireStored(context, id))
        await claim.finish(JSON.stringify(created))
        return created
      })
      res.set('Location', `${req.baseUrl}${req.path.replace(/\/$/, '')}/${id}`)
      return view
    },
  }),
  defineEndpoint({
    ...one,
    method: 'GET',
    id: 'getProject',
    summary: 'Get a project',
    description: 'One project, with its merchant.',
    responses: {
      200: { description: 'The project.', document: documents('project'), headers: ['ETag'] },
    },
    async handle(context: AdminContext, { res, param }) {
      const id = param('id')
      const configured = context.directory.isConfigured(id) && context.directory.find(id)
      if (configured) return projectView(configured)
      return withTag(res, storedView(context, await requireStored(context, id)))
    },
  }),
  defineEndpoint({
    ...one,
    method: 'PATCH',
    id: 'changeProject',
    summary: 'Change a merchant',
    description: 'Merges members into the merchant (RFC 7396): `null` removes one.',
    headers: ['If-Match'],
    body: { schema: z.object({ merchant }), example: { merchant: { name: 'Acme Ltd' } } },
    responses: {
      200: {
        description: 'The project, as it is now.',
        document: documents('project'),
        headers: ['ETag'],
      },
    },
    problems: ['project_configured', 'precondition_failed'],
    async handle(context: AdminContext, { req, res, param, readBody }) {
      const id = param('id')
      const { merchant: changes } = readBody()
      refuseConfigured(context, id)
      const author = authorOf(res)
      const { projects } = context.ledger
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const { settings: before, version } = await requireStored(context, id)
        requireVersion(req, version)
        const members = Object.entries({ ...before, ...changes })
        const settings = Object.fromEntries(members.filter(([, value]) => value !== null))
        requireMerchant(context, settings, id)
        const outcome = await projects.updateProject({ id, settings, version }, author)
        if (outcome === 'changed') continue
        if (outcome !== 'done') throw noSuchProject()
        await context.directory.refresh()
        return withTag(res, storedView(context, await requireStored(context, id)))
      }
      throw changedMeanwhile()
    },
  }),
  defineEndpoint({
    ...one,
    method: 'DELETE',
    scope: 'own',
    id: 'deleteProject',
    summary: 'Delete a project',
    description: 'Its tokens are refused from now on; its payments stay. The id is not used again.',
    headers: ['If-Match'],
    responses: { 204: { description: 'Deleted.' } },
    problems: ['project_configured', 'precondition_failed'],
    async handle(context: AdminContext, { req, res, param }) {
      const id = param('id')
      refuseConfigured(context, id)
      const { version } = await requireStored(context, id)
      requireVersion(req, version)
      const outcome = await context.ledger.projects.deleteProject(id, authorOf(res))
      if (outcome !== 'done') throw noSuchProject()
      await context.directory.refresh()
      return undefined
    },
  }),
]

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
