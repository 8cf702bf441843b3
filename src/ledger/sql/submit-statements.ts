/** The statements that write a transaction down for its payments. */
import { NEXT_SUBMISSION } from './next-nonce-view.js'
import type { Statement } from './sql-dialect.js'

/**
 * The members `w` of a transaction, and the rows of those that may be written: those we have locked, and
 * those whose transaction is replaced. SQLite reads the tables of a `CROSS JOIN` in the order in which they
 * are named: it looks rows up by their ids, whatever its statistics say.
 */
const MEMBERS: Statement = ({ rows, parameter, bytes, forUpdate }) =>
  `WITH given AS (
     SELECT * FROM ${rows({ record_id: 'bytes', lock_owner: 'text', replaces: 'text' })}
   ), sent AS (
     SELECT CAST(${parameter(2)} AS ${bytes}) AS transaction_hash, CAST(${parameter(3)} AS ${bytes}) AS relayer,
       CAST(${parameter(4)} AS BIGINT) AS account_nonce
   ), w AS MATERIALIZED (
     SELECT given.record_id, given.lock_owner, given.replaces,
       sent.transaction_hash, sent.relayer, sent.account_nonce FROM given, sent
   ), free AS (
     SELECT a.id FROM w CROSS JOIN x402_authorizations AS a
     WHERE a.id = w.record_id AND
       (a.state = 'submitted' AND a.relayer = w.relayer AND a.account_nonce = w.account_nonce
         OR a.state IN ('reserved', 'submitted') AND a.lock_owner = w.lock_owner)
     ORDER BY a.id ${forUpdate}
   )`

const ALL_ARE_FREE = '(SELECT count(*) FROM free) = (SELECT count(*) FROM w)'

const SET: Statement = ({ now }) =>
  `state = 'submitted', transaction_hash = w.transaction_hash, relayer = w.relayer,
   account_nonce = w.account_nonce, replaces = w.replaces, updated_at = ${now}`

/** Writes down a transaction for all of its members, or for none. */
export const SUBMIT: Statement = (dialect) =>
  `${MEMBERS(dialect)}
   UPDATE x402_authorizations AS a ${dialect.indexedById} SET ${SET(dialect)} FROM w
   WHERE a.id = w.record_id AND a.id IN (SELECT id FROM free) AND ${ALL_ARE_FREE}
   RETURNING id`

/** The members that may be written. */
export const MAY_SUBMIT: Statement = (dialect) =>
  `${MEMBERS(dialect)} SELECT ${dialect.toDigits('id')} AS id FROM free`

/**
 * Takes an account nonce if it is the next one, and writes the transaction that is signed with it down,
 * with its bytes, for all of its members.
 *
 * It changes nothing and returns no row if the nonce was taken or a member is not locked. On PostgreSQL
 * it fails, and changes nothing, if a member's row was changed at the same time.
 */
export const SUBMIT_NEXT: Statement = (dialect) =>
  `${MEMBERS(dialect)}, bytes AS (
     SELECT CAST(${dialect.parameter(5)} AS BIGINT) AS chain_id, CAST(${dialect.parameter(6)} AS ${dialect.bytes}) AS raw,
       CAST(${dialect.parameter(7)} AS TEXT) AS replaces
   ) ${dialect.withMayChange ? changeInWith(dialect) : INSERT_IF_NEXT}`

const IS_NEXT = `n.chain_id = bytes.chain_id AND n.relayer = sent.relayer
       AND n.next_nonce = sent.account_nonce AND ${ALL_ARE_FREE}`

const changeInWith: Statement = (dialect) =>
  `, taken AS (
     UPDATE x402_relayer_nonces AS n SET next_nonce = n.next_nonce + 1 FROM sent, bytes
     WHERE ${IS_NEXT}
     RETURNING n.chain_id, n.relayer
   ), kept AS (
     INSERT INTO x402_relayer_transactions
       (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, written_at)
     SELECT taken.chain_id, taken.relayer, sent.account_nonce, sent.transaction_hash, bytes.raw,
       bytes.replaces, ${dialect.now} FROM taken, sent, bytes
     ON CONFLICT (chain_id, relayer, account_nonce) DO UPDATE
       SET transaction_hash = excluded.transaction_hash, raw = excluded.raw,
         replaces = excluded.replaces, written_at = excluded.written_at
   ), written AS (
     UPDATE x402_authorizations AS a SET ${SET(dialect)} FROM w, taken
     WHERE a.id = w.record_id AND a.id IN (SELECT id FROM free)
     RETURNING a.id
   )
   SELECT 1 / CASE WHEN (SELECT count(*) FROM written) = (SELECT count(*) FROM w) THEN 1 ELSE 0 END
   FROM taken`

const INSERT_IF_NEXT = `
   INSERT INTO ${NEXT_SUBMISSION}
     (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, payments)
   SELECT bytes.chain_id, sent.relayer, sent.account_nonce, sent.transaction_hash, bytes.raw,
     bytes.replaces, (SELECT json_group_object(hex(w.record_id), w.replaces) FROM w)
   FROM sent, bytes, x402_relayer_nonces AS n WHERE ${IS_NEXT}
   RETURNING account_nonce`
