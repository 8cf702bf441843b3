import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { beforeEach, describe, expect, it } from '@jest/globals'
import type { LedgerStore } from '../../src/ledger/index.js'
import { openPostgresLedger, type PostgresPool } from '../../src/ledger/postgres-ledger.js'
import { useCleanup, closedBy } from '../support/cleanup.js'
import { useDevnet } from '../support/devnet.js'
import { newEntry, UNAVAILABLE } from '../support/ledger-entries.js'
import { findPostgres } from '../support/postgres.js'
import { openShop } from '../support/shop.js'
import { until } from '../support/until.js'

const root = await findPostgres()
const describePostgres = root === undefined ? describe.skip : describe
const toEnd = useCleanup()
const devnet = useDevnet()

/** How soon payments are taken again once a server takes writes, on the slowest machine (ms). */
const HEALED_MS = 30_000

/** A database of the test's own, which can be the one that is read-only after a failover. */
interface Database {
  readonly url: string
  /** All connections end, and new ones come to a server that takes no writes. */
  demote(): Promise<void>
  /** New connections come to a server that takes writes; those that are open stay where they are. */
  promote(): Promise<void>
  /** Connections that were made before this database was promoted. */
  countOld(): Promise<number>
}

let database: Database
let admin: pg.Pool
beforeEach(async () => {
  if (root === undefined) return
  const name = `x402_failover_${randomBytes(8).toString('hex')}`
  const url = new URL(root)
  url.pathname = `/${name}`
  admin = new pg.Pool({ connectionString: root, max: 1 })
  await admin.query(`CREATE DATABASE ${name}`)
  let promotedAt: unknown
  database = {
    url: url.href,
    async demote() {
      await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
      await admin.query(
        `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${name}'`,
      )
    },
    async promote() {
      // Before the change: a connection may follow it at once.
      const { rows } = await admin.query<{ now: string }>('SELECT clock_timestamp()::text AS now')
      promotedAt = rows[0]?.now
      await admin.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
    },
    async countOld() {
      const { rows } = await admin.query<{ count: string }>(
        `SELECT count(*) FROM pg_stat_activity WHERE datname = '${name}' AND backend_start < $1`,
        [promotedAt],
      )
      return Number(rows[0]?.count)
    },
  }
  toEnd.push(async () => {
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
    await admin.end()
  })
})

/** Whether a ledger can be written to. */
const takes = (ledger: LedgerStore): Promise<boolean> =>
  ledger.payments.reserve(newEntry()).then(
    () => true,
    () => false,
  )

/** Two kinds of pools, each with more connections than one statement needs. */
const POOLS: readonly (readonly [string, () => PostgresPool | string])[] = [
  ['by a URL', () => database.url],
  [
    'by a pool of the app’s own',
    () => {
      const pool = new pg.Pool({ connectionString: database.url, max: 8, idleTimeoutMillis: 0 })
      pool.on('error', () => undefined)
      toEnd.push(() => pool.end())
      return pool
    },
  ],
]

describePostgres(
  'after a failover of PostgreSQL that left all connections on a read-only server',
  () => {
    it.each(POOLS)('a ledger %s takes payments again without a restart', async (_, poolOf) => {
      const ledger = closedBy(toEnd, openPostgresLedger(poolOf()))
      const held = newEntry()
      expect(await ledger.payments.reserve(held)).toBeUndefined()
      await database.demote()
      // Each has a connection, and each connection is to the read-only server.
      const failing = Array.from({ length: 8 }, () => ledger.payments.listSubmitted())
      await Promise.all(failing)
      const refused = await ledger.payments.reserve(newEntry()).catch((error: unknown) => error)
      expect(refused).toMatchObject({
        ...UNAVAILABLE,
        message: expect.stringContaining('read-only'),
      })

      await database.promote()
      const since = performance.now()
      await until(() => takes(ledger))
      expect(performance.now() - since).toBeLessThan(HEALED_MS)
      // The session that shows others that this process lives, too.
      await until(async () => (await database.countOld()) === 0)

      const other = closedBy(toEnd, openPostgresLedger(database.url))
      await other.payments.reserve(newEntry())
      expect(await other.payments.find(held)).toMatchObject({ locked: true })
    })

    it('a shop answers 503, /readyz names the cause, and buyers pay again', async () => {
      const ledger = openPostgresLedger(database.url)
      const shop = closedBy(
        toEnd,
        await openShop(
          devnet,
          (app, gateway) => {
            app.use(gateway.healthRouter())
            app.get('/paid', gateway.x402Protect('$0.01'), (_req, res) => void res.send('sold'))
          },
          { ledger },
        ),
      )
      const buy = () => shop.buy('/paid', devnet.payers[0]!)
      expect((await buy()).status).toBe(200)
      await database.demote()
      expect((await buy()).status).toBe(503)
      await until(async () => (await (await shop.ask('/readyz')).text()).includes('read-only'))
      await database.promote()
      const since = performance.now()
      await until(async () => (await buy()).status === 200)
      expect(performance.now() - since).toBeLessThan(HEALED_MS)
    })
  },
)
