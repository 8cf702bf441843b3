import type { Ledger, LedgerStore } from './ledger.js'
import { MemoryStore, type MemoryLedgerOptions } from './memory/memory-store.js'

export type { MemoryLedgerOptions }

/**
 * Creates a ledger in this process's memory, which is what a gateway uses by default.
 *
 * Records of open payments stay until they are final. Final ones outlive `validBefore`, so that an
 * authorization is known to be settled for as long as anybody could present it. A memory ledger does
 * not survive a restart and cannot be shared by several processes: use `sqliteLedger` or
 * `postgresLedger` for that.
 *
 * @param options - Limits of its size. All have defaults.
 * @returns A ledger for one gateway, which closes it. While it is full, payments are refused with the
 * `LedgerError` code `ledger_full`; after it was closed, with `ledger_unavailable`.
 *
 * @example
 * ```ts
 * import { createGateway, memoryLedger } from 'express-x402-gateway'
 *
 * const gateway = createGateway({
 *   networks: { 'base-sepolia': { relayerKeys: [`0x${'5e'.repeat(32)}`] } },
 *   ledger: memoryLedger({ maxRecords: 50_000 }),
 * })
 * await gateway.close()
 * ```
 */
export function memoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  return createMemoryLedger(options)
}

/** {@link memoryLedger}, with the methods that a gateway uses. */
export function createMemoryLedger(options: MemoryLedgerOptions = {}): LedgerStore {
  return new MemoryStore(options)
}
