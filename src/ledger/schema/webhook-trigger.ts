/**
 * The trigger that writes the deliveries of webhooks.
 *
 * It runs in every statement that changes a record: an event is committed together with the change that it
 * reports. Nothing is written for a project without endpoints.
 */
import type { SqlDialect } from '../engine/dialect.js'
import type { MigrationContext } from './migration-context.js'

/** How a trigger names what it reads. */
interface Names {
  /** The record before the change, and after it. */
  readonly was: string
  readonly became: string
  /** Prefix of the names of tables. */
  readonly schema: string
}

/** A final record is new or has changed, or nobody waits any more for a transaction that was sent. */
const happened = ({ was, became }: Names): string =>
  `(${became}.state IN ('settled', 'failed')
      AND (${became}.state <> ${was}.state
        OR coalesce(${became}.transaction_hash, '') <> coalesce(${was}.transaction_hash, ''))
    OR ${became}.state = 'submitted' AND ${became}.delivered = 0 AND ${became}.kind = 'payment'
      AND ${became}.locked_until = 0 AND ${was}.locked_until <> 0)`

const eventOf = ({ was, became }: Names): string =>
  `CASE
    WHEN ${became}.kind = 'refund' THEN 'refund.' || ${became}.state
    WHEN ${was}.state IN ('settled', 'failed') THEN 'payment.corrected'
    WHEN ${became}.state = 'settled' THEN 'payment.settled'
    WHEN ${became}.state = 'failed' THEN 'payment.failed'
    ELSE 'payment.pending' END`

/** Writes one delivery for each endpoint that wants the event. A payment is announced as pending once at most. */
function insert({ now, randomId, toDigits }: SqlDialect, names: Names, changed = ''): string {
  const { became, schema } = names
  const id = toDigits(`${became}.id`)
  const event = eventOf(names)
  return `INSERT INTO ${schema}x402_webhook_deliveries
      (id, endpoint, project, type, payment, version,
       payment_state, transaction_hash, reason, payment_at,
       state, attempts, next_at, retry_from, created_at)
    SELECT 'msg_' || ${randomId}, e.id, ${became}.project, ${event}, ${id},
      1 + coalesce((SELECT max(d.version) FROM ${schema}x402_webhook_deliveries AS d WHERE d.payment = ${id}), 0),
      ${became}.state, '0x' || ${toDigits(`${became}.transaction_hash`)}, ${became}.reason, ${became}.updated_at,
      'pending', 0, ${now}, ${now}, ${now}
    FROM ${changed}${schema}x402_webhook_endpoints AS e
    WHERE e.project = ${became}.project AND e.events LIKE '%,' || ${event} || ',%'
      AND (${became}.state <> 'submitted' OR NOT EXISTS (
        SELECT 1 FROM ${schema}x402_webhook_deliveries AS d WHERE d.payment = ${id} AND d.endpoint = e.id))`
}

/** Creates the trigger of a database. */
export async function createWebhookTrigger({ dialect, run }: MigrationContext): Promise<void> {
  if (!dialect.isPostgres) {
    const names = { was: 'OLD', became: 'NEW', schema: '' }
    await run(`CREATE TRIGGER x402_webhook_events
      AFTER UPDATE OF state, transaction_hash, locked_until ON x402_authorizations
      WHEN ${happened(names)} BEGIN ${insert(dialect, names)}; END`)
    return
  }
  // The schema is named: a search path that is set for each call would have it planned each time.
  const [row] = await run('SELECT current_schema() AS schema')
  const schema = `"${row?.['schema']?.replaceAll('"', '""')}".`
  const names = { was: 'was', became: 'became', schema }
  const changed = 'x402_after AS became JOIN x402_before AS was ON was.id = became.id, '
  // Runs once a statement, not once a record: statements change many records, and a call takes longer than
  // what it does. It looks for endpoints first: most gateways have none. Neither query has parameters, so
  // PostgreSQL keeps one plan for each without being told to.
  // It may be there already: it outlives the tables where these are dropped by hand.
  await run(`CREATE OR REPLACE FUNCTION x402_webhook_statement() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT FROM ${schema}x402_webhook_endpoints) THEN
      ${insert(dialect, names, changed)} AND ${happened(names)};
    END IF;
    RETURN NULL; END $$`)
  await run(`CREATE TRIGGER x402_webhook_statement AFTER UPDATE ON x402_authorizations
    REFERENCING OLD TABLE AS x402_before NEW TABLE AS x402_after
    FOR EACH STATEMENT EXECUTE FUNCTION x402_webhook_statement()`)
}
