import type * as KyselyModule from 'kysely'
import pg from 'pg'
import { afterEach, describe, expect, it } from '@jest/globals'
import { loadPeer } from '../../src/shared/crypto/load-peer.cjs'
import type { LedgerStore } from '../../src/ledger/index.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { ledgerPool } from '../../src/ledger/engine/prepared-statements.js'
import { useCleanup, closedBy } from '../support/cleanup.js'
import { hasPgbouncer, startPgbouncer } from '../support/pgbouncer.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { newNonce } from '../support/sign-payment.js'
import { newEntry, SUBMISSION } from '../support/ledger-entries.js'

const { CompiledQuery, PostgresDriver } = loadPeer('kysely') as typeof KyselyModule
const root = await findPostgres()
const describePostgres = root === undefined ? describe.skip : describe

const toEnd = useCleanup()
const { acquireConnection } = PostgresDriver.prototype

/** A statement that takes rows. */
const COUNT = 'SELECT count(*) FROM json_to_recordset($1::json) AS w(id text)'
const rows = (count: number): readonly unknown[] => [
  JSON.stringify(Array.from({ length: count }, (_, id) => ({ id }))),
]

describePostgres('prepared statements of PostgreSQL', () => {
  afterEach(() => {
    PostgresDriver.prototype.acquireConnection = acquireConnection
  })

  async function connect() {
    const pool = new pg.Pool({ connectionString: root!, max: 1 })
    toEnd.push(() => pool.end())
    const client = await ledgerPool(pool).connect()
    toEnd.push(async () => client.release())
    const prepared = async () => {
      const found = await client.query<{ name: string }>(
        'SELECT name FROM pg_prepared_statements',
        [],
      )
      return found.rows.map(({ name }) => name)
    }
    return { client, prepared }
  }

  it('are prepared once a connection, for statements that take rows', async () => {
    const { client, prepared } = await connect()
    for (const count of [1, 3, 700])
      expect((await client.query(COUNT, rows(count))).rows).toEqual([{ count: `${count}` }])
    await client.query('SELECT 1', [])
    expect(await prepared()).toEqual([expect.stringMatching(/^x402_[0-9a-f]{32}$/)])
  })

  it('have unique names, because another gateway may prepare its own behind the same pooler', async () => {
    const [one, other] = [await connect(), await connect()]
    const sum = 'SELECT sum(w.id) FROM json_to_recordset($1::json) AS w(id bigint)'
    await one.client.query(COUNT, rows(3))
    await other.client.query(sum, rows(3))
    await other.client.query(COUNT, rows(3))
    const [counted] = await one.prepared()
    expect(await other.prepared()).toEqual(expect.arrayContaining([counted]))
    expect(new Set(await other.prepared()).size).toBe(2)
  })

  it('are no longer used after a connection did not know one', async () => {
    const { client, prepared } = await connect()
    await client.query(COUNT, rows(1))
    // What a pooler does when it gives the client another connection.
    await client.query('DEALLOCATE ALL', [])
    await expect(client.query(COUNT, rows(2))).rejects.toMatchObject({ code: '26000' })
    expect((await client.query(COUNT, rows(2))).rows).toEqual([{ count: '2' }])
    expect(await prepared()).toEqual([])
  })

  it('are never sent to a connection that has not answered, or was ended, again', async () => {
    const pool = new pg.Pool({ connectionString: root!, max: 1, query_timeout: 3000 })
    pool.on('error', () => undefined)
    toEnd.push(() => pool.end())
    for (const [fault, said] of [
      ['SELECT pg_sleep(600)', /timeout/],
      ['SELECT pg_terminate_backend(pg_backend_pid())', /terminat/],
    ] as const) {
      const client = await ledgerPool(pool, false).connect()
      await expect(client.query(fault, [])).rejects.toThrow(said)
      client.release()
      const next = await ledgerPool(pool, false).connect()
      const answer = next.query('SELECT 1 AS one', []).finally(() => next.release())
      expect((await answer).rows).toEqual([{ one: 1 }])
    }
  })

  it('fail no payment when their connection has lost them', async () => {
    const schema = await createSchema(root!)
    toEnd.push(() => schema.drop())
    const ledger: LedgerStore = closedBy(toEnd, openPostgresLedger(schema.url))
    let isLost = false
    let losses = 0
    PostgresDriver.prototype.acquireConnection = async function () {
      const connection = await acquireConnection.call(this)
      if (isLost) {
        losses += 1
        await connection.executeQuery(CompiledQuery.raw('DEALLOCATE ALL'))
      }
      return connection
    }
    const [first, second, third] = [newEntry(), newEntry(), newEntry()]
    expect(await ledger.payments.reserve(first)).toBeUndefined()
    isLost = true
    expect(await ledger.payments.reserve(second)).toBeUndefined()
    expect(await ledger.payments.reserve(second)).toMatchObject({ state: 'reserved' })
    expect(await ledger.payments.reserve(third)).toBeUndefined()
    expect(losses).toBeGreaterThanOrEqual(3)
  })

  it('use the index though they were planned while the table was empty', async () => {
    const schema = await createSchema(root!)
    toEnd.push(() => schema.drop())
    const ledger = closedBy(toEnd, openPostgresLedger(schema.url))
    const entries = Array.from({ length: 1500 }, () => newEntry())
    for (const entry of entries.slice(0, 20)) await ledger.payments.find(entry)
    await Promise.all(entries.map((entry) => ledger.payments.reserve(entry)))
    const before = await scansOf(schema)
    for (const entry of entries.slice(0, 50)) {
      expect(await ledger.payments.find(entry)).toMatchObject({ state: 'reserved' })
      await ledger.payments.release(entry)
    }
    // The ledger's own rounds may read the whole of a table that is small.
    expect((await scansOf(schema)) - before).toBeLessThan(25)
  })
})

const describePooler = root !== undefined && hasPgbouncer() ? describe : describe.skip

describePooler('behind a PgBouncer that knows no prepared statements, three gateways', () => {
  it('take every payment once', async () => {
    const pooler = closedBy(toEnd, await startPgbouncer(root!))
    const ledgers = Array.from({ length: 3 }, () => openPostgresLedger(pooler.url))
    toEnd.push(() => Promise.all(ledgers.map((ledger) => ledger.close())))
    const account = { chainId: newEntry().chainId, relayer: SUBMISSION.relayer }
    const nonces: number[] = []
    const payOnce = async (ledger: LedgerStore): Promise<void> => {
      const entry = newEntry()
      expect(await ledger.payments.reserve(entry)).toBeUndefined()
      const transaction = newNonce()
      const lost = await ledger.relayers.submitNext(account, 0, async (accountNonce) => {
        const submission = { ...SUBMISSION, transaction, accountNonce }
        return { submission, members: [{ key: entry, submission }] }
      })
      expect(lost).toEqual([])
      await ledger.payments.markDelivered(entry, { transaction, transfer: transaction })
      const record = await ledger.payments.find(entry)
      expect(record).toMatchObject({ state: 'settled', transaction, delivered: true })
      nonces.push(record?.state === 'settled' ? (record.submission?.accountNonce ?? -1) : -1)
    }
    const buyers = Array.from({ length: 24 }, async (_, buyer) => {
      for (let n = 0; n < 15; n++) await payOnce(ledgers[(buyer + n) % 3]!)
    })
    await Promise.all(buyers)
    expect(nonces.toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: 360 }, (_, nonce) => nonce),
    )
  })
})

/** How often the table was read as a whole. */
async function scansOf({ execute }: Awaited<ReturnType<typeof createSchema>>): Promise<number> {
  // Each connection reports what it has done after a moment.
  await execute('SELECT pg_sleep(1.2)')
  const [row] = await execute(
    `SELECT seq_scan FROM pg_stat_user_tables
     WHERE relname = 'x402_authorizations' AND schemaname = current_schema()`,
  )
  return Number(row?.['seq_scan'])
}
