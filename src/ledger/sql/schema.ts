import type * as KyselyModule from 'kysely'
import type { ColumnType, Generated, Kysely } from 'kysely'

/** One authorization. Numbers that may exceed 2^53 are decimal text. */
export interface AuthorizationRow {
  /** PostgreSQL gives it as text. */
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
  /** 1 once the payer was given what he paid for. */
  readonly delivered: Generated<number>
  /** Who works on it, until `locked_until`: a random name for each taking. */
  readonly lock_owner: string | null
  /** Milliseconds since the epoch, by the database's clock. PostgreSQL gives it as text. */
  readonly locked_until: ColumnType<number | string, number, number>
  readonly transaction_hash: string | null
  readonly relayer: string | null
  readonly account_nonce: number | null
  readonly raw: string | null
  /** Hashes, newest first, with commas between them. */
  readonly replaces: string | null
  readonly reason: string | null
  /** `AppliedRate` as JSON. */
  readonly applied_rate: string | null
  /** Members of `Purchase`; `resource` is null in rows of earlier versions. */
  readonly resource: string | null
  readonly offer: string | null
  readonly payment_id: string | null
  readonly client: string | null
  /** Which transfer log paid: of all rows, in one. */
  readonly transfer: string | null
  /** 1 once the merchant was paid though the transaction had failed. */
  readonly paid_late: number | null
  /** Milliseconds since the epoch, by the database's clock. */
  readonly created_at: ColumnType<number | string, number, number>
  readonly updated_at: ColumnType<number | string, number, number>
}

/** One idempotency key, and the answer to its request. */
export interface IdempotencyRow {
  /** A hash: keys are secrets. */
  readonly key: string
  readonly fingerprint: string
  /** Null until there is one. */
  readonly answer: string | null
  /** 1 once the answer may be given. */
  readonly done: number
  /** Which request had it last, and works on it until `claimed_until`: a random name. */
  readonly claim: string
  /** Milliseconds since the epoch, by the database's clock. */
  readonly claimed_until: ColumnType<number | string, number, number>
  readonly updated_at: ColumnType<number | string, number, number>
}

/** An account that sends transactions, and the process that may use it. */
interface RelayerLeaseRow {
  /** PostgreSQL gives it as text. */
  readonly chain_id: ColumnType<number | string, number, number>
  /** Lower case. */
  readonly relayer: string
  readonly holder: string
  /** Milliseconds since the epoch, by the database's clock. */
  readonly held_until: ColumnType<number | string, number, number>
}

/** An account that a process has the key of. */
interface RelayerCandidateRow {
  /** PostgreSQL gives it as text. */
  readonly chain_id: ColumnType<number | string, number, number>
  /** Lower case. */
  readonly relayer: string
  readonly holder: string
  /** Milliseconds since the epoch, by the database's clock. */
  readonly candidate_until: ColumnType<number | string, number, number>
}

/** A secret that all processes share. */
interface SecretRow {
  readonly name: string
  readonly secret: string
}

/** A migration that was made. */
interface MigrationRow {
  readonly name: string
}

/** The database of a ledger. */
export interface LedgerDatabase {
  readonly x402_authorizations: AuthorizationRow
  readonly x402_idempotency: IdempotencyRow
  readonly x402_relayer_leases: RelayerLeaseRow
  readonly x402_relayer_candidates: RelayerCandidateRow
  readonly x402_secrets: SecretRow
  readonly x402_migrations: MigrationRow
}

/** One change of the schema. */
export type Migration = (db: Kysely<LedgerDatabase>, kysely: typeof KyselyModule) => Promise<void>

/** Every change of the schema, in order; what was published is never edited. */
export const migrations: Readonly<Record<string, Migration>> = {
  '0001_authorizations': async (db, { sql }) => {
    await db.schema
      .createTable('x402_authorizations')
      .addColumn('chain_id', 'bigint', (column) => column.notNull())
      .addColumn('asset', 'text', (column) => column.notNull())
      .addColumn('payer', 'text', (column) => column.notNull())
      .addColumn('nonce', 'text', (column) => column.notNull())
      .addColumn('id', 'text', (column) => column.notNull())
      .addColumn('pay_to', 'text', (column) => column.notNull())
      .addColumn('value', 'text', (column) => column.notNull())
      .addColumn('valid_before', 'text', (column) => column.notNull())
      .addColumn('project', 'text')
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('granted', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('hold', 'text')
      .addColumn('held_until', 'bigint', (column) => column.notNull())
      .addColumn('transaction_hash', 'text')
      .addColumn('relayer', 'text')
      .addColumn('transaction_count', 'bigint')
      .addColumn('raw', 'text')
      .addColumn('reason', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('x402_authorizations_key', ['chain_id', 'asset', 'payer', 'nonce'])
      .execute()
    await sql`CREATE UNIQUE INDEX x402_authorizations_id ON x402_authorizations (id)`.execute(db)
    await sql`CREATE INDEX x402_authorizations_project ON x402_authorizations (project, created_at, id)`.execute(
      db,
    )
    // What somebody works on, and what is not final, are few among many.
    await sql`CREATE INDEX x402_authorizations_held ON x402_authorizations (hold) WHERE hold IS NOT NULL AND granted = 0`.execute(
      db,
    )
    await sql`CREATE INDEX x402_authorizations_open ON x402_authorizations (created_at) WHERE state = 'submitted'`.execute(
      db,
    )
  },
  '0002_idempotency': async (db, { sql }) => {
    await db.schema
      .createTable('x402_idempotency')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('fingerprint', 'text', (column) => column.notNull())
      .addColumn('answer', 'text')
      .addColumn('done', 'integer', (column) => column.notNull())
      .addColumn('claim', 'text', (column) => column.notNull())
      .addColumn('claimed_until', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute()
    await sql`CREATE INDEX x402_idempotency_claimed ON x402_idempotency (claim) WHERE done = 0`.execute(
      db,
    )
    await sql`CREATE INDEX x402_idempotency_age ON x402_idempotency (updated_at)`.execute(db)
  },
  '0003_relayers': async (db) => {
    await db.schema.alterTable('x402_authorizations').addColumn('replaces', 'text').execute()
    await db.schema
      .createTable('x402_relayer_leases')
      .addColumn('chain_id', 'bigint', (column) => column.notNull())
      .addColumn('relayer', 'text', (column) => column.notNull())
      .addColumn('holder', 'text', (column) => column.notNull())
      .addColumn('held_until', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('x402_relayer_leases_key', ['chain_id', 'relayer'])
      .execute()
    await db.schema
      .createTable('x402_relayer_wishes')
      .addColumn('chain_id', 'bigint', (column) => column.notNull())
      .addColumn('relayer', 'text', (column) => column.notNull())
      .addColumn('holder', 'text', (column) => column.notNull())
      .addColumn('wanted_until', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('x402_relayer_wishes_key', ['chain_id', 'relayer', 'holder'])
      .execute()
  },
  '0004_quotes': async (db) => {
    await db.schema.alterTable('x402_authorizations').addColumn('quote', 'text').execute()
    await db.schema
      .createTable('x402_secrets')
      .addColumn('name', 'text', (column) => column.primaryKey())
      .addColumn('secret', 'text', (column) => column.notNull())
      .execute()
  },
  '0005_concluded': async (db, { sql }) => {
    // What became final a moment ago is looked at again.
    await sql`CREATE INDEX x402_authorizations_settled ON x402_authorizations (updated_at) WHERE state = 'settled'`.execute(
      db,
    )
    await sql`CREATE INDEX x402_authorizations_failed ON x402_authorizations (updated_at) WHERE state = 'failed'`.execute(
      db,
    )
    await sql`CREATE INDEX x402_authorizations_bytes ON x402_authorizations (updated_at) WHERE state = 'settled' AND raw IS NOT NULL`.execute(
      db,
    )
  },
  '0006_purchases': async (db, { sql }) => {
    for (const column of ['resource', 'offer', 'payment_id', 'client', 'transfer'])
      await db.schema.alterTable('x402_authorizations').addColumn(column, 'text').execute()
    await db.schema.alterTable('x402_authorizations').addColumn('paid_late', 'integer').execute()
    // One transfer pays for one record.
    await sql`CREATE UNIQUE INDEX x402_authorizations_transfer ON x402_authorizations (transfer) WHERE transfer IS NOT NULL`.execute(
      db,
    )
  },
  '0007_transactions': async (db, { sql }) => {
    // Which payments a transaction was sent for.
    await sql`CREATE INDEX x402_authorizations_transaction ON x402_authorizations (transaction_hash) WHERE transaction_hash IS NOT NULL`.execute(
      db,
    )
  },
  '0008_words': async (db, { sql }) => {
    const rename = (from: string, to: string): Promise<void> =>
      db.schema.alterTable('x402_authorizations').renameColumn(from, to).execute()
    await rename('hold', 'lock_owner')
    await rename('held_until', 'locked_until')
    await rename('granted', 'delivered')
    await rename('transaction_count', 'account_nonce')
    await rename('quote', 'applied_rate')
    await db.schema
      .alterTable('x402_relayer_wishes')
      .renameColumn('wanted_until', 'candidate_until')
      .execute()
    await db.schema.alterTable('x402_relayer_wishes').renameTo('x402_relayer_candidates').execute()
    await sql`DROP INDEX x402_authorizations_held`.execute(db)
    await sql`CREATE INDEX x402_authorizations_locked ON x402_authorizations (lock_owner) WHERE lock_owner IS NOT NULL AND delivered = 0`.execute(
      db,
    )
  },
}
