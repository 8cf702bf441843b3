import type { ColumnType, Generated } from 'kysely'

/** A row of one authorization. Numbers that may exceed 2^53 are decimal text. */
export interface AuthorizationRow {
  /** `pg` reads it as text. */
  readonly chain_id: ColumnType<number | string, number, number>
  /** Lower case, as are `payer` and `nonce`. */
  readonly asset: string
  readonly payer: string
  readonly nonce: string
  /** `recordId` of the key. */
  readonly id: string
  readonly pay_to: string
  readonly value: string
  readonly valid_before: string
  readonly project: string | null
  readonly state: 'reserved' | 'submitted' | 'settled' | 'failed'
  /** 1 once the payer was given what was paid for. */
  readonly delivered: Generated<number>
  /** Random name of the lock, which is valid until `locked_until`. Null when nobody works on the record. */
  readonly lock_owner: string | null
  /** Milliseconds since the epoch, by the database's clock. `pg` reads it as text. */
  readonly locked_until: ColumnType<number | string, number, number>
  readonly transaction_hash: string | null
  readonly relayer: string | null
  readonly account_nonce: number | null
  readonly raw: string | null
  /** Hashes of replaced transactions, newest first, separated by commas. */
  readonly replaces: string | null
  readonly reason: string | null
  /** `AppliedRate` as JSON. */
  readonly applied_rate: string | null
  /** Members of `Purchase`; `resource` is null in rows of earlier versions. */
  readonly resource: string | null
  readonly offer: string | null
  readonly payment_id: string | null
  readonly client: string | null
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
  /** 1 once the answer is final. */
  readonly done: number
  /** Random name of the last attempt, which owns the key until `claimed_until`. */
  readonly claim: string
  /** Milliseconds since the epoch, by the database's clock. */
  readonly claimed_until: ColumnType<number | string, number, number>
  readonly updated_at: ColumnType<number | string, number, number>
}

/** A row of one relayer account, leased to one process. */
interface RelayerLeaseRow {
  /** `pg` reads it as text. */
  readonly chain_id: ColumnType<number | string, number, number>
  /** Lower case. */
  readonly relayer: string
  /** Random name of the process. */
  readonly holder: string
  /** Milliseconds since the epoch, by the database's clock. */
  readonly held_until: ColumnType<number | string, number, number>
}

/** A row of one relayer account that a process could lease, because it has its key. */
interface RelayerCandidateRow {
  /** `pg` reads it as text. */
  readonly chain_id: ColumnType<number | string, number, number>
  /** Lower case. */
  readonly relayer: string
  /** Random name of the process. */
  readonly holder: string
  /** Milliseconds since the epoch, by the database's clock. */
  readonly candidate_until: ColumnType<number | string, number, number>
}

/** A row of one secret that all processes share. */
interface SecretRow {
  readonly name: string
  readonly secret: string
}

/** A row of one migration that was applied. */
interface MigrationRow {
  readonly name: string
}

/** The tables of an SQL ledger, as Kysely types them. */
export interface LedgerDatabase {
  readonly x402_authorizations: AuthorizationRow
  readonly x402_idempotency: IdempotencyRow
  readonly x402_relayer_leases: RelayerLeaseRow
  readonly x402_relayer_candidates: RelayerCandidateRow
  readonly x402_secrets: SecretRow
  readonly x402_migrations: MigrationRow
}
