/** Endpoints that projects have, and operators as well: what differs between the two. */
import type { z } from 'zod'
import type { LedgerQuery, LedgerRecord } from '../../ledger/index.js'
import type { Asset } from '../../shared/money/assets.js'
import { merchantOf } from './authenticate.js'
import type { Scope } from '../../core/merchants/access.js'
import type { RouterContext } from '../context.js'
import type { Access, Call, Definition, EarlyCall } from './define-endpoint.js'
import type { MadeDocument } from '../documents/component.js'
import type * as settlements from '../documents/settlement.js'
import type { Tag } from './fixed-parts.js'
import { settlementOf } from '../settlements/settlement-document.js'
import type { Lazy } from '../../shared/http/lazy.js'
import { lazyDocuments } from './lazy-documents.js'

const documents = lazyDocuments(() => import('../documents/settlement.js'))

type Schemas = typeof settlements

export interface Owner<Context = RouterContext> {
  readonly prefix: string
  readonly access: Access
  /** Under which heading an operator's are listed. @defaultValue that of a project's */
  readonly tag?: Tag
  readonly params?: Readonly<Record<string, string>>
  /** Makes ids of endpoints unique: `listWebhooks`, `adminListWebhooks`. */
  readonly idOf: (id: string) => string
  /** Finds the project that an operator acts for. */
  readonly before?: (context: Context, call: EarlyCall) => Promise<void>
}

export interface ViewScope {
  readonly project: LedgerQuery['project']
  /** Tokens whose symbol and decimals are told. */
  readonly accepts: readonly Asset[]
}

export interface PaymentsOwner<Context = RouterContext> extends Owner<Context> {
  /** Adds the parameters that say whose, for {@link PaymentsOwner.scopeOf}. */
  readonly withScope: <Query extends z.ZodObject>(query: Query) => Query
  readonly scopeOf: (context: Context, call: Call) => ViewScope
  /** A payment, as this owner sees it. */
  readonly documentOf: (
    context: Context,
    record: LedgerRecord,
  ) => MadeDocument<Schemas['adminSettlement']>
  /** Schemas of that, and of a list. */
  readonly settlement: Lazy<Schemas['settlement' | 'adminSettlement']>
  readonly settlementList: Lazy<Schemas['settlementList' | 'adminSettlementList']>
  readonly refundPage: Lazy<Schemas['refundPage' | 'adminRefundPage']>
  /** The holder of its downloads' slots. */
  readonly slots: 'projects' | 'operators'
}

/** A project, with its own token. */
export const MERCHANT: PaymentsOwner = {
  prefix: '/api/v2/merchant',
  access: 'merchant',
  idOf: (id) => id,
  withScope: (query) => query,
  scopeOf: (_context, { res }) => merchantOf(res),
  documentOf({ directory, networkNames }, record) {
    const { accepts = [] } = directory.findMerchant(record.project ?? '') ?? {}
    return settlementOf(record, { accepts }, networkNames)
  },
  settlement: documents('settlement'),
  settlementList: documents('settlementList'),
  refundPage: documents('refundPage'),
  slots: 'projects',
}

/** The project that a row of a list is about, with the name that people know it by. */
export function namedProject(
  { directory }: Pick<RouterContext, 'directory'>,
  project: string | undefined,
) {
  if (project === undefined) return {}
  const merchantName = directory.findMerchant(project)?.name
  return { project, ...(merchantName !== undefined && { merchantName }) }
}

export function owned<Context>(
  { access, idOf, before, ...owner }: Owner<Context>,
  id: string,
  { tag, scope }: { readonly tag: Tag; readonly scope: Scope },
) {
  return {
    id: idOf(id),
    access,
    scope,
    tag: owner.tag ?? tag,
    ...(before && { before }),
  } satisfies Partial<Definition<Context, never, never, never>>
}
