import type { Ledger, LedgerStore } from './ledger.js'
import { MemoryStore } from './memory/memory-store.js'

/** Default of {@link MemoryLedgerOptions.maxRecords}. A record takes 2 to 4 KB. */
const DEFAULT_MAX_RECORDS = 200_000

/**
 * Options of {@link memoryLedger}.
 *
 * @example
 * ```ts
 * import { memoryLedger, type MemoryLedgerOptions } from 'express-x402-gateway'
 *
 * const small: MemoryLedgerOptions = { maxRecords: 10_000, maxAnswerBytes: 8 * 1024 * 1024 }
 * const ledger = memoryLedger(small)
 * await ledger.close()
 * ```
 */
export interface MemoryLedgerOptions {
  /**
   * How many records are kept in full. Delivered payments are 10,000 of them at most, or 20,000 while a
   * reorganisation may undo them. The oldest are reduced to some 100 bytes each, which refuse their
   * authorizations when they are presented again; lists and sums omit them. In the end, the chain alone
   * refuses them. When all records are of other payments, new ones fail with `ledger_full`: a live record is
   * never dropped for another.
   *
   * @defaultValue 200000
   */
  readonly maxRecords?: number
  /**
   * Bytes of stored answers, for requests that repeat an idempotency key or a payment identifier. The
   * least recently used answers are dropped first.
   *
   * @defaultValue 64 MiB
   */
  readonly maxAnswerBytes?: number
  /**
   * Unix time in milliseconds. Tests pass a clock of their own.
   *
   * @defaultValue `Date.now`
   */
  readonly now?: () => number
}

/**
 * Creates a ledger in this process's memory, which is what a gateway uses by default.
 *
 * Records of open payments stay until they are final. Final ones outlive `validBefore`, so that an
 * authorization is known to be settled for as long as anybody could present it. A memory ledger does
 * not survive a restart and cannot be shared by several processes: use `sqliteLedger` or
 * `postgresLedger` for that.
 *
 * @param options - Limits of its size. All have defaults.
 * @returns A ledger for one gateway, which closes it. While it is full, new payments fail with the
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

/**
 * {@link memoryLedger}, with the methods that a gateway uses.
 *
 * @internal
 */
export function createMemoryLedger(options: MemoryLedgerOptions = {}): LedgerStore {
  const { maxRecords = DEFAULT_MAX_RECORDS, maxAnswerBytes, now = Date.now } = options
  return new MemoryStore({ maxRecords, maxAnswerBytes, now })
}
