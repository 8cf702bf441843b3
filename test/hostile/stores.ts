/** The ledgers that an attack is tried on. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LedgerStore } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { createSchema, findPostgres } from '../support/postgres.js'

/** A store that gateways may share. */
export interface Store {
  readonly name: string
  /** Opens it; of a shared one every call is another process's. */
  open(): LedgerStore
  drop(): Promise<void>
}

/** Makes an empty store of each kind; PostgreSQL where there is one. */
export const storeMakers: readonly [name: string, make: () => Promise<Store | undefined>][] = [
  [
    'memory',
    async () => ({ name: 'memory', open: () => createMemoryLedger(), drop: async () => undefined }),
  ],
  [
    'SQLite',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'x402-hostile-'))
      return {
        name: 'SQLite',
        open: () => openSqliteLedger(join(folder, 'ledger.db')),
        drop: async () => rmSync(folder, { recursive: true, force: true }),
      }
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const root = await findPostgres()
      if (root === undefined) return undefined
      const schema = await createSchema(root)
      return {
        name: 'PostgreSQL',
        open: () => openPostgresLedger(schema.url),
        drop: () => schema.drop(),
      }
    },
  ],
]
