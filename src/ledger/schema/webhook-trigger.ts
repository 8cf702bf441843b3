/**
 * The trigger that writes the deliveries of webhooks, whole for each database.
 *
 * It runs in every statement that changes a record: an event is committed together with the change that it
 * reports. An event happens when a record becomes final or a final one changes, and when nobody waits any more
 * for a payment whose transaction was sent; a payment is announced as pending once at most. Refunds have the same
 * events, named `refund.…`. Each endpoint that wants the event gets a delivery; a project without endpoints costs
 * nothing.
 */
import type { SqlDialect } from '../engine/dialect.js'

/** Runs a statement that has no parameters. @returns Its rows, whose columns are texts. */
export type RunSql = (statement: string) => Promise<readonly Readonly<Record<string, string>>[]>

const SQLITE_TRIGGER = (now: string): string => `
  CREATE TRIGGER x402_webhook_events AFTER UPDATE OF state, transaction_hash, locked_until ON x402_authorizations
    WHEN NEW.state IN ('settled', 'failed')
        AND (NEW.state <> OLD.state
          OR coalesce(NEW.transaction_hash, '') <> coalesce(OLD.transaction_hash, ''))
      OR NEW.state = 'submitted' AND NEW.delivered = 0 AND NEW.locked_until = 0 AND OLD.locked_until <> 0
  BEGIN
    INSERT INTO x402_webhook_deliveries
      (id, endpoint, project, type, payment, version, payment_state, transaction_hash, reason, payment_at,
       state, attempts, next_at, retry_from, created_at)
    SELECT 'msg_' || lower(hex(randomblob(16))), e.id, NEW.project, event.type, event.payment,
      1 + coalesce((SELECT max(d.version) FROM x402_webhook_deliveries AS d WHERE d.payment = event.payment), 0),
      NEW.state, iif(NEW.transaction_hash IS NULL, NULL, '0x' || lower(hex(NEW.transaction_hash))), NEW.reason, NEW.updated_at,
      'pending', 0, ${now}, ${now}, ${now}
    FROM (SELECT lower(hex(NEW.id)) AS payment, NEW.kind || CASE
        WHEN OLD.state IN ('settled', 'failed') THEN '.corrected'
        WHEN NEW.state = 'submitted' THEN '.pending'
        ELSE '.' || NEW.state END AS type) AS event, x402_webhook_endpoints AS e
    WHERE e.project = NEW.project AND e.events LIKE '%,' || event.type || ',%'
      AND (NEW.state <> 'submitted' OR NOT EXISTS (
        SELECT 1 FROM x402_webhook_deliveries AS d WHERE d.payment = event.payment AND d.endpoint = e.id));
  END`

/**
 * Runs once a statement, not once a record: statements change many records, and a call takes longer than what it
 * does. It looks for endpoints first: most gateways have none. Neither query has parameters, so PostgreSQL keeps
 * one plan for each without being told to. The function may be there already: it outlives tables that are
 * dropped by hand.
 *
 * @param schema - Names the tables' schema: with a search path that is set for each call, each would be planned.
 */
const POSTGRES_FUNCTION = (now: string, schema: string): string => `
  CREATE OR REPLACE FUNCTION x402_webhook_statement() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF EXISTS (SELECT FROM ${schema}.x402_webhook_endpoints) THEN
      INSERT INTO ${schema}.x402_webhook_deliveries
        (id, endpoint, project, type, payment, version, payment_state, transaction_hash, reason, payment_at,
         state, attempts, next_at, retry_from, created_at)
      SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), e.id, became.project, event.type, event.payment,
        1 + coalesce((SELECT max(d.version) FROM ${schema}.x402_webhook_deliveries AS d
          WHERE d.payment = event.payment), 0),
        became.state, '0x' || encode(became.transaction_hash, 'hex'), became.reason, became.updated_at,
        'pending', 0, ${now}, ${now}, ${now}
      FROM x402_after AS became JOIN x402_before AS was ON was.id = became.id
        CROSS JOIN LATERAL (SELECT encode(became.id, 'hex') AS payment, became.kind || CASE
          WHEN was.state IN ('settled', 'failed') THEN '.corrected'
          WHEN became.state = 'submitted' THEN '.pending'
          ELSE '.' || became.state END AS type) AS event
        JOIN ${schema}.x402_webhook_endpoints AS e ON e.project = became.project
      WHERE (became.state IN ('settled', 'failed')
            AND (became.state <> was.state
              OR coalesce(became.transaction_hash, '') <> coalesce(was.transaction_hash, ''))
          OR became.state = 'submitted' AND became.delivered = 0
            AND became.locked_until = 0 AND was.locked_until <> 0)
        AND e.events LIKE '%,' || event.type || ',%'
        AND (became.state <> 'submitted' OR NOT EXISTS (
          SELECT 1 FROM ${schema}.x402_webhook_deliveries AS d
          WHERE d.payment = event.payment AND d.endpoint = e.id));
    END IF;
    RETURN NULL; END $$`

export async function createWebhookTrigger(
  { isPostgres, now }: SqlDialect,
  run: RunSql,
): Promise<void> {
  if (!isPostgres) return void (await run(SQLITE_TRIGGER(now)))
  const [row] = await run('SELECT quote_ident(current_schema()) AS schema')
  await run(POSTGRES_FUNCTION(now, row!['schema']!))
  await run(`CREATE TRIGGER x402_webhook_statement AFTER UPDATE ON x402_authorizations
    REFERENCING OLD TABLE AS x402_before NEW TABLE AS x402_after
    FOR EACH STATEMENT EXECUTE FUNCTION x402_webhook_statement()`)
}
