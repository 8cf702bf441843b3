import { describe, expect, it } from '@jest/globals'
import { checkRecord } from '../../src/core/schemes/check-record.js'
import type { LedgerStore } from '../../src/ledger/index.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { startTcpProxy, type TcpProxy } from '../faults/tcp-proxy.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { newEntry, SUBMISSION } from '../support/ledger-entries.js'
import { useCleanup } from '../support/cleanup.js'

const root = await findPostgres()
const describePostgres = root === undefined ? describe.skip : describe

const toEnd = useCleanup()

/** A ledger whose database is behind a proxy. */
async function open(): Promise<{ ledger: LedgerStore; database: TcpProxy }> {
  const schema = await createSchema(root!)
  const { hostname, port } = new URL(schema.url)
  const database = await startTcpProxy({ host: hostname, port: Number(port || 5432) })
  const through = new URL(schema.url)
  through.host = `127.0.0.1:${database.port}`
  const ledger = openPostgresLedger(through.href)
  toEnd.push(
    () => schema.drop(),
    () => database.close(),
    () => ledger.close(),
  )
  return { ledger, database }
}

describePostgres('a ledger whose database loses an answer', () => {
  it('leaves no lock behind after a withdrawal', async () => {
    const { ledger, database } = await open()
    const entry = newEntry()
    await ledger.payments.reserve(entry)
    await ledger.payments.submit(entry, SUBMISSION)
    database.loseAnswerTo = 'delete from "x402_authorizations"'
    await ledger.payments.withdraw(entry, SUBMISSION.transaction)
    expect(database.loseAnswerTo).toBeUndefined()
    expect(await ledger.payments.find(entry)).toBeUndefined()
    expect(await ledger.payments.reserve(entry)).toBeUndefined()
    await ledger.payments.release(entry)
  })

  it('leaves a payment delivered or pending after a delivery, never used up for nothing', async () => {
    const { ledger, database } = await open()
    const entry = newEntry()
    await ledger.payments.reserve(entry)
    await ledger.payments.submit(entry, SUBMISSION)
    database.loseAnswerTo = 'delivered = 1'
    const delivered = await ledger.payments.markDelivered(entry).then(
      () => true,
      () => false,
    )
    expect(database.loseAnswerTo).toBeUndefined()
    const record = await ledger.payments.find(entry)
    if (delivered) expect(record).toMatchObject({ delivered: true })
    else expect(checkRecord(record, { entry })).toBe('settlement_pending')
  })

  it('fails a delivery while the database is down, and the payment is pending until it is back', async () => {
    const { ledger, database } = await open()
    const entry = newEntry()
    await ledger.payments.reserve(entry)
    await ledger.payments.submit(entry, SUBMISSION)
    database.isDown = true
    await expect(ledger.payments.markDelivered(entry)).rejects.toMatchObject({
      code: 'ledger_unavailable',
    })
    database.isDown = false
    const reason = checkRecord(await ledger.payments.find(entry), { entry })
    // Pending while the delivery may have been written down, and then free for its buyer.
    expect([undefined, 'settlement_pending']).toContain(reason)
  })
})
