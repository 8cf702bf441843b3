/**
 * Triggers that write the deliveries of webhooks.
 *
 * They run in every statement that changes a record: an event is committed together with the change that it
 * reports. Nothing is written for a project without endpoints.
 *
 * Migrations create them from here; a text that was published is never edited.
 */
import type { MigrationContext } from './migration.js'
import { POSTGRES, SQLITE, type SqlDialect } from './sql-dialect.js'

/** A final record is new or has changed, or nobody waits any more for a transaction that was sent. */
const HAPPENED = `NEW.state IN ('settled', 'failed')
    AND (NEW.state <> OLD.state OR coalesce(NEW.transaction_hash, '') <> coalesce(OLD.transaction_hash, ''))
  OR NEW.state = 'submitted' AND NEW.delivered = 0 AND NEW.locked_until = 0 AND OLD.locked_until <> 0
    AND NEW.kind = 'payment'`

const TYPE = `CASE
  WHEN NEW.kind = 'refund' THEN 'refund.' || NEW.state
  WHEN OLD.state IN ('settled', 'failed') THEN 'payment.corrected'
  WHEN NEW.state = 'settled' THEN 'payment.settled'
  WHEN NEW.state = 'failed' THEN 'payment.failed'
  ELSE 'payment.pending' END`

const CHANGES = 'AFTER UPDATE OF state, transaction_hash, locked_until ON x402_authorizations'

/** The trigger of SQLite. */
export const SQLITE_TRIGGER = 'x402_webhook_events'

/** How a trigger reads records. */
interface TriggerOptions {
  /** With a point, for names of tables. */
  readonly schema?: string
  /** The tables of changed records, where a trigger has them. */
  readonly changed?: string
  /** The id of the changed record, as deliveries have it. */
  readonly id?: string
  /** The hash of its transaction, as deliveries have it. */
  readonly transaction?: string
}

/** One delivery for each endpoint that wants the event. A payment is announced as pending once at most. */
const insertFor = (
  { now }: SqlDialect,
  randomId: string,
  {
    schema = '',
    changed = '',
    id = 'NEW.id',
    transaction = 'NEW.transaction_hash',
  }: TriggerOptions,
): string =>
  `INSERT INTO ${schema}x402_webhook_deliveries (id, endpoint, project, type, payment, version, payment_state,
    transaction_hash, reason, payment_at, state, attempts, next_at, retry_from, created_at)
  SELECT 'msg_' || ${randomId}, e.id, NEW.project, ${TYPE}, ${id},
    1 + coalesce((SELECT max(d.version) FROM ${schema}x402_webhook_deliveries AS d WHERE d.payment = ${id}), 0),
    NEW.state, ${transaction}, NEW.reason, NEW.updated_at, 'pending', 0, ${now}, ${now}, ${now}
  FROM ${changed}${schema}x402_webhook_endpoints AS e
  WHERE e.project = NEW.project AND e.events LIKE '%,' || ${TYPE} || ',%'
    AND (NEW.state <> 'submitted' OR NOT EXISTS (
      SELECT 1 FROM ${schema}x402_webhook_deliveries AS d WHERE d.payment = ${id} AND d.endpoint = e.id))`

/** How deliveries name what records have as bytes. */
const asDigits = ({ toDigits }: SqlDialect) => ({
  id: toDigits('NEW.id'),
  transaction: `'0x' || ${toDigits('NEW.transaction_hash')}`,
})

/** The insert of PostgreSQL, which reads ids and hashes that are bytes. */
const insertAsDigits = (schema: string): string =>
  insertFor(POSTGRES, RANDOM_ID, { schema, changed: CHANGED, ...asDigits(POSTGRES) })

const SQLITE_RANDOM_ID = 'lower(hex(randomblob(16)))'
const RANDOM_ID = `replace(gen_random_uuid()::text, '-', '')`

/** Creates the trigger of a database. */
export async function createWebhookTrigger({ isPostgres, run }: MigrationContext): Promise<void> {
  if (!isPostgres) {
    await run(sqliteTrigger(insertFor(SQLITE, SQLITE_RANDOM_ID, {})))
    return
  }
  const insert = insertFor(POSTGRES, RANDOM_ID, { schema: await schemaOf(run) })
  // One plan for all calls: planning takes longer than the insert.
  await run(`CREATE OR REPLACE FUNCTION x402_webhook_events() RETURNS trigger LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan AS $$ BEGIN ${insert}; RETURN NULL; END $$`)
  await run(`CREATE TRIGGER x402_webhook_events ${CHANGES} FOR EACH ROW WHEN (${HAPPENED})
    EXECUTE FUNCTION x402_webhook_events()`)
}

/** The tables of records that a statement has changed, in place of the one record that a row's trigger has. */
const CHANGED = 'x402_after AS became JOIN x402_before AS was ON was.id = became.id, '
const ofTables = (text: string): string =>
  text.replaceAll('NEW.', 'became.').replaceAll('OLD.', 'was.')

/**
 * Has PostgreSQL run the trigger once a statement, not once a record: statements change many records, and
 * a call takes longer than what it does.
 */
export async function announceByStatement({ isPostgres, run }: MigrationContext): Promise<void> {
  if (!isPostgres) return
  const schema = await schemaOf(run)
  await run(statementFunction(insertFor(POSTGRES, RANDOM_ID, { schema, changed: CHANGED })))
  await run('DROP TRIGGER x402_webhook_events ON x402_authorizations')
  await run('DROP FUNCTION x402_webhook_events')
  await run(`CREATE TRIGGER x402_webhook_statement AFTER UPDATE ON x402_authorizations
    REFERENCING OLD TABLE AS x402_before NEW TABLE AS x402_after
    FOR EACH STATEMENT EXECUTE FUNCTION x402_webhook_statement()`)
}

/**
 * Has PostgreSQL look for endpoints first. Most gateways have none, and each change of their payments would
 * run an insert of nothing.
 */
export async function skipWithoutEndpoints({ isPostgres, run }: MigrationContext): Promise<void> {
  if (!isPostgres) return
  const schema = await schemaOf(run)
  const insert = ofTables(`${insertAsDigits(schema)} AND (${HAPPENED})`)
  // Neither query has parameters, so PostgreSQL keeps one plan for each without being told to.
  await run(`CREATE OR REPLACE FUNCTION x402_webhook_statement() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT FROM ${schema}x402_webhook_endpoints) THEN ${insert}; END IF;
    RETURN NULL; END $$`)
}

/** Has the trigger of a database read records whose ids and hashes are bytes. SQLite has none by now. */
export async function announceBytes({ isPostgres, run }: MigrationContext): Promise<void> {
  const insert = isPostgres
    ? insertAsDigits(await schemaOf(run))
    : insertFor(SQLITE, SQLITE_RANDOM_ID, asDigits(SQLITE))
  await run(isPostgres ? statementFunction(insert) : sqliteTrigger(insert))
}

const sqliteTrigger = (insert: string): string =>
  `CREATE TRIGGER ${SQLITE_TRIGGER} ${CHANGES} WHEN ${HAPPENED} BEGIN ${insert}; END`

const statementFunction = (insert: string): string =>
  `CREATE OR REPLACE FUNCTION x402_webhook_statement() RETURNS trigger LANGUAGE plpgsql
    SET plan_cache_mode = force_generic_plan
    AS $$ BEGIN ${ofTables(`${insert} AND (${HAPPENED})`)}; RETURN NULL; END $$`

/** The schema, for names: a search path that is set for each call would have it planned each time. */
async function schemaOf(run: MigrationContext['run']): Promise<string> {
  const rows = await run<'schema'>('SELECT current_schema() AS schema')
  return `"${rows[0]?.schema.replaceAll('"', '""')}".`
}
