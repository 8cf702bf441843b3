/** The machine of the database fails, and forgets what was not on disk. */
import { describe, expect, it } from '@jest/globals'
import type { LedgerEntry, LedgerStore, Submission } from '../../src/ledger/index.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { newEntry, SUBMISSION } from '../support/ledger-entries.js'
import { useCleanup, closedBy } from '../support/cleanup.js'
import { findPostgresPrograms, startOwnPostgres } from '../support/own-postgres.js'
import { newNonce } from '../support/sign-payment.js'

const programs = await findPostgresPrograms()
const describeCrashes = programs === undefined ? describe.skip : describe

const ACCOUNT = { chainId: 84532, relayer: SUBMISSION.relayer }

describeCrashes('when PostgreSQL crashes', () => {
  const toEnd = useCleanup()

  async function open() {
    // Nothing is on disk before somebody waits for it.
    const postgres = closedBy(toEnd, await startOwnPostgres(programs!, { wal_writer_delay: '10s' }))
    const openLedger = (): LedgerStore => {
      return closedBy(toEnd, openPostgresLedger(postgres.url))
    }
    return { postgres, openLedger }
  }

  const send = (ledger: LedgerStore, keys: readonly LedgerEntry[]) =>
    ledger.relayers.submitNext(ACCOUNT, 0, async (accountNonce) => {
      const submission: Submission = { ...SUBMISSION, transaction: newNonce(), accountNonce }
      return { submission, members: keys.map((key) => ({ key, submission })) }
    })

  it('a reservation survives a crash of the database, and its payment is sent', async () => {
    const { postgres, openLedger } = await open()
    const ledger = openLedger()
    const entry = newEntry()
    await ledger.payments.reserve(entry)
    await postgres.crash()
    expect(await ledger.payments.find(entry)).toMatchObject({ state: 'reserved' })
    expect(await send(ledger, [entry])).toEqual([])
    expect(await openLedger().payments.find(entry)).toMatchObject({ state: 'submitted' })
  })

  it('everything that was recorded before it was sent or answered survives a crash of the database', async () => {
    const { postgres, openLedger } = await open()
    const ledger = openLedger()
    const [pending, delivered] = [newEntry(), newEntry()]
    await Promise.all([ledger.payments.reserve(pending), ledger.payments.reserve(delivered)])
    expect(await send(ledger, [pending, delivered])).toEqual([])
    await postgres.crash()
    for (const entry of [pending, delivered])
      expect(await ledger.payments.find(entry)).toMatchObject({ state: 'submitted' })

    const transaction = newNonce()
    await ledger.payments.markDelivered(delivered, { transaction, transfer: `${transaction}:0` })
    await postgres.crash()
    expect(await ledger.payments.find(pending)).toMatchObject({ state: 'submitted' })
    expect(await ledger.payments.find(delivered)).toMatchObject({
      state: 'settled',
      delivered: true,
    })
  })
})
