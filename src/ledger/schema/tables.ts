/** The tables of a ledger, and their indexes. What their columns mean is said in `schema.ts`. */
import type { SqlDialect } from '../engine/dialect.js'

/** Name of the counter of all changes of projects, in `x402_versions`. */
export const PROJECTS_VERSION = 'projects'

/** Statements that create all tables. */
export function createTables(dialect: SqlDialect): readonly string[] {
  return [
    ...authorizations(dialect),
    ...authorizationIndexes(),
    ...relayers(dialect),
    ...idempotency(dialect),
    ...projects(dialect),
    ...webhooks(dialect),
    ...others(dialect),
  ]
}

/** The id is a hash of chain, asset, payer and nonce, whose own index would be the widest of all. */
function authorizations({ isPostgres, bigint, bytes, strict }: SqlDialect): readonly string[] {
  return [
    `CREATE TABLE x402_authorizations (
      id ${bytes} NOT NULL,
      chain_id ${bigint} NOT NULL,
      asset ${bytes} NOT NULL,
      payer ${bytes} NOT NULL,
      nonce ${bytes} NOT NULL,
      pay_to ${bytes} NOT NULL,
      value TEXT NOT NULL,
      valid_before TEXT NOT NULL,
      project TEXT,
      kind TEXT NOT NULL DEFAULT 'payment',
      refund_of ${bytes},
      state TEXT NOT NULL,
      delivered INTEGER NOT NULL DEFAULT 0,
      lock_owner TEXT,
      locked_until ${bigint} NOT NULL,
      transaction_hash ${bytes},
      relayer ${bytes},
      account_nonce ${bigint},
      replaces TEXT,
      failed TEXT,
      reason TEXT,
      applied_rate TEXT,
      resource TEXT,
      offer TEXT,
      payment_id TEXT,
      client TEXT,
      asker TEXT,
      resource_url TEXT,
      method TEXT,
      route TEXT,
      decimals INTEGER,
      asked_price TEXT,
      reference TEXT,
      resource_hash TEXT,
      transfer TEXT,
      paid_late INTEGER,
      created_at ${bigint} NOT NULL,
      updated_at ${bigint} NOT NULL
    ) ${strict}`,
    'CREATE UNIQUE INDEX x402_authorizations_id ON x402_authorizations (id)',
    ...(isPostgres
      ? ['ALTER TABLE x402_authorizations ADD PRIMARY KEY USING INDEX x402_authorizations_id']
      : []),
  ]
}

/**
 * Lists leave payments that are under way out: a payment changes its state twice, and each change would be
 * written to every index of lists. An index of their own has those under way, which are few.
 */
function authorizationIndexes(): readonly string[] {
  const place = 'project, state, created_at, id'
  const isFinal = "(state = 'settled' OR state = 'failed')"
  const index = (name: string, columns: string): string =>
    `CREATE INDEX x402_authorizations_${name} ON x402_authorizations ${columns}`
  return [
    // One transfer log pays for one record.
    'CREATE UNIQUE INDEX x402_authorizations_transfer ON x402_authorizations (transfer) WHERE transfer IS NOT NULL',
    index('transaction', '(transaction_hash) WHERE transaction_hash IS NOT NULL'),
    index('refunds', '(refund_of, created_at, id) WHERE refund_of IS NOT NULL'),
    // Locked and open records are few among many.
    index('locked', '(lock_owner) WHERE lock_owner IS NOT NULL AND delivered = 0'),
    index('open', `(created_at) WHERE state = 'submitted'`),
    // The reorg watch reads records that became final recently.
    index('settled', `(updated_at) WHERE state = 'settled'`),
    index('failed', `(updated_at) WHERE state = 'failed'`),
    index('listed', `(${place}) WHERE ${isFinal}`),
    index('payer', `(payer, ${place}) WHERE ${isFinal}`),
    index('resource', `(resource_hash, ${place}) WHERE resource_hash IS NOT NULL AND ${isFinal}`),
    index('reference', `(reference, ${place}) WHERE reference IS NOT NULL AND ${isFinal}`),
    index('pending', `(${place}) WHERE (state = 'reserved' OR state = 'submitted')`),
  ]
}

function relayers({ isPostgres, bigint, bytes, strict }: SqlDialect): readonly string[] {
  return [
    `CREATE TABLE x402_relayer_nonces (
      chain_id ${bigint} NOT NULL,
      relayer ${bytes} NOT NULL,
      next_nonce ${bigint} NOT NULL,
      mined_nonce ${bigint} NOT NULL,
      claimed_at ${bigint} NOT NULL,
      PRIMARY KEY (chain_id, relayer)
    ) ${strict}`,
    `CREATE TABLE x402_relayer_transactions (
      chain_id ${bigint} NOT NULL,
      relayer ${bytes} NOT NULL,
      account_nonce ${bigint} NOT NULL,
      transaction_hash ${bytes} NOT NULL,
      raw ${bytes} NOT NULL,
      replaces TEXT,
      written_at ${bigint} NOT NULL,
      PRIMARY KEY (chain_id, relayer, account_nonce)
    ) ${strict}`,
    // Settlements wait while it is written, and it is dropped soon: compressing it is not worth the time.
    ...(isPostgres
      ? ['ALTER TABLE x402_relayer_transactions ALTER COLUMN raw SET STORAGE EXTERNAL']
      : []),
    `CREATE TABLE x402_relayer_alerts (
      chain_id ${bigint} NOT NULL,
      relayer TEXT NOT NULL,
      balance TEXT NOT NULL,
      told_at ${bigint} NOT NULL,
      PRIMARY KEY (chain_id, relayer)
    ) ${strict}`,
  ]
}

function idempotency({ bigint, strict }: SqlDialect): readonly string[] {
  return [
    `CREATE TABLE x402_idempotency (
      key TEXT NOT NULL PRIMARY KEY,
      fingerprint TEXT NOT NULL,
      answer TEXT,
      delivery TEXT,
      done INTEGER NOT NULL,
      claim TEXT NOT NULL,
      claimed_until ${bigint} NOT NULL,
      updated_at ${bigint} NOT NULL
    ) ${strict}`,
    'CREATE INDEX x402_idempotency_claimed ON x402_idempotency (claim) WHERE done = 0',
    'CREATE INDEX x402_idempotency_age ON x402_idempotency (updated_at)',
  ]
}

function projects({ bigint, strict }: SqlDialect): readonly string[] {
  return [
    `CREATE TABLE x402_versions (
      name TEXT NOT NULL PRIMARY KEY,
      version ${bigint} NOT NULL
    ) ${strict}`,
    `INSERT INTO x402_versions (name, version) VALUES ('${PROJECTS_VERSION}', 0)`,
    `CREATE TABLE x402_projects (
      id TEXT NOT NULL PRIMARY KEY,
      settings TEXT NOT NULL,
      version ${bigint} NOT NULL,
      position ${bigint} NOT NULL UNIQUE,
      created_at ${bigint} NOT NULL,
      updated_at ${bigint} NOT NULL,
      deleted_at ${bigint}
    ) ${strict}`,
    `CREATE TABLE x402_project_tokens (
      id TEXT NOT NULL PRIMARY KEY,
      project TEXT NOT NULL,
      hash TEXT NOT NULL UNIQUE,
      label TEXT NOT NULL,
      position ${bigint} NOT NULL,
      created_at ${bigint} NOT NULL,
      last_used_at ${bigint},
      revoked_at ${bigint}
    ) ${strict}`,
    'CREATE INDEX x402_project_tokens_project ON x402_project_tokens (project, position)',
    `CREATE TABLE x402_audit_log (
      position ${bigint} NOT NULL PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      at ${bigint} NOT NULL,
      actor TEXT NOT NULL,
      action TEXT NOT NULL,
      project TEXT NOT NULL,
      token TEXT,
      before TEXT,
      after TEXT
    ) ${strict}`,
    'CREATE INDEX x402_audit_log_project ON x402_audit_log (project, position)',
  ]
}

function webhooks({ bigint, strict }: SqlDialect): readonly string[] {
  const index = (name: string, columns: string): string =>
    `CREATE INDEX x402_webhook_deliveries_${name} ON x402_webhook_deliveries ${columns}`
  return [
    `CREATE TABLE x402_webhook_endpoints (
      id TEXT NOT NULL PRIMARY KEY,
      project TEXT NOT NULL,
      url TEXT NOT NULL,
      events TEXT NOT NULL,
      secret TEXT NOT NULL,
      previous_secret TEXT,
      previous_until ${bigint},
      created_at ${bigint} NOT NULL,
      updated_at ${bigint} NOT NULL
    ) ${strict}`,
    'CREATE INDEX x402_webhook_endpoints_project ON x402_webhook_endpoints (project)',
    `CREATE TABLE x402_webhook_deliveries (
      id TEXT NOT NULL PRIMARY KEY,
      endpoint TEXT NOT NULL,
      project TEXT NOT NULL,
      type TEXT NOT NULL,
      payment TEXT,
      version INTEGER,
      payment_state TEXT,
      transaction_hash TEXT,
      reason TEXT,
      payment_at ${bigint},
      data TEXT,
      state TEXT NOT NULL,
      attempts INTEGER NOT NULL,
      next_at ${bigint} NOT NULL,
      retry_from ${bigint} NOT NULL,
      claim TEXT,
      last_status INTEGER,
      last_error TEXT,
      last_response TEXT,
      delivered_at ${bigint},
      created_at ${bigint} NOT NULL
    ) ${strict}`,
    index('due', `(endpoint, next_at) WHERE state = 'pending'`),
    index('claimed', '(claim) WHERE claim IS NOT NULL'),
    index('payment', '(payment, endpoint, version)'),
    index('listed', '(endpoint, created_at, id)'),
    index('age', `(created_at) WHERE state <> 'pending'`),
  ]
}

function others({ bigint, strict }: SqlDialect): readonly string[] {
  return [
    `CREATE TABLE x402_console_sessions (
      hash TEXT NOT NULL PRIMARY KEY,
      role TEXT NOT NULL,
      token TEXT NOT NULL,
      project TEXT,
      created_at ${bigint} NOT NULL,
      used_at ${bigint} NOT NULL
    ) ${strict}`,
    'CREATE INDEX x402_console_sessions_token ON x402_console_sessions (token, used_at)',
    `CREATE TABLE x402_counts (
      day INTEGER NOT NULL,
      project TEXT NOT NULL,
      kind TEXT NOT NULL,
      label TEXT NOT NULL,
      count ${bigint} NOT NULL,
      PRIMARY KEY (project, day, kind, label)
    ) ${strict}`,
    `CREATE TABLE x402_secrets (name TEXT NOT NULL PRIMARY KEY, secret TEXT NOT NULL) ${strict}`,
    `CREATE TABLE x402_owners (owner TEXT NOT NULL PRIMARY KEY) ${strict}`,
  ]
}
