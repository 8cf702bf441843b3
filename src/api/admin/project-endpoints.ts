/** `/api/v2/admin/projects` */
import { z } from 'zod'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import { defineEndpoint } from '../serve/define-endpoint.js'
import { notLoaded } from '../serve/authenticate.js'
import { onceForKey } from '../serve/repeatable-request.js'
import {
  changeProject,
  requireMerchant,
  requireStored,
  requireVersion,
  withTag,
} from './change-project.js'
import { adminKey, authorOf, noSuchProject, refuseConfigured } from './changes.js'
import type { AdminContext } from './context.js'
import { isStoredId, NEW_PROJECT_ID, NOT_AN_ID, PROJECT_ID } from './project-ids.js'
import { listProjects, projectListQuery } from './project-list.js'
import { projectView, storedView } from './project-view.js'
import { lazyDocuments } from '../serve/lazy-documents.js'

const documents = lazyDocuments(() => import('../documents/admin.js'))

const EXAMPLE = { name: 'Acme', payTo: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }

const merchant = z.record(z.string(), z.unknown()).meta({
  description:
    'Who is paid, and in what, as in the configuration: `payTo`, and, if needed, `name`, `currency`, `accepts`, `crossCurrency`, `fxBufferBps`, `minAmount`, `maxAmount`, `maxTimeoutSeconds`, `branding`.',
  examples: [EXAMPLE],
})

export const changeSchema = z
  .object({
    merchant: merchant.optional(),
    paused: z.boolean('must be true or false').optional().meta({
      description: 'Whether its payments are refused for now.',
    }),
  })
  .refine(
    ({ merchant: members, paused }) => members !== undefined || paused !== undefined,
    'must have `merchant` or `paused`',
  )

export const CHANGED = {
  200: {
    description: 'The project, as it is now.',
    document: documents('project'),
    headers: ['ETag'],
  },
} as const

const common = { tag: 'Admin: projects', access: 'admin', scope: 'manage' } as const
const one = { ...common, path: '/api/v2/admin/projects/{id}', params: { id: PROJECT_ID } } as const

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
        // Checked with the merchant, so that all mistakes are told at once.
        id: z.string().meta({
          description: 'Id of the new project.',
          as: NEW_PROJECT_ID,
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
      const idErrors = isStoredId(id) ? [] : [{ path: 'id', message: NOT_AN_ID }]
      requireMerchant(context, { id, settings }, idErrors)
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
    description:
      'Merges members into the merchant (RFC 7396): `null` removes one. With `paused`, pauses or resumes it: a paused merchant’s payments are refused with `merchant_paused`, those that are under way are finished, and refunds work. Only an owner changes `payTo`: webhooks of the project get `merchant.pay_to_changed`, and where `admin.payToDelay` is set, the new address waits in `nextPayTo`. Sending the present `payTo` takes that back.',
    headers: ['If-Match'],
    body: {
      schema: changeSchema,
      example: { merchant: { name: 'Acme Ltd' }, paused: false },
    },
    responses: CHANGED,
    problems: ['project_configured', 'precondition_failed'],
    handle: (context: AdminContext, { req, res, param, readBody }) =>
      changeProject(context, {
        req,
        res,
        id: param('id'),
        author: authorOf(res),
        by: 'operator',
        ...readBody(),
      }),
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

function idTaken(id: string, isDeleted: boolean): RequestProblem {
  return new RequestProblem(
    'project_exists',
    isDeleted
      ? `There was a project '${id}', and payments may belong to it: choose another id.`
      : `There is a project '${id}' already: choose another id, or change it by PATCH.`,
  )
}
