/** `/api/v2/merchant/project` and `tokens`: what a merchant sees and changes of its own project. */
import { z } from 'zod'
import { merchantAuthor } from '../serve/acting.js'
import { ownProject } from '../serve/authenticate.js'
import { defineEndpoint } from '../serve/define-endpoint.js'
import { invalidBody } from '../serve/json-body.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { readHeaderKey } from '../serve/repeatable-request.js'
import { changeProject, requireStored, withTag } from './change-project.js'
import type { AdminContext } from './context.js'
import { CHANGED, changeSchema } from './project-endpoints.js'
import { projectView, storedView } from './project-view.js'
import { tokenEndpoints, type TokensOwner } from './token-endpoints.js'

const documents = lazyDocuments(() => import('../documents/admin.js'))

/** Members that merchants change themselves: none of them moves money. */
const OWN_MEMBERS: readonly string[] = ['name', 'branding']

/** Tokens that are in use, up to which a merchant may make more. */
const MAX_OWN_TOKENS = 20

const common = {
  tag: 'Merchant',
  access: 'merchant',
  path: '/api/v2/merchant/project',
} as const

const ownTokens: TokensOwner = {
  prefix: '/api/v2/merchant',
  access: 'merchant',
  tag: 'Merchant',
  idOf: (id) => `${id}OfMerchant`,
  limit: 'changes',
  async projectOf(_context, { res }) {
    return ownProject(res).id
  },
  authorOf: (res) => merchantAuthor(res),
  keyOf: ({ req, res }, body) =>
    readHeaderKey(req, { res, project: ownProject(res).id, endpoint: 'tokens', body }),
  most: MAX_OWN_TOKENS,
}

export const merchantEndpoints = [
  defineEndpoint({
    ...common,
    method: 'GET',
    scope: 'read',
    id: 'getOwnProject',
    summary: 'Get the own settings',
    description: 'Who is paid, in what, and how pages look.',
    responses: {
      200: { description: 'The project.', document: documents('project'), headers: ['ETag'] },
    },
    async handle(context: AdminContext, { res }) {
      const project = ownProject(res)
      if (project.stored === undefined) return projectView(project)
      return withTag(res, storedView(context, await requireStored(context, project.id)))
    },
  }),
  defineEndpoint({
    ...common,
    method: 'PATCH',
    scope: 'manage',
    id: 'changeOwnProject',
    summary: 'Change the own name and branding, pause and resume',
    description:
      'Merges `name` and `branding` into the merchant (RFC 7396): `null` removes one. All other members are the operator’s. With `paused`, pauses or resumes: payments are refused with `merchant_paused`, those that are under way are finished, and refunds work.',
    headers: ['If-Match'],
    limit: 'changes',
    body: {
      schema: changeSchema,
      example: { merchant: { name: 'Acme', branding: { accent: '#0b5d4d' } }, paused: false },
    },
    responses: CHANGED,
    problems: ['not_found', 'project_configured', 'merchant_paused', 'precondition_failed'],
    async handle(context: AdminContext, { req, res, readBody }) {
      const { merchant, paused } = readBody()
      requireOwnMembers(merchant ?? {})
      const { id } = ownProject(res)
      const author = merchantAuthor(res)
      return changeProject(context, { req, res, id, author, by: 'merchant', merchant, paused })
    },
  }),
  ...tokenEndpoints(ownTokens),
]

/** Refuses what only the operator may change. @throws {@link RequestProblem} 400 */
function requireOwnMembers(merchant: Readonly<Record<string, unknown>>): void {
  const errors = Object.keys(merchant)
    .filter((name) => !OWN_MEMBERS.includes(name))
    .map((name) => ({
      path: `merchant.${name.slice(0, 40)}`,
      message: 'is changed by the operator of the gateway only',
    }))
  const { data } = z.object({ logo: z.string() }).safeParse(merchant['branding'])
  // A path would have the buyers' browsers load anything of the app that sells, with their cookies.
  if (data !== undefined && !data.logo.startsWith('data:'))
    errors.push({ path: 'merchant.branding.logo', message: 'must be a data: URL of a picture' })
  if (errors.length > 0) throw invalidBody(errors)
}
