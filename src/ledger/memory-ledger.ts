import type { Ledger, LedgerStore } from './index.js'
import { AnswerBudget } from './idempotency/answer-budget.js'
import { LockOwner, type Liveness } from './owners/lock-owner.js'
import { forgetLapsed, limitRecords } from './operate/memory-limits.js'
import { SQLITE } from './engine/dialect.js'
import { loadSqlite } from './engine/sqlite.js'
import { SqlLedger } from './store.js'
import { sqliteStore } from './sqlite-ledger.js'
import { world } from '../shared/world.js'

/** Default of {@link MemoryLedgerOptions.maxRecords}. A record takes about 1 KB. */
const DEFAULT_MAX_RECORDS = 200_000

/** Default of {@link MemoryLedgerOptions.maxAnswerBytes}. */
const DEFAULT_ANSWER_BYTES = 64 * 1024 * 1024

/** Nobody else can take a lock: it lasts for longer than a computer sleeps. */
const LOCK_MS = 15 * 24 * 3_600_000

/** No other process is ever seen. */
const ALONE: Liveness = {
  show: async () => false,
  findDead: async () => [],
  end: async () => undefined,
}

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
   * How many records are kept. Settled and delivered payments are 10,000 of them at most, or 20,000 while a
   * reorganisation may undo them; the oldest are forgotten, and from then on the chain alone refuses their
   * authorizations. When all records are of other payments, new ones fail with `ledger_full`: a live record
   * is never dropped for another. Payments that nothing was charged for are a fifth of them at most, and of one
   * project no more than it leaves to others, alone a tenth: then another one of it that is charged nothing fails with
   * `ledger_full`, and no other.
   *
   * @defaultValue 200000
   */
  readonly maxRecords?: number
  /**
   * Bytes of stored answers, for requests that repeat an idempotency key or a payment identifier. Beyond
   * them, the project with most of them loses its oldest, and those that were sent before those that were not.
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
 * Creates a ledger in this process's memory: the default of a gateway.
 *
 * It is SQLite without a file: it does not survive a restart and cannot be shared by several processes. Use
 * `sqliteLedger` or `postgresLedger` for that.
 *
 * @param options - Limits of its size. All have defaults.
 * @returns A ledger for one gateway, which closes it. While it is full, new payments fail with the
 * `LedgerError` code `ledger_full`; after it was closed, with `ledger_unavailable`.
 * @throws `ConfigError` (`config_invalid`) if there is no SQLite: neither the package
 * `@photostructure/sqlite`, which is installed with this one where it has a binary, nor a recent one in Node.
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

/** {@link memoryLedger}, with the methods that a gateway uses. @internal */
export function createMemoryLedger(options: MemoryLedgerOptions = {}): LedgerStore {
  const { maxRecords = DEFAULT_MAX_RECORDS, now = world.now } = options
  const Engine = loadSqlite()
  const owner = new LockOwner(ALONE)
  const dialect = { ...SQLITE, now: 'CAST(x402_now() AS INTEGER)' }
  const connect = () => {
    const connection = new Engine(':memory:')
    connection.function('x402_now', now)
    return connection
  }
  const store = sqliteStore({
    owner,
    connect,
    dialect,
    setUp: limitRecords(maxRecords, dialect),
  })
  return new SqlLedger(store, owner, {
    isInMemory: true,
    lockMs: LOCK_MS,
    // The mined transactions that a reorganisation may drop are kept however old they are.
    bytes: { keptMs: 0, sweepMs: 5000 },
    answers: new AnswerBudget(options.maxAnswerBytes ?? DEFAULT_ANSWER_BYTES),
    endWith: forgetLapsed(store, maxRecords),
  })
}
