/**
 * The statements of the hot path that find and change records, whole for each database.
 *
 * The first parameter of each is a JSON array of rows, in the order of their ids (`rowsParameter`); bytes are
 * hexadecimal digits there. One statement does what all requests of a turn want (`engine/statement-group.ts`): among
 * 32, a reservation takes a twentieth of the time that it takes alone, and an eighth of the CPU of this process.
 *
 * - PostgreSQL would expect 100 rows of an array, and read a small table as a whole for them, and a prepared
 *   statement would go on to do so when the table has grown. Of two limits that are computed, which leave nothing
 *   out, it expects one row, and looks it up by its id.
 * - SQLite reads columns from `jsonb` in a third of the time, and converts each row once because of the limit,
 *   which is none. By the statistics of a small table (`ANALYZE`) it would read all of it without the name of the
 *   index.
 */
import type { Statement } from '../engine/statement.js'

/** Reads records with the bytes of their transactions. */
export const FIND: Statement = {
  postgres: (now) => `
   SELECT a.*, sent.raw, ${now} AS now FROM x402_authorizations AS a
   LEFT JOIN x402_relayer_transactions AS sent
     ON sent.chain_id = a.chain_id AND sent.relayer = a.relayer AND sent.account_nonce = a.account_nonce
   WHERE a.id IN (
     SELECT w.record_id FROM (
       SELECT * FROM (
         SELECT decode(record_id, 'hex') AS record_id
         FROM json_to_recordset($1::json) AS one(record_id text)
         LIMIT (SELECT 2147483647)) AS all_rows
       LIMIT (SELECT 2147483647)) AS w)`,

  sqlite: (now) => `
   SELECT a.*, sent.raw, ${now} AS now FROM x402_authorizations AS a INDEXED BY x402_authorizations_id
   LEFT JOIN x402_relayer_transactions AS sent
     ON sent.chain_id = a.chain_id AND sent.relayer = a.relayer AND sent.account_nonce = a.account_nonce
   WHERE a.id IN (
     SELECT w.record_id FROM (
       SELECT unhex(value->>'record_id') AS record_id FROM json_each(?)) AS w)`,
}

/**
 * Creates records, locked, and returns their ids. A reservation of a dead process that has sent nothing is
 * replaced; so is our own, should the statement run twice. Chain, contract, payer and nonce make the id: they stay.
 */
export const RESERVE: Statement = {
  postgres: (now) => `
   INSERT INTO x402_authorizations AS a
     (id, chain_id, asset, contract, payer, nonce, pay_to, value, valid_before, project, kind, refund_of,
      applied_rate, resource, offer, payment_id, client, asker, resource_url, method, route, decimals, asked_price,
      reference, resource_hash, lock_owner, state, locked_until, created_at, updated_at)
   SELECT decode(record_id, 'hex'), chain_id, decode(asset, 'hex'), decode(contract, 'hex'),
     decode(payer, 'hex'), decode(nonce, 'hex'), decode(pay_to, 'hex'), value, valid_before,
     project, kind, decode(refund_of, 'hex'), applied_rate, resource, offer, payment_id, client, asker,
     resource_url, method, route, decimals, asked_price, reference, resource_hash, lock_owner, 'reserved',
     ${now} + lock_ms, ${now}, ${now}
   FROM json_to_recordset($1::json) AS w(
     record_id text, chain_id bigint, asset text, contract text, payer text, nonce text, pay_to text,
     value text, valid_before text, project text, kind text, refund_of text, applied_rate text, resource text,
     offer text, payment_id text, client text, asker text, resource_url text, method text, route text,
     decimals int, asked_price text, reference text, resource_hash text, lock_owner text, lock_ms bigint)
   ON CONFLICT (id) DO UPDATE SET
     (asset, contract, pay_to, value, valid_before, project, kind, refund_of, applied_rate, resource, offer,
      payment_id, client, asker, resource_url, method, route, decimals, asked_price, reference, resource_hash,
      lock_owner, locked_until, created_at, updated_at) =
     (excluded.asset, excluded.contract, excluded.pay_to, excluded.value, excluded.valid_before,
      excluded.project, excluded.kind, excluded.refund_of, excluded.applied_rate, excluded.resource,
      excluded.offer, excluded.payment_id, excluded.client, excluded.asker, excluded.resource_url,
      excluded.method, excluded.route, excluded.decimals, excluded.asked_price, excluded.reference,
      excluded.resource_hash, excluded.lock_owner, excluded.locked_until, excluded.created_at, excluded.updated_at)
   WHERE a.state = 'reserved' AND a.lock_owner IS NOT NULL
     AND (a.locked_until < ${now} OR a.lock_owner = excluded.lock_owner)
   RETURNING encode(id, 'hex') AS id`,

  // Without WHERE, SQLite would take ON CONFLICT for a condition of a join.
  sqlite: (now) => `
   INSERT INTO x402_authorizations AS a
     (id, chain_id, asset, contract, payer, nonce, pay_to, value, valid_before, project, kind, refund_of,
      applied_rate, resource, offer, payment_id, client, asker, resource_url, method, route, decimals, asked_price,
      reference, resource_hash, lock_owner, state, locked_until, created_at, updated_at)
   SELECT unhex(w->>'record_id'), w->>'chain_id', unhex(w->>'asset'), unhex(w->>'contract'),
     unhex(w->>'payer'), unhex(w->>'nonce'), unhex(w->>'pay_to'), w->>'value', w->>'valid_before',
     w->>'project', w->>'kind', unhex(w->>'refund_of'), w->>'applied_rate', w->>'resource',
     w->>'offer', w->>'payment_id', w->>'client', w->>'asker', w->>'resource_url', w->>'method',
     w->>'route', w->>'decimals', w->>'asked_price', w->>'reference', w->>'resource_hash',
     w->>'lock_owner', 'reserved', ${now} + (w->>'lock_ms'), ${now}, ${now}
   FROM (SELECT jsonb(value) AS w FROM json_each(?) LIMIT -1)
   WHERE true
   ON CONFLICT (id) DO UPDATE SET
     (asset, contract, pay_to, value, valid_before, project, kind, refund_of, applied_rate, resource, offer,
      payment_id, client, asker, resource_url, method, route, decimals, asked_price, reference, resource_hash,
      lock_owner, locked_until, created_at, updated_at) =
     (excluded.asset, excluded.contract, excluded.pay_to, excluded.value, excluded.valid_before,
      excluded.project, excluded.kind, excluded.refund_of, excluded.applied_rate, excluded.resource,
      excluded.offer, excluded.payment_id, excluded.client, excluded.asker, excluded.resource_url,
      excluded.method, excluded.route, excluded.decimals, excluded.asked_price, excluded.reference,
      excluded.resource_hash, excluded.lock_owner, excluded.locked_until, excluded.created_at, excluded.updated_at)
   WHERE a.state = 'reserved' AND a.lock_owner IS NOT NULL
     AND (a.locked_until < ${now} OR a.lock_owner = excluded.lock_owner)
   RETURNING lower(hex(id)) AS id`,
}

/** Forgets reservations of payments for which nothing was sent, and returns their ids. */
export const RELEASE: Statement = {
  postgres: () => `
   DELETE FROM x402_authorizations AS a
   WHERE a.state = 'reserved' AND a.refund_of IS NULL AND (a.id, a.lock_owner) IN (
     SELECT w.record_id, w.lock_owner FROM (
       SELECT * FROM (
         SELECT decode(record_id, 'hex') AS record_id, lock_owner
         FROM json_to_recordset($1::json) AS one(record_id text, lock_owner text)
         LIMIT (SELECT 2147483647)) AS all_rows
       LIMIT (SELECT 2147483647)) AS w)
   RETURNING encode(id, 'hex') AS id`,

  sqlite: () => `
   DELETE FROM x402_authorizations AS a INDEXED BY x402_authorizations_id
   WHERE a.state = 'reserved' AND a.refund_of IS NULL AND (a.id, a.lock_owner) IN (
     SELECT w.record_id, w.lock_owner FROM (
       SELECT unhex(value->>'record_id') AS record_id, value->>'lock_owner' AS lock_owner
       FROM (SELECT jsonb(value) AS value FROM json_each(?) LIMIT -1)) AS w)
   RETURNING lower(hex(id)) AS id`,
}

/**
 * Marks payments as delivered, and returns their ids. Where a transfer is named that has paid, the payment is
 * settled in the same write; nothing changes where that transfer has paid for another record.
 */
export const DELIVER: Statement = {
  postgres: (now) => `
   UPDATE x402_authorizations AS a
     SET delivered = 1,
       state = CASE WHEN w.transaction_hash IS NULL THEN a.state ELSE 'settled' END,
       transaction_hash = CASE a.state WHEN 'submitted'
         THEN coalesce(w.transaction_hash, a.transaction_hash) ELSE a.transaction_hash END,
       transfer = CASE a.state WHEN 'submitted' THEN coalesce(w.transfer, a.transfer) ELSE a.transfer END,
       updated_at = ${now}
     FROM (
       SELECT * FROM (
         SELECT decode(record_id, 'hex') AS record_id, lock_owner,
           decode(transaction_hash, 'hex') AS transaction_hash, transfer
         FROM json_to_recordset($1::json)
           AS one(record_id text, lock_owner text, transaction_hash text, transfer text)
         LIMIT (SELECT 2147483647)) AS all_rows
       LIMIT (SELECT 2147483647)) AS w
     WHERE a.id = w.record_id AND a.lock_owner = w.lock_owner AND a.state IN ('submitted', 'settled')
       AND NOT EXISTS (
         SELECT 1 FROM x402_authorizations AS other
         WHERE other.transfer = w.transfer AND other.id <> w.record_id)
     RETURNING encode(id, 'hex') AS id`,

  sqlite: (now) => `
   UPDATE x402_authorizations AS a INDEXED BY x402_authorizations_id
     SET delivered = 1,
       state = CASE WHEN w.transaction_hash IS NULL THEN a.state ELSE 'settled' END,
       transaction_hash = CASE a.state WHEN 'submitted'
         THEN coalesce(w.transaction_hash, a.transaction_hash) ELSE a.transaction_hash END,
       transfer = CASE a.state WHEN 'submitted' THEN coalesce(w.transfer, a.transfer) ELSE a.transfer END,
       updated_at = ${now}
     FROM (
       SELECT unhex(value->>'record_id') AS record_id, value->>'lock_owner' AS lock_owner,
         unhex(value->>'transaction_hash') AS transaction_hash, value->>'transfer' AS transfer
       FROM (SELECT jsonb(value) AS value FROM json_each(?) LIMIT -1)) AS w
     WHERE a.id = w.record_id AND a.lock_owner = w.lock_owner AND a.state IN ('submitted', 'settled')
       AND NOT EXISTS (
         SELECT 1 FROM x402_authorizations AS other
         WHERE other.transfer = w.transfer AND other.id <> w.record_id)
     RETURNING lower(hex(id)) AS id`,
}

/**
 * Makes open records final, and returns their ids. Nothing changes where the transfer has paid for another record.
 *
 * A failed payment is unlocked: it may be sent again. News of an earlier failure is then out of date. A
 * failed payment that is locked is about to be sent again, and may turn out to be paid.
 */
export const CONCLUDE: Statement = {
  postgres: (now) => `
   UPDATE x402_authorizations AS a
     SET state = w.state, transaction_hash = w.transaction_hash,
       transfer = coalesce(w.transfer, a.transfer), reason = w.reason,
       lock_owner = CASE w.state WHEN 'failed' THEN NULL ELSE a.lock_owner END,
       locked_until = CASE w.state WHEN 'failed' THEN 0 ELSE a.locked_until END,
       updated_at = ${now}
     FROM (
       SELECT * FROM (
         SELECT decode(record_id, 'hex') AS record_id, state,
           decode(transaction_hash, 'hex') AS transaction_hash, transfer, reason
         FROM json_to_recordset($1::json)
           AS one(record_id text, state text, transaction_hash text, transfer text, reason text)
         LIMIT (SELECT 2147483647)) AS all_rows
       LIMIT (SELECT 2147483647)) AS w
     WHERE a.id = w.record_id
       AND (a.state IN ('reserved', 'submitted')
         OR a.state = 'failed' AND w.state = 'settled' AND a.lock_owner IS NOT NULL)
       AND (w.state = 'settled' OR a.failed IS NULL
         OR a.failed NOT LIKE '%' || encode(w.transaction_hash, 'hex') || '%')
       AND NOT EXISTS (
         SELECT 1 FROM x402_authorizations AS other
         WHERE other.transfer = w.transfer AND other.id <> w.record_id)
     RETURNING encode(id, 'hex') AS id`,

  sqlite: (now) => `
   UPDATE x402_authorizations AS a INDEXED BY x402_authorizations_id
     SET state = w.state, transaction_hash = w.transaction_hash,
       transfer = coalesce(w.transfer, a.transfer), reason = w.reason,
       lock_owner = CASE w.state WHEN 'failed' THEN NULL ELSE a.lock_owner END,
       locked_until = CASE w.state WHEN 'failed' THEN 0 ELSE a.locked_until END,
       updated_at = ${now}
     FROM (
       SELECT unhex(value->>'record_id') AS record_id, value->>'state' AS state,
         unhex(value->>'transaction_hash') AS transaction_hash, value->>'transfer' AS transfer,
         value->>'reason' AS reason
       FROM (SELECT jsonb(value) AS value FROM json_each(?) LIMIT -1)) AS w
     WHERE a.id = w.record_id
       AND (a.state IN ('reserved', 'submitted')
         OR a.state = 'failed' AND w.state = 'settled' AND a.lock_owner IS NOT NULL)
       AND (w.state = 'settled' OR a.failed IS NULL
         OR a.failed NOT LIKE '%' || lower(hex(w.transaction_hash)) || '%')
       AND NOT EXISTS (
         SELECT 1 FROM x402_authorizations AS other
         WHERE other.transfer = w.transfer AND other.id <> w.record_id)
     RETURNING lower(hex(id)) AS id`,
}
