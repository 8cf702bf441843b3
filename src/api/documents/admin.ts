/** Answers of the admin API and the console. */
import { z } from 'zod'
import { AUDIT_ACTIONS, TOKEN_SCOPES } from '../../ledger/projects.js'
import { ADMIN_ROLES, SCOPES } from '../../core/merchants/access.js'
import { document } from './component.js'
import {
  address,
  anyObject,
  count,
  integer,
  list,
  nextCursor,
  object,
  projectMembers,
  text,
  time,
} from './fields.js'
import { findingMembers } from './probe.js'

const source = z.enum(['configuration', 'database']).meta({
  description: '`configuration`: changed in its file only. `database`: changed by this API.',
})

export const project = document('Project', 'A project: a shop with tokens of its own.', {
  id: text('Id of the project.', 'acme'),
  merchant: anyObject('Who is paid, and in what: `MerchantOptions`.').optional(),
  nextPayTo: object('Another address that will be paid; `payTo` is paid until then.', {
    payTo: address('The address.'),
    at: time('From when on it is paid.'),
  }).optional(),
  source,
  createdAt: time('When it was created; absent for one of the configuration.').optional(),
  updatedAt: time('When it was last changed.').optional(),
  version: integer('Grows with each change; see `ETag`.').optional(),
  paused: z.boolean().meta({ description: 'Whether its payments are refused for now.' }),
  pausedBy: z
    .enum(['operator', 'merchant'])
    .optional()
    .meta({ description: 'Who has paused it. Only the operator ends a pause of the operator.' }),
  errors: list(
    'Why the merchant cannot be paid any more.',
    z.object({ path: text('Path of the setting.'), message: text('What it must be.') }),
  ).optional(),
})

export const projectList = document('ProjectList', 'A page of projects.', {
  projects: list('In the order that was asked for.', project),
  total: count('Projects on all pages.'),
  nextCursor,
})

const tokenScopes = list('What it may do.', z.enum(TOKEN_SCOPES).meta({ description: 'A scope.' }))

export const tokenList = document('TokenList', 'The identify tokens of a project.', {
  tokens: list(
    'All tokens, those that were revoked included.',
    document('Token', 'An identify token, of which only the hash is kept.', {
      id: text('Id of the token.'),
      label: text('What the operator calls it.').optional(),
      scopes: tokenScopes,
      source,
      createdAt: time('When it was created.').optional(),
      lastUsedAt: time('When it was last used, to the minute.').optional(),
      revokedAt: time('When it was revoked.').optional(),
    }),
  ),
})

export const createdToken = document('CreatedToken', 'A new identify token.', {
  id: text('Id of the token.'),
  token: text('The secret. It is shown in this response only.'),
  label: text('What the operator calls it.'),
  scopes: tokenScopes,
  createdAt: time('When it was created.'),
})

export const auditLog = document('AuditLog', 'Who has changed what.', {
  entries: list(
    'Newest first.',
    document('AuditEntry', 'One change, and who made it.', {
      id: text('Id of the entry.'),
      at: time('When it was changed.'),
      actor: text(
        'Who changed it: the name of a person, or the beginning of the hash of an admin token without one; or `merchant`, with the id and the label of its token.',
      ),
      action: z.enum(AUDIT_ACTIONS).meta({ description: 'What was done.' }),
      ...projectMembers,
      token: text('Id of the token, where the change is about one.').optional(),
      before: anyObject(
        'What it was before: of a change, the members that differ. It has no secrets.',
      ).optional(),
      after: anyObject('What it is now, likewise.').optional(),
    }),
  ),
  nextCursor,
})

export const relayerList = document('RelayerList', 'The accounts that pay for gas.', {
  relayers: list(
    'Empty with a remote facilitator.',
    document('Relayer', 'An account that pays for gas.', {
      network: text('The network (CAIP-2).'),
      address: address('Its account.'),
      spent: text('Wei that it has paid for gas in 30 days.'),
      balance: text('Wei that it has.').optional(),
      isLow: z.boolean().optional().meta({ description: 'Whether that is little.' }),
      runway: object('How far the balance goes.', {
        payments: count('Payments that it pays for.'),
        days: z.number().optional().meta({
          description: 'Days that it lasts, at the pace of the last seven.',
        }),
      }).optional(),
      pending: list(
        'Transactions that are not mined.',
        z.object({
          transaction: text('Hash of the transaction.'),
          accountNonce: integer('Nonce of the account.'),
          ageSeconds: integer('Seconds since it was sent.'),
          replacements: count('How often its fees were raised.'),
        }),
      ).optional(),
      error: text('Why the account could not be asked about.').optional(),
    }),
  ),
})

export const gasReport = document('GasReport', 'What gas has cost for each project.', {
  from: time('Begin.'),
  to: time('End.'),
  gas: list(
    'By project and network; those that cost nothing are left out.',
    z.object({
      ...projectMembers,
      project: text('Id of the project.'),
      network: text('The network.'),
      wei: text('What its payments and refunds have cost, in wei.'),
    }),
  ),
})

const { subject: _subject, ...finding } = findingMembers

export const networkList = document('NetworkList', 'The health of networks.', {
  networks: list(
    'Empty with a remote facilitator.',
    document('NetworkHealth', 'What a check of a network’s node has found.', {
      name: text('Its name.', 'Base'),
      chainId: integer('Its chain id.', 8453),
      ...finding,
      cause: text('What the failure beneath says, without any URL.').optional(),
    }),
  ),
})

const scopeSchema = z.enum(SCOPES).meta({ description: 'A scope.' })

export const session = document('Session', 'A session of the console.', {
  role: z.enum(['admin', 'merchant']).meta({ description: 'Who is signed in.' }),
  name: text('What the page calls them.'),
  adminRole: z.enum(ADMIN_ROLES).optional().meta({ description: 'Role of an operator.' }),
  scopes: list('What they may do.', scopeSchema),
  project: text('Id of the merchant’s project.').optional(),
  expiresAt: time('When the session ends, if it is not used.'),
  version: text('Version of the gateway.'),
  networks: list(
    'Networks and tokens of the gateway.',
    z.object({
      network: text('As settlements spell it.'),
      chainId: integer('Chain id.'),
      name: text('Its name.'),
      testnet: z.boolean().meta({ description: 'Whether its money is worth nothing.' }),
      gasToken: text('What gas is paid in.', 'ETH'),
      explorerUrl: text('Root URL of its block explorer.').optional(),
      assets: list(
        'Its tokens.',
        z.object({
          address: address('Contract of the token.'),
          symbol: text('Its symbol.'),
          decimals: integer('Digits after the point of one token.'),
          currency: text('The currency it is pegged to.').optional(),
          refundable: z.boolean().meta({
            description:
              'Whether payments in it can be refunded here: it is taken by signed transfers (ERC-3009).',
          }),
        }),
      ),
    }),
  ),
})
