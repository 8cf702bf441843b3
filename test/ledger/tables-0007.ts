/** The tables as the last published version left them, with rows. Both databases take the statements. */
import { hashOf } from '../../src/ledger/purchase.js'
import { recordId, type LedgerEntry, type Submission } from '../../src/ledger/ledger.js'
import { newEntry } from './ledger-conformance.js'

const TABLES = [
  'CREATE TABLE x402_migrations (name text PRIMARY KEY)',
  `CREATE TABLE x402_authorizations (
     chain_id bigint NOT NULL, asset text NOT NULL, payer text NOT NULL, nonce text NOT NULL,
     id text NOT NULL, pay_to text NOT NULL, value text NOT NULL, valid_before text NOT NULL,
     project text, state text NOT NULL, granted integer DEFAULT 0 NOT NULL, hold text,
     held_until bigint NOT NULL, transaction_hash text, relayer text, transaction_count bigint,
     raw text, reason text, created_at bigint NOT NULL, updated_at bigint NOT NULL,
     CONSTRAINT x402_authorizations_key PRIMARY KEY (chain_id, asset, payer, nonce))`,
  'CREATE UNIQUE INDEX x402_authorizations_id ON x402_authorizations (id)',
  'CREATE INDEX x402_authorizations_project ON x402_authorizations (project, created_at, id)',
  'CREATE INDEX x402_authorizations_held ON x402_authorizations (hold) WHERE hold IS NOT NULL AND granted = 0',
  "CREATE INDEX x402_authorizations_open ON x402_authorizations (created_at) WHERE state = 'submitted'",
  `CREATE TABLE x402_idempotency (
     key text PRIMARY KEY, fingerprint text NOT NULL, answer text, done integer NOT NULL,
     claim text NOT NULL, claimed_until bigint NOT NULL, updated_at bigint NOT NULL)`,
  'CREATE INDEX x402_idempotency_claimed ON x402_idempotency (claim) WHERE done = 0',
  'CREATE INDEX x402_idempotency_age ON x402_idempotency (updated_at)',
  'ALTER TABLE x402_authorizations ADD COLUMN replaces text',
  `CREATE TABLE x402_relayer_leases (
     chain_id bigint NOT NULL, relayer text NOT NULL, holder text NOT NULL,
     held_until bigint NOT NULL,
     CONSTRAINT x402_relayer_leases_key PRIMARY KEY (chain_id, relayer))`,
  `CREATE TABLE x402_relayer_wishes (
     chain_id bigint NOT NULL, relayer text NOT NULL, holder text NOT NULL,
     wanted_until bigint NOT NULL,
     CONSTRAINT x402_relayer_wishes_key PRIMARY KEY (chain_id, relayer, holder))`,
  'ALTER TABLE x402_authorizations ADD COLUMN quote text',
  'CREATE TABLE x402_secrets (name text PRIMARY KEY, secret text NOT NULL)',
  "CREATE INDEX x402_authorizations_settled ON x402_authorizations (updated_at) WHERE state = 'settled'",
  "CREATE INDEX x402_authorizations_failed ON x402_authorizations (updated_at) WHERE state = 'failed'",
  "CREATE INDEX x402_authorizations_bytes ON x402_authorizations (updated_at) WHERE state = 'settled' AND raw IS NOT NULL",
  ...['resource', 'offer', 'payment_id', 'client', 'transfer'].map(
    (column) => `ALTER TABLE x402_authorizations ADD COLUMN ${column} text`,
  ),
  'ALTER TABLE x402_authorizations ADD COLUMN paid_late integer',
  'CREATE UNIQUE INDEX x402_authorizations_transfer ON x402_authorizations (transfer) WHERE transfer IS NOT NULL',
  'CREATE INDEX x402_authorizations_transaction ON x402_authorizations (transaction_hash) WHERE transaction_hash IS NOT NULL',
]

export const PUBLISHED_MIGRATIONS = [
  '0001_authorizations',
  '0002_idempotency',
  '0003_relayers',
  '0004_quotes',
  '0005_concluded',
  '0006_purchases',
  '0007_transactions',
]

/** Milliseconds since the epoch at which a lock of a row lapses: never, and long ago. */
const NEVER = 9_999_999_999_999
const LONG_AGO = 1000

const RATE = { currency: 'EUR', rate: '1.08', source: 'fixed', at: '2026-01-01T00:00:00.000Z' }

/** One record a state, as an old gateway left it. */
export const OLD = {
  reserved: newEntry(),
  abandoned: newEntry(),
  submitted: newEntry(),
  delivered: newEntry(),
  failed: newEntry(),
} as const satisfies Readonly<Record<string, LedgerEntry>>

export const OLD_SUBMISSION: Submission = {
  transaction: `0x${'1a'.repeat(32)}`,
  relayer: `0x${'2b'.repeat(20)}`,
  accountNonce: 41,
  raw: '0x02beef',
  replaces: [`0x${'3c'.repeat(32)}`, `0x${'4d'.repeat(32)}`],
}
export const OLD_TRANSFER = `${OLD_SUBMISSION.transaction}:3`
export const OLD_PURCHASE = { resource: hashOf('GET /report'), offer: hashOf('offer') }
export const OLD_RATE = RATE
const OLD_RELAYERS = [`0x${'5e'.repeat(20)}`, `0x${'6f'.repeat(20)}`] as const
export const OLD_ANSWER = { key: 'key', fingerprint: 'fingerprint' }

type Row = Readonly<Record<string, string | number>>

const submitted: Row = {
  transaction_hash: OLD_SUBMISSION.transaction,
  relayer: OLD_SUBMISSION.relayer,
  transaction_count: OLD_SUBMISSION.accountNonce,
  raw: OLD_SUBMISSION.raw,
  replaces: OLD_SUBMISSION.replaces!.join(','),
}

const CHANGES: Readonly<Record<keyof typeof OLD, Row>> = {
  reserved: { state: 'reserved', hold: 'living', held_until: NEVER },
  abandoned: { state: 'reserved', hold: 'dead', held_until: LONG_AGO },
  submitted: { ...submitted, state: 'submitted', hold: 'dying', held_until: LONG_AGO },
  delivered: {
    ...submitted,
    ...OLD_PURCHASE,
    state: 'settled',
    granted: 1,
    hold: 'done',
    quote: JSON.stringify(RATE),
    transfer: OLD_TRANSFER,
  },
  failed: { ...submitted, state: 'failed', reason: 'invalid_transaction_state' },
}

function rowOf(name: keyof typeof OLD): Row {
  const { chainId, asset, from, nonce, payTo, value, validBefore, project = '' } = OLD[name]
  return {
    ...{ chain_id: chainId, asset, payer: from, nonce, id: recordId(OLD[name]), pay_to: payTo },
    ...{ value: `${value}`, valid_before: `${validBefore}`, project },
    ...{ held_until: 0, created_at: LONG_AGO, updated_at: LONG_AGO, ...CHANGES[name] },
  }
}

function insert(table: string, row: Row): string {
  const values = Object.values(row).map((value) =>
    typeof value === 'number' ? value : `'${value}'`,
  )
  return `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${values.join(', ')})`
}

const lease = { chain_id: 84532, holder: 'living' }

/** Makes the tables and fills them. */
export const OLD_DATABASE: readonly string[] = [
  ...TABLES,
  ...PUBLISHED_MIGRATIONS.map((name) => insert('x402_migrations', { name })),
  ...(Object.keys(OLD) as (keyof typeof OLD)[]).map((name) =>
    insert('x402_authorizations', rowOf(name)),
  ),
  insert('x402_idempotency', {
    ...OLD_ANSWER,
    answer: 'the answer',
    done: 1,
    claim: 'done',
    claimed_until: 0,
    updated_at: NEVER,
  }),
  insert('x402_relayer_leases', { ...lease, relayer: OLD_RELAYERS[0], held_until: NEVER }),
  ...OLD_RELAYERS.map((relayer) =>
    insert('x402_relayer_wishes', { ...lease, relayer, wanted_until: NEVER }),
  ),
  insert('x402_secrets', { name: 'quote', secret: 'the secret' }),
]
