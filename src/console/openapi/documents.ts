/** What the admin API and the console respond with. */
import { z } from 'zod'
import type { AuditAction } from '../../ledger/projects.js'
import { component } from '../../router/openapi/components.js'
import { address, anyObject, count, time } from '../../router/openapi/documents/fields.js'
import { findingMembers } from '../../router/openapi/documents/probe.js'
import type { sessionDocument } from '../session/session-document.js'

const text = (description: string) => z.string().meta({ description })

const nextCursor = text('`cursor` of the next page; absent on the last one.').optional()

const source = z.enum(['configuration', 'database']).meta({
  description: '`configuration`: changed in its file only. `database`: changed by this API.',
})

/** A project. */
export const project = component(
  'Project',
  z
    .object({
      id: z.string().meta({ description: 'Id of the project.', examples: ['acme'] }),
      merchant: anyObject('Who is paid, and in what: `MerchantOptions`.').optional(),
      source,
      createdAt: time('When it was created; absent for one of the configuration.').optional(),
      updatedAt: time('When it was last changed.').optional(),
      version: z.int().optional().meta({ description: 'Grows with each change; see `ETag`.' }),
      errors: z
        .array(z.object({ path: text('Path of the setting.'), message: text('What it must be.') }))
        .optional()
        .meta({ description: 'Why the merchant cannot be paid any more.' }),
    })
    .meta({ description: 'A project: a shop with tokens of its own.' }),
)

/** A page of projects. */
export const projectList = component(
  'ProjectList',
  z
    .object({
      projects: z.array(project).meta({
        description: 'Those of the configuration first, then the others, oldest first.',
      }),
      nextCursor,
    })
    .meta({ description: 'A page of projects.' }),
)

/** The tokens of a project. */
export const tokenList = component(
  'TokenList',
  z
    .object({
      tokens: z
        .array(
          component(
            'Token',
            z
              .object({
                id: text('Id of the token.'),
                label: text('What the operator calls it.').optional(),
                source,
                createdAt: time('When it was created.').optional(),
                lastUsedAt: time('When it was last used, to the minute.').optional(),
                revokedAt: time('When it was revoked.').optional(),
              })
              .meta({ description: 'An identify token, of which only the hash is kept.' }),
          ),
        )
        .meta({ description: 'All tokens, those that were revoked included.' }),
    })
    .meta({ description: 'The identify tokens of a project.' }),
)

/** A token that was created. */
export const createdToken = component(
  'CreatedToken',
  z
    .object({
      id: text('Id of the token.'),
      token: text('The secret. It is shown in this response only.'),
      label: text('What the operator calls it.'),
      createdAt: time('When it was created.'),
    })
    .meta({ description: 'A new identify token.' }),
)

const ACTIONS = [
  ...(['project.created', 'project.updated', 'project.deleted'] as const),
  ...(['token.created', 'token.revoked'] as const),
  ...(['webhook.created', 'webhook.updated', 'webhook.secret_rotated'] as const),
  ...(['webhook.deleted', 'webhook.tested', 'delivery.resent', 'refund.requested'] as const),
] as const satisfies readonly AuditAction[]

/** A page of the audit log. */
export const auditLog = component(
  'AuditLog',
  z
    .object({
      entries: z
        .array(
          component(
            'AuditEntry',
            z
              .object({
                id: text('Id of the entry.'),
                at: time('When it was changed.'),
                actor: text('Who changed it: the beginning of the hash of the admin token.'),
                action: z.enum(ACTIONS).meta({ description: 'What was done.' }),
                project: text(
                  'Id of the project; absent for the operator’s own webhooks.',
                ).optional(),
                token: text('Id of the token, where the change is about one.').optional(),
                before: anyObject('What it was before. It has no secrets.').optional(),
                after: anyObject('What it is now. It has no secrets.').optional(),
              })
              .meta({ description: 'One change, and who made it.' }),
          ),
        )
        .meta({ description: 'Newest first.' }),
      nextCursor,
    })
    .meta({ description: 'Who has changed what.' }),
)

/** `GET /api/v2/admin/relayers`. */
export const relayerList = component(
  'RelayerList',
  z
    .object({
      relayers: z
        .array(
          component(
            'Relayer',
            z
              .object({
                network: text('The network (CAIP-2).'),
                address: address('Its account.'),
                spent: text('Wei that it has paid for gas in 30 days.'),
                balance: text('Wei that it has.').optional(),
                isLow: z.boolean().optional().meta({ description: 'Whether that is little.' }),
                runway: z
                  .object({
                    payments: count('Payments that it pays for.'),
                    days: z.number().optional().meta({
                      description: 'Days that it lasts, at the pace of the last seven.',
                    }),
                  })
                  .optional()
                  .meta({ description: 'How far the balance goes.' }),
                pending: z
                  .array(
                    z.object({
                      transaction: text('Hash of the transaction.'),
                      accountNonce: z.int().meta({ description: 'Nonce of the account.' }),
                      ageSeconds: z.int().meta({ description: 'Seconds since it was sent.' }),
                      replacements: count('How often its fees were raised.'),
                    }),
                  )
                  .optional()
                  .meta({ description: 'Transactions that are not mined.' }),
                error: text('Why the account could not be asked about.').optional(),
              })
              .meta({ description: 'An account that pays for gas.' }),
          ),
        )
        .meta({ description: 'Empty with a remote facilitator.' }),
    })
    .meta({ description: 'The accounts that pay for gas.' }),
)

const { subject: _subject, ...finding } = findingMembers

/** `GET /api/v2/admin/networks`. */
export const networkList = component(
  'NetworkList',
  z
    .object({
      networks: z
        .array(
          component(
            'NetworkHealth',
            z
              .object({
                name: z.string().meta({ description: 'Its name.', examples: ['Base'] }),
                chainId: z.int().meta({ description: 'Its chain id.', examples: [8453] }),
                ...finding,
                cause: text('What the failure beneath says, without any URL.').optional(),
              })
              .meta({ description: 'What a check of a network’s node has found.' }),
          ),
        )
        .meta({ description: 'Empty with a remote facilitator.' }),
    })
    .meta({ description: 'The health of networks.' }),
)

/** `…/console/session`. */
export const session = component(
  'Session',
  z
    .object({
      role: z.enum(['admin', 'merchant']).meta({ description: 'Who is signed in.' }),
      name: text('What the page calls them.'),
      project: text('Id of the merchant’s project.').optional(),
      expiresAt: time('When the session ends, if it is not used.'),
      version: text('Version of the gateway.'),
      networks: z
        .array(
          z.object({
            network: text('As settlements spell it.'),
            chainId: z.int().meta({ description: 'Chain id.' }),
            name: text('Its name.'),
            testnet: z.boolean().meta({ description: 'Whether its money is worth nothing.' }),
            explorerUrl: text('Root URL of its block explorer.').optional(),
            assets: z
              .array(
                z.object({
                  address: address('Contract of the token.'),
                  symbol: text('Its symbol.'),
                  decimals: z.int().meta({ description: 'Digits after the point of one token.' }),
                  currency: text('The currency it is pegged to.').optional(),
                }),
              )
              .meta({ description: 'Its tokens.' }),
          }),
        )
        .meta({ description: 'Networks and tokens of the gateway.' }),
    } satisfies Record<keyof ReturnType<typeof sessionDocument> | 'project', z.ZodType>)
    .meta({ description: 'A session of the console.' }),
)
