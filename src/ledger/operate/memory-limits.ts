/** Limits the size of a ledger in memory. */
import type { SqlDialect } from '../engine/dialect.js'
import { every } from '../engine/every.js'
import { LAPSED_SECONDS } from '../payments/uncharged.js'
import { LEDGER_FULL, type SqlStore } from '../engine/store.js'

/** Settled and delivered payments that are kept: usually, and while a reorganisation may undo them. */
const MAX_DELIVERED = { usually: 10_000, watched: 20_000 }

/** How long a reorganisation of a settled payment is watched for (ms), with a margin. */
const WATCHED_MS = 210_000

/** How long a payment is kept that nobody has fetched, or whose outcome nobody learns. */
const UNFETCHED_MS = 48 * 3_600_000

/**
 * Share of all records that payments may take for which nothing was charged. Each is kept until its permit has
 * lapsed, and costs its payer nothing: they must not take the room of other payments. A project takes no more of it
 * than it leaves to others: alone, half. A payer takes a quarter.
 */
const UNCHARGED_PART = 0.2

/** Deliveries of webhooks at most: finished ones give way first, the oldest of them. */
const MAX_DELIVERIES = 20_000

/**
 * Payment links that are over, at most, as a share of all records: those that were not paid give way first, the oldest
 * of them. Open ones never do, and each project has its own limit of those (`MAX_OPEN_CHECKOUTS`).
 */
const OVER_CHECKOUTS_PART = 0.1

const MAX_AUDIT = 10_000

/** Time between two sweeps. */
const SWEEP_MS = 5000

/** The chain knows nothing of a payment that nothing was charged for. */
const IS_SENT = `coalesce(charged, '') <> '0'`

/** Payments that the chain alone refuses from now on. */
const DELIVERED = `state = 'settled' AND delivered = 1 AND refund_of IS NULL AND ${IS_SENT}`

/** The oldest of them. The index has only these: without it, a payment took 18 ms among 100,000 others. */
const OLDEST = `SELECT id, updated_at FROM x402_authorizations INDEXED BY x402_authorizations_delivered
  WHERE ${DELIVERED}`

/** Whether a record is of those. */
const isDelivered = (row: 'NEW' | 'OLD'): string =>
  `(${row}.delivered AND ${IS_SENT.replace('charged', `${row}.charged`)})`

const isUncharged = (row: 'NEW' | 'OLD'): string => `(${row}.charged IS '0')`

const projectOf = (row: 'NEW' | 'OLD'): string => `coalesce(${row}.project, '')`

/**
 * SQL that limits the number of records: triggers count them, forget the oldest of those that were settled
 * and delivered, and refuse a payment when there is none. Once enough payments of a project were charged nothing,
 * charging another one of it nothing fails.
 *
 * A payment that is forgotten is not honoured again: its transfer was mined, so the chain refuses its nonce.
 */
export const limitRecords = (maxRecords: number, { now }: SqlDialect): string => `
  CREATE INDEX x402_authorizations_delivered ON x402_authorizations (updated_at) WHERE ${DELIVERED};
  CREATE TEMP TABLE x402_size (records INTEGER NOT NULL, delivered INTEGER NOT NULL);
  INSERT INTO x402_size VALUES (0, 0);
  CREATE TEMP TABLE x402_uncharged (project TEXT NOT NULL PRIMARY KEY, records INTEGER NOT NULL);
  CREATE TEMP TRIGGER x402_full BEFORE INSERT ON main.x402_authorizations
    WHEN (SELECT records FROM x402_size) >= ${maxRecords}
      AND NOT EXISTS (SELECT 1 FROM x402_authorizations WHERE id = NEW.id)
  BEGIN
    DELETE FROM x402_authorizations WHERE id IN (SELECT id FROM (${OLDEST} ORDER BY updated_at LIMIT 1));
    SELECT RAISE(ABORT, '${LEDGER_FULL}')
      FROM x402_size WHERE records >= ${maxRecords};
  END;
  CREATE TEMP TRIGGER x402_created AFTER INSERT ON main.x402_authorizations BEGIN
    UPDATE x402_size SET records = records + 1, delivered = delivered + ${isDelivered('NEW')};
  END;
  CREATE TEMP TRIGGER x402_deleted AFTER DELETE ON main.x402_authorizations BEGIN
    UPDATE x402_size SET records = records - 1, delivered = delivered - ${isDelivered('OLD')};
    UPDATE x402_uncharged SET records = records - 1 WHERE ${isUncharged('OLD')} AND project = ${projectOf('OLD')};
  END;
  CREATE TEMP TRIGGER x402_charged_nothing AFTER UPDATE OF charged ON main.x402_authorizations
    WHEN ${isUncharged('NEW')} AND NOT ${isUncharged('OLD')}
  BEGIN
    INSERT INTO x402_uncharged VALUES (${projectOf('NEW')}, 1)
      ON CONFLICT (project) DO UPDATE SET records = records + 1;
    SELECT RAISE(ABORT, '${LEDGER_FULL}') FROM x402_uncharged WHERE project = ${projectOf('NEW')}
      AND (records > ${Math.ceil(maxRecords * UNCHARGED_PART)} - (SELECT sum(records) FROM x402_uncharged)
        OR (SELECT count(*) FROM x402_authorizations WHERE payer = NEW.payer AND charged = '0')
          > ${Math.ceil((maxRecords * UNCHARGED_PART) / 4)});
  END;
  CREATE TEMP TRIGGER x402_delivered AFTER UPDATE OF delivered ON main.x402_authorizations
    WHEN ${isDelivered('NEW')} <> ${isDelivered('OLD')}
  BEGIN
    UPDATE x402_size SET delivered = delivered + ${isDelivered('NEW')} - ${isDelivered('OLD')};
    INSERT INTO x402_oldest SELECT delivered FROM x402_size WHERE delivered > ${MAX_DELIVERED.usually};
  END;
  CREATE TEMP VIEW x402_oldest AS SELECT delivered FROM x402_size;
  CREATE TEMP TRIGGER x402_forget INSTEAD OF INSERT ON x402_oldest BEGIN
    DELETE FROM x402_authorizations WHERE id IN (
      SELECT id FROM (${OLDEST} ORDER BY updated_at LIMIT 2)
      WHERE updated_at < ${now} - ${WATCHED_MS} OR NEW.delivered > ${MAX_DELIVERED.watched});
  END`

/**
 * Deletes rows that nobody needs any more, every few seconds.
 *
 * @returns A function that ends the sweeps.
 */
export function forgetLapsed(store: SqlStore, maxRecords: number): () => void {
  return every(SWEEP_MS, async () => store.isOpen && sweep(store, maxRecords))
}

/**
 * Forgets failed payments whose authorization has lapsed, payments under way that lapsed long ago, settled ones that
 * nobody has fetched, and refunds of payments that were forgotten.
 */
async function sweep(store: SqlStore, maxRecords: number): Promise<void> {
  await store.run(async ({ db, sql, now }) => {
    const lapsed = (ms: number) => sql`CAST(valid_before AS NUMERIC) * 1000 < ${now} - ${ms}`
    const long = sql`updated_at < ${now} - ${UNFETCHED_MS}`
    await sql`DELETE FROM x402_authorizations WHERE
      (state = 'failed' AND ${lapsed(LAPSED_SECONDS * 1000)}
        OR state = 'settled' AND delivered = 0 AND refund_of IS NULL AND ${sql.raw(IS_SENT)} AND ${long}
        OR state IN ('reserved', 'submitted') AND ${long} AND ${lapsed(UNFETCHED_MS)}
        OR state = 'settled' AND refund_of IS NOT NULL AND ${long})
      AND NOT EXISTS (SELECT 1 FROM x402_authorizations AS payment
        WHERE payment.id = x402_authorizations.refund_of)`.execute(db)
    await sql`DELETE FROM x402_refund_requests
      WHERE NOT EXISTS (SELECT 1 FROM x402_authorizations WHERE id = refund)`.execute(db)
    await sql`DELETE FROM x402_webhook_deliveries WHERE id IN (
      SELECT id FROM x402_webhook_deliveries ORDER BY state = 'pending', created_at, id
      LIMIT max(0, (SELECT count(*) FROM x402_webhook_deliveries) - ${MAX_DELIVERIES}))`.execute(db)
    // A payment that is not delivered may still be fetched there, and one that failed may still be paid late.
    await sql`DELETE FROM x402_checkouts WHERE id IN (
      SELECT id FROM x402_checkouts AS c WHERE state <> 'open' AND NOT EXISTS (
        SELECT 1 FROM x402_authorizations AS a WHERE a.id = c.payment
          AND NOT (a.state = 'settled' AND a.delivered = 1))
      ORDER BY state = 'paid', created_at, id
      LIMIT max(0, (SELECT count(*) FROM x402_checkouts)
        - (SELECT count(*) FROM x402_checkouts WHERE state = 'open') - ${Math.ceil(maxRecords * OVER_CHECKOUTS_PART)}))`.execute(
      db,
    )
    await sql`DELETE FROM x402_audit_log
      WHERE position <= (SELECT max(position) FROM x402_audit_log) - ${MAX_AUDIT}`.execute(db)
  })
}
