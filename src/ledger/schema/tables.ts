/**
 * The tables of a ledger. Each column stands here once: the tables are created with it (`migrate.ts`), and
 * Kysely types its rows by it.
 *
 * From 0.1.0 on, a migration adds: a table, an index, or a column that may be left out in an INSERT. So
 * gateways of the version before run on beside it, and what nobody uses any more is dropped one version
 * later. It exports its additions, written as {@link TABLES} is, and {@link LedgerDatabase} becomes
 * `RowsOf<typeof TABLES & typeof ADDED>`.
 */
import type { ColumnType, Generated, Selectable } from 'kysely'
import type { SqlDialect } from '../engine/dialect.js'

/**
 * Tables, their columns, and the SQL of each. `BIGINT` and `BYTES` are called otherwise by SQLite or PostgreSQL.
 * A list is a text of these values. Addresses and hashes are bytes, numbers that may exceed 2^53 are decimal
 * text, and times are milliseconds since the epoch by the database's clock, unless said otherwise.
 */
export const TABLES = {
  x402_authorizations: {
    /** `recordId` of the key: a hash of chain, contract, payer and nonce, whose own index would be the widest of all. */
    id: 'BYTES NOT NULL',
    chain_id: 'BIGINT NOT NULL',
    asset: 'BYTES NOT NULL',
    /** The contract that burns the nonce. Null where it is the token itself. */
    contract: 'BYTES',
    payer: 'BYTES NOT NULL',
    nonce: 'BYTES NOT NULL',
    scheme: "TEXT NOT NULL DEFAULT 'exact'",
    pay_to: 'BYTES NOT NULL',
    value: 'TEXT NOT NULL',
    /** What is taken of `value`, where that is a maximum; written with the transaction. Null where the price is fixed. */
    charged: 'TEXT',
    valid_before: 'TEXT NOT NULL',
    project: 'TEXT',
    /** `payment`, or `refund` where it pays a payment back. */
    kind: "TEXT NOT NULL DEFAULT 'payment'",
    /** Id of the payment that a refund pays back. */
    refund_of: 'BYTES',
    state: ['reserved', 'submitted', 'settled', 'failed'],
    /** 1 once the payer was given the resource. */
    delivered: 'INTEGER NOT NULL DEFAULT 0',
    /** Name of the lock, valid until `locked_until`; it begins with its owner's id. Null when nobody works on the record. */
    lock_owner: 'TEXT',
    locked_until: 'BIGINT NOT NULL',
    transaction_hash: 'BYTES',
    relayer: 'BYTES',
    account_nonce: 'BIGINT',
    /** Hashes of replaced transactions, newest first, as text and separated by commas. */
    replaces: 'TEXT',
    /** Hashes of earlier transactions that were mined without moving money, as `replaces`. */
    failed: 'TEXT',
    reason: 'TEXT',
    /** `AppliedRate` as JSON. */
    applied_rate: 'TEXT',
    /** Members of `Purchase`. */
    resource: 'TEXT',
    price: 'TEXT',
    offer: 'TEXT',
    payment_id: 'TEXT',
    client: 'TEXT',
    asker: 'TEXT',
    /** The same, where it also buys access for a time: what it opens, for how long, and until when once it is delivered. */
    access: 'TEXT',
    access_ms: 'BIGINT',
    access_until: 'BIGINT',
    /** Members of `PaymentDetails`. */
    resource_url: 'TEXT',
    method: 'TEXT',
    route: 'TEXT',
    decimals: 'INTEGER',
    asked_price: 'TEXT',
    reference: 'TEXT',
    /** `resourceHash` of `resource_url`. */
    resource_hash: 'TEXT',
    /** The transfer log that paid. Unique: a log pays for one record. */
    transfer: 'TEXT',
    /** 1 if another transaction paid the merchant after this record had failed. */
    paid_late: 'INTEGER',
    created_at: 'BIGINT NOT NULL',
    updated_at: 'BIGINT NOT NULL',
  },
  /** One row for each refund that was asked for with a reason, or by an operator. */
  x402_refund_requests: {
    /** Id of the refund. */
    refund: 'BYTES NOT NULL PRIMARY KEY',
    reason: 'TEXT',
    /** Name of the operator, as in the audit log. Null for the merchant. */
    requested_by: 'TEXT',
  },
  /** One row for each relayer account. */
  x402_relayer_nonces: {
    chain_id: 'BIGINT NOT NULL',
    relayer: 'BYTES NOT NULL',
    /** The account nonce that is handed out next. */
    next_nonce: 'BIGINT NOT NULL',
    /** Lower account nonces were mined when the chain was last asked. */
    mined_nonce: 'BIGINT NOT NULL',
    /** When a process last took it upon itself to look after the account. */
    claimed_at: 'BIGINT NOT NULL',
  },
  /** One row for each account nonce, with the transaction that was last written down for it. */
  x402_relayer_transactions: {
    chain_id: 'BIGINT NOT NULL',
    relayer: 'BYTES NOT NULL',
    account_nonce: 'BIGINT NOT NULL',
    transaction_hash: 'BYTES NOT NULL',
    raw: 'BYTES NOT NULL',
    /** As in `x402_authorizations`. */
    replaces: 'TEXT',
    written_at: 'BIGINT NOT NULL',
  },
  /** One row for everything that the operator was told of, and that is not known to be over. */
  x402_alerts: {
    /** Type of the event, and what it is about. */
    name: 'TEXT NOT NULL PRIMARY KEY',
    /** How bad it was then: of a relayer, its balance in wei, with as many digits for every balance. */
    level: 'TEXT NOT NULL',
    told_at: 'BIGINT NOT NULL',
  },
  /** One row for each idempotency key, with the answer to its request. */
  x402_idempotency: {
    /** SHA-256 of the key, because keys are secrets. */
    key: 'TEXT NOT NULL PRIMARY KEY',
    fingerprint: 'TEXT NOT NULL',
    /** Null until there is one. */
    answer: 'TEXT',
    /** Name of the delivery that a kept answer was made for. */
    delivery: 'TEXT',
    /** 1 once the answer is final. */
    done: 'INTEGER NOT NULL',
    /** Name of the last attempt, which owns the key until `claimed_until`; it begins with its owner's id. */
    claim: 'TEXT NOT NULL',
    claimed_until: 'BIGINT NOT NULL',
    updated_at: 'BIGINT NOT NULL',
  },
  /** Counters of changes. */
  x402_versions: { name: 'TEXT NOT NULL PRIMARY KEY', version: 'BIGINT NOT NULL' },
  /** Projects that were made at run time. */
  x402_projects: {
    id: 'TEXT NOT NULL PRIMARY KEY',
    /** `MerchantOptions` as JSON. */
    settings: 'TEXT NOT NULL',
    /** The address that is paid from `next_pay_to_at` on. */
    next_pay_to: 'TEXT',
    next_pay_to_at: 'BIGINT',
    version: 'BIGINT NOT NULL',
    /** Number of the change that made it. */
    position: 'BIGINT NOT NULL UNIQUE',
    created_at: 'BIGINT NOT NULL',
    updated_at: 'BIGINT NOT NULL',
    /** Its id stays taken. */
    deleted_at: 'BIGINT',
    /** `operator` or `merchant`; null while it takes payments. */
    paused_by: 'TEXT',
  },
  x402_project_tokens: {
    id: 'TEXT NOT NULL PRIMARY KEY',
    /** Of the database or of the configuration. */
    project: 'TEXT NOT NULL',
    /** SHA-256 in hexadecimal digits. */
    hash: 'TEXT NOT NULL UNIQUE',
    label: 'TEXT NOT NULL',
    /** Names of scopes, separated by commas. */
    scopes: 'TEXT NOT NULL',
    position: 'BIGINT NOT NULL',
    created_at: 'BIGINT NOT NULL',
    last_used_at: 'BIGINT',
    revoked_at: 'BIGINT',
  },
  x402_audit_log: {
    /** Number of the change. */
    position: 'BIGINT NOT NULL PRIMARY KEY',
    id: 'TEXT NOT NULL UNIQUE',
    at: 'BIGINT NOT NULL',
    actor: 'TEXT NOT NULL',
    action: 'TEXT NOT NULL',
    project: 'TEXT NOT NULL',
    token: 'TEXT',
    /** JSON. */
    before: 'TEXT',
    after: 'TEXT',
  },
  x402_webhook_endpoints: {
    id: 'TEXT NOT NULL PRIMARY KEY',
    project: 'TEXT NOT NULL',
    url: 'TEXT NOT NULL',
    /** Names of events, each between commas. */
    events: 'TEXT NOT NULL',
    secret: 'TEXT NOT NULL',
    previous_secret: 'TEXT',
    previous_until: 'BIGINT',
    created_at: 'BIGINT NOT NULL',
    updated_at: 'BIGINT NOT NULL',
  },
  /** One row for each event and endpoint. */
  x402_webhook_deliveries: {
    id: 'TEXT NOT NULL PRIMARY KEY',
    endpoint: 'TEXT NOT NULL',
    project: 'TEXT NOT NULL',
    type: 'TEXT NOT NULL',
    /** Id of the payment. Null for events that have `data`, as JSON, instead. */
    payment: 'TEXT',
    version: 'INTEGER',
    /** Members of the record after the change. */
    payment_state: 'TEXT',
    transaction_hash: 'TEXT',
    reason: 'TEXT',
    payment_at: 'BIGINT',
    data: 'TEXT',
    state: ['pending', 'delivered', 'failed'],
    attempts: 'INTEGER NOT NULL',
    /** When it is attempted next. Of a claimed one: when the claim lapses. */
    next_at: 'BIGINT NOT NULL',
    /** When it was created, or last sent again by hand. */
    retry_from: 'BIGINT NOT NULL',
    /** Name of the claim; it begins with its owner's id. Null while nobody attempts it. */
    claim: 'TEXT',
    last_status: 'INTEGER',
    last_error: 'TEXT',
    last_response: 'TEXT',
    delivered_at: 'BIGINT',
    created_at: 'BIGINT NOT NULL',
  },
  /** One row for each payment link. */
  x402_checkouts: {
    /** Random: anyone who knows it may pay. */
    id: 'TEXT NOT NULL PRIMARY KEY',
    project: 'TEXT NOT NULL',
    url: 'TEXT NOT NULL',
    /** In major units, with all digits of the currency. */
    amount: 'TEXT NOT NULL',
    currency: 'TEXT NOT NULL',
    reference: 'TEXT',
    description: 'TEXT',
    success_url: 'TEXT',
    cancel_url: 'TEXT',
    /** It follows its payment within a second: `statusOf` tells what holds now. */
    state: ['open', 'paid', 'expired', 'canceled'],
    /** Id of the payment that pays it. Another one takes its place once this one can pay no more. */
    payment: 'BYTES',
    /** `resource` of that payment's record: released, it may be reserved again for something else. */
    purchase: 'TEXT',
    paid_at: 'BIGINT',
    expires_at: 'BIGINT NOT NULL',
    created_at: 'BIGINT NOT NULL',
  },
  x402_console_sessions: {
    /** SHA-256 of its secret, in hexadecimal digits. */
    hash: 'TEXT NOT NULL PRIMARY KEY',
    role: ['admin', 'merchant'],
    /** SHA-256 of the token that it was opened with. */
    token: 'TEXT NOT NULL',
    /** Null for an operator. */
    project: 'TEXT',
    /** By the gateway's clock, as `used_at`. */
    created_at: 'BIGINT NOT NULL',
    used_at: 'BIGINT NOT NULL',
  },
  /** What happened to the payments of a project on one day. */
  x402_counts: {
    /** Days since the epoch, of UTC. */
    day: 'INTEGER NOT NULL',
    /** Quarter of an hour of the day; 0 of kinds that are not shown by day. A day of any zone begins with one. */
    slot: 'INTEGER NOT NULL',
    /** Empty for all projects together. */
    project: 'TEXT NOT NULL',
    kind: 'TEXT NOT NULL',
    label: 'TEXT NOT NULL',
    count: 'BIGINT NOT NULL',
  },
  /** What projects have sold, for catalogues: one row for each resource. */
  x402_resources: {
    /** A hash of project, URL and method. */
    id: 'TEXT NOT NULL PRIMARY KEY',
    project: 'TEXT NOT NULL',
    /** `Listing` as JSON. */
    listing: 'TEXT NOT NULL',
    /** 1 if its buyer named it, 0 if its seller did. */
    claimed: 'INTEGER NOT NULL',
    /** How often it was sold. */
    count: 'BIGINT NOT NULL',
    /** When its last sale was written: gateways read what was written since they looked. */
    sold_at: 'BIGINT NOT NULL',
  },
  /** Sign-ins that were taken: their nonces are not good again. */
  x402_sign_ins: {
    nonce: 'TEXT NOT NULL PRIMARY KEY',
    /** Name of the request that took it. */
    claim: 'TEXT NOT NULL',
    taken_at: 'BIGINT NOT NULL',
  },
  /** Secrets that all processes share. */
  x402_secrets: { name: 'TEXT NOT NULL PRIMARY KEY', secret: 'TEXT NOT NULL' },
  /** Processes that can be seen to live ({@link LockOwner}): 16 hexadecimal digits each. */
  x402_owners: { owner: 'TEXT NOT NULL PRIMARY KEY' },
} as const

/** Primary keys of several columns. */
const PRIMARY_KEYS: Partial<Readonly<Record<string, string>>> = {
  x402_relayer_nonces: 'chain_id, relayer',
  x402_relayer_transactions: 'chain_id, relayer, account_nonce',
  x402_counts: 'project, day, kind, label, slot',
}

/** The columns of a table's primary key: the first one, unless it has several. */
export const keyOf = (table: keyof typeof TABLES): readonly string[] =>
  PRIMARY_KEYS[table]?.split(', ') ?? Object.keys(TABLES[table]).slice(0, 1)

/** Paid, and nothing was given for it. A refund counts as a delivery. */
export const UNDELIVERED =
  "state = 'settled' AND delivered = 0 AND kind = 'payment' AND (charged IS NULL OR charged <> '0')"

/** States that payments end in. */
export const FINAL = "(state = 'settled' OR state = 'failed')"

/** A page of one state. The chain is last: lists of one network pass over the others' payments without reading them. */
const LISTED = 'state, created_at, id, chain_id'

/** What is found of all projects, and of one by passing over the others'. */
const FOUND = 'state, created_at, id, project, chain_id'

/**
 * The indexes of each table, by the ends of their names.
 *
 * Lists leave payments that are under way out: a payment changes its state twice, and each change would be
 * written to every index of lists. An index of their own has those under way, which are few.
 */
const INDEXES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  x402_authorizations: {
    transaction: '(transaction_hash) WHERE transaction_hash IS NOT NULL',
    refunds: '(refund_of, created_at, id) WHERE refund_of IS NOT NULL',
    // Locked and open records are few among many.
    locked: '(lock_owner) WHERE lock_owner IS NOT NULL AND delivered = 0',
    undelivered: `(created_at) WHERE ${UNDELIVERED}`,
    // The reorg watch reads records that became final recently.
    settled: `(updated_at) WHERE state = 'settled'`,
    failed: `(updated_at) WHERE state = 'failed'`,
    listed: `(project, ${LISTED}) WHERE ${FINAL}`,
    all_listed: `(${LISTED}) WHERE ${FINAL}`,
    refunded: `(project, ${LISTED}) WHERE kind = 'refund'`,
    all_refunded: `(${LISTED}) WHERE kind = 'refund'`,
    payer: `(payer, ${FOUND}) WHERE ${FINAL}`,
    resource: `(resource_hash, ${FOUND}) WHERE resource_hash IS NOT NULL AND ${FINAL}`,
    // Merchants' references begin alike: each merchant's have an index of their own.
    reference: `(project, reference, ${LISTED}) WHERE reference IS NOT NULL AND ${FINAL}`,
    all_reference: `(reference, ${LISTED}) WHERE reference IS NOT NULL AND ${FINAL}`,
    pending: `(${FOUND}) WHERE (state = 'reserved' OR state = 'submitted')`,
    uncharged: `(payer) WHERE charged = '0'`,
    access: '(payer, access, access_until) WHERE access_until IS NOT NULL',
    lapsing: `((CAST(valid_before AS NUMERIC))) WHERE charged = '0'`,
  },
  x402_idempotency: { claimed: '(claim) WHERE done = 0', age: '(updated_at)' },
  x402_project_tokens: { project: '(project, position)' },
  x402_audit_log: { project: '(project, position)' },
  x402_webhook_endpoints: { project: '(project)' },
  x402_webhook_deliveries: {
    due: `(endpoint, next_at) WHERE state = 'pending'`,
    claimed: '(claim) WHERE claim IS NOT NULL',
    payment: '(payment, endpoint, version)',
    listed: '(endpoint, created_at, id)',
    age: `(created_at) WHERE state <> 'pending'`,
  },
  x402_checkouts: {
    listed: '(project, created_at, id)',
    due: '(state, expires_at)',
    state: '(project, state, created_at, id)',
    unpaid: `(payment) WHERE payment IS NOT NULL AND state <> 'paid'`,
  },
  x402_resources: { project: '(project, claimed, sold_at DESC, id DESC)', sold: '(sold_at, id)' },
  x402_sign_ins: { age: '(taken_at)' },
  x402_console_sessions: { token: '(token, used_at)' },
}

/** Name of the counter of all changes of projects, in `x402_versions`. */
export const PROJECTS_VERSION = 'projects'

export function createTables({ isPostgres }: SqlDialect): readonly string[] {
  // SQLite: of a column that is `INTEGER PRIMARY KEY` it would make the row's own number, and only `STRICT`
  // keeps values of another type out of a column.
  // PostgreSQL: text is compared by its bytes, as in SQLite. By a locale, no index finds a beginning.
  const [bigint, bytes, text, end] = isPostgres
    ? ['BIGINT', 'BYTEA', 'TEXT COLLATE "C"', '']
    : ['INT', 'BLOB', 'TEXT', ' STRICT']
  const columnOf = ([name, column]: [string, string | readonly string[]]): string => {
    const sql = typeof column === 'string' ? column : 'TEXT NOT NULL'
    return `${name} ${sql.replace('BIGINT', bigint).replace('BYTES', bytes).replace('TEXT', text)}`
  }
  return [
    ...Object.entries(TABLES).map(([table, columns]) => {
      const key = PRIMARY_KEYS[table]
      const all = Object.entries(columns).map(columnOf)
      if (key !== undefined) all.push(`PRIMARY KEY (${key})`)
      return `CREATE TABLE ${table} (${all.join(', ')})${end}`
    }),
    'CREATE UNIQUE INDEX x402_authorizations_id ON x402_authorizations (id)',
    'CREATE UNIQUE INDEX x402_authorizations_transfer ON x402_authorizations (transfer) WHERE transfer IS NOT NULL',
    ...Object.entries(INDEXES).flatMap(([table, indexes]) =>
      Object.entries(indexes).map(
        ([name, of]) => `CREATE INDEX ${table}_${name} ON ${table} ${of}`,
      ),
    ),
    `INSERT INTO x402_versions (name, version) VALUES ('${PROJECTS_VERSION}', 0)`,
    ...(isPostgres
      ? [
          'ALTER TABLE x402_authorizations ADD PRIMARY KEY USING INDEX x402_authorizations_id',
          // Settlements wait while it is written, and it is dropped soon: compressing it is not worth the time.
          'ALTER TABLE x402_relayer_transactions ALTER COLUMN raw SET STORAGE EXTERNAL',
        ]
      : []),
  ]
}

/** Values of each type. `pg` reads a `BIGINT` as text. */
interface Values {
  readonly TEXT: string
  readonly INTEGER: number
  readonly BYTES: Uint8Array
  readonly BIGINT: number | string
}

type ValueOf<Column> = Column extends readonly (infer Value)[]
  ? Value
  : Column extends `${infer Name extends keyof Values} NOT NULL DEFAULT ${string}`
    ? Generated<Values[Name]>
    : Column extends `BIGINT NOT NULL${string}`
      ? ColumnType<number | string, number, number>
      : Column extends `${infer Name extends keyof Values} NOT NULL${string}`
        ? Values[Name]
        : Column extends 'BIGINT'
          ? ColumnType<number | string | null, number | null, number | null>
          : Column extends keyof Values
            ? Values[Column] | null
            : never

type RowsOf<Tables> = {
  readonly [Table in keyof Tables]: {
    readonly [Column in keyof Tables[Table]]: ValueOf<Tables[Table][Column]>
  }
}

/** The tables of an SQL ledger, as Kysely types them. */
export type LedgerDatabase = RowsOf<typeof TABLES> & {
  readonly x402_migrations: { readonly name: string }
}

export type Row<Table extends keyof LedgerDatabase> = Selectable<LedgerDatabase[Table]>
