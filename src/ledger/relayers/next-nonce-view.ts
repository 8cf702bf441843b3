import { failedBefore, type SqlDialect } from '../engine/dialect.js'

/** The name of the view that {@link createNextSubmission} creates. */
export const NEXT_SUBMISSION = 'x402_next_submission'

/**
 * Another view: inserting a row writes a transaction down for one payment. An update of several, in one
 * statement of a trigger, could not name the index that it needs (see `indexedById`).
 */
const NEXT_PAYMENT = 'x402_next_payment'

/**
 * SQL that creates what SQLite has in place of a stored procedure: a view with a trigger. Inserting a row
 * takes an account nonce, keeps the bytes of a transaction, and writes it down for its payments.
 *
 * One statement that changes three tables is atomic without a transaction, which would keep others from
 * the connection while it is signed. The trigger checks nothing: the statement inserts a row only if the
 * nonce is the next one and all payments may be written. View and trigger are temporary: each connection
 * has its own, and the file contains neither.
 *
 * `payments` is a JSON object: the hashes that the transaction replaces, by id of a record.
 */
export const createNextSubmission = (dialect: SqlDialect): string => `
  CREATE TEMP VIEW IF NOT EXISTS ${NEXT_SUBMISSION} AS
    SELECT chain_id, relayer, account_nonce, transaction_hash, raw, replaces, '{}' AS payments
    FROM x402_relayer_transactions;
  CREATE TEMP TRIGGER IF NOT EXISTS ${NEXT_SUBMISSION}_insert INSTEAD OF INSERT ON ${NEXT_SUBMISSION} BEGIN
    UPDATE x402_relayer_nonces SET next_nonce = NEW.account_nonce + 1
      WHERE chain_id = NEW.chain_id AND relayer = NEW.relayer;
    INSERT INTO x402_relayer_transactions
      (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, written_at)
      VALUES (NEW.chain_id, NEW.relayer, NEW.account_nonce, NEW.transaction_hash, NEW.raw, NEW.replaces,
        ${dialect.now})
      ON CONFLICT (chain_id, relayer, account_nonce) DO UPDATE
        SET transaction_hash = excluded.transaction_hash, raw = excluded.raw,
          replaces = excluded.replaces, written_at = excluded.written_at;
    INSERT INTO ${NEXT_PAYMENT} (id, transaction_hash, relayer, account_nonce, replaces)
      SELECT unhex(key), NEW.transaction_hash, NEW.relayer, NEW.account_nonce, value
      FROM json_each(NEW.payments);
  END;
  CREATE TEMP VIEW IF NOT EXISTS ${NEXT_PAYMENT} AS
    SELECT id, transaction_hash, relayer, account_nonce, replaces FROM x402_authorizations;
  CREATE TEMP TRIGGER IF NOT EXISTS ${NEXT_PAYMENT}_insert INSTEAD OF INSERT ON ${NEXT_PAYMENT} BEGIN
    UPDATE x402_authorizations
      SET state = 'submitted', reason = NULL, failed = ${failedBefore(dialect, 'x402_authorizations')},
        transaction_hash = NEW.transaction_hash, relayer = NEW.relayer,
        account_nonce = NEW.account_nonce, replaces = NEW.replaces, updated_at = ${dialect.now}
      WHERE id = NEW.id;
  END`
