import type { SqlStore } from './sql-store.js'

/** How long a settled transaction may have to be sent again after a reorganisation, with a margin. */
const KEPT_MS = 3_600_000

/** Time between two sweeps. */
const SWEEP_MS = 300_000

/** Options of {@link pruneRaw}. */
export interface PruneRawOptions {
  /** Milliseconds that the bytes of a settled transaction are kept. @defaultValue 3600000 */
  readonly keptMs?: number | undefined
  /** Milliseconds between two sweeps. @defaultValue 300000 */
  readonly sweepMs?: number | undefined
}

/**
 * Drops the raw bytes of transactions that are settled for good, now and then.
 *
 * Each payment of a batch stores all bytes of the transaction, 17 KB for twenty payments. The record
 * and the transaction's hash stay for good.
 *
 * @returns A function that ends the sweeps.
 */
export function pruneRaw(store: SqlStore, options: PruneRawOptions = {}): () => void {
  const { keptMs = KEPT_MS, sweepMs = SWEEP_MS } = options
  const sweep = (): Promise<unknown> =>
    store.run(({ db, plus }) =>
      db
        .updateTable('x402_authorizations')
        .set({ raw: null })
        .where('state', '=', 'settled')
        .where('raw', 'is not', null)
        .where('updated_at', '<', plus(-keptMs))
        .execute(),
    )
  const timer = setInterval(() => void sweep().catch(() => undefined), sweepMs)
  timer.unref()
  return () => clearInterval(timer)
}
