import { join } from 'node:path'
import { Database } from '../../support/sqlite.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { createMemoryLedger } from '../../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { temporaryFolder, type Cleanup, closedBy } from '../../support/cleanup.js'
import { createSchema, findPostgres } from '../../support/postgres.js'

/** A ledger of a test's own, whose rows grow older when the test says so. */
export interface TestStore {
  readonly ledger: LedgerStore
  /** Opens the same ledger as another process does; the memory ledger has no other. */
  another(): LedgerStore
  /** Lets time pass for deliveries, locks and checkouts. */
  pass(ms: number): Promise<void>
  /** Runs a statement; not on the memory ledger. */
  execute(statement: string): Promise<unknown>
}

type OpenStore = (toEnd: Cleanup) => Promise<TestStore>

/** Databases have a clock of their own, which no test turns: their rows are moved to the past instead. */
const passing = (ms: number): string =>
  `UPDATE x402_webhook_deliveries SET next_at = next_at - ${ms}, retry_from = retry_from - ${ms},
    created_at = created_at - ${ms};
  UPDATE x402_alerts SET told_at = told_at - ${ms};
  UPDATE x402_resources SET sold_at = sold_at - ${ms};
  UPDATE x402_authorizations SET locked_until = locked_until - ${ms};
  UPDATE x402_checkouts SET expires_at = expires_at - ${ms}`

const openMemory: OpenStore = async (toEnd) => {
  const clock = { ms: Date.now() }
  const ledger = closedBy(toEnd, createMemoryLedger({ now: () => clock.ms }))
  return {
    ledger,
    another: () => ledger,
    pass: async (ms) => void (clock.ms += ms),
    execute: async () => undefined,
  }
}

const openSqlite: OpenStore = async (toEnd) => {
  const file = join(temporaryFolder(toEnd), 'ledger.db')
  const open = (): LedgerStore => {
    return closedBy(toEnd, openSqliteLedger(file))
  }
  const execute = async (statement: string): Promise<void> => {
    const database = new Database(file)
    database.exec('PRAGMA busy_timeout = 30000')
    database.exec(statement)
    database.close()
  }
  return { ledger: open(), another: open, execute, pass: (ms) => execute(passing(ms)) }
}

const postgres = await findPostgres()

const openPostgres: OpenStore = async (toEnd) => {
  const schema = await createSchema(postgres!)
  toEnd.push(() => schema.drop())
  const open = (): LedgerStore => {
    return closedBy(toEnd, openPostgresLedger(schema.pool()))
  }
  const { execute } = schema
  return {
    ledger: open(),
    another: open,
    execute,
    pass: async (ms) => void (await execute(passing(ms))),
  }
}

/** Every kind of ledger, by its name. */
export const stores: readonly (readonly [string, OpenStore])[] = [
  ['memory', openMemory],
  ['SQLite', openSqlite],
  ...(postgres === undefined ? [] : [['PostgreSQL', openPostgres] as const]),
]
