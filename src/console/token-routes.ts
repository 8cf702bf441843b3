import { randomBytes } from 'node:crypto'
import express, { type Request, type Response, type Router } from 'express'
import { z } from 'zod'
import { respondJson } from '../http/respond-json.js'
import { RequestProblem } from '../http/respond-problem.js'
import type { StoredToken } from '../ledger/projects.js'
import { createToken as newToken, digestToken } from '../merchants/project.js'
import { parseStrictDocument } from '../protocol/strict-document.js'
import { jsonBody, readBody } from '../router/json-body.js'
import { takesNoQuery } from '../router/read-query.js'
import { onceForKey } from '../router/repeatable-request.js'
import { adminKey, authorOf, noSuchProject, respondDone } from './changes.js'
import type { AdminContext, AdminEndpoint } from './context.js'
import { isoTime } from './pages.js'
import { isName, NAME, NOT_A_NAME } from '../protocol/visible-text.js'
import { isStoredId } from './project-ids.js'

export const CREATE_MEMBERS = { known: ['label'], tolerated: [] }

/** Reads the body that creates a token. */
export const createSchema = z.object({
  label: z.string().refine(isName, NOT_A_NAME).meta({ pattern: NAME.source }).default(''),
})

/** Ids of tokens of the configuration begin with this, and no others. */
const CONFIGURED = 'configuration-'

/** The form of the ids of tokens. The ledger is asked only for such ids. */
const TOKEN_ID = /^tok_[0-9a-f]{24}$/

/** What is kept of a token's creation for repeated requests: not the token itself. */
interface KeptToken {
  readonly id: string
  readonly label: string
  readonly createdAt: string
  readonly token?: string
}

/** `/api/v2/admin/projects/{id}/tokens`. */
export function tokenRoutes(context: AdminContext): Router {
  const router = express.Router()
  router.get('/:id/tokens', takesNoQuery, respondJson(context, listTokens))
  router.post('/:id/tokens', takesNoQuery, jsonBody, respondJson(context, createToken))
  router.delete('/:id/tokens/:tokenId', takesNoQuery, respondDone(context, revokeToken))
  return router
}

const listTokens: AdminEndpoint = async (context, req) => {
  const project = await requireProject(context, req)
  const configured = context.directory.isConfigured(project) && context.directory.find(project)
  const hashes = configured ? configured.tokenHashes : []
  const stored = await context.ledger.projects.listTokens(project)
  return {
    tokens: [
      ...hashes.map((_hash, index) => ({
        id: `${CONFIGURED}${index + 1}`,
        source: 'configuration' as const,
      })),
      ...stored.map(tokenView),
    ],
  }
}

/**
 * Creates a token, which is shown this once.
 *
 * Only its hash is kept. A request that is repeated by its `Idempotency-Key` makes no second token, and gets
 * the id of the first, so that it can be revoked if its answer was lost.
 */
const createToken: AdminEndpoint = async (context, req, res) => {
  const project = await requireProject(context, req)
  const body = readBody(req, (given) => parseStrictDocument(createSchema, given, CREATE_MEMBERS))
  const key = adminKey(req, res, { endpoint: `projects/${project}/tokens`, body })
  const created = await onceForKey<KeptToken>(context, key, async (claim) => {
    const token = newToken()
    const made = await storeToken(context, res, { project, label: body.label, token })
    await claim.finish(JSON.stringify(made))
    return { ...made, token }
  })
  if (created.token === undefined) throw shownBefore(created.id)
  res.status(201)
  const { id, token, label, createdAt } = created
  return { id, token, label, createdAt }
}

async function storeToken(
  { directory, ledger }: AdminContext,
  res: Response,
  { project, label, token }: { project: string; label: string; token: string },
): Promise<KeptToken> {
  const id = `tok_${randomBytes(12).toString('hex')}`
  const hash = digestToken(token).toString('hex')
  const isConfigured = directory.isConfigured(project)
  const outcome = await ledger.projects.createToken(
    { id, project, hash, label, isConfigured },
    authorOf(res),
  )
  if (outcome !== 'done') throw noSuchProject()
  await directory.refresh()
  const made = (await ledger.projects.listTokens(project)).find((one) => one.id === id)
  if (made === undefined) throw noSuchProject()
  return { id, label, createdAt: isoTime(made.createdAt) }
}

async function revokeToken(context: AdminContext, req: Request, res: Response): Promise<void> {
  const project = await requireProject(context, req)
  const id = String(req.params['tokenId'])
  if (id.startsWith(CONFIGURED))
    throw new RequestProblem(
      'project_configured',
      'This token comes from the configuration: remove it there, and start the gateway anew.',
    )
  const { projects } = context.ledger
  const outcome = TOKEN_ID.test(id)
    ? await projects.revokeToken({ id, project }, authorOf(res))
    : 'missing'
  // Revoking twice is no mistake: the first answer may have been lost.
  const wasRevoked = async (): Promise<boolean> =>
    (await projects.listTokens(project)).some((token) => token.id === id)
  if (outcome !== 'done' && !(await wasRevoked()))
    throw new RequestProblem('not_found', 'This project has no token of that id.')
  await context.directory.refresh()
}

/** The id of the project in the path. @throws {@link RequestProblem} 404 */
async function requireProject({ directory, ledger }: AdminContext, req: Request): Promise<string> {
  const id = String(req.params['id'])
  if (directory.isConfigured(id)) return id
  if (isStoredId(id) && (await ledger.projects.findProject(id)) !== undefined) return id
  throw noSuchProject()
}

function tokenView({ id, label, createdAt, lastUsedAt, revokedAt }: StoredToken) {
  return {
    id,
    label,
    source: 'database' as const,
    createdAt: isoTime(createdAt),
    ...(lastUsedAt !== undefined && { lastUsedAt: isoTime(lastUsedAt) }),
    ...(revokedAt !== undefined && { revokedAt: isoTime(revokedAt) }),
  }
}

function shownBefore(id: string): RequestProblem {
  return new RequestProblem(
    'answer_not_kept',
    `The token '${id}' was created by the first request with this Idempotency-Key, and is shown only once. If that answer was lost, revoke the token, and create another with a new key.`,
    { id },
  )
}
