/**
 * The statements that write a transaction down for its payments.
 *
 * Their parameters are a JSON array of payments, in the order of their ids; the hash, relayer and account nonce that
 * they share; and, for {@link SUBMIT_NEXT}, the chain, the bytes, and the hashes that the transaction replaces.
 */
import type { SqlDialect } from '../engine/dialect.js'
import type { Statement } from '../engine/statement.js'

const GIVEN = {
  record_id: 'bytes',
  lock_owner: 'text',
  replaces: 'text',
  charged: 'text',
} as const

/** Names the payments `w`, each with the transaction, which is `sent`. */
const withGiven = ({ rows, parameter }: SqlDialect): string => `
   WITH given AS (${rows(GIVEN)}
   ), sent AS (
     SELECT ${parameter(2, 'bytes')} AS transaction_hash, ${parameter(3, 'bytes')} AS relayer,
       ${parameter(4, 'bigint')} AS account_nonce
   ), w AS MATERIALIZED (
     SELECT * FROM given, sent
   )`

/**
 * Whether a payment may be written: we have locked it, or its transaction is replaced, by one of the same relayer and
 * account nonce.
 *
 * A charge is written with the first transaction of a payment, at most its value; whatever is sent for it later
 * takes the same. Both are decimal texts, which are compared by length first: SQLite has no numbers that large.
 */
const MAY_WRITE = `
       (a.state = 'submitted' AND a.relayer = w.relayer AND a.account_nonce = w.account_nonce
         OR a.state IN ('reserved', 'submitted', 'failed') AND a.lock_owner = w.lock_owner)
       AND (w.charged IS NULL OR w.charged = coalesce(a.charged, a.value)
         OR a.state = 'reserved' AND (length(w.charged), w.charged) < (length(a.value), a.value))`

/**
 * Writes a payment. After a failure, `failed` keeps the hashes under which that transaction may be mined in another
 * block.
 *
 * @param row - What names the record, with its point.
 * @param given - What names the payment and its transaction.
 */
const setSubmitted = ({ now, digits }: SqlDialect, row = 'a.', given = 'w.'): string => `
     SET state = 'submitted', reason = NULL,
       failed = CASE ${row}state
         WHEN 'failed' THEN '0x' || ${digits(`${row}transaction_hash`)}
           || coalesce(',' || ${row}replaces, '') || coalesce(',' || ${row}failed, '')
         ELSE ${row}failed END,
       transaction_hash = ${given}transaction_hash, relayer = ${given}relayer,
       account_nonce = ${given}account_nonce, replaces = ${given}replaces,
       charged = CASE ${row}state WHEN 'reserved' THEN ${given}charged ELSE ${row}charged END,
       updated_at = ${now}`

/** Writes down a transaction for those of its payments that may be written, and returns their ids. */
export const SUBMIT: Statement = (dialect) => `${withGiven(dialect)}
   UPDATE x402_authorizations AS a ${dialect.byId} ${setSubmitted(dialect)}
     FROM w
     WHERE a.id = w.record_id AND ${MAY_WRITE}
     RETURNING ${dialect.digits('id')} AS id`

/**
 * Takes an account nonce if it is the next one, and writes the transaction that is signed with it down, with its
 * bytes, for all of its payments. It changes nothing and returns no row if the nonce was taken or a payment may
 * not be written.
 *
 * One statement, where a transaction that locks the account's row takes five: a paid request takes 3.1 statements
 * alone, and 0.2 among 32 (test/bench/RESULTS.md).
 */
export const SUBMIT_NEXT: Statement = (dialect) => {
  const { isPostgres, parameter } = dialect
  return `${withGiven(dialect)}, bytes AS (
     SELECT ${parameter(5, 'bigint')} AS chain_id, ${parameter(6, 'bytes')} AS raw, ${parameter(7, 'text')} AS replaces
   )${isPostgres ? submitNextInPostgres(dialect) : SUBMIT_NEXT_IN_SQLITE}`
}

const submitNextInPostgres: Statement = (dialect) => `, free AS (
     SELECT a.id FROM w JOIN x402_authorizations AS a ON a.id = w.record_id
     WHERE ${MAY_WRITE}
     ORDER BY a.id FOR NO KEY UPDATE OF a
   ), taken AS (
     UPDATE x402_relayer_nonces AS n SET next_nonce = n.next_nonce + 1 FROM sent, bytes
     WHERE n.chain_id = bytes.chain_id AND n.relayer = sent.relayer AND n.next_nonce = sent.account_nonce
       AND (SELECT count(*) FROM free) = (SELECT count(*) FROM w)
     RETURNING n.chain_id, n.relayer
   ), kept AS (
     INSERT INTO x402_relayer_transactions
       (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, written_at)
     SELECT taken.chain_id, taken.relayer, sent.account_nonce, sent.transaction_hash, bytes.raw, bytes.replaces,
       ${dialect.now}
     FROM taken, sent, bytes
     ON CONFLICT (chain_id, relayer, account_nonce) DO UPDATE
       SET transaction_hash = excluded.transaction_hash, raw = excluded.raw, replaces = excluded.replaces,
         written_at = excluded.written_at
   ), written AS (
     UPDATE x402_authorizations AS a ${setSubmitted(dialect)}
     FROM w, taken
     WHERE a.id = w.record_id
   )
   SELECT relayer FROM taken`

/**
 * The trigger of {@link createNextSubmission} does the rest. SQLite reads the tables of a `CROSS JOIN` in the order in
 * which they are named: it looks rows up by their ids, whatever its statistics say.
 */
const SUBMIT_NEXT_IN_SQLITE = `
   INSERT INTO x402_next_submission
     (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, payments, charges)
   SELECT bytes.chain_id, sent.relayer, sent.account_nonce, sent.transaction_hash, bytes.raw, bytes.replaces,
     (SELECT json_group_object(hex(w.record_id), w.replaces) FROM w),
     (SELECT json_group_object(hex(w.record_id), w.charged) FROM w WHERE w.charged IS NOT NULL)
   FROM sent, bytes, x402_relayer_nonces AS n
   WHERE n.chain_id = bytes.chain_id AND n.relayer = sent.relayer AND n.next_nonce = sent.account_nonce
     AND (SELECT count(*) FROM w CROSS JOIN x402_authorizations AS a
       WHERE a.id = w.record_id AND ${MAY_WRITE})
     = (SELECT count(*) FROM w)
   RETURNING account_nonce`

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
export const createNextSubmission = (dialect: SqlDialect): string => `
  CREATE TEMP VIEW IF NOT EXISTS x402_next_submission AS
    SELECT chain_id, relayer, account_nonce, transaction_hash, raw, replaces, '{}' AS payments, '{}' AS charges
    FROM x402_relayer_transactions;
  CREATE TEMP TRIGGER IF NOT EXISTS x402_next_submission_insert INSTEAD OF INSERT ON x402_next_submission BEGIN
    UPDATE x402_relayer_nonces SET next_nonce = NEW.account_nonce + 1
      WHERE chain_id = NEW.chain_id AND relayer = NEW.relayer;
    INSERT INTO x402_relayer_transactions
      (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, written_at)
      VALUES (NEW.chain_id, NEW.relayer, NEW.account_nonce, NEW.transaction_hash, NEW.raw, NEW.replaces, ${dialect.now})
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
    UPDATE x402_authorizations ${setSubmitted(dialect, '', 'NEW.')}
      WHERE id = NEW.id;
  END`
