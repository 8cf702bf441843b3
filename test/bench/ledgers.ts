/** Where the gateways of a benchmark keep their payments. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'
import { createSchema, findPostgres } from '../support/postgres.js'

/** A database that survives its process. */
export type DurableLedger = 'sqlite' | 'postgres'

/** An empty ledger of a server's own. */
export interface LedgerPlace {
  /** A file, or a `postgres://` URL. */
  readonly location: string
  execute(statement: string): Promise<unknown>
  drop(): Promise<void>
}

const postgres = findPostgres()

/** Makes an empty ledger. */
export async function createLedger(kind: DurableLedger): Promise<LedgerPlace> {
  if (kind === 'sqlite') return createFile()
  const root = await postgres
  if (root === undefined) throw new Error('There is no PostgreSQL.')
  const schema = await createSchema(root)
  return { location: schema.url, execute: schema.execute, drop: schema.drop }
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
  const location = join(folder, 'ledger.db')
  return {
    location,
    async execute(statement) {
      const database = new DatabaseSync(location)
      database.exec('PRAGMA busy_timeout = 5000')
      database.exec(statement)
      database.close()
    },
    drop: () => rm(folder, { recursive: true, force: true }),
  }
}
