/** Where the gateways of a benchmark keep their payments. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'
import { POSTGRES, SQLITE, type SqlDialect } from '../../src/ledger/engine/dialect.js'
import { createSchema, findPostgres } from '../support/postgres.js'

/** A database that survives its process. */
export type DurableLedger = 'sqlite' | 'postgres'

/** An empty ledger of a server's own. */
export interface LedgerPlace {
  /** A file, or a `postgres://` URL. */
  readonly location: string
  readonly dialect: SqlDialect
  execute(statement: string): Promise<unknown>
  /** Does now what the database and the machine would do later, in the background. */
  tidy(): Promise<void>
  drop(): Promise<void>
}

const postgres = findPostgres()

/** Makes an empty ledger. */
export async function createLedger(kind: DurableLedger): Promise<LedgerPlace> {
  if (kind === 'sqlite') return createFile()
  const root = await postgres
  if (root === undefined) throw new Error('There is no PostgreSQL.')
  const { url, execute, drop } = await createSchema(root)
  return { location: url, dialect: POSTGRES, execute, tidy: tidyPostgres(execute), drop }
}

/** A ledger that stays where it is. */
export function ledgerAt(location: string): LedgerPlace {
  const drop = async (): Promise<void> => undefined
  if (!location.startsWith('postgres')) return { ...fileAt(location), drop }
  const execute = async (statement: string): Promise<void> => {
    const client = new pg.Client({ connectionString: location })
    await client.connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  }
  return { location, dialect: POSTGRES, execute, tidy: tidyPostgres(execute), drop }
}

const tidyPostgres = (execute: LedgerPlace['execute']) => async (): Promise<void> => {
  await execute('VACUUM (ANALYZE) x402_authorizations')
  await execute('CHECKPOINT')
  await writeBack()
}

/** Leaves out those who need a PostgreSQL where there is none. */
export async function onlyPossible<T extends { readonly ledger?: DurableLedger }>(
  contestants: readonly T[],
): Promise<readonly T[]> {
  const isThere = (await postgres) !== undefined
  return contestants.filter(({ ledger }) => isThere || ledger !== 'postgres')
}

async function createFile(): Promise<LedgerPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'x402-bench-'))
  const drop = () => rm(folder, { recursive: true, force: true })
  return { ...fileAt(join(folder, 'ledger.db')), drop }
}

function fileAt(location: string): Omit<LedgerPlace, 'drop'> {
  const execute = async (statement: string): Promise<void> => {
    const database = new DatabaseSync(location)
    database.exec('PRAGMA busy_timeout = 5000')
    database.exec(statement)
    database.close()
  }
  const tidy = async (): Promise<void> => {
    await execute('ANALYZE')
    await execute('PRAGMA wal_checkpoint(TRUNCATE)')
    await writeBack()
  }
  return { location, dialect: SQLITE, execute, tidy }
}

/** Has the machine write to its disk what it keeps in memory for it. */
const writeBack = (): Promise<unknown> => promisify(execFile)('sync')
