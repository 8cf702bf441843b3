import type { ColumnType, Generated } from 'kysely'
import type { ConsoleSessionRow } from './console-session-row.js'
import type { RelayerAlertRow, WebhookDeliveryRow, WebhookEndpointRow } from './webhook-schema.js'

/** A row of one authorization. Numbers that may exceed 2^53 are decimal text; addresses and hashes are bytes. */
export interface AuthorizationRow {
  /** `pg` reads it as text. */
  readonly chain_id: ColumnType<number | string, number, number>
  readonly asset: Uint8Array
  readonly payer: Uint8Array
  readonly nonce: Uint8Array
  /** `recordId` of the key. */
  readonly id: Uint8Array
  readonly pay_to: Uint8Array
  readonly value: string
  readonly valid_before: string
  readonly project: string | null
  /** `refund` where it pays a payment back. */
  readonly kind: Generated<'payment' | 'refund'>
  /** Id of the payment that a refund pays back. */
  readonly refund_of: Uint8Array | null
  readonly state: 'reserved' | 'submitted' | 'settled' | 'failed'
  /** 1 once the payer was given what was paid for. */
  readonly delivered: Generated<number>
  /** Name of the lock, valid until `locked_until`; it begins with its owner's id. Null when nobody works on the record. */
  readonly lock_owner: string | null
  /** Milliseconds since the epoch, by the database's clock. `pg` reads it as text. */
  readonly locked_until: ColumnType<number | string, number, number>
  readonly transaction_hash: Uint8Array | null
  readonly relayer: Uint8Array | null
  readonly account_nonce: number | null
  /** Hashes of replaced transactions, newest first, as text and separated by commas. */
  readonly replaces: string | null
  /** Hashes of earlier transactions that were mined without moving money, as `replaces`. */
  readonly failed: string | null
  readonly reason: string | null
  /** `AppliedRate` as JSON. */
  readonly applied_rate: string | null
  /** Members of `Purchase`; `resource` is null in rows of earlier versions. */
  readonly resource: string | null
  readonly offer: string | null
  readonly payment_id: string | null
  readonly client: string | null
  readonly asker: string | null
  /** Members of `PaymentDetails`; null in rows of earlier versions. */
  readonly resource_url: string | null
  readonly method: string | null
  readonly route: string | null
  readonly decimals: number | null
  readonly asked_price: string | null
  readonly reference: string | null
  /** `resourceHash` of `resource_url`. */
  readonly resource_hash: string | null
  /** The transfer log that paid. Unique: a log pays for one record. */
  readonly transfer: string | null
  /** 1 if another transaction paid the merchant after this record had failed. */
  readonly paid_late: number | null
  /** Milliseconds since the epoch, by the database's clock. */
  readonly created_at: ColumnType<number | string, number, number>
  readonly updated_at: ColumnType<number | string, number, number>
}

/** A row of one idempotency key, with the answer to its request. */
export interface IdempotencyRow {
  /** SHA-256 of the key, because keys are secrets. */
  readonly key: string
  readonly fingerprint: string
  /** Null until there is one. */
  readonly answer: string | null
  /** Name of the delivery that a kept answer was made for. */
  readonly delivery: string | null
  /** 1 once the answer is final. */
  readonly done: number
  /** Name of the last attempt, which owns the key until `claimed_until`; it begins with its owner's id. */
  readonly claim: string
  /** Milliseconds since the epoch, by the database's clock. */
  readonly claimed_until: ColumnType<number | string, number, number>
  readonly updated_at: ColumnType<number | string, number, number>
}

/** A row of one relayer account. */
interface RelayerNonceRow {
  /** `pg` reads it as text, as all numbers of this table. */
  readonly chain_id: ColumnType<number | string, number, number>
  readonly relayer: Uint8Array
  /** The account nonce that is handed out next. */
  readonly next_nonce: ColumnType<number | string, number, number>
  /** Lower account nonces were mined when the chain was last asked. */
  readonly mined_nonce: ColumnType<number | string, number, number>
  /** When a process last took it upon itself to look after the account, by the database's clock. */
  readonly claimed_at: ColumnType<number | string, number, number>
}

/** A row of one account nonce, with the transaction that was last written down for it. */
export interface TransactionRow {
  readonly chain_id: ColumnType<number | string, number, number>
  readonly relayer: Uint8Array
  readonly account_nonce: ColumnType<number | string, number, number>
  readonly transaction_hash: Uint8Array
  readonly raw: Uint8Array
  /** Hashes of replaced transactions, newest first, as text and separated by commas. */
  readonly replaces: string | null
  /** Milliseconds since the epoch, by the database's clock. */
  readonly written_at: ColumnType<number | string, number, number>
}

/** A row of what happened to the payments of a project on one day. */
interface CountRow {
  /** Days since the epoch. */
  readonly day: number
  /** Empty for all projects together. */
  readonly project: string
  readonly kind: string
  readonly label: string
  /** `pg` reads it as text. */
  readonly count: ColumnType<number | string, number, number>
}

/** A row of one process that can be seen to live ({@link LockOwner}). */
interface OwnerRow {
  /** Random id of the process: 16 hexadecimal digits. */
  readonly owner: string
}

/** A row of one secret that all processes share. */
interface SecretRow {
  readonly name: string
  readonly secret: string
}

/** A row of one counter of changes. */
interface VersionRow {
  readonly name: string
  /** `pg` reads it as text, as all numbers of the tables below. */
  readonly version: ColumnType<number | string, number, number>
}

/** A row of one project that was made at run time. */
export interface ProjectRow {
  readonly id: string
  /** `MerchantOptions` as JSON. */
  readonly settings: string
  readonly version: ColumnType<number | string, number, number>
  /** Number of the change that made it. */
  readonly position: ColumnType<number | string, number, number>
  /** Milliseconds since the epoch, by the database's clock. */
  readonly created_at: ColumnType<number | string, number, number>
  readonly updated_at: ColumnType<number | string, number, number>
  /** Its id stays taken. */
  readonly deleted_at: ColumnType<number | string | null, number | undefined, number>
}

/** A row of one identify token. */
export interface ProjectTokenRow {
  readonly id: string
  /** Of the database or of the configuration. */
  readonly project: string
  /** SHA-256 in hexadecimal digits. */
  readonly hash: string
  readonly label: string
  readonly position: ColumnType<number | string, number, number>
  /** Milliseconds since the epoch, by the database's clock. */
  readonly created_at: ColumnType<number | string, number, number>
  readonly last_used_at: ColumnType<number | string | null, number | undefined, number>
  readonly revoked_at: ColumnType<number | string | null, number | undefined, number>
}

/** A row of one entry of the audit log. */
export interface AuditRow {
  /** Number of the change. */
  readonly position: ColumnType<number | string, number, number>
  readonly id: string
  readonly at: ColumnType<number | string, number, number>
  readonly actor: string
  readonly action: string
  readonly project: string
  readonly token: string | null
  /** JSON. */
  readonly before: string | null
  readonly after: string | null
}

/** A row of one migration that was applied. */
interface MigrationRow {
  readonly name: string
}

/** The tables of an SQL ledger, as Kysely types them. */
export interface LedgerDatabase {
  readonly x402_authorizations: AuthorizationRow
  readonly x402_console_sessions: ConsoleSessionRow
  readonly x402_counts: CountRow
  readonly x402_idempotency: IdempotencyRow
  readonly x402_owners: OwnerRow
  readonly x402_relayer_nonces: RelayerNonceRow
  readonly x402_relayer_transactions: TransactionRow
  readonly x402_versions: VersionRow
  readonly x402_projects: ProjectRow
  readonly x402_project_tokens: ProjectTokenRow
  readonly x402_audit_log: AuditRow
  readonly x402_secrets: SecretRow
  readonly x402_webhook_endpoints: WebhookEndpointRow
  readonly x402_webhook_deliveries: WebhookDeliveryRow
  readonly x402_relayer_alerts: RelayerAlertRow
  readonly x402_migrations: MigrationRow
}
