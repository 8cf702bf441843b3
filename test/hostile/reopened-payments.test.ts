/** A payment that counted as delivered is opened again only where nothing of it is refunded. */
import { afterEach, describe, expect, it } from '@jest/globals'
import type { LedgerEntry, LedgerStore } from '../../src/ledger/index.js'
import { recordId } from '../../src/ledger/index.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import type { RefundEntry } from '../../src/ledger/refunds.js'
import { startTcpProxy } from '../faults/tcp-proxy.js'
import { newEntry, steps } from '../support/ledger-entries.js'
import { useCleanup, closedBy } from '../support/cleanup.js'
import { createSchema, findPostgres, type TestSchema } from '../support/postgres.js'
import { newNonce } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { storeMakers } from './stores.js'

const root = await findPostgres()
const describePostgres = root === undefined ? describe.skip : describe
const toEnd = useCleanup()

const inFiveMinutes = (): bigint => BigInt(Math.floor(Date.now() / 1000) + 300)

function refundOf(payment: LedgerEntry): RefundEntry {
  const { from, payTo } = payment
  const parties = { from: payTo, payTo: from, nonce: newNonce() }
  return { ...payment, ...parties, refundOf: recordId(payment) }
}

async function openSchema(): Promise<TestSchema> {
  const schema = await createSchema(root!)
  toEnd.push(() => schema.drop())
  return schema
}

function openLedger(url: string): LedgerStore {
  return closedBy(toEnd, openPostgresLedger(url))
}

describePostgres('a payment that is refunded by another process', () => {
  it('stays delivered when its delivery is taken back while the refund is being reserved', async () => {
    const schema = await openSchema()
    const ledger = openLedger(schema.url)
    const [payment, other] = [0, 1].map(() => newEntry({ validBefore: inFiveMinutes() }))
    const locks: (string | undefined)[] = []
    for (const one of [payment!, other!]) {
      await steps.settled(ledger, one)
      locks.push(ledger.payments.lockOf(one))
      await ledger.payments.markDelivered(one)
    }
    const refund = refundOf(other!)
    await ledger.refunds.reserveRefund(refund)
    // What `reserveRefund` does in its transaction, stopped before it commits.
    const client = await schema.pool(1).connect()
    const id = Buffer.from(recordId(payment!), 'hex')
    await client.query('BEGIN')
    await client.query('SELECT 1 FROM x402_authorizations WHERE id = $1 FOR NO KEY UPDATE', [id])
    await client.query('UPDATE x402_authorizations SET refund_of = $1 WHERE id = $2', [
      id,
      Buffer.from(recordId(refund), 'hex'),
    ])
    const takenBack = ledger.payments.undeliver(payment!, locks[0])
    await until(async () => {
      const { rows } = await client.query<{ waits: boolean }>(
        'SELECT EXISTS (SELECT 1 FROM pg_locks WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))) AS waits',
      )
      return rows[0]?.waits === true
    })
    await client.query('COMMIT')
    client.release()
    await takenBack
    expect(await ledger.payments.find(payment!)).toMatchObject({ delivered: true })
    expect(await ledger.payments.relock(payment!)).toBe(false)
  })

  it('stays delivered when its process did not receive the answer to the delivery', async () => {
    const schema = await openSchema()
    const { hostname, port } = new URL(schema.url)
    const database = await startTcpProxy({ host: hostname, port: Number(port || 5432) })
    toEnd.push(() => database.close())
    const through = new URL(schema.url)
    through.host = `127.0.0.1:${database.port}`
    const shop = openLedger(through.href)
    const console = openLedger(schema.url)
    const payment = newEntry({ validBefore: inFiveMinutes() })
    await steps.settled(shop, payment)
    database.isDown = true
    const failed = shop.payments.markDelivered(payment).catch((error: unknown) => error)
    // The database has done it: only the answer is missing.
    await schema.execute('UPDATE x402_authorizations SET delivered = 1')
    expect(await failed).toMatchObject({ code: 'ledger_unavailable' })
    expect(await console.refunds.reserveRefund(refundOf(payment))).toEqual({ kind: 'reserved' })
    database.isDown = false
    await shop.payments.unlock(payment)
    expect(await console.payments.find(payment)).toMatchObject({ delivered: true })
    expect(await console.payments.relock(payment)).toBe(false)
  })
})

describe.each(storeMakers)('a failed payment on %s', (_name, make) => {
  let end: () => Promise<void> = async () => undefined
  afterEach(() => end())

  it('that turns out to be paid is delivered by the request that was about to send it again', async () => {
    const store = await make()
    if (store === undefined) return
    const ledger = store.open()
    end = async () => {
      await ledger.close()
      await store.drop()
    }
    const entry = newEntry()
    await steps.submitted(ledger, entry)
    const failure = { transaction: newNonce(), reason: 'invalid_transaction_state' } as const
    await ledger.payments.markFailed(entry, failure)
    expect(await ledger.payments.relock(entry)).toBe(true)
    const stranger = newNonce()
    expect(await ledger.payments.markSettledLate(entry, stranger, 'log')).toBe(true)
    expect(await ledger.payments.markSettled(entry, stranger, 'log')).toBe(true)
    await ledger.payments.markDelivered(entry)
    expect(await ledger.payments.find(entry)).toMatchObject({ state: 'settled', delivered: true })
    expect(await ledger.payments.relock(entry)).toBe(false)
  })
})
