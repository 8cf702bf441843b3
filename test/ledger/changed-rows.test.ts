/** How PostgreSQL changes rows: in which order, and what is on disk when a statement ends. */
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  recordId,
  type LedgerEntry,
  type LedgerStore,
  type Submission,
} from '../../src/ledger/index.js'
import type { RefundEntry } from '../../src/ledger/refunds.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { createSchema, findPostgres, type TestSchema } from '../support/postgres.js'
import { newNonce } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { newEntry, SUBMISSION, UNAVAILABLE } from '../support/ledger-entries.js'

const root = await findPostgres()
const describePostgres = root === undefined ? describe.skip : describe

/** Notes each change of a record as it is made. */
const WATCH = `
  CREATE TABLE changes (number serial, id text, state text, delivered int, synchronous_commit text);
  CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO changes (id, state, delivered, synchronous_commit) VALUES
      (encode(NEW.id, 'hex'), NEW.state, NEW.delivered, current_setting('synchronous_commit'));
    RETURN NEW; END $$;
  CREATE TRIGGER watch BEFORE INSERT OR UPDATE ON x402_authorizations
    FOR EACH ROW EXECUTE FUNCTION note()`

/** Which waiting sessions are of a test's own: those that have asked for the tables of its schema. */
const OF_THIS_SCHEMA = `pid IN (SELECT pid FROM pg_locks
  WHERE relation = 'x402_authorizations'::regclass)`

const ACCOUNT = { chainId: 84532, relayer: SUBMISSION.relayer }
const inAnHour = (): bigint => BigInt(Math.floor(Date.now() / 1000) + 3600)

describePostgres('on PostgreSQL, a changed row', () => {
  let schema: TestSchema
  let ledger: LedgerStore
  beforeEach(async () => {
    schema = await createSchema(root!)
    ledger = openPostgresLedger(schema.url)
    await ledger.payments.listSubmitted()
    await schema.execute(WATCH)
  })
  afterEach(async () => {
    await ledger.close()
    await schema.drop()
  })

  /** Writes a transaction down for its payments, and notes the account nonces that were tried. */
  const send = (keys: readonly LedgerEntry[], nonces: number[] = [], transaction = newNonce()) =>
    ledger.relayers.submitNext(ACCOUNT, 0, async (accountNonce) => {
      nonces.push(accountNonce)
      const submission: Submission = { ...SUBMISSION, transaction, accountNonce }
      return { submission, members: keys.map((key) => ({ key, submission })) }
    })

  /** Reserves, sends and delivers payments, all in one transaction. */
  async function sell(count: number): Promise<readonly RefundEntry[]> {
    const entries = Array.from({ length: count }, () => newEntry({ validBefore: inAnHour() }))
    await Promise.all(entries.map((entry) => ledger.payments.reserve(entry)))
    const transaction = newNonce()
    expect(await send(entries, [], transaction)).toEqual([])
    const paid = (index: number) => ({ transaction, transfer: `${transaction}:${index}` })
    await Promise.all(
      entries.map((entry, index) => ledger.payments.markDelivered(entry, paid(index))),
    )
    return entries.map((entry) => ({
      ...entry,
      from: entry.payTo,
      payTo: entry.from,
      nonce: newNonce(),
      refundOf: recordId(entry),
    }))
  }

  it('is changed in the order of ids when one statement changes several', async () => {
    // The first account nonce is taken from the chain, the second one is guessed.
    await sell(20)
    await sell(20)
    const changes = await schema.execute('SELECT id, state FROM changes ORDER BY number')
    expect(changes).toHaveLength(2 * 3 * 20)
    for (let start = 0; start < changes.length; start += 20) {
      const ids = changes.slice(start, start + 20).map(({ id }) => id as string)
      expect(ids).toEqual(ids.toSorted())
    }
  })

  it('keeps its state when a guessed account nonce meets another payment of its transaction that is not locked', async () => {
    await sell(1)
    const entries = [newEntry({ validBefore: inAnHour() }), newEntry()]
    const [locked, unknown] = entries as [LedgerEntry, LedgerEntry]
    await ledger.payments.reserve(locked)
    const nonces: number[] = []
    expect(await send(entries, nonces)).toEqual([unknown])
    expect((await ledger.payments.find(locked))?.state).toBe('reserved')
    expect(await send([locked], nonces)).toEqual([])
    // Guessed, and read, more than once if the database was slow: none was used up.
    expect(nonces.length).toBeGreaterThanOrEqual(3)
    expect(nonces.at(-1)).toBe(1)
  })

  describe('whose lock another process is taking', () => {
    let other: pg.PoolClient
    const entry = newEntry({ validBefore: inAnHour() })

    /** Takes the lock of the one record that is not final, but does not commit yet. */
    async function takeLock(): Promise<void> {
      other = await schema.pool().connect()
      await other.query('BEGIN')
      await other.query(
        `UPDATE x402_authorizations SET lock_owner = 'other' WHERE state <> 'settled'`,
      )
    }

    /** Commits once the ledger waits for that record. */
    async function commit(): Promise<void> {
      const waiting = `SELECT FROM pg_locks WHERE NOT granted AND ${OF_THIS_SCHEMA}`
      await until(async () => (await schema.execute(waiting)).length > 0)
      await other.query('COMMIT')
      other.release()
    }

    it('is not sent until that process has committed, and not afterwards', async () => {
      await sell(1)
      await ledger.payments.reserve(entry)
      await takeLock()
      const sent = send([entry])
      await commit()
      expect(await sent).toEqual([entry])
      expect((await ledger.payments.find(entry))?.state).toBe('reserved')
      expect(await schema.execute('SELECT next_nonce::int FROM x402_relayer_nonces')).toEqual([
        { next_nonce: 1 },
      ])
    })

    it('is not delivered when that process commits first', async () => {
      await ledger.payments.reserve(entry)
      expect(await send([entry])).toEqual([])
      await takeLock()
      const delivered = ledger.payments.markDelivered(entry).catch((error: unknown) => error)
      await commit()
      expect(await delivered).toMatchObject(UNAVAILABLE)
      expect(await ledger.payments.find(entry)).toMatchObject({
        state: 'submitted',
        delivered: false,
      })
    })
  })

  it('is on disk before its transaction is sent and before its payment is answered', async () => {
    await sell(1)
    const [refund] = await sell(1)
    expect(await ledger.refunds.reserveRefund(refund!)).toEqual({ kind: 'reserved' })
    const modes = await schema.execute(
      'SELECT DISTINCT state, delivered, synchronous_commit AS mode FROM changes ORDER BY 1, 2, 3',
    )
    const [usual] = await schema.execute(`SELECT current_setting('synchronous_commit') AS mode`)
    const sold = [
      { state: 'reserved', delivered: 0, ...usual },
      { state: 'settled', delivered: 1, ...usual },
      { state: 'submitted', delivered: 0, ...usual },
    ]
    expect(modes).toEqual(sold)
  })
})
