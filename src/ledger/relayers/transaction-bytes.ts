import { bytesOf } from '../../shared/protocol/hex.js'
import type { Submission } from '../record.js'
import { KEPT_MINED, type RelayerAccount } from '../relayer-transactions.js'
import { every } from '../engine/every.js'
import { timeOnce, type SqlDatabase, type SqlStore } from '../engine/store.js'
import { world } from '../../shared/world.js'

/** How long a final transaction may have to be sent again after a reorganisation, with a margin. */
const KEPT_MS = 3_600_000

/** Time between two sweeps. */
const SWEEP_MS = 300_000

/** Transactions forgotten by one statement. Others wait for it. */
const PAGE = 500

export interface PruneBytesOptions {
  /** How long the bytes of a mined transaction are kept (ms). @defaultValue 3600000 */
  readonly keptMs?: number | undefined
  /** Time between two sweeps (ms). @defaultValue 300000 */
  readonly sweepMs?: number | undefined
}

export function keyOf({ chainId, relayer }: RelayerAccount, accountNonce: number) {
  return { chain_id: chainId, relayer: bytesOf(relayer), account_nonce: accountNonce }
}

export function columnsOf({ now }: SqlDatabase, { transaction, raw, replaces }: Submission) {
  return {
    transaction_hash: bytesOf(transaction),
    raw: bytesOf(raw),
    replaces: replaces?.join(',') || null,
    written_at: now,
  }
}

/** Stores a transaction's bytes, if known. Overwrites those of its account nonce only if it replaces them. */
export async function keepBytes(
  database: SqlDatabase,
  chainId: number,
  submission: Submission,
): Promise<void> {
  const { relayer, accountNonce, raw, replaces = [] } = submission
  if (raw === '0x') return
  const columns = columnsOf(database, submission)
  await database.db
    .insertInto('x402_relayer_transactions')
    .values({ ...keyOf({ chainId, relayer }, accountNonce), ...columns })
    .onConflict((conflict) =>
      replaces.length === 0
        ? conflict.doNothing()
        : conflict
            .columns(['chain_id', 'relayer', 'account_nonce'])
            .doUpdateSet(columns)
            .where('x402_relayer_transactions.transaction_hash', 'in', replaces.map(bytesOf)),
    )
    .execute()
}

/**
 * Deletes the bytes of transactions that were mined long ago, every few minutes.
 *
 * They may be 17 KB each. The records of their payments stay for good, and so do their hashes.
 *
 * @returns A function that ends the sweeps.
 */
export function pruneBytes(store: SqlStore, options: PruneBytesOptions = {}): () => void {
  const { keptMs = KEPT_MS, sweepMs = SWEEP_MS } = options
  return every(sweepMs, async () => store.isOpen && sweep(store, keptMs))
}

/** Prunes page by page, until nothing is left. @throws `LedgerError`, also once the store is closed. */
async function sweep(store: SqlStore, keptMs: number): Promise<void> {
  const accounts = await store.run(({ db }) =>
    db.selectFrom('x402_relayer_nonces').select(['chain_id', 'relayer', 'mined_nonce']).execute(),
  )
  for (const { mined_nonce, chain_id, relayer } of accounts) {
    const account = { chain_id: Number(chain_id), relayer }
    const below = Number(mined_nonce) - KEPT_MINED
    while ((await prunePage(store, account, { below, keptMs })) === PAGE) await world.nextTurn()
  }
}

/** @returns How many transactions were forgotten, of those with the lowest account nonces. */
function prunePage(
  store: SqlStore,
  account: { readonly chain_id: number; readonly relayer: Uint8Array },
  { below, keptMs }: { readonly below: number; readonly keptMs: number },
): Promise<number> {
  return store.run(async ({ db, plus }) => {
    const lowest = db
      .selectFrom('x402_relayer_transactions')
      .select('account_nonce')
      .where((where) => where.and(account))
      .where('account_nonce', '<', below)
      .orderBy('account_nonce')
      .limit(PAGE)
    const { numDeletedRows } = await db
      .deleteFrom('x402_relayer_transactions')
      .where((where) => where.and(account))
      .where('account_nonce', 'in', lowest)
      .where('written_at', '<', timeOnce(db, plus(-keptMs)))
      .executeTakeFirst()
    return Number(numDeletedRows)
  })
}
