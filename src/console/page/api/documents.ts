/** The documents of the API, as far as the page shows them. */

export interface SessionAsset {
  readonly address: string
  readonly symbol: string
  readonly decimals: number
  /** The currency it is pegged to. */
  readonly currency?: string
}

export interface SessionNetwork {
  /** Spelled as settlements spell it. */
  readonly network: string
  readonly chainId: number
  readonly name: string
  readonly testnet: boolean
  readonly explorerUrl?: string
  readonly assets: readonly SessionAsset[]
}

export interface SessionDocument {
  readonly role: 'admin' | 'merchant'
  readonly name: string
  readonly project?: string
  readonly expiresAt: string
  readonly version: string
  readonly networks: readonly SessionNetwork[]
}

export type Status = 'reserved' | 'pending' | 'settled' | 'failed'

/** An amount of a token, in its atomic units. */
export interface TokenAmount {
  readonly network: string
  readonly asset: string
  readonly symbol?: string
  readonly decimals?: number
  readonly amount: string
}

export interface Settlement extends TokenAmount {
  readonly id: string
  readonly status: Status
  readonly payer: string
  readonly payTo: string
  readonly nonce: string
  readonly transaction?: string
  readonly errorReason?: string
  readonly resource?: string
  readonly method?: string
  readonly route?: string
  readonly askedPrice?: string
  readonly reference?: string
  readonly quote?: {
    readonly price: string
    readonly currency: string
    readonly rate: string
    readonly asOf: string
    readonly source: string
  }
  readonly createdAt: string
  readonly updatedAt: string
  /** Atomic units that were paid back. */
  readonly refunded?: string
  readonly refunds?: number
  readonly project?: string
  /** There for refunds: the settlement that they pay back. */
  readonly settlement?: string
  readonly heldUntil?: string
}

export interface SettlementPage {
  readonly settlements: readonly Settlement[]
  readonly nextCursor?: string
}

export interface RevenueGroup extends TokenAmount {
  readonly day?: string
  readonly project?: string
  readonly resource?: string
  readonly other?: true
  readonly count: number
}

export interface Revenue {
  readonly from: string
  readonly to: string
  readonly revenue: readonly RevenueGroup[]
}

export interface Activity {
  readonly asked: number
  readonly presented: number
  readonly refused: number
  /** The app made the answer free. */
  readonly waived: number
  readonly settled: number
  readonly failed: number
  readonly reasons: Readonly<Record<string, number>>
}

export interface Funnel {
  readonly from: string
  readonly to: string
  readonly total: Activity
  readonly days: ReadonlyArray<Activity & { readonly day: string }>
}

export interface Percentiles {
  readonly count: number
  readonly p50?: number
  readonly p95?: number
}

export interface Latency {
  readonly phases: Readonly<Record<'verify' | 'handler' | 'settle' | 'total', Percentiles>>
}

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
  readonly repeatSettlements?: boolean
  readonly redeemWithoutProof?: string
}

export interface Project {
  readonly id: string
  readonly merchant?: MerchantSettings
  readonly source: 'configuration' | 'database'
  readonly createdAt?: string
  readonly updatedAt?: string
  readonly version?: number
  /** Why the merchant cannot be paid any more. */
  readonly errors?: ReadonlyArray<{ readonly path: string; readonly message: string }>
}

export interface Token {
  readonly id: string
  readonly label?: string
  readonly source: 'configuration' | 'database'
  readonly createdAt?: string
  readonly lastUsedAt?: string
  readonly revokedAt?: string
}

export interface Webhook {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly previousSecretUntil?: string
  readonly createdAt: string
  readonly secret?: string
}

export interface Delivery {
  readonly id: string
  readonly type: string
  readonly state: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  readonly payment?: string
  readonly version?: number
  readonly createdAt: string
  readonly nextAttemptAt?: string
  readonly deliveredAt?: string
  readonly lastStatus?: number
  readonly lastError?: string
  readonly lastResponse?: string
}

export interface Relayer {
  readonly network: string
  readonly address: string
  /** Wei. */
  readonly balance?: string
  readonly spent: string
  readonly isLow?: boolean
  readonly runway?: { readonly payments: number; readonly days?: number }
  readonly pending?: ReadonlyArray<{
    readonly transaction: string
    readonly accountNonce: number
    readonly ageSeconds: number
    readonly replacements: number
  }>
  readonly error?: string
}

export interface NetworkFinding {
  readonly name: string
  readonly chainId: number
  readonly network?: string
  readonly status: 'ok' | 'warning' | 'error'
  readonly code: string
  readonly message: string
}

export interface AuditEntry {
  readonly id: string
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly project: string
  readonly token?: string
  readonly before?: Readonly<Record<string, unknown>>
  readonly after?: Readonly<Record<string, unknown>>
}
