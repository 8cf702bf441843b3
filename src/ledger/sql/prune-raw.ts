import type { SqlStore } from './sql-store.js'

/** Milliseconds for which a settled payment's transaction may have to be sent again, with room. */
const KEPT_MS = 3_600_000

/** Milliseconds between two sweeps. */
const SWEEP_MS = 300_000

/** Options of {@link pruneRaw}. */
export interface PruneRawOptions {
  /** @defaultValue an hour */
  readonly keptMs?: number | undefined
  /** @defaultValue five minutes */
  readonly sweepMs?: number | undefined
}

/**
 * Forgets the raw bytes of transactions that are settled for good.
 *
 * Payments that share a transaction each lock all of its bytes, 17 KB of twenty; what is kept for
 * ever of a payment is its record and the transaction's hash.
 *
 * @returns Ends the sweeps.
 */
export function pruneRaw({ run }: SqlStore, options: PruneRawOptions = {}): () => void {
  const { keptMs = KEPT_MS, sweepMs = SWEEP_MS } = options
  const sweep = (): Promise<unknown> =>
    run(({ db, plus }) =>
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
