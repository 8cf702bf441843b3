/** Payments that nothing was charged for: their records alone keep them from being used again. */
import { LedgerError } from '../../shared/errors.js'
import { every } from '../engine/every.js'
import type { Statement } from '../engine/statement.js'
import type { SqlDatabase, SqlStore } from '../engine/store.js'
import { world } from '../../shared/world.js'

/** How long after `validBefore` an authorization counts as lapsed (s), because clocks and chains differ. */
export const LAPSED_SECONDS = 3600

/** Most of them that one payer may have: they cost him nothing. Five a second, if he signs for five minutes. */
export const MAX_UNCHARGED = 20_000

/** Time between two sweeps. */
const SWEEP_MS = 60_000

/** Records that one statement deletes: SQLite blocks this process meanwhile. */
const PAGE = 500

/** @throws `LedgerError` if a payer has as many as he may. */
export async function requireFew({ sql, db }: SqlDatabase, payer: Uint8Array): Promise<void> {
  const { rows } = await sql<{ readonly count: unknown }>`
    SELECT count(*) AS count FROM (SELECT 1 AS one FROM x402_authorizations
      WHERE payer = ${payer} AND charged = '0' LIMIT ${MAX_UNCHARGED}) AS own`.execute(db)
  if (Number(rows[0]?.count) < MAX_UNCHARGED) return
  const words = `This payer has ${MAX_UNCHARGED} payments that nothing was charged for and that have not lapsed.`
  throw new LedgerError('ledger_full', words)
}

/** Forgets them once they have lapsed, now and then. @returns A function that ends it. */
export function forgetUncharged(store: SqlStore, sweepMs = SWEEP_MS): () => void {
  return every(sweepMs, async () => {
    while (store.isOpen && (await store.run(forgetPage)) === PAGE) await world.nextTurn()
  })
}

/** Forgets a page of those that lapsed first. */
const FORGET: Statement = ({ now, byId }) => `
   DELETE FROM x402_authorizations AS a ${byId} WHERE a.id IN (
     SELECT id FROM x402_authorizations WHERE charged = '0' AND state = 'settled'
       AND CAST(valid_before AS NUMERIC) < ${now} / 1000 - ${LAPSED_SECONDS}
     ORDER BY CAST(valid_before AS NUMERIC) LIMIT ${PAGE})
   RETURNING 1 AS one`

const forgetPage = async ({ run }: SqlDatabase): Promise<number> => (await run(FORGET, [])).length
