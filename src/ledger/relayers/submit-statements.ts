/** The statements that write a transaction down for its payments. */
import { NEXT_SUBMISSION } from './next-nonce-view.js'
import { failedBefore, type Statement } from '../engine/dialect.js'

/** The members `w` of a transaction. */
const MEMBERS: Statement = ({ rows, parameter, bytes }) =>
  `WITH given AS (
     SELECT * FROM ${rows({ record_id: 'bytes', lock_owner: 'text', replaces: 'text' })}
   ), sent AS (
     SELECT CAST(${parameter(2)} AS ${bytes}) AS transaction_hash, CAST(${parameter(3)} AS ${bytes}) AS relayer,
       CAST(${parameter(4)} AS BIGINT) AS account_nonce
   ), w AS MATERIALIZED (
     SELECT * FROM given, sent
   )`

/** A row that may be written: one that we have locked, or whose transaction is replaced. */
const IS_FREE = `a.id = w.record_id AND
       (a.state = 'submitted' AND a.relayer = w.relayer AND a.account_nonce = w.account_nonce
         OR a.state IN ('reserved', 'submitted', 'failed') AND a.lock_owner = w.lock_owner)`

const SET: Statement = (dialect) =>
  `state = 'submitted', reason = NULL, failed = ${failedBefore(dialect, 'a')},
   transaction_hash = w.transaction_hash, relayer = w.relayer,
   account_nonce = w.account_nonce, replaces = w.replaces, updated_at = ${dialect.now}`

/** Writes down a transaction for those of its members that may be written, and returns their ids. */
export const SUBMIT: Statement = (dialect) =>
  `${MEMBERS(dialect)}
   UPDATE x402_authorizations AS a ${dialect.indexedById} SET ${SET(dialect)} FROM w WHERE ${IS_FREE}
   RETURNING ${dialect.toDigits('id')} AS id`

/**
 * Takes an account nonce if it is the next one, and writes the transaction that is signed with it down,
 * with its bytes, for all of its members.
 *
 * It changes nothing and returns no row if the nonce was taken or a member is not locked. In the latter case
 * PostgreSQL fails instead: to find out before, it would have to look for every row twice.
 */
export const SUBMIT_NEXT: Statement = (dialect) =>
  `${MEMBERS(dialect)}, bytes AS (
     SELECT CAST(${dialect.parameter(5)} AS BIGINT) AS chain_id, CAST(${dialect.parameter(6)} AS ${dialect.bytes}) AS raw,
       CAST(${dialect.parameter(7)} AS TEXT) AS replaces
   ) ${dialect.withMayChange ? changeInWith(dialect) : INSERT_IF_NEXT}`

const IS_NEXT = `n.chain_id = bytes.chain_id AND n.relayer = sent.relayer
       AND n.next_nonce = sent.account_nonce`

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
     WHERE ${IS_FREE}
     RETURNING a.id
   )
   SELECT 1 / CAST((SELECT count(*) FROM written) = (SELECT count(*) FROM w) AS INT)
   FROM taken`

/**
 * SQLite reads the tables of a `CROSS JOIN` in the order in which they are named: it looks rows up by their
 * ids, whatever its statistics say.
 */
const ALL_ARE_FREE = `(SELECT count(*) FROM w CROSS JOIN x402_authorizations AS a WHERE ${IS_FREE})
     = (SELECT count(*) FROM w)`

const INSERT_IF_NEXT = `
   INSERT INTO ${NEXT_SUBMISSION}
     (chain_id, relayer, account_nonce, transaction_hash, raw, replaces, payments)
   SELECT bytes.chain_id, sent.relayer, sent.account_nonce, sent.transaction_hash, bytes.raw,
     bytes.replaces, (SELECT json_group_object(hex(w.record_id), w.replaces) FROM w)
   FROM sent, bytes, x402_relayer_nonces AS n WHERE ${IS_NEXT} AND ${ALL_ARE_FREE}
   RETURNING account_nonce`
