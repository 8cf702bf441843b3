import pg from 'pg'
import { idBytes } from '../../src/ledger/engine/bytes.js'
import { loadSqlite } from '../../src/ledger/engine/sqlite.js'

const STATE = 'SELECT state FROM x402_authorizations WHERE id = '

/** Reads records as others see them: what is not committed is not there. */
export interface CommittedStates {
  /** The state of a payment; `undefined` without a record. */
  read(id: string): Promise<string | undefined>
  close(): Promise<void>
}

/** @param ledger - A file, or a `postgres://` URL. */
export function openCommittedStates(ledger: string): CommittedStates {
  type Row = { readonly state: string } | undefined
  if (ledger.startsWith('postgres')) {
    const pool = new pg.Pool({ connectionString: ledger, max: 2 })
    return {
      read: async (id) => ((await pool.query(`${STATE} $1`, [idBytes(id)])).rows[0] as Row)?.state,
      close: () => pool.end(),
    }
  }
  const database = new (loadSqlite())(ledger)
  database.exec('PRAGMA busy_timeout = 5000')
  return {
    read: async (id) => (database.prepare(`${STATE} ?`).all(idBytes(id))[0] as Row)?.state,
    close: async () => database.close(),
  }
}
