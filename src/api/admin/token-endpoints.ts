/** `…/tokens` of any project, or of the own one. */
import { isoTime } from '../../ledger/time-zone.js'
import type { Response } from 'express'
import { z } from 'zod'
import { RequestProblem } from '../../shared/http/respond-problem.js'
import {
  TOKEN_SCOPES,
  type ChangeAuthor,
  type StoredToken,
  type TokenScope,
} from '../../ledger/projects.js'
import { createToken as newToken, digestToken } from '../../shared/crypto/identify-token.js'
import { NAME, NOT_A_NAME } from '../../shared/protocol/visible-text.js'
import { defineEndpoint, type EarlyCall } from '../serve/define-endpoint.js'
import type { Tag } from '../serve/fixed-parts.js'
import type { Owner } from '../serve/owner.js'
import type { LimitName } from '../serve/rate-limit.js'
import { onceForKey, type KeyedRequest } from '../serve/repeatable-request.js'
import { requireStored } from './change-project.js'
import { adminKey, authorOf, noSuchProject } from './changes.js'
import type { AdminContext } from './context.js'
import { PROJECT_ID } from './project-ids.js'
import { lazyDocuments } from '../serve/lazy-documents.js'
import { world } from '../../shared/world.js'

const documents = lazyDocuments(() => import('../documents/admin.js'))

/** Ids of tokens of the configuration begin with this, and no others. */
const CONFIGURED = 'configuration-'

/** The form of the ids of tokens. The ledger is asked only for such ids. */
const TOKEN_ID = /^tok_[0-9a-f]{24}$/

/** Kept for repeated creations of a token: not the token itself. */
interface KeptToken {
  readonly id: string
  readonly label: string
  readonly scopes: readonly TokenScope[]
  readonly createdAt: string
  readonly token?: string
}

/** Whose tokens are seen and changed: those of any project, by an operator, or of the own one. */
export interface TokensOwner extends Owner<AdminContext> {
  readonly tag: Tag
  /** @throws {@link RequestProblem} 404 */
  readonly projectOf: (context: AdminContext, call: EarlyCall) => Promise<string>
  readonly authorOf: (res: Response) => ChangeAuthor
  /** The `Idempotency-Key` of a creation. */
  readonly keyOf: (call: EarlyCall, body: object, project: string) => KeyedRequest | undefined
  /** Tokens that are in use, up to which more may be made. @defaultValue any number */
  readonly most?: number
  readonly limit?: LimitName
}

export const operatorTokens: TokensOwner = {
  prefix: '/api/v2/admin/projects/{id}',
  access: 'admin',
  tag: 'Admin: projects',
  idOf: (id) => id,
  params: { id: PROJECT_ID },
  async projectOf(context, { param }) {
    const id = param('id')
    if (!context.directory.isConfigured(id)) await requireStored(context, id)
    return id
  },
  authorOf: (res) => authorOf(res),
  keyOf: ({ req, res }, body, project) =>
    adminKey(req, res, { endpoint: `projects/${project}/tokens`, body }),
}

export const tokenEndpoints = (owner: TokensOwner) => {
  const common = {
    tag: owner.tag,
    access: owner.access,
    scope: 'manage',
    path: `${owner.prefix}/tokens`,
    params: owner.params ?? {},
  } as const
  const change = owner.limit ? { limit: owner.limit } : {}
  return [
    defineEndpoint({
      ...common,
      method: 'GET',
      id: owner.idOf('listTokens'),
      summary: 'List the tokens of a project',
      description: 'All tokens, never their secrets.',
      responses: { 200: { description: 'The tokens.', document: documents('tokenList') } },
      async handle(context: AdminContext, call) {
        const project = await owner.projectOf(context, call)
        const configured =
          context.directory.isConfigured(project) && context.directory.find(project)
        const hashes = configured ? configured.tokenHashes : []
        const stored = await context.ledger.projects.listTokens(project)
        return {
          tokens: [
            ...hashes.map((_hash, index) => ({
              id: `${CONFIGURED}${index + 1}`,
              scopes: TOKEN_SCOPES,
              source: 'configuration' as const,
            })),
            ...stored.map(tokenView),
          ],
        }
      },
    }),
    defineEndpoint({
      ...common,
      method: 'POST',
      ...change,
      id: owner.idOf('createToken'),
      summary: 'Create a token',
      description: 'The secret is in this response only: the gateway keeps its hash.',
      headers: ['Idempotency-Key'],
      body: {
        schema: z.object({
          label: z
            .string()
            .regex(NAME, NOT_A_NAME)
            .default('')
            .meta({
              description: 'What the operator calls it. Default: empty.',
              examples: ['web shop'],
            }),
          scopes: z
            .array(z.enum(TOKEN_SCOPES))
            .min(1, 'must name at least one scope')
            // Without duplicates, in a fixed order.
            .transform((given) => TOKEN_SCOPES.filter((scope) => given.includes(scope)))
            .default([...TOKEN_SCOPES])
            .meta({
              description:
                'What it may do. `settle`: the payment API, offers and checkouts. `read`: settlements, refunds and reports, and the console. `refund`: pay back. `webhooks`: manage webhooks. Default: everything.',
              examples: [['settle', 'read']],
            }),
        }),
        example: { label: 'web shop' },
      },
      responses: {
        201: { description: 'Created, with its secret.', document: documents('createdToken') },
      },
      problems: ['answer_not_kept', ...(owner.most ? (['too_many_tokens'] as const) : [])],
      /**
       * A request that is repeated by its `Idempotency-Key` makes no second token, and gets the id of the first,
       * so that it can be revoked if its answer was lost.
       */
      async handle(context: AdminContext, call) {
        const project = await owner.projectOf(context, call)
        const body = call.readBody()
        const key = owner.keyOf(call, body, project)
        const created = await onceForKey<KeptToken>(context, key, async (claim) => {
          const token = newToken()
          const given = { ...body, project, token, most: owner.most }
          const made = await storeToken(context, owner.authorOf(call.res), given)
          await claim.finish(JSON.stringify(made))
          return { ...made, token }
        })
        const { id, token, label, scopes, createdAt } = created
        if (token === undefined) throw shownBefore(id)
        return { id, token, label, scopes, createdAt }
      },
    }),
    defineEndpoint({
      ...common,
      method: 'DELETE',
      path: `${common.path}/{tokenId}`,
      params: { ...common.params, tokenId: 'Id of the token.' },
      ...change,
      id: owner.idOf('revokeToken'),
      summary: 'Revoke a token',
      description: 'It is refused from now on. Revoking it twice is no mistake.',
      responses: { 204: { description: 'Revoked.' } },
      problems: ['project_configured'],
      async handle(context: AdminContext, call) {
        const project = await owner.projectOf(context, call)
        const id = call.param('tokenId')
        if (id.startsWith(CONFIGURED))
          throw new RequestProblem(
            'project_configured',
            'This token comes from the configuration: remove it there, and restart the gateway.',
          )
        const { projects } = context.ledger
        const outcome = TOKEN_ID.test(id)
          ? await projects.revokeToken({ id, project }, owner.authorOf(call.res))
          : 'missing'
        // Revoking twice is no mistake: the first answer may have been lost.
        const wasRevoked = async (): Promise<boolean> =>
          (await projects.listTokens(project)).some((token) => token.id === id)
        if (outcome !== 'done' && !(await wasRevoked()))
          throw new RequestProblem('not_found', 'This project has no token of that id.')
        await context.directory.refresh()
        return undefined
      },
    }),
  ]
}

async function storeToken(
  { directory, ledger }: AdminContext,
  author: ChangeAuthor,
  {
    token,
    ...given
  }: Pick<StoredToken, 'project' | 'label' | 'scopes'> & {
    readonly token: string
    readonly most?: number | undefined
  },
): Promise<KeptToken> {
  const id = `tok_${world.randomBytes(12).toString('hex')}`
  const hash = digestToken(token).toString('hex')
  const { project, label, scopes } = given
  const isConfigured = directory.isConfigured(project)
  const outcome = await ledger.projects.createToken({ ...given, id, hash, isConfigured }, author)
  if (outcome === 'full')
    throw new RequestProblem(
      'too_many_tokens',
      `${given.most} tokens are in use: revoke one before you create another.`,
    )
  if (outcome !== 'done') throw noSuchProject()
  await directory.refresh()
  const made = (await ledger.projects.listTokens(project)).find((one) => one.id === id)
  if (made === undefined) throw noSuchProject()
  return { id, label, scopes, createdAt: isoTime(made.createdAt) }
}

function tokenView({ id, label, scopes, createdAt, lastUsedAt, revokedAt }: StoredToken) {
  return {
    id,
    label,
    scopes,
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
