/** `/api/v2/admin/projects` and their tokens. */
import type { Operations } from '../../router/openapi/operation.js'
import { OF_ADMIN, WITH_BODY, WITH_KEY } from '../../router/openapi/problems.js'
import { bodySchema, queryParameters } from '../../router/openapi/request-schema.js'
import * as projects from '../project-routes.js'
import * as tokens from '../token-routes.js'
import { createdToken, project, projectList, tokenList } from './documents.js'

/** What a placeholder for a project stands for. */
export const PROJECT_ID = 'Id of the project.'

/** The page of a list. */
export const PAGE = {
  cursor: { description: '`nextCursor` of the page before.' },
  limit: {
    description: 'Entries on a page, 1 to 100. Default: 100.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 100 },
    required: false,
  },
} as const

const merchant = {
  description:
    'Who is paid, and in what, as in the configuration: `payTo`, and, if needed, `name`, `currency`, `accepts`, `crossCurrency`, `fxBufferBps`, `minAmount`, `maxAmount`, `maxTimeoutSeconds`.',
  examples: [{ name: 'Acme', payTo: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }],
}

const common = { tag: 'Admin: projects', access: 'admin' } as const
const path = { id: PROJECT_ID }
const found = [...OF_ADMIN, 'not_found'] as const

const changes: Operations = {
  'POST /api/v2/admin/projects': {
    ...common,
    id: 'createProject',
    summary: 'Create a project',
    description: 'A project with its merchant. It has no token yet.',
    headers: ['Idempotency-Key'],
    body: {
      schema: bodySchema(
        projects.createSchema,
        { id: { description: 'Id of the new project.', examples: ['acme'] }, merchant },
        projects.CREATE_MEMBERS,
      ),
      example: { id: 'acme', merchant: merchant.examples[0] },
    },
    responses: { 201: { description: 'Created.', document: project, headers: ['Location'] } },
    problems: [...OF_ADMIN, ...WITH_BODY, ...WITH_KEY, 'project_exists', 'project_configured'],
  },
  'PATCH /api/v2/admin/projects/{id}': {
    ...common,
    id: 'changeProject',
    summary: 'Change a merchant',
    description: 'Merges members into the merchant (RFC 7396): `null` removes one.',
    path,
    headers: ['If-Match'],
    body: {
      schema: bodySchema(projects.updateSchema, { merchant }, projects.UPDATE_MEMBERS),
      example: { merchant: { name: 'Acme Ltd' } },
    },
    responses: {
      200: { description: 'The project, as it is now.', document: project, headers: ['ETag'] },
    },
    problems: [...found, ...WITH_BODY, 'project_configured', 'precondition_failed'],
  },
  'DELETE /api/v2/admin/projects/{id}': {
    ...common,
    id: 'deleteProject',
    summary: 'Delete a project',
    description: 'Its tokens are refused from now on; its payments stay. The id is not used again.',
    path,
    headers: ['If-Match'],
    responses: { 204: { description: 'Deleted.' } },
    problems: [...found, 'project_configured', 'precondition_failed'],
  },
}

/** `/api/v2/admin/projects` */
export const projectOperations: Operations = {
  'GET /api/v2/admin/projects': {
    ...common,
    id: 'listProjects',
    summary: 'List projects',
    description: 'Projects of the configuration and of the database, in pages.',
    query: queryParameters(projects.listSchema, PAGE, projects.LIST_QUERY),
    responses: { 200: { description: 'A page.', document: projectList } },
    problems: OF_ADMIN,
  },
  'GET /api/v2/admin/projects/{id}': {
    ...common,
    id: 'getProject',
    summary: 'Get a project',
    description: 'One project, with its merchant.',
    path,
    responses: { 200: { description: 'The project.', document: project, headers: ['ETag'] } },
    problems: found,
  },
  ...changes,
  'GET /api/v2/admin/projects/{id}/tokens': {
    ...common,
    id: 'listTokens',
    summary: 'List the tokens of a project',
    description: 'All tokens, never their secrets.',
    path,
    responses: { 200: { description: 'The tokens.', document: tokenList } },
    problems: found,
  },
  'POST /api/v2/admin/projects/{id}/tokens': {
    ...common,
    id: 'createToken',
    summary: 'Create a token',
    description: 'The secret is in this response only: the gateway keeps its hash.',
    path,
    headers: ['Idempotency-Key'],
    body: {
      schema: bodySchema(
        tokens.createSchema,
        {
          label: {
            description: 'What the operator calls it. Default: empty.',
            examples: ['web shop'],
            required: false,
          },
        },
        tokens.CREATE_MEMBERS,
      ),
      example: { label: 'web shop' },
    },
    responses: { 201: { description: 'Created, with its secret.', document: createdToken } },
    problems: [...found, ...WITH_BODY, ...WITH_KEY, 'answer_not_kept'],
  },
  'DELETE /api/v2/admin/projects/{id}/tokens/{tokenId}': {
    ...common,
    id: 'revokeToken',
    summary: 'Revoke a token',
    description: 'It is refused from now on. Revoking it twice is no mistake.',
    path: { ...path, tokenId: 'Id of the token.' },
    responses: { 204: { description: 'Revoked.' } },
    problems: [...found, 'project_configured'],
  },
}
