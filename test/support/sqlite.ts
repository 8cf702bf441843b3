import type { DatabaseSync } from '@photostructure/sqlite'
import { loadSqlite } from '../../src/ledger/engine/sqlite.js'

/**
 * The SQLite that the ledger uses, for tests that look into its file. With another copy of SQLite in the same
 * process, closing the file would drop the ledger's locks of it: POSIX has them per process.
 */
export const Database = loadSqlite() as unknown as typeof DatabaseSync
