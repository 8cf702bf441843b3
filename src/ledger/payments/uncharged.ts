/** Payments that nothing was charged for: their records alone keep them from being used again. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { every } from '../engine/every.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'

/** How long after `validBefore` an authorization counts as lapsed (s), because clocks and chains differ. */
export const LAPSED_SECONDS = 3600

/** Most of them that one payer may have: they cost him nothing. Five a second, if he signs for five minutes. */
export const MAX_UNCHARGED = 20_000

/** Time between two sweeps. */
const SWEEP_MS = 60_000

/** Records that one statement deletes: SQLite blocks this process meanwhile. */
const PAGE = 500

/** Whether a payer has as many as he may. */
export async function isSpendthrift({ sql, db }: SqlDatabase, payer: Uint8Array): Promise<boolean> {
  const { rows } = await sql<{ readonly count: unknown }>`
    SELECT count(*) AS count FROM (SELECT 1 AS one FROM x402_authorizations
      WHERE payer = ${payer} AND charged = '0' LIMIT ${MAX_UNCHARGED}) AS own`.execute(db)
  return Number(rows[0]?.count) >= MAX_UNCHARGED
}

/** Forgets them once they have lapsed, now and then. @returns A function that ends it. */
export function forgetUncharged(store: SqlStore, sweepMs = SWEEP_MS): () => void {
  return every(sweepMs, async () => {
    while (store.isOpen && (await store.run(forgetPage)) === PAGE) await nextTurn()
  })
}

async function forgetPage({ sql, db, now }: SqlDatabase): Promise<number> {
  const { numAffectedRows = 0n } = await sql`DELETE FROM x402_authorizations WHERE id IN (
    SELECT id FROM x402_authorizations WHERE charged = '0' AND state = 'settled'
      AND CAST(valid_before AS NUMERIC) < ${now} / 1000 - ${LAPSED_SECONDS}
    ORDER BY CAST(valid_before AS NUMERIC) LIMIT ${PAGE})`.execute(db)
  return Number(numAffectedRows)
}
