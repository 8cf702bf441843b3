/** The documents of the API: their types are those of the schemas that describe them. */
import type { DocumentOf } from '../../../api/documents/component.js'
import type { checkout } from '../../../api/documents/payment-link.js'
import type * as reports from '../../../api/documents/report.js'
import type * as settlements from '../../../api/documents/settlement.js'
import type { delivery, webhook, webhookWithSecret } from '../../../api/documents/webhook.js'
import type * as admin from '../../../api/documents/admin.js'

export type SessionDocument = DocumentOf<typeof admin.session>
export type SessionNetwork = SessionDocument['networks'][number]

/** A settlement, of any project, or a refund. */
export type Settlement = DocumentOf<typeof settlements.adminSettlement> & Partial<RefundMembers>
type RefundMembers = Pick<
  DocumentOf<typeof settlements.refund>,
  'settlement' | 'heldUntil' | 'reason' | 'requestedBy'
>

/** An amount of a token, in its atomic units. */
export type TokenAmount = Pick<
  Settlement,
  'network' | 'testnet' | 'asset' | 'symbol' | 'decimals' | 'amount'
>

/** A page of a list, under its name. */
export type ListOf<Name extends string, Row> = Readonly<Record<Name, readonly Row[]>> & {
  readonly nextCursor?: string
}

export type Checkout = DocumentOf<typeof checkout>
/** Typed data that a merchant's wallet signs for a refund (EIP-712). */
export type RefundToSign = DocumentOf<typeof settlements.preparedRefund>['typedData']
export type Refund = DocumentOf<typeof settlements.adminRefundPage>['refunds'][number]

export type SettlementSummary = DocumentOf<typeof settlements.settlementSummary>
export type Revenue = DocumentOf<typeof reports.revenueReport>
export type RevenueGroup = Revenue['revenue'][number]
export type Funnel = DocumentOf<typeof reports.funnelReport>
export type Activity = Funnel['total']

export type Project = DocumentOf<typeof admin.project> & { readonly merchant?: MerchantSettings }

export type ProjectList = ListOf<'projects', Project> & { readonly total: number }

/** What an operator sets. The gateway checks it by the schema of its configuration. */
export interface MerchantSettings {
  readonly name?: string
  readonly payTo?: string
  readonly currency?: string
  readonly accepts?: ReadonlyArray<{ readonly network: string; readonly asset: string }>
  readonly crossCurrency?: boolean
  readonly fxBufferBps?: number
  readonly minAmount?: string
  readonly maxAmount?: string
  readonly maxTimeoutSeconds?: number
  readonly redeemWithoutProof?: string
  readonly listed?: boolean | readonly string[]
  readonly v1?: boolean
  readonly branding?: {
    readonly logo?: string
    readonly accent?: string
    readonly texts?: Readonly<Record<string, string>>
  }
}

export type Token = DocumentOf<typeof admin.tokenList>['tokens'][number]
export type Webhook = DocumentOf<typeof webhook> &
  Partial<Pick<DocumentOf<typeof webhookWithSecret>, 'secret'>>
export type Delivery = DocumentOf<typeof delivery>
export type Relayer = DocumentOf<typeof admin.relayerList>['relayers'][number]
export type GasOfProject = DocumentOf<typeof admin.gasReport>['gas'][number]
export type NetworkFinding = DocumentOf<typeof admin.networkList>['networks'][number]
export type AuditEntry = DocumentOf<typeof admin.auditLog>['entries'][number]
