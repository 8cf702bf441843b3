import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** A PostgreSQL that tests may use, and a schema of a test's own in it. */
export interface TestSchema {
  /** For `postgresLedger`, with the schema on its search path. */
  readonly url: string
  readonly name: string
  /** A pool on the schema, ended with it. */
  pool(max?: number): pg.Pool
  execute(statement: string): Promise<readonly Record<string, unknown>[]>
  drop(): Promise<void>
}

/**
 * Looks for a PostgreSQL: `TEST_DATABASE_URL`, else the usual place on this machine.
 *
 * @returns Its URL, or `undefined` where none answers; that is said aloud.
 */
export async function findPostgres(): Promise<string | undefined> {
  const given = process.env['TEST_DATABASE_URL']
  const url = given ?? 'postgres://postgres@127.0.0.1:5432/test'
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 30_000 })
  try {
    await client.connect()
    await client.end()
    return url
  } catch (error) {
    if (given !== undefined) throw error
    process.stderr.write('No PostgreSQL on 127.0.0.1:5432: its tests are SKIPPED.\n')
    return undefined
  }
}

/** Makes a schema that nobody else has. */
export async function createSchema(root: string): Promise<TestSchema> {
  const name = `x402_test_${randomBytes(8).toString('hex')}`
  const url = new URL(root)
  url.searchParams.set('options', `-c search_path=${name} -c synchronous_commit=off`)
  // Spaces, in a URL's query, are not told from plus signs by pg.
  const connectionString = url.href.replaceAll('+', '%20')
  const own = new pg.Pool({ connectionString, max: 1 })
  const pools: pg.Pool[] = []
  await own.query(`CREATE SCHEMA ${name}`)
  return {
    url: connectionString,
    name,
    pool(max = 4) {
      const pool = new pg.Pool({ connectionString, max })
      pool.on('error', () => undefined)
      pool.on('connect', (client) => void client.on('error', () => undefined))
      pools.push(pool)
      return pool
    },
    async execute(statement) {
      const { rows } = await own.query<Record<string, unknown>>(statement)
      return rows
    },
    async drop() {
      await Promise.all(pools.map((pool) => pool.end()))
      await own.query(`DROP SCHEMA ${name} CASCADE`)
      await own.end()
    },
  }
}
