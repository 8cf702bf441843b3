import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import type { LedgerEntry, LedgerStore } from '../../src/ledger/index.js'
import { openPostgresLedger, type PostgresPool } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { temporaryFolder, useCleanup, closedBy } from '../support/cleanup.js'
import { createSchema, findPostgres, type TestSchema } from '../support/postgres.js'
import { until } from '../support/until.js'
import { newEntry, SUBMISSION, UNAVAILABLE } from '../support/ledger-entries.js'
import { recordSqlite } from './plans.js'

const root = await findPostgres()
const describePostgres = root === undefined ? describe.skip : describe
const toEnd = useCleanup()

/** A ledger that counts what it asks of its database. */
interface CountedLedger {
  readonly ledger: LedgerStore
  /** Statements, those that begin and end a transaction among them. */
  readonly count: () => number
}

const members = (count: number): readonly LedgerEntry[] =>
  Array.from({ length: count }, () => newEntry())

/** Takes payments together, from the look-up to the delivery, in a transaction that they share. */
async function takeAll(ledger: LedgerStore, entries: readonly LedgerEntry[]): Promise<void> {
  await Promise.all(entries.map((entry) => ledger.payments.find(entry)))
  const found = await Promise.all(entries.map((entry) => ledger.payments.reserve(entry)))
  expect(found.every((record) => record === undefined)).toBe(true)
  const account = { chainId: 1, relayer: SUBMISSION.relayer }
  const sign = async (accountNonce: number) => {
    const submission = { ...SUBMISSION, accountNonce }
    return { submission, members: entries.map((key) => ({ key, submission })) }
  }
  expect(await ledger.relayers.submitNext(account, 0, sign)).toEqual([])
  const { transaction } = SUBMISSION
  await Promise.all(
    entries.map((entry) =>
      ledger.payments.markDelivered(entry, {
        transaction,
        transfer: `${transaction}:${entry.nonce}`,
      }),
    ),
  )
}

/** The look-up, the reservation, the transaction that is written ahead, and the delivery. */
const STATEMENTS = 4

function describeGroups(name: string, open: () => Promise<CountedLedger>): void {
  describe(`${name}, asked for many things at once,`, () => {
    it('gives each of many authorizations to one of its callers', async () => {
      const { ledger } = await open()
      const entries = members(40)
      const wanted = Array.from({ length: 200 }, (_, index) => entries[(index * 7) % 40]!)
      const answers = await Promise.all(wanted.map((entry) => ledger.payments.reserve(entry)))
      for (const entry of entries) {
        const own = answers.filter((_, index) => wanted[index] === entry)
        expect(own.filter((record) => record === undefined)).toHaveLength(1)
        for (const record of own)
          if (record !== undefined)
            expect(record).toMatchObject({ nonce: entry.nonce, locked: true, state: 'reserved' })
      }
    })

    it('groups calls that come within a turn of the event loop after a statement', async () => {
      const { ledger, count } = await open()
      await ledger.payments.reserve(newEntry())
      const before = count()
      const [first, next, other] = members(3)
      await Promise.all([
        ledger.payments.reserve(first!).then(() => ledger.payments.reserve(next!)),
        turn().then(() => ledger.payments.reserve(other!)),
      ])
      expect(count() - before).toBe(2)
    })

    it('refuses a payment that cannot be written, and takes the others of its group', async () => {
      const { ledger } = await open()
      const entries = members(9)
      const bad = { ...newEntry(), chainId: NaN }
      const results = await Promise.allSettled(
        entries.toSpliced(4, 0, bad).map((entry) => ledger.payments.reserve(entry)),
      )
      const [refused] = results.splice(4, 1)
      expect(refused).toMatchObject({ status: 'rejected', reason: UNAVAILABLE })
      expect(results.map(({ status }) => status)).toEqual(entries.map(() => 'fulfilled'))
      for (const entry of entries)
        expect(await ledger.payments.find(entry)).toMatchObject({ locked: true })
    })

    it('lets a transfer pay for one of two payments, and settles the others of their group', async () => {
      const { ledger } = await open()
      const entries = members(4)
      await Promise.all(entries.map((entry) => ledger.payments.reserve(entry)))
      const paid = await Promise.all(
        ['one', 'two', 'two', 'three'].map((transfer, index) =>
          ledger.payments.markSettled(entries[index]!, SUBMISSION.transaction, transfer),
        ),
      )
      expect(paid.filter((isPaid) => !isPaid)).toHaveLength(1)
      expect([paid[0], paid[3]]).toEqual([true, true])
      const states = await Promise.all(
        entries.map(async (entry) => (await ledger.payments.find(entry))?.state),
      )
      expect(states).toEqual(paid.map((isPaid) => (isPaid ? 'settled' : 'reserved')))
    })

    it('settles and delivers in one write, and delivers no payment whose transfer paid for another', async () => {
      const { ledger } = await open()
      const [one, other] = members(2)
      const transfer = 'the only one'
      const { transaction } = SUBMISSION
      for (const entry of [one!, other!]) {
        await ledger.payments.reserve(entry)
        await ledger.payments.submit(entry, SUBMISSION)
      }
      await ledger.payments.markDelivered(one!, { transaction, transfer })
      expect(await ledger.payments.find(one!)).toMatchObject({
        state: 'settled',
        transaction,
        delivered: true,
      })
      await expect(
        ledger.payments.markDelivered(other!, { transaction, transfer }),
      ).rejects.toMatchObject(UNAVAILABLE)
      expect(await ledger.payments.find(other!)).toMatchObject({
        state: 'submitted',
        delivered: false,
      })
      expect(await ledger.payments.markSettled(other!, transaction, transfer)).toBe(false)
    })

    it('writes many payments in as few statements as one', async () => {
      const { ledger, count } = await open()
      await takeAll(ledger, members(2))
      // Now and then a process also writes that it lives.
      for (const payments of [1, 32]) {
        let statements = 0
        await until(async () => {
          const before = count()
          await takeAll(ledger, members(payments))
          statements = count() - before
          return statements <= STATEMENTS
        })
        expect(statements).toBe(STATEMENTS)
      }
    })
  })
}

const sqliteStatements = recordSqlite()

describeGroups('the SQLite ledger', async () => {
  const ledger = closedBy(toEnd, openSqliteLedger(join(temporaryFolder(toEnd), 'ledger.db')))
  return { ledger, count: () => sqliteStatements.length }
})

describePostgres('on PostgreSQL', () => {
  const newSchema = async (): Promise<TestSchema> => {
    const schema = await createSchema(root!)
    toEnd.push(() => schema.drop())
    return schema
  }

  describeGroups('the PostgreSQL ledger', async () => {
    const pool = (await newSchema()).pool()
    let statements = 0
    const counting: PostgresPool = {
      async connect() {
        const client = await pool.connect()
        return {
          query(text, values) {
            statements++
            return client.query(text, values)
          },
          release: () => client.release(),
        }
      },
      end: () => pool.end(),
    }
    const ledger = closedBy(toEnd, openPostgresLedger(counting))
    return { ledger, count: () => statements }
  })

  describe('the PostgreSQL ledger, whose connection ends in the middle of a group,', () => {
    /** Ends the connections whose statement waits for a lock. @returns How many there were. */
    const endWaiting = async ({ execute, name }: TestSchema): Promise<number> => {
      const ended = await execute(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO x402_authorizations%'
           AND pid IN (SELECT pid FROM pg_locks WHERE relation = '${name}.x402_authorizations'::regclass)`,
      )
      return ended.length
    }
    const openLocked = async () => {
      const schema = await newSchema()
      const ledger = closedBy(toEnd, openPostgresLedger(schema.url))
      await ledger.payments.listSubmitted()
      const blocker = await schema.pool(1).connect()
      await blocker.query('BEGIN')
      await blocker.query('LOCK TABLE x402_authorizations IN SHARE MODE')
      return { schema, ledger, blocker }
    }

    it('writes each member once if the database comes back', async () => {
      const { schema, ledger, blocker } = await openLocked()
      const entries = members(20)
      const reserved = Promise.all(entries.map((entry) => ledger.payments.reserve(entry)))
      await until(async () => (await endWaiting(schema)) > 0)
      await blocker.query('COMMIT')
      blocker.release()
      expect(await reserved).toEqual(Array(20).fill(undefined))
      expect(await ledger.payments.list({ project: 'shop', limit: 50 })).toHaveLength(20)
    })

    it('fails each member and reserves nothing if the database stays away', async () => {
      const { schema, ledger, blocker } = await openLocked()
      const ending = setInterval(() => void endWaiting(schema), 20)
      const results = await Promise.allSettled(
        members(20).map((entry) => ledger.payments.reserve(entry)),
      )
      clearInterval(ending)
      await blocker.query('COMMIT')
      blocker.release()
      for (const result of results)
        expect(result).toMatchObject({ status: 'rejected', reason: UNAVAILABLE })
      expect(await ledger.payments.list({ project: 'shop', limit: 50 })).toEqual([])
      expect(await ledger.payments.reserve(newEntry())).toBeUndefined()
    })
  })
})
