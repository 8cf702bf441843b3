/** Endpoints of projects that an operator has as well: for any project, for all, or for the operator's own webhooks. */
import type { Response } from 'express'
import type { z } from 'zod'
import { EVERY_PROJECT } from '../../ledger/index.js'
import { OPERATOR, OPERATOR_EVENTS, WEBHOOK_EVENTS } from '../../ledger/webhooks.js'
import type { Project } from '../../core/merchants/project.js'
import { actFor } from '../serve/acting.js'
import type { EarlyCall } from '../serve/define-endpoint.js'
import { namedProject, type Owner, type PaymentsOwner } from '../serve/owner.js'
import { settlementOf } from '../settlements/settlement-document.js'
import { findRecord } from '../settlements/settlement-endpoints.js'
import type { WebhookOwner } from '../webhooks/webhook-owner.js'
import { adminOf } from './admin.js'
import { requireStored } from './change-project.js'
import type { AdminContext } from './context.js'
import { PROJECT_ID, projectIdSchema } from './project-ids.js'
import { lazyDocuments } from '../serve/lazy-documents.js'

const documents = lazyDocuments(() => import('../documents/settlement.js'))

const PREFIX = '/api/v2/admin'

const ADMIN = {
  prefix: PREFIX,
  access: 'admin',
  tag: 'Admin: payments',
  idOf: (id: string) => `admin${id.charAt(0).toUpperCase()}${id.slice(1)}`,
} as const

const whose = projectIdSchema.optional().meta({
  description: 'Id of the project. Without it, those of all projects are meant.',
  as: { type: 'string', minLength: 1, maxLength: 200 },
})

export const operatorPayments: PaymentsOwner<AdminContext> = {
  ...ADMIN,
  withScope(query) {
    const extended: z.ZodObject = query.safeExtend({ project: whose })
    // What is added is for `scopeOf` alone.
    return extended as typeof query
  },
  scopeOf: (context, { query }) => ({
    project: (query as { readonly project?: string }).project ?? EVERY_PROJECT,
    accepts: assetsOf(context),
  }),
  documentOf(context, record) {
    const shown = settlementOf(record, { accepts: assetsOf(context) }, context.networkNames)
    return { ...namedProject(context, record.project), ...shown }
  },
  settlement: documents('adminSettlement'),
  settlementList: documents('adminSettlementList'),
  refundPage: documents('adminRefundPage'),
  slots: 'operators',
}

export const operatorRefunds: Owner<AdminContext> = {
  ...ADMIN,
  before: async (context, call) => act(context, call.res, await findPayee(context, call)),
}

export const operatorWebhooks: WebhookOwner<AdminContext> = {
  ...ADMIN,
  tag: 'Admin: webhooks',
  idOf: (id) => ADMIN.idOf(`${id}OfOperator`),
  events: OPERATOR_EVENTS,
  before: async (context, { res }) => act(context, res, { id: OPERATOR, tokenHashes: [] }),
}

const OF_PROJECT: Owner<AdminContext> = {
  ...ADMIN,
  prefix: `${PREFIX}/projects/{project}`,
  params: { project: PROJECT_ID },
  before: async (context, call) => act(context, call.res, await findProject(context, call)),
}

export const projectWebhooks: WebhookOwner<AdminContext> = {
  ...OF_PROJECT,
  tag: 'Admin: webhooks',
  events: WEBHOOK_EVENTS,
}

export const projectCheckouts = OF_PROJECT

function act(context: AdminContext, res: Response, project: Project): void {
  actFor(res, { admin: adminOf(res).name, project, accepts: assetsOf(context) })
}

/** Finds a project as the ledger has it now. @throws `RequestProblem` 404 */
async function findProject(context: AdminContext, { param }: EarlyCall): Promise<Project> {
  const { directory } = context
  const id = param('project')
  const configured = directory.isConfigured(id) && directory.find(id)
  if (configured) return configured
  await requireStored(context, id)
  return directory.find(id) ?? { id, tokenHashes: [] }
}

/** Finds the project of a settlement. @throws `RequestProblem` 404 */
async function findPayee(context: AdminContext, { param }: EarlyCall): Promise<Project> {
  const { project = '' } = await findRecord(context, EVERY_PROJECT, param('id'))
  return context.directory.find(project) ?? { id: project, tokenHashes: [] }
}

function assetsOf({ networks }: AdminContext) {
  return networks.flatMap(({ assets }) => assets)
}
