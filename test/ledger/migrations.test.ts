import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { DatabaseSync as Database } from '@photostructure/sqlite'
import * as kysely from 'kysely'
import { PostgresDialect, SqliteDialect } from 'kysely'
import { recordId, type LedgerEntry, type LedgerStore } from '../../src/ledger/ledger.js'
import { explainFailure, failureKind } from '../../src/ledger/sql/explain-failure.js'
import { migrationContext } from '../../src/ledger/sql/migration.js'
import { migrations } from '../../src/ledger/sql/migrations.js'
import { openMaintenance } from '../../src/ledger/sql/open-maintenance.js'
import { openPostgresLedger } from '../../src/ledger/sql/postgres-ledger.js'
import type { LedgerDatabase } from '../../src/ledger/sql/schema.js'
import { forKysely } from '../../src/ledger/sql/sqlite-engine.js'
import { openSqliteLedger } from '../../src/ledger/sql/sqlite-ledger.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { newNonce } from '../support/sign-payment.js'
import { newEntry, UNAVAILABLE } from './ledger-conformance.js'
import {
  OLD,
  OLD_ANSWER,
  OLD_DATABASE,
  OLD_PURCHASE,
  OLD_RATE,
  OLD_SUBMISSION,
  OLD_TRANSFER,
  PUBLISHED_MIGRATIONS,
} from './tables-0007.js'

interface OldDatabase {
  open(): LedgerStore
  /** Keeps others from changing its tables. @returns A function that lets them. */
  block(): Promise<() => Promise<unknown>>
  read(statement: string): Promise<readonly unknown[]>
  /** SQL of the type of a value. */
  readonly typeOf: (value: string) => string
  /** What that says of bytes. */
  readonly bytes: string
  /** Reads the names of the unique indexes of records. */
  readonly uniqueIndexes: string
  /** Applies all migrations up to one. */
  migrateTo(last: string): Promise<void>
  drop(): Promise<void>
}

describeMigration('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'x402-migrations-'))
  const file = join(folder, 'ledger.db')
  const database = new Database(file)
  database.exec('PRAGMA journal_mode = WAL')
  for (const statement of OLD_DATABASE) database.exec(statement)
  return {
    open: () => openSqliteLedger(file),
    async block() {
      database.exec('BEGIN IMMEDIATE')
      return async () => database.exec('COMMIT')
    },
    read: async (statement) => database.prepare(statement).all().map(copy),
    typeOf: (value) => `typeof(${value})`,
    bytes: 'blob',
    migrateTo: (last) => migrateTo(last, new SqliteDialect({ database: forKysely(database) })),
    uniqueIndexes: `SELECT name FROM pragma_index_list('x402_authorizations') WHERE "unique" = 1 ORDER BY name`,
    async drop() {
      database.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})

it('SQLite: a table that was copied has every index and trigger of a new one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'x402-migrations-'))
  const attachedTo = async (file: string, statements: readonly string[]) => {
    const database = new Database(join(folder, file))
    for (const statement of statements) database.exec(statement)
    const ledger = openSqliteLedger(join(folder, file))
    await ledger.listSubmitted()
    await ledger.close()
    const attached = database
      .prepare(
        "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = 'x402_authorizations' ORDER BY name = 'own', name",
      )
      .all()
    database.close()
    return attached.filter(({ type }) => type !== 'table')
  }
  const own = 'CREATE TRIGGER own AFTER INSERT ON x402_authorizations BEGIN SELECT 1; END'
  const old = await attachedTo('old.db', [...OLD_DATABASE, own])
  // An operator's own trigger is kept.
  expect(old.pop()).toMatchObject({ type: 'trigger', name: 'own', sql: own })
  expect(old).toHaveLength(14)
  expect(await attachedTo('new.db', [])).toEqual(old)
  await rm(folder, { recursive: true, force: true })
})

it('SQLite: a view that an operator has made of a copied table goes on', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'x402-migrations-'))
  const file = join(folder, 'ledger.db')
  const database = new Database(file)
  for (const statement of OLD_DATABASE) database.exec(statement)
  database.exec('CREATE VIEW sales AS SELECT hex(id) AS id, value FROM x402_authorizations')
  const ledger = openSqliteLedger(file)
  await ledger.listSubmitted()
  const ids = database.prepare('SELECT id FROM sales ORDER BY id').all()
  const expected = Object.values(OLD).map((entry) => recordId(entry).toUpperCase())
  expect(ids.map((row) => row['id'])).toEqual(expected.toSorted())
  await ledger.close()
  database.close()
  await rm(folder, { recursive: true, force: true })
})

const root = await findPostgres()
if (root !== undefined) {
  it('PostgreSQL: a view that an operator has made of a table is named as the obstacle', async () => {
    const schema = await createSchema(root)
    for (const statement of OLD_DATABASE) await schema.execute(statement)
    await schema.execute('CREATE VIEW sales AS SELECT id, payer, value FROM x402_authorizations')
    const ledger = openMaintenance(schema)
    const failure: unknown = await ledger.migrate().catch((error: unknown) => error)
    expect(explainFailure(failureKind(failure), schema)).toMatch(
      /^a view, rule or trigger of your own in '\w+' at .* drop it, .* \(0A000\)$/,
    )
    await schema.execute('DROP VIEW sales')
    await ledger.migrate()
    await ledger.close()
    await schema.drop()
  })

  describeMigration('PostgreSQL', async () => {
    const schema = await createSchema(root)
    for (const statement of OLD_DATABASE) await schema.execute(statement)
    return {
      // Migrations take as long as they need, whatever the timeout of other statements.
      open: () => openPostgresLedger(`${schema.url}%20-c%20statement_timeout%3D1000`),
      async block() {
        await schema.execute('BEGIN')
        await schema.execute('LOCK TABLE x402_authorizations')
        return () => schema.execute('COMMIT')
      },
      read: schema.execute,
      typeOf: (value) => `pg_typeof(${value})::text`,
      bytes: 'bytea',
      migrateTo: (last) => migrateTo(last, new PostgresDialect({ pool: schema.pool() })),
      uniqueIndexes: `SELECT relname AS name FROM pg_index JOIN pg_class ON oid = indexrelid
        WHERE indrelid = 'x402_authorizations'::regclass AND indisunique ORDER BY relname`,
      drop: schema.drop,
    }
  })
}

function describeMigration(name: string, create: () => Promise<OldDatabase>): void {
  describe(`a database of the last published version, on ${name},`, () => {
    let database: OldDatabase
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

    it('gets only the migrations that it lacks', async () => {
      await open().listSubmitted()
      const rows = await database.read('SELECT name FROM x402_migrations ORDER BY name')
      const added = Object.keys(migrations).filter((each) => !PUBLISHED_MIGRATIONS.includes(each))
      expect(rows).toEqual([...PUBLISHED_MIGRATIONS, ...added].map((each) => ({ name: each })))
      expect(added).toContain('0010_lists')
    })

    it('has no other key of a record than its id', async () => {
      await open().listSubmitted()
      const names = ['x402_authorizations_id', 'x402_authorizations_transfer']
      expect(await database.read(database.uniqueIndexes)).toEqual(names.map((name) => ({ name })))
    })

    it('stores as bytes what was hexadecimal text, in new records too', async () => {
      const ledger = open()
      await ledger.reserve(newEntry())
      const account = { chainId: 84532, relayer: OLD_SUBMISSION.relayer }
      await ledger.submitNext(account, 100, async (accountNonce) => ({
        submission: { ...OLD_SUBMISSION, accountNonce },
        members: [],
      }))
      const typesIn = async (table: string, columns: readonly string[]) => {
        const all = columns.map((column) => `${database.typeOf(column)} AS ${column}`)
        const rows = (await database.read(`SELECT ${all.join(', ')} FROM ${table}`)) as object[]
        return new Set(rows.flatMap((row) => Object.values(row)))
      }
      const key = ['id', 'asset', 'payer', 'nonce', 'pay_to']
      expect(await typesIn('x402_authorizations', key)).toEqual(new Set([database.bytes]))
      const sent = ['relayer', 'transaction_hash', 'raw']
      expect(await typesIn('x402_relayer_transactions', sent)).toEqual(new Set([database.bytes]))
      expect(await typesIn('x402_relayer_nonces', ['relayer'])).toEqual(new Set([database.bytes]))
      const hashed = "x402_authorizations WHERE state IN ('submitted', 'settled')"
      const submitted = ['transaction_hash', 'relayer']
      expect(await typesIn(hashed, submitted)).toEqual(new Set([database.bytes]))
    })

    it.each(['receipt №7', '100042', '#1', '0xnot', '0x123', 'd'.repeat(64)])(
      'keeps a record whose transaction is no hash but %s',
      async (text) => {
        await database.read(
          `UPDATE x402_authorizations SET transaction_hash = '${text}' WHERE state = 'settled'`,
        )
        const record = await open().find(OLD.delivered)
        const transaction = `0x${Buffer.from(text).toString('hex')}`
        expect(record).toMatchObject({ ...OLD.delivered, state: 'settled', transaction })
      },
    )

    it('keeps a refund with its payment, and tells webhooks of what was under way', async () => {
      await database.migrateTo('0024_rebuilt_files')
      const [payment, refund, pending] = [newEntry(), newEntry(), newEntry()]
      const { transaction, relayer } = OLD_SUBMISSION
      const insert = (entry: LedgerEntry, columns: Readonly<Record<string, string>>) => {
        const { chainId, asset, from, nonce, payTo, value, validBefore } = entry
        const row = {
          ...{ chain_id: `${chainId}`, asset: `'${asset}'`, payer: `'${from}'` },
          ...{ nonce: `'${nonce}'`, id: `'${recordId(entry)}'`, pay_to: `'${payTo}'` },
          ...{ value: `'${value}'`, valid_before: `'${validBefore}'`, project: "'shop'" },
          ...{ locked_until: '0', created_at: '1000', updated_at: '1000' },
          ...{ transaction_hash: `'${transaction}'`, relayer: `'${relayer}'`, account_nonce: '41' },
          ...columns,
        }
        return database.read(
          `INSERT INTO x402_authorizations (${Object.keys(row).join()}) VALUES (${Object.values(row).join()})`,
        )
      }
      await insert(payment, { state: "'settled'", delivered: '1' })
      const refundOf = recordId(payment)
      await insert(refund, { state: "'submitted'", kind: "'refund'", refund_of: `'${refundOf}'` })
      await insert(pending, { state: "'submitted'" })
      await database.read(`INSERT INTO x402_webhook_endpoints
        (id, project, url, events, secret, created_at, updated_at)
        VALUES ('we_1', 'shop', 'https://shop.example', ',payment.settled,', 'secret', 1, 1)`)

      const ledger = open()
      expect(await ledger.refundsOf([refundOf])).toMatchObject([
        { id: recordId(refund), refundOf, state: 'submitted', value: refund.value },
      ])
      const { from, payTo } = payment
      const second = { ...payment, from: payTo, payTo: from, nonce: newNonce(), refundOf }
      expect(await ledger.reserveRefund(second)).toMatchObject({ kind: 'exceeds_payment' })
      await ledger.markSettled(pending, transaction)
      const deliveries = await database.read(
        'SELECT payment, transaction_hash FROM x402_webhook_deliveries',
      )
      expect(deliveries).toEqual([{ payment: recordId(pending), transaction_hash: transaction }])
    })

    it.each([
      ['reservation', 'x402_authorizations', 'id', recordId(OLD.submitted)],
      ['account nonce', 'x402_relayer_nonces', 'relayer', OLD_SUBMISSION.relayer],
    ])('takes no %s of a gateway that writes text', async (_what, table, column, text) => {
      const ledger = open()
      const account = { chainId: 84532, relayer: OLD_SUBMISSION.relayer }
      await ledger.submitNext(account, 100, async (accountNonce) => ({
        submission: { ...OLD_SUBMISSION, accountNonce },
        members: [],
      }))
      const write = `UPDATE ${table} SET ${column} = '${text}'`
      await expect((async () => database.read(write))()).rejects.toThrow(/check/i)
    })

    it('is opened by several processes at once', async () => {
      const ledgers = Array.from({ length: 4 }, open)
      const found = await Promise.all(ledgers.map((ledger) => ledger.find(OLD.submitted)))
      expect(found).toMatchObject(Array.from({ length: 4 }, () => ({ state: 'submitted' })))
    })

    it('is migrated once by several processes, however long it takes, with all its rows', async () => {
      await database.read(MANY_ROWS)
      const letGo = await database.block()
      const ledgers = Array.from({ length: 4 }, open)
      const found = Promise.all(ledgers.map((ledger) => ledger.find(OLD.submitted)))
      // Longer than a request waits for the database.
      await sleep(4000)
      await letGo()
      expect(await found).toMatchObject(Array.from({ length: 4 }, () => ({ state: 'submitted' })))
      const page = await ledgers[0]!.list({ project: 'many', state: 'failed', limit: 100 })
      expect(page.map(({ createdAt }) => createdAt)).toEqual([19_000, 9000])
      const all = await ledgers[0]!.list({ project: 'many', limit: 3 })
      expect(all.map(({ state }) => state)).toEqual(['settled', 'settled', 'settled'])
    })

    it('keeps every record as it was', async () => {
      const ledger = open()
      expect(await ledger.find(OLD.reserved)).toMatchObject({
        state: 'reserved',
        locked: true,
        lockedElsewhere: true,
        delivered: false,
      })
      expect(await ledger.find(OLD.abandoned)).toBeUndefined()
      const { transaction } = OLD_SUBMISSION
      expect(await ledger.find(OLD.submitted)).toMatchObject({
        ...OLD.submitted,
        state: 'submitted',
        locked: false,
        submission: OLD_SUBMISSION,
      })
      expect(await ledger.find(OLD.delivered)).toMatchObject({
        ...OLD.delivered,
        ...{ state: 'settled', locked: true, delivered: true, transaction },
        purchase: OLD_PURCHASE,
        appliedRate: OLD_RATE,
        submission: OLD_SUBMISSION,
      })
      expect(await ledger.find(OLD.failed)).toMatchObject({
        ...{ state: 'failed', locked: false, transaction, reason: 'invalid_transaction_state' },
      })
    })

    it('goes on with its records', async () => {
      const ledger = open()
      expect(await ledger.reserve(OLD.reserved)).toMatchObject({ state: 'reserved' })
      expect(await ledger.reserve(OLD.abandoned)).toBeUndefined()
      expect(await ledger.relock(OLD.delivered)).toBe(false)
      expect(await ledger.relock(OLD.submitted)).toBe(true)
      expect(
        await ledger.markSettled(OLD.submitted, OLD_SUBMISSION.transaction, OLD_TRANSFER),
      ).toBe(false)
      await ledger.markDelivered(OLD.submitted)
      await expect(ledger.markDelivered(OLD.submitted)).rejects.toMatchObject(UNAVAILABLE)
      expect(await ledger.knowsTransaction(OLD_SUBMISSION.replaces![1]!)).toBe(true)
    })

    it('refunds a payment that was made before there were refunds', async () => {
      const ledger = open()
      const { from, payTo } = OLD.delivered
      const refundOf = recordId(OLD.delivered)
      const refund = { ...OLD.delivered, from: payTo, payTo: from, nonce: newNonce(), refundOf }
      expect(await ledger.reserveRefund(refund)).toEqual({ kind: 'reserved' })
      expect(await ledger.reserveRefund({ ...refund, nonce: newNonce() })).toEqual({
        kind: 'exceeds_payment',
        left: 0n,
      })
    })

    it('keeps its answers and secrets', async () => {
      const ledger = open()
      expect(await ledger.idempotency.begin(OLD_ANSWER)).toEqual({
        state: 'done',
        answer: 'the answer',
      })
      expect(await ledger.sharedSecret?.('quote')).toBe('the secret')
    })
  })
}

async function migrateTo(last: string, dialect: kysely.Dialect): Promise<void> {
  const db = new kysely.Kysely<LedgerDatabase>({ dialect })
  for (const [name, apply] of Object.entries(migrations)) {
    if (!PUBLISHED_MIGRATIONS.includes(name)) {
      await db.transaction().execute((connection) => apply(migrationContext(connection, kysely)))
      await db.insertInto('x402_migrations').values({ name }).execute()
    }
    if (name === last) return
  }
}

const MANY_ROWS = `
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < 19999)
  INSERT INTO x402_authorizations
    (chain_id, asset, payer, nonce, id, pay_to, value, valid_before, project, state, held_until,
     granted, transaction_hash, created_at, updated_at)
  SELECT 84532, '0xaa', '0xBB', '0x' || (100000 + n), '${'0'.repeat(26)}' || (100000 + n), '0xcc', '1', '2', 'many',
    CASE WHEN n % 10000 = 9000 THEN 'failed' ELSE 'settled' END, 0, 1, '0x' || (100000 + n), n, n
  FROM s`

/** Rows of SQLite have no prototype. */
function copy(row: unknown): unknown {
  return { ...(row as object) }
}
