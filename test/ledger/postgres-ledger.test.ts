import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { afterEach, describe, expect, it, jest } from '@jest/globals'
import { ConfigError } from '../../src/shared/errors.js'
import type { LedgerStore } from '../../src/ledger/index.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { createSchema, findPostgres, type TestSchema } from '../support/postgres.js'
import { until } from '../support/until.js'
import { newEntry, UNAVAILABLE, steps } from '../support/ledger-entries.js'
import { describeLedger } from './ledger-conformance.js'
import { describeSharedLedger } from './shared-ledger.js'
import { useCleanup, closedBy } from '../support/cleanup.js'

const root = await findPostgres()
const describePostgres = root === undefined ? describe.skip : describe

const schemas: TestSchema[] = []
const newSchema = async (): Promise<TestSchema> => {
  const schema = await createSchema(root!)
  schemas.push(schema)
  return schema
}
const dropSchemas = async (): Promise<void> => {
  await Promise.all(schemas.splice(0).map((schema) => schema.drop()))
}

describePostgres('on PostgreSQL', () => {
  afterEach(dropSchemas)

  describeLedger('the PostgreSQL ledger', async () => openPostgresLedger((await newSchema()).url))

  describeSharedLedger('the PostgreSQL ledger', async () => {
    const schema = await createSchema(root!)
    return {
      open: (options) => openPostgresLedger(schema.pool(), options),
      execute: schema.execute,
      drop: () => schema.drop(),
    }
  })

  describe('the PostgreSQL ledger', () => {
    const toEnd = useCleanup()
    const open = (...args: Parameters<typeof openPostgresLedger>): LedgerStore => {
      return closedBy(toEnd, openPostgresLedger(...args))
    }

    it('connects by a URL, and ends its connections on close', async () => {
      const { url, name } = await newSchema()
      const ledger = open(url)
      expect(await ledger.payments.reserve(newEntry())).toBeUndefined()
      await ledger.close()
      const { execute } = schemas[0]!
      const tables = await execute(`SELECT count(*) FROM pg_tables WHERE schemaname = '${name}'`)
      expect(Number(tables[0]!['count'])).toBeGreaterThanOrEqual(2)
    })

    it('leaves the app’s own pool open on close', async () => {
      const pool = (await newSchema()).pool()
      const ledger = open(pool)
      await ledger.payments.listSubmitted()
      await ledger.close()
      expect((await pool.query<{ one: number }>('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    })

    it('works where transactions are serializable by default', async () => {
      const schema = await newSchema()
      const pool = schema.pool(8)
      pool.on('connect', (client) => {
        void client.query('SET default_transaction_isolation = serializable')
      })
      const ledger = open(pool)
      const entry = newEntry()
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => ledger.payments.reserve({ ...entry })),
      )
      expect(answers.filter((answer) => answer === undefined)).toHaveLength(1)
    })

    it('needs no right to create tables once they exist', async () => {
      const schema = await newSchema()
      await open(schema.pool()).payments.listSubmitted()
      await schema.execute(`REVOKE CREATE ON SCHEMA ${schema.name} FROM PUBLIC`)
      expect(await open(schema.pool()).payments.reserve(newEntry())).toBeUndefined()
    })

    it('goes on after its connections were cut', async () => {
      const schema = await newSchema()
      const ledger = open(`${schema.url}&application_name=${schema.name}`)
      const entry = newEntry()
      await steps.submitted(ledger, entry)
      const ended = await schema.execute(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${schema.name}'`,
      )
      expect(ended.length).toBeGreaterThan(0)
      await ledger.payments.markDelivered(entry)
      expect(await ledger.payments.find(entry)).toMatchObject({ locked: true })
    })

    it('fails while the database is down, and works again afterwards', async () => {
      const schema = await newSchema()
      const proxy = await openProxy(schema.url)
      const ledger = open(proxy.url)
      const [kept, refused] = [newEntry(), newEntry()]
      await steps.settled(ledger, kept)
      proxy.cut()
      for (const failing of [
        ledger.payments.reserve(refused),
        ledger.payments.markDelivered(kept),
        ledger.payments.find(kept),
      ])
        await expect(failing).rejects.toMatchObject(UNAVAILABLE)
      proxy.mend()
      await ledger.payments.unlock(kept)
      expect(await ledger.payments.find(refused)).toBeUndefined()
      expect(await ledger.payments.find(kept)).toMatchObject({ state: 'settled', locked: false })
      expect(await ledger.payments.relock(kept)).toBe(true)
      await ledger.payments.markDelivered(kept)
      expect(await ledger.payments.reserve(refused)).toBeUndefined()
      await ledger.close()
      await proxy.close()
    })

    it('shows that it is alive by a session of its own until it is closed', async () => {
      const { url, execute, name } = await newSchema()
      const owners = () => execute(`SELECT owner FROM ${name}.x402_owners`)
      const ledger = open(url)
      await ledger.payments.reserve(newEntry())
      await until(async () => (await owners()).length === 1)
      await ledger.close()
      expect(await owners()).toEqual([])
    })

    it('warns once behind a pooler, where its locks lapse by the clock only', async () => {
      const { url, execute, name } = await newSchema()
      const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
      const pooler = await openProxy(url, { isPooler: true })
      const [pooled, direct] = [open(pooler.url), open(url)]
      const entry = newEntry()
      await pooled.payments.reserve(entry)
      await direct.payments.reserve(newEntry())
      await until(async () => (await execute(`SELECT FROM ${name}.x402_owners`)).length > 0)
      await sleep(2500)
      expect(await execute(`SELECT FROM ${name}.x402_owners`)).toHaveLength(1)
      expect(await direct.payments.find(entry)).toMatchObject({ locked: true })
      expect(warn.mock.calls).toEqual([[expect.stringContaining('pooler'), 'X402Warning']])
      warn.mockRestore()
      await pooled.close()
      await pooler.close()
    })

    it('opens once the database comes up after it', async () => {
      const proxy = await openProxy((await newSchema()).url)
      proxy.cut()
      const ledger = open(proxy.url)
      const reserved = ledger.payments.reserve(newEntry())
      setTimeout(proxy.mend, 300)
      expect(await reserved).toBeUndefined()
      await ledger.close()
      await proxy.close()
    })

    it('shows no secret in any error', async () => {
      const url = new URL(root!)
      url.username = 'nobody_here'
      url.password = 'pa55word-of-the-database'
      url.pathname = '/database-of-nobody'
      const ledger = open(url.href)
      const error: unknown = await ledger.payments
        .reserve(newEntry())
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject(UNAVAILABLE)
      for (const secret of ['pa55word', 'nobody', url.hostname])
        expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(secret)
    })
  })
})

describe('postgresLedger', () => {
  it.each([
    'mysql://me:pa55word@host/db',
    'host=db password=pa55word',
    'postgres://pa55word:@@[',
    '',
  ])('refuses the connection string %j without showing it', (url) => {
    let error: unknown
    try {
      openPostgresLedger(url)
    } catch (thrown) {
      error = thrown
    }
    expect(error).toBeInstanceOf(ConfigError)
    expect(error).toMatchObject({ option: 'poolOrUrl' })
    expect(inspect(error)).not.toContain('pa55word')
  })
})

/** The beginning of the message that tells a client which process of the server serves it. */
const BACKEND_KEY_DATA = Buffer.from([0x4b, 0, 0, 0, 12])

/** A way to the database that can be cut, or that hides which process serves it as poolers do. */
async function openProxy(url: string, { isPooler = false } = {}) {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((socket) => {
    if (isCut) return void socket.resetAndDestroy()
    const upstream = connect(Number(target.port || 5432), target.hostname)
    if (isPooler)
      upstream.prependListener('data', (chunk: Buffer) => {
        const at = chunk.indexOf(BACKEND_KEY_DATA) + BACKEND_KEY_DATA.length
        if (at >= BACKEND_KEY_DATA.length) chunk.writeInt32BE(chunk.readInt32BE(at) ^ 1, at)
      })
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => void sockets.delete(one))
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxied = new URL(url)
  proxied.hostname = '127.0.0.1'
  proxied.port = String((server.address() as AddressInfo).port)
  return {
    url: proxied.href,
    cut() {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    mend() {
      isCut = false
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
