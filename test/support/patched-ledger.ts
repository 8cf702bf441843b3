import type { LedgerStore } from '../../src/ledger/ledger.js'

/** A ledger of which some methods are others. */
export function patchedLedger(store: LedgerStore, changes: Partial<LedgerStore>): LedgerStore {
  return { ...store, ...changes }
}
