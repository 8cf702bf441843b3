import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { DatabaseSync as Database } from '@photostructure/sqlite'
import type { LedgerStore } from '../../src/ledger/ledger.js'
import { openPostgresLedger } from '../../src/ledger/sql/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sql/sqlite-ledger.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { UNAVAILABLE } from './ledger-conformance.js'
import {
  OLD,
  OLD_ANSWER,
  OLD_DATABASE,
  OLD_PURCHASE,
  OLD_RATE,
  OLD_RELAYERS,
  OLD_SUBMISSION,
  OLD_TRANSFER,
  PUBLISHED_MIGRATIONS,
} from './tables-0007.js'

interface OldDatabase {
  open(): LedgerStore
  read(statement: string): Promise<readonly unknown[]>
  drop(): Promise<void>
}

describeMigration('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'x402-migrations-'))
  const file = join(folder, 'ledger.db')
  const database = new Database(file)
  for (const statement of OLD_DATABASE) database.exec(statement)
  return {
    open: () => openSqliteLedger(file),
    read: async (statement) => database.prepare(statement).all().map(copy),
    async drop() {
      database.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})

const root = await findPostgres()
if (root !== undefined)
  describeMigration('PostgreSQL', async () => {
    const schema = await createSchema(root)
    for (const statement of OLD_DATABASE) await schema.execute(statement)
    return {
      open: () => openPostgresLedger(schema.url),
      read: schema.execute,
      drop: schema.drop,
    }
  })

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
      expect(rows).toEqual([...PUBLISHED_MIGRATIONS, '0008_words'].map((each) => ({ name: each })))
    })

    it('is opened by several processes at once', async () => {
      const ledgers = Array.from({ length: 4 }, open)
      const found = await Promise.all(ledgers.map((ledger) => ledger.find(OLD.submitted)))
      expect(found).toMatchObject(Array.from({ length: 4 }, () => ({ state: 'submitted' })))
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

    it('keeps its answers, leases and secrets', async () => {
      const ledger = open()
      expect(await ledger.idempotency.begin(OLD_ANSWER)).toEqual({
        state: 'done',
        answer: 'the answer',
      })
      expect(await ledger.sharedSecret?.('quote')).toBe('the secret')
      // Two processes share two accounts, of which the other one has leased the first.
      expect(await ledger.leaseRelayers(84532, OLD_RELAYERS)).toEqual([OLD_RELAYERS[1]])
    })
  })
}

/** Rows of SQLite have no prototype. */
function copy(row: unknown): unknown {
  return { ...(row as object) }
}
