import type { LedgerStore } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { patchedLedger } from './patched-ledger.js'

/**
 * A ledger whose pending transactions nobody looks after: whatever the node is asked, it is asked for
 * the sake of a request, however long that takes.
 */
export function unattended(ledger: LedgerStore = createMemoryLedger()): LedgerStore {
  return patchedLedger(ledger, { claimPending: async () => [] })
}
