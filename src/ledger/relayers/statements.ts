/**
 * The statements that write a transaction down for its payments, whole for each database.
 *
 * Their parameters are a JSON array of payments with `record_id`, `lock_owner`, `replaces` and `charged`, in the order
 * of their ids; the hash, relayer and account nonce that they share; and, for {@link SUBMIT_NEXT}, the chain, the
 * bytes, and the hashes that the transaction replaces. A payment may be written that we have locked, or whose
 * transaction is replaced: same relayer, same account nonce. After a failure, `failed` keeps the hashes under
 * which that transaction may be mined in another block.
 *
 * A charge is written with the first transaction of a payment, at most its value; whatever is sent for it later
 * takes the same. Both are decimal texts, which are compared by length first: SQLite has no numbers that large.
 *
 * Why limits, `jsonb` and the name of an index are there is said in `payments/statements.ts`.
 */
import type { Statement } from '../engine/statement.js'

/** Writes down a transaction for those of its payments that may be written, and returns their ids. */
export const SUBMIT: Statement = {
  postgres: (now) => `
   WITH given AS (
     SELECT * FROM (
       SELECT * FROM (
         SELECT decode(record_id, 'hex') AS record_id, lock_owner, replaces, charged
         FROM json_to_recordset($1::json) AS one(record_id text, lock_owner text, replaces text, charged text)
         LIMIT (SELECT 2147483647)) AS all_rows
       LIMIT (SELECT 2147483647)) AS limited
   ), sent AS (
     SELECT CAST($2 AS BYTEA) AS transaction_hash, CAST($3 AS BYTEA) AS relayer, CAST($4 AS BIGINT) AS account_nonce
   ), w AS MATERIALIZED (
     SELECT * FROM given, sent
   )
   UPDATE x402_authorizations AS a
     SET state = 'submitted', reason = NULL,
       failed = CASE a.state
         WHEN 'failed' THEN '0x' || encode(a.transaction_hash, 'hex')
           || coalesce(',' || a.replaces, '') || coalesce(',' || a.failed, '')
         ELSE a.failed END,
       transaction_hash = w.transaction_hash, relayer = w.relayer, account_nonce = w.account_nonce,
       replaces = w.replaces,
       charged = CASE a.state WHEN 'reserved' THEN w.charged ELSE a.charged END,
       updated_at = ${now}
     FROM w
     WHERE a.id = w.record_id
       AND (a.state = 'submitted' AND a.relayer = w.relayer AND a.account_nonce = w.account_nonce
         OR a.state IN ('reserved', 'submitted', 'failed') AND a.lock_owner = w.lock_owner)
       AND (w.charged IS NULL OR w.charged = coalesce(a.charged, a.value)
         OR a.state = 'reserved' AND (length(w.charged), w.charged) < (length(a.value), a.value))
     RETURNING encode(id, 'hex') AS id`,

  sqlite: (now) => `
   WITH given AS (
     SELECT unhex(value->>'record_id') AS record_id, value->>'lock_owner' AS lock_owner,
       value->>'replaces' AS replaces, value->>'charged' AS charged
     FROM (SELECT jsonb(value) AS value FROM json_each(?) LIMIT -1)
   ), sent AS (
     SELECT CAST(? AS BLOB) AS transaction_hash, CAST(? AS BLOB) AS relayer, CAST(? AS INTEGER) AS account_nonce
   ), w AS MATERIALIZED (
     SELECT * FROM given, sent
   )
   UPDATE x402_authorizations AS a INDEXED BY x402_authorizations_id
     SET state = 'submitted', reason = NULL,
       failed = CASE a.state
         WHEN 'failed' THEN '0x' || lower(hex(a.transaction_hash))
           || coalesce(',' || a.replaces, '') || coalesce(',' || a.failed, '')
         ELSE a.failed END,
       transaction_hash = w.transaction_hash, relayer = w.relayer, account_nonce = w.account_nonce,
       replaces = w.replaces,
       charged = CASE a.state WHEN 'reserved' THEN w.charged ELSE a.charged END,
       updated_at = ${now}
     FROM w
     WHERE a.id = w.record_id
       AND (a.state = 'submitted' AND a.relayer = w.relayer AND a.account_nonce = w.account_nonce
         OR a.state IN ('reserved', 'submitted', 'failed') AND a.lock_owner = w.lock_owner)
       AND (w.charged IS NULL OR w.charged = coalesce(a.charged, a.value)
         OR a.state = 'reserved' AND (length(w.charged), w.charged) < (length(a.value), a.value))
     RETURNING lower(hex(id)) AS id`,
}

/**
 * Takes an account nonce if it is the next one, and writes the transaction that is signed with it down, with its
 * bytes, for all of its payments. It changes nothing and returns no row if the nonce was taken or a payment may
 * not be written.
 *
 * One statement, where a transaction that locks the account's row takes five: a paid request takes 3.1 statements
 * alone, and 0.2 among 32 (test/bench/RESULTS.md).
 */
export const SUBMIT_NEXT: Statement = {
  postgres: (now) => `
   WITH given AS (
     SELECT * FROM (
       SELECT * FROM (
         SELECT decode(record_id, 'hex') AS record_id, lock_owner, replaces, charged
         FROM json_to_recordset($1::json) AS one(record_id text, lock_owner text, replaces text, charged text)
         LIMIT (SELECT 2147483647)) AS all_rows
       LIMIT (SELECT 2147483647)) AS limited
   ), sent AS (
     SELECT CAST($2 AS BYTEA) AS transaction_hash, CAST($3 AS BYTEA) AS relayer, CAST($4 AS BIGINT) AS account_nonce
   ), w AS MATERIALIZED (
     SELECT * FROM given, sent
   ), bytes AS (
     SELECT CAST($5 AS BIGINT) AS chain_id, CAST($6 AS BYTEA) AS raw, CAST($7 AS TEXT) AS replaces
   ), free AS (
     SELECT a.id FROM w JOIN x402_authorizations AS a ON a.id = w.record_id
     WHERE (a.state = 'submitted' AND a.relayer = w.relayer AND a.account_nonce = w.account_nonce
         OR a.state IN ('reserved', 'submitted', 'failed') AND a.lock_owner = w.lock_owner)
       AND (w.charged IS NULL OR w.charged = coalesce(a.charged, a.value)
         OR a.state = 'reserved' AND (length(w.charged), w.charged) < (length(a.value), a.value))
     ORDER BY a.id FOR NO KEY UPDATE OF a
   ), taken AS (
     UPDATE x402_relayer_nonces AS n SET next_nonce = n.next_nonce + 1 FROM sent, bytes
     WHERE n.chain_id = bytes.chain_id AND n.relayer = sent.relayer AND n.next_nonce = sent.account_nonce
       AND (SELECT count(*) FROM free) = (SELECT count(*) FROM w)
     RETURNING n.chain_id, n.relayer
   ), kept AS (
     INSERT INTO x402_relayer_transactions
       (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, written_at)
     SELECT taken.chain_id, taken.relayer, sent.account_nonce, sent.transaction_hash, bytes.raw, bytes.replaces, ${now}
     FROM taken, sent, bytes
     ON CONFLICT (chain_id, relayer, account_nonce) DO UPDATE
       SET transaction_hash = excluded.transaction_hash, raw = excluded.raw, replaces = excluded.replaces,
         written_at = excluded.written_at
   ), written AS (
     UPDATE x402_authorizations AS a
     SET state = 'submitted', reason = NULL,
       failed = CASE a.state
         WHEN 'failed' THEN '0x' || encode(a.transaction_hash, 'hex')
           || coalesce(',' || a.replaces, '') || coalesce(',' || a.failed, '')
         ELSE a.failed END,
       transaction_hash = w.transaction_hash, relayer = w.relayer, account_nonce = w.account_nonce,
       replaces = w.replaces,
       charged = CASE a.state WHEN 'reserved' THEN w.charged ELSE a.charged END,
       updated_at = ${now}
     FROM w, taken
     WHERE a.id = w.record_id
   )
   SELECT relayer FROM taken`,

  // The trigger of {@link createNextSubmission} does the rest. SQLite reads the tables of a `CROSS JOIN` in
  // the order in which they are named: it looks rows up by their ids, whatever its statistics say.
  sqlite: () => `
   WITH given AS (
     SELECT unhex(value->>'record_id') AS record_id, value->>'lock_owner' AS lock_owner,
       value->>'replaces' AS replaces, value->>'charged' AS charged
     FROM (SELECT jsonb(value) AS value FROM json_each(?) LIMIT -1)
   ), sent AS (
     SELECT CAST(? AS BLOB) AS transaction_hash, CAST(? AS BLOB) AS relayer, CAST(? AS INTEGER) AS account_nonce
   ), w AS MATERIALIZED (
     SELECT * FROM given, sent
   ), bytes AS (
     SELECT CAST(? AS INTEGER) AS chain_id, CAST(? AS BLOB) AS raw, CAST(? AS TEXT) AS replaces
   )
   INSERT INTO x402_next_submission
     (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, payments, charges)
   SELECT bytes.chain_id, sent.relayer, sent.account_nonce, sent.transaction_hash, bytes.raw, bytes.replaces,
     (SELECT json_group_object(hex(w.record_id), w.replaces) FROM w),
     (SELECT json_group_object(hex(w.record_id), w.charged) FROM w WHERE w.charged IS NOT NULL)
   FROM sent, bytes, x402_relayer_nonces AS n
   WHERE n.chain_id = bytes.chain_id AND n.relayer = sent.relayer AND n.next_nonce = sent.account_nonce
     AND (SELECT count(*) FROM w CROSS JOIN x402_authorizations AS a
       WHERE a.id = w.record_id
       AND (a.state = 'submitted' AND a.relayer = w.relayer AND a.account_nonce = w.account_nonce
         OR a.state IN ('reserved', 'submitted', 'failed') AND a.lock_owner = w.lock_owner)
       AND (w.charged IS NULL OR w.charged = coalesce(a.charged, a.value)
         OR a.state = 'reserved' AND (length(w.charged), w.charged) < (length(a.value), a.value)))
     = (SELECT count(*) FROM w)
   RETURNING account_nonce`,
}

/**
 * SQL that creates what SQLite has in place of a stored procedure: a view with a trigger. Inserting a row
 * takes an account nonce, keeps the bytes of a transaction, and writes it down for its payments.
 *
 * One statement that changes three tables is atomic without a transaction, which would keep others from
 * the connection while it is signed. The trigger checks nothing: {@link SUBMIT_NEXT} inserts a row only if the
 * nonce is the next one and all payments may be written. View and trigger are temporary: each connection
 * has its own, and the file contains neither.
 *
 * `payments` and `charges` are JSON objects, by id of a record: the hashes that the transaction replaces, and what it
 * takes. They are written by another view, one by one: an update of several, in a statement of a trigger, could not
 * name its index.
 */
export const createNextSubmission = (now: string): string => `
  CREATE TEMP VIEW IF NOT EXISTS x402_next_submission AS
    SELECT chain_id, relayer, account_nonce, transaction_hash, raw, replaces, '{}' AS payments, '{}' AS charges
    FROM x402_relayer_transactions;
  CREATE TEMP TRIGGER IF NOT EXISTS x402_next_submission_insert INSTEAD OF INSERT ON x402_next_submission BEGIN
    UPDATE x402_relayer_nonces SET next_nonce = NEW.account_nonce + 1
      WHERE chain_id = NEW.chain_id AND relayer = NEW.relayer;
    INSERT INTO x402_relayer_transactions
      (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, written_at)
      VALUES (NEW.chain_id, NEW.relayer, NEW.account_nonce, NEW.transaction_hash, NEW.raw, NEW.replaces, ${now})
      ON CONFLICT (chain_id, relayer, account_nonce) DO UPDATE
        SET transaction_hash = excluded.transaction_hash, raw = excluded.raw,
          replaces = excluded.replaces, written_at = excluded.written_at;
    INSERT INTO x402_next_payment (id, transaction_hash, relayer, account_nonce, replaces, charged)
      SELECT unhex(key), NEW.transaction_hash, NEW.relayer, NEW.account_nonce, value,
        CASE NEW.charges WHEN '{}' THEN NULL ELSE NEW.charges->>key END
      FROM json_each(NEW.payments);
  END;
  CREATE TEMP VIEW IF NOT EXISTS x402_next_payment AS
    SELECT id, transaction_hash, relayer, account_nonce, replaces, charged FROM x402_authorizations;
  CREATE TEMP TRIGGER IF NOT EXISTS x402_next_payment_insert INSTEAD OF INSERT ON x402_next_payment BEGIN
    UPDATE x402_authorizations
      SET state = 'submitted', reason = NULL,
        failed = CASE state
          WHEN 'failed' THEN '0x' || lower(hex(transaction_hash))
            || coalesce(',' || replaces, '') || coalesce(',' || failed, '')
          ELSE failed END,
        transaction_hash = NEW.transaction_hash, relayer = NEW.relayer,
        account_nonce = NEW.account_nonce, replaces = NEW.replaces,
        charged = CASE state WHEN 'reserved' THEN NEW.charged ELSE charged END, updated_at = ${now}
      WHERE id = NEW.id;
  END`
