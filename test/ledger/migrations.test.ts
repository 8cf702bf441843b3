import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Database } from '../support/sqlite.js'
import type { LedgerStore } from '../../src/ledger/index.js'
import { migrations } from '../../src/ledger/schema/migrate.js'
import { TABLES } from '../../src/ledger/schema/tables.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { newEntry, steps, SUBMISSION } from '../support/ledger-entries.js'

/** A database without tables. */
interface NewDatabase {
  open(): LedgerStore
  /** Keeps others from creating tables. @returns A function that lets them. */
  block(): Promise<() => Promise<unknown>>
  read(statement: string): Promise<readonly unknown[]>
  run(statement: string): Promise<unknown>
  /** SQL of the type of a value. */
  readonly typeOf: (value: string) => string
  /** What that says of bytes. */
  readonly bytes: string
  drop(): Promise<void>
}

describeMigrations('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'x402-migrations-'))
  const file = join(folder, 'ledger.db')
  const database = new Database(file)
  database.exec('PRAGMA journal_mode = WAL')
  return {
    open: () => openSqliteLedger(file),
    async block() {
      database.exec('BEGIN IMMEDIATE')
      return async () => database.exec('COMMIT')
    },
    read: async (statement) =>
      database
        .prepare(statement)
        .all()
        .map((row) => ({ ...row })),
    run: async (statement) => database.exec(statement),
    typeOf: (value) => `typeof(${value})`,
    bytes: 'blob',
    async drop() {
      database.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})

const root = await findPostgres()
if (root !== undefined)
  describeMigrations('PostgreSQL', async () => {
    const schema = await createSchema(root)
    return {
      // Migrations take as long as they need, whatever the timeout of other statements.
      open: () => openPostgresLedger(`${schema.url}%20-c%20statement_timeout%3D1000`),
      async block() {
        await schema.execute('BEGIN')
        await schema.execute('SELECT pg_advisory_xact_lock(2016686130)')
        return () => schema.execute('COMMIT')
      },
      read: schema.execute,
      run: schema.execute,
      typeOf: (value) => `pg_typeof(${value})::text`,
      bytes: 'bytea',
      drop: schema.drop,
    }
  })

function describeMigrations(name: string, create: () => Promise<NewDatabase>): void {
  describe(`a database without tables, on ${name},`, () => {
    let database: NewDatabase
    const opened: LedgerStore[] = []
    const open = (): LedgerStore => {
      const ledger = database.open()
      opened.push(ledger)
      return ledger
    }
    beforeEach(async () => {
      database = await create()
    })
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((ledger) => ledger.close()))
      await database.drop()
    })

    it('gets each migration once from several processes that open it at once', async () => {
      const ledgers = Array.from({ length: 4 }, open)
      const entry = newEntry()
      await ledgers[0]!.payments.reserve(entry)
      const found = await Promise.all(ledgers.map((ledger) => ledger.payments.find(entry)))
      expect(found).toMatchObject(Array.from({ length: 4 }, () => ({ state: 'reserved' })))
      const rows = await database.read('SELECT name FROM x402_migrations ORDER BY name')
      expect(rows).toEqual(Object.keys(migrations).map((each) => ({ name: each })))
    })

    it('is waited for while another process migrates it, however long that takes', async () => {
      const letGo = await database.block()
      const ledgers = Array.from({ length: 4 }, open)
      const found = Promise.all(ledgers.map((ledger) => ledger.payments.find(newEntry())))
      // Longer than a request waits for the database.
      await sleep(4000)
      await letGo()
      expect(await found).toEqual([undefined, undefined, undefined, undefined])
    })

    it('is used by a version while the next one adds to it', async () => {
      const [one, other] = [open(), open()]
      const paid = newEntry()
      await steps.settled(one, paid)
      await steps.settled(other, newEntry())
      // What a migration may do: see the head of schema/tables.ts.
      for (const table of Object.keys(TABLES)) {
        await database.run(`ALTER TABLE ${table} ADD COLUMN added_text TEXT`)
        await database.run(`ALTER TABLE ${table} ADD COLUMN added_count INTEGER NOT NULL DEFAULT 7`)
      }
      await database.run('CREATE TABLE x402_added (id TEXT NOT NULL PRIMARY KEY)')
      await database.run(`INSERT INTO x402_migrations (name) VALUES ('9999_next')`)

      const later = newEntry()
      await steps.settled(one, later)
      // A process of the earlier version may also start now.
      for (const ledger of [one, other, open()]) {
        expect(await ledger.payments.find(paid)).toMatchObject({ state: 'settled' })
        expect(await ledger.payments.find(later)).toMatchObject({ state: 'settled' })
        expect(await ledger.payments.listSubmitted()).toEqual([])
        const entry = newEntry()
        await steps.settled(ledger, entry)
        expect(await one.payments.find(entry)).toMatchObject({ state: 'settled' })
      }
    })

    it('stores addresses, hashes and ids as bytes', async () => {
      const ledger = open()
      const entry = newEntry()
      await ledger.payments.reserve(entry)
      const account = { chainId: 84532, relayer: SUBMISSION.relayer }
      await ledger.relayers.submitNext(account, 100, async (accountNonce) => {
        const submission = { ...SUBMISSION, accountNonce }
        return { submission, members: [{ key: entry, submission }] }
      })
      const typesIn = async (table: string, columns: readonly string[]) => {
        const all = columns.map((column) => `${database.typeOf(column)} AS ${column}`)
        const rows = (await database.read(`SELECT ${all.join(', ')} FROM ${table}`)) as object[]
        return new Set(rows.flatMap((row) => Object.values(row)))
      }
      const key = ['id', 'asset', 'payer', 'nonce', 'pay_to', 'transaction_hash', 'relayer']
      expect(await typesIn('x402_authorizations', key)).toEqual(new Set([database.bytes]))
      const sent = ['relayer', 'transaction_hash', 'raw']
      expect(await typesIn('x402_relayer_transactions', sent)).toEqual(new Set([database.bytes]))
      expect(await typesIn('x402_relayer_nonces', ['relayer'])).toEqual(new Set([database.bytes]))
    })
  })
}
