/**
 * The statements of the hot path that find and change records.
 *
 * The first parameter of each is a JSON array of rows, in the order of their ids (`rowsParameter`). One statement does
 * what all requests of a turn want (`engine/statement-group.ts`): among 32, a reservation takes a twentieth of the
 * time that it takes alone, and an eighth of the CPU of this process.
 */
import type { Statement } from '../engine/statement.js'

/** Reads records with the bytes of their transactions. */
export const FIND: Statement = ({ now, byId, rows }) => `
   SELECT a.*, sent.raw, ${now} AS now FROM x402_authorizations AS a ${byId}
   LEFT JOIN x402_relayer_transactions AS sent
     ON sent.chain_id = a.chain_id AND sent.relayer = a.relayer AND sent.account_nonce = a.account_nonce
   WHERE a.id IN (SELECT w.record_id FROM (${rows({ record_id: 'bytes' })}) AS w)`

/** Columns of a new record that stay when another reservation replaces it: its id follows from them. */
const KEPT = { chain_id: 'bigint', payer: 'bytes', nonce: 'bytes' } as const

/** Its other columns. */
const REPLACED = {
  scheme: 'text',
  asset: 'bytes',
  contract: 'bytes',
  pay_to: 'bytes',
  value: 'text',
  valid_before: 'text',
  project: 'text',
  kind: 'text',
  refund_of: 'bytes',
  applied_rate: 'text',
  resource: 'text',
  price: 'text',
  offer: 'text',
  payment_id: 'text',
  client: 'text',
  asker: 'text',
  access: 'text',
  access_ms: 'bigint',
  resource_url: 'text',
  method: 'text',
  route: 'text',
  decimals: 'int',
  asked_price: 'text',
  reference: 'text',
  resource_hash: 'text',
  lock_owner: 'text',
} as const

/**
 * Creates records, locked, and returns their ids. A reservation of a dead process that has sent nothing is
 * replaced; so is our own, should the statement run twice.
 */
export const RESERVE: Statement = ({ now, rows, digits }) => {
  const given = { record_id: 'bytes', ...KEPT, ...REPLACED, lock_ms: 'bigint' } as const
  const columns = Object.keys({ ...KEPT, ...REPLACED }).join(', ')
  const replaced = [...Object.keys(REPLACED), 'locked_until', 'created_at', 'updated_at']
  // Without WHERE, SQLite would take ON CONFLICT for a condition of a join.
  return `
   INSERT INTO x402_authorizations AS a (id, ${columns}, state, locked_until, created_at, updated_at)
   SELECT record_id, ${columns}, 'reserved', ${now} + lock_ms, ${now}, ${now} FROM (${rows(given)}) AS w WHERE true
   ON CONFLICT (id) DO UPDATE SET
     (${replaced.join(', ')}) = (${replaced.map((name) => `excluded.${name}`).join(', ')})
   WHERE a.state = 'reserved' AND a.lock_owner IS NOT NULL
     AND (a.locked_until < ${now} OR a.lock_owner = excluded.lock_owner)
   RETURNING ${digits('id')} AS id`
}

/** Forgets reservations of payments for which nothing was sent, and returns their ids. */
export const RELEASE: Statement = ({ byId, rows, digits }) => `
   DELETE FROM x402_authorizations AS a ${byId}
   WHERE a.state = 'reserved' AND a.refund_of IS NULL AND (a.id, a.lock_owner) IN (
     SELECT w.record_id, w.lock_owner FROM (${rows({ record_id: 'bytes', lock_owner: 'text' })}) AS w)
   RETURNING ${digits('id')} AS id`

/**
 * Marks payments as delivered, and returns their ids. Where a transfer is named that has paid, the payment is
 * settled in the same write; nothing changes where that transfer has paid for another record.
 */
export const DELIVER: Statement = ({ now, byId, rows, digits }) => `
   UPDATE x402_authorizations AS a ${byId}
     SET delivered = 1, access_until = ${now} + a.access_ms,
       state = CASE WHEN w.transaction_hash IS NULL THEN a.state ELSE 'settled' END,
       transaction_hash = CASE a.state WHEN 'submitted'
         THEN coalesce(w.transaction_hash, a.transaction_hash) ELSE a.transaction_hash END,
       transfer = CASE a.state WHEN 'submitted' THEN coalesce(w.transfer, a.transfer) ELSE a.transfer END,
       updated_at = ${now}
     FROM (${rows({ record_id: 'bytes', lock_owner: 'text', transaction_hash: 'bytes', transfer: 'text' })}) AS w
     WHERE a.id = w.record_id AND a.lock_owner = w.lock_owner AND a.state IN ('submitted', 'settled')
       AND NOT EXISTS (
         SELECT 1 FROM x402_authorizations AS other
         WHERE other.transfer = w.transfer AND other.id <> w.record_id)
     RETURNING ${digits('id')} AS id`

/** Columns of a record that becomes final. */
const CONCLUDED = {
  record_id: 'bytes',
  state: 'text',
  transaction_hash: 'bytes',
  transfer: 'text',
  reason: 'text',
} as const

/**
 * Makes open records final, and returns their ids. Nothing changes where the transfer has paid for another record.
 *
 * A failed payment is unlocked: it may be sent again. News of an earlier failure is then out of date. A
 * failed payment that is locked is about to be sent again, and may turn out to be paid.
 */
export const CONCLUDE: Statement = ({ now, byId, rows, digits }) => `
   UPDATE x402_authorizations AS a ${byId}
     SET state = w.state, transaction_hash = w.transaction_hash,
       transfer = coalesce(w.transfer, a.transfer), reason = w.reason,
       lock_owner = CASE w.state WHEN 'failed' THEN NULL ELSE a.lock_owner END,
       locked_until = CASE w.state WHEN 'failed' THEN 0 ELSE a.locked_until END,
       updated_at = ${now}
     FROM (${rows(CONCLUDED)}) AS w
     WHERE a.id = w.record_id
       AND (a.state IN ('reserved', 'submitted')
         OR a.state = 'failed' AND w.state = 'settled' AND a.lock_owner IS NOT NULL)
       AND (w.state = 'settled' OR a.failed IS NULL
         OR a.failed NOT LIKE '%' || ${digits('w.transaction_hash')} || '%')
       AND NOT EXISTS (
         SELECT 1 FROM x402_authorizations AS other
         WHERE other.transfer = w.transfer AND other.id <> w.record_id)
     RETURNING ${digits('id')} AS id`
