import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { KEPT_MINED, recordId, type LedgerEntry, type LedgerStore } from '../../src/ledger/index.js'
import { MAX_UNCHARGED } from '../../src/ledger/payments/uncharged.js'
import { TABLES } from '../../src/ledger/schema/tables.js'
import type { SqlLedgerOptions } from '../../src/ledger/store.js'
import { newNonce } from '../support/sign-payment.js'
import { until } from '../support/until.js'
import { newEntry, UNAVAILABLE, steps, SUBMISSION } from '../support/ledger-entries.js'

/** A database of a test's own. */
export interface TestDatabase {
  /** Opens a ledger on it, as a process of its own does. */
  open(options?: SqlLedgerOptions): LedgerStore
  execute(statement: string): Promise<unknown>
  drop(): Promise<void>
}

const OTHERS = { transaction: `0x${'dd'.repeat(32)}` as const }
const LOCK_MS = 150
const HOUR = 3_600_000

/** What a ledger has to do whose database several processes share. */
export function describeSharedLedger(name: string, create: () => Promise<TestDatabase>): void {
  describe(`${name}, shared by several processes,`, () => {
    const opened: LedgerStore[] = []
    let database: TestDatabase
    beforeEach(async () => {
      database = await create()
    })
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((ledger) => ledger.close()))
      await database.drop()
    })

    function open(options?: SqlLedgerOptions): LedgerStore {
      const ledger = database.open(options)
      opened.push(ledger)
      return ledger
    }
    /** A process whose locks are renewed too late: it sleeps, or its connection to the database is cut. */
    const openSleepy = async (): Promise<LedgerStore> => {
      const ledger = open({ lockMs: 1_000_000 })
      await ledger.payments.listSubmitted()
      return ledger
    }
    /** Lets time pass for the bytes of transactions, by moving them to the past. */
    const passForBytes = (ms: number) =>
      database.execute(`UPDATE x402_relayer_transactions SET written_at = written_at - ${ms}`)
    const lapse = () => database.execute('UPDATE x402_authorizations SET locked_until = 1')

    it('stops a process that slept from sending a refund whose amount another has reserved', async () => {
      const [sleepy, other] = [await openSleepy(), open()]
      const payment = newEntry()
      await steps.settled(other, payment)
      await other.payments.markDelivered(payment)
      const { from, payTo } = payment
      const refund = () => {
        const parties = { from: payTo, payTo: from, nonce: newNonce() }
        return { ...payment, ...parties, refundOf: recordId(payment) }
      }
      const first = refund()
      expect(await sleepy.refunds.reserveRefund(first)).toEqual({ kind: 'reserved' })
      expect(await other.refunds.reserveRefund(refund())).toMatchObject({ kind: 'exceeds_payment' })
      await lapse()
      expect(await other.refunds.reserveRefund(refund())).toEqual({ kind: 'reserved' })
      await expect(sleepy.payments.submit(first, SUBMISSION)).rejects.toMatchObject(UNAVAILABLE)
      expect(await other.refunds.refundsOf([recordId(payment)])).toHaveLength(1)
    })

    it('creates its tables once if all open it at once', async () => {
      const ledgers = Array.from({ length: 4 }, () => open())
      const answers = await Promise.all(
        ledgers.map((ledger) => ledger.payments.reserve(newEntry())),
      )
      expect(answers).toEqual([undefined, undefined, undefined, undefined])
      expect(await open().payments.list({ project: 'shop', limit: 10 })).toHaveLength(4)
    })

    it('keeps the bytes of a mined transaction for a while, and its payments for good', async () => {
      const [settled, failed, submitted] = [newEntry(), newEntry(), newEntry()]
      const ledger = open({ bytes: { keptMs: HOUR, sweepMs: 20 } })
      for (const entry of [settled, failed, submitted]) await ledger.payments.reserve(entry)
      const account = { chainId: settled.chainId, relayer: SUBMISSION.relayer }
      const write = async (accountNonce: number, ...keys: readonly LedgerEntry[]) => {
        const submission = { ...SUBMISSION, accountNonce }
        const members = keys.map((key) => ({ key, submission }))
        expect(
          await ledger.relayers.submitNext(account, accountNonce, async () => ({
            submission,
            members,
          })),
        ).toEqual([])
      }
      await write(7, settled, failed)
      await write(8, submitted)
      const { transaction } = SUBMISSION
      await ledger.payments.markSettled(settled, transaction)
      await ledger.payments.markFailed(failed, { transaction, reason: 'invalid_transaction_state' })
      await ledger.relayers.noteMinedNonce(account, 8 + KEPT_MINED)
      for (const entry of [settled, failed])
        expect(await ledger.payments.find(entry)).toMatchObject({ submission: SUBMISSION })
      await passForBytes(HOUR)
      for (const entry of [settled, failed])
        await until(async () => !('submission' in ((await ledger.payments.find(entry)) ?? {})))
      expect(await ledger.payments.find(settled)).toMatchObject({ state: 'settled', transaction })
      expect(await ledger.payments.find(failed)).toMatchObject({ state: 'failed', transaction })
      const { raw } = SUBMISSION
      expect(await ledger.payments.find(submitted)).toMatchObject({
        submission: { raw, accountNonce: 8 },
      })
    })

    it('forgets more transactions than one statement deletes', async () => {
      const ledger = open({ bytes: { keptMs: HOUR, sweepMs: 20 } })
      const entry = newEntry()
      const account = { chainId: entry.chainId, relayer: SUBMISSION.relayer }
      await ledger.relayers.submitNext(account, 0, async () => ({
        submission: SUBMISSION,
        members: [],
      }))
      await ledger.relayers.noteMinedNonce(account, 2000)
      await database.execute(`WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 1201)
        INSERT INTO x402_relayer_transactions
          (chain_id, relayer, account_nonce, transaction_hash, raw, written_at)
        SELECT chain_id, relayer, n, transaction_hash, raw, written_at
        FROM s, x402_relayer_transactions WHERE account_nonce = 0`)
      expect(await ledger.relayers.listTransactions(account, 1)).toHaveLength(100)
      await passForBytes(HOUR)
      await until(async () => (await ledger.relayers.listTransactions(account, 0)).length === 0)
    })

    it('gives one payer a share of payments that nothing was charged for, and forgets them once they have lapsed', async () => {
      const ledger = open({ bytes: { sweepMs: 20 } })
      const { payments } = ledger
      const from = `0x${'5e'.repeat(20)}` as const
      const spend = async (overrides: Partial<LedgerEntry>) => {
        const entry = newEntry({ contract: `0x${'22'.repeat(20)}`, ...overrides })
        await payments.reserve(entry)
        await payments.settleUncharged(entry, payments.lockOf(entry))
        await payments.markDelivered(entry)
        return entry
      }
      const [alive, sold] = [await spend({ from, validBefore: 2n ** 255n }), newEntry()]
      await steps.settled(ledger, sold)
      const [first, ...columns] = Object.keys(TABLES.x402_authorizations)
      const id = name.includes('SQLite') ? 'randomblob(16)' : "decode(md5(n::text), 'hex')"
      await database.execute(`INSERT INTO x402_authorizations (${[first, ...columns].join(', ')})
        WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${MAX_UNCHARGED})
        SELECT ${id}, ${columns.map((column) => (column === 'reference' ? "'copy'" : column)).join(', ')}
        FROM s, x402_authorizations WHERE charged = '0'`)
      await expect(spend({ from })).rejects.toMatchObject({ code: 'ledger_full' })
      await spend({})
      await database.execute(
        `UPDATE x402_authorizations SET valid_before = '7' WHERE reference = 'copy'`,
      )
      await until(async () => {
        const rest = await payments.list({ project: 'shop', search: { payer: from }, limit: 5 })
        return rest.length <= 2
      })
      await spend({ from })
      expect(await payments.find(alive)).toMatchObject({ charged: 0n })
      expect(await payments.find(sold)).toMatchObject({ state: 'settled' })
    })

    it('gives all processes the same secret for a name', async () => {
      const ledgers = Array.from({ length: 4 }, () => open())
      const secrets = await Promise.all(
        ledgers.map(async (ledger) => ledger.secrets.sharedSecret?.('quote')),
      )
      expect(new Set(secrets).size).toBe(1)
      expect(secrets[0]).toMatch(/^[\w-]{43}$/)
      expect(await open().secrets.sharedSecret?.('quote')).toBe(secrets[0])
      expect(await open().secrets.sharedSecret?.('another')).not.toBe(secrets[0])
    })

    it('is found as it was left after a restart', async () => {
      const entry = newEntry({ value: 2n ** 255n + 1n })
      const first = open()
      await steps.settled(first, entry)
      await first.payments.markDelivered(entry)
      const left = await first.payments.find(entry)
      await first.close()
      expect(await open().payments.find(entry)).toEqual(left)
    })

    it('gives an authorization to one of a hundred who want it at once', async () => {
      const ledgers = [open(), open()]
      const entry = newEntry()
      const answers = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          ledgers[index % 2]!.payments.reserve({ ...entry }),
        ),
      )
      expect(answers.filter((answer) => answer === undefined)).toHaveLength(1)
      expect(answers.filter((answer) => answer?.state === 'reserved')).toHaveLength(99)
    })

    it('gives an unlocked payment to one of a hundred callers that lock it at once', async () => {
      const ledgers = [open(), open()]
      const entry = newEntry()
      await steps.settled(ledgers[0]!, entry)
      await ledgers[0]!.payments.unlock(entry)
      const locks = await Promise.all(
        Array.from({ length: 100 }, (_, index) =>
          ledgers[index % 2]!.payments.relock({ ...entry }),
        ),
      )
      expect(locks.filter(Boolean)).toHaveLength(1)
      const winner = ledgers[locks.indexOf(true) % 2]!
      const loser = ledgers.find((ledger) => ledger !== winner)!
      await expect(loser.payments.markDelivered(entry)).rejects.toMatchObject(UNAVAILABLE)
      await winner.payments.markDelivered(entry)
    })

    it('keeps the locks of a living process for as long as it lives', async () => {
      const [living, other] = [open(), open()]
      const [reserved, submitted] = [newEntry(), newEntry()]
      await steps.reserved(living, reserved)
      await steps.submitted(living, submitted)
      // They have less left than a living process ever lets them have.
      await database.execute('UPDATE x402_authorizations SET locked_until = locked_until - 10000')
      for (const entry of [reserved, submitted])
        await until(async () => {
          const record = await other.payments.find(entry)
          expect(record).toMatchObject({ locked: true })
          return record?.ownerSilent === false
        })
      expect(await other.payments.find(reserved)).toMatchObject({ locked: true })
      expect(await other.payments.reserve(reserved)).toMatchObject({ state: 'reserved' })
      expect(await other.payments.relock(submitted)).toBe(false)
      await living.payments.markDelivered(submitted)
    })

    it('calls the owner of a lock silent once it has missed two renewals', async () => {
      const [silent, other] = [await openSleepy(), open()]
      const [reserved, submitted, delivered] = [newEntry(), newEntry(), newEntry()]
      await steps.reserved(silent, reserved)
      await steps.submitted(silent, submitted)
      await steps.settled(silent, delivered)
      await silent.payments.markDelivered(delivered)
      /** As if it had locked them for 30 s, and renewed that so many milliseconds ago. */
      const renewedAgo = (ms: number) =>
        database.execute(
          `UPDATE x402_authorizations SET locked_until = created_at + ${30_000 - ms} WHERE delivered = 0`,
        )
      await renewedAgo(0)
      for (const entry of [reserved, submitted, delivered])
        expect(await other.payments.find(entry)).toMatchObject({ locked: true, ownerSilent: false })
      await renewedAgo(4001)
      for (const entry of [reserved, submitted])
        expect(await other.payments.find(entry)).toMatchObject({ locked: true, ownerSilent: true })
      expect(await other.payments.listSubmitted()).toMatchObject([{ ownerSilent: true }])
      // What is delivered has no owner that could die, and a process knows that it lives itself.
      expect(await other.payments.find(delivered)).toMatchObject({
        locked: true,
        ownerSilent: false,
      })
      expect(await silent.payments.find(submitted)).toMatchObject({
        locked: true,
        ownerSilent: false,
      })
      // It may live after all: nothing is taken from it before its lock has lapsed.
      expect(await other.payments.relock(submitted)).toBe(false)
      await lapse()
      expect(await other.payments.find(submitted)).toMatchObject({
        locked: false,
        ownerSilent: false,
      })
    })

    it('frees a payment once the process that locked it was closed', async () => {
      const [gone, other] = [open(), open()]
      const [reserved, submitted] = [newEntry(), newEntry()]
      await steps.reserved(gone, reserved)
      await steps.submitted(gone, submitted)
      await gone.close()
      expect(await other.payments.reserve(reserved)).toBeUndefined()
      expect(await other.payments.relock(submitted)).toBe(true)
      // Whoever is still at work there is not told anything that is not so.
      await gone.payments.unlock(submitted)
      await gone.payments.release(reserved)
      await expect(gone.payments.markDelivered(submitted)).rejects.toMatchObject(UNAVAILABLE)
      await expect(gone.payments.submit(reserved, SUBMISSION)).rejects.toMatchObject(UNAVAILABLE)
      await gone.close()
    })

    it('takes over the reservation of a dead process, with what the new one says', async () => {
      const [dead, other] = [await openSleepy(), open()]
      const entry = newEntry({ contract: `0x${'22'.repeat(20)}` })
      await dead.payments.reserve(entry)
      await lapse()
      expect(await other.payments.find(entry)).toBeUndefined()
      expect(await other.payments.list({ project: 'shop', limit: 10 })).toEqual([])
      // A contract's nonce belongs to all tokens.
      const asset = `0x${'12'.repeat(20)}` as const
      const anew = { ...entry, asset, value: 77n, project: 'another' }
      const answers = await Promise.all([
        other.payments.reserve(anew),
        other.payments.reserve(anew),
      ])
      expect(answers.filter((answer) => answer === undefined)).toHaveLength(1)
      expect(await other.payments.find(entry)).toMatchObject({
        asset,
        value: 77n,
        project: 'another',
        locked: true,
      })
    })

    it.each(['submitted', 'settled'] as const)(
      'lets a payment that a dead process left %s be locked once, and keeps it',
      async (state) => {
        const [dead, other, third] = [await openSleepy(), open(), open()]
        const entry = newEntry()
        await steps[state](dead, entry)
        await lapse()
        expect(await other.payments.find(entry)).toMatchObject({ state, locked: false })
        expect(await other.payments.reserve(entry)).toMatchObject({ state })
        const locks = await Promise.all([
          other.payments.relock(entry),
          third.payments.relock(entry),
        ])
        expect(locks.filter(Boolean)).toHaveLength(1)
      },
    )

    it('never lets a payment be locked that a dead process had delivered', async () => {
      const [dead, other] = [await openSleepy(), open()]
      const entry = newEntry()
      await steps.settled(dead, entry)
      await dead.payments.markDelivered(entry)
      await lapse()
      expect(await other.payments.relock(entry)).toBe(false)
      expect(await other.payments.find(entry)).toMatchObject({ locked: true })
    })

    it('refuses every change by a process whose locks others have taken', async () => {
      const [slow, other] = [await openSleepy(), open()]
      const [reserved, submitted] = [newEntry(), newEntry()]
      await steps.reserved(slow, reserved)
      await steps.submitted(slow, submitted)
      await lapse()
      expect(await other.payments.reserve(reserved)).toBeUndefined()
      expect(await other.payments.relock(submitted)).toBe(true)

      await expect(slow.payments.submit(reserved, SUBMISSION)).rejects.toMatchObject(UNAVAILABLE)
      const elsewhere = { ...SUBMISSION, ...OTHERS, accountNonce: 9 }
      await expect(slow.payments.submit(submitted, elsewhere)).rejects.toMatchObject(UNAVAILABLE)
      const withdrawn = slow.payments.withdraw(submitted, SUBMISSION.transaction)
      await expect(withdrawn).rejects.toMatchObject(UNAVAILABLE)
      await slow.payments.release(reserved)
      await slow.payments.unlock(submitted)
      await expect(slow.payments.markDelivered(submitted)).rejects.toMatchObject(UNAVAILABLE)
      expect(await other.payments.find(reserved)).toMatchObject({ state: 'reserved', locked: true })
      expect(await other.payments.find(submitted)).toMatchObject({
        submission: SUBMISSION,
        locked: true,
      })
      // What the chain has decided needs no lock.
      await slow.payments.markSettled(submitted, SUBMISSION.transaction)
      await other.payments.markDelivered(submitted)
    })

    it('lets a process go on after its locks have lapsed if nobody has taken them', async () => {
      const [slow, other] = [await openSleepy(), open()]
      const entry = newEntry()
      await slow.payments.reserve(entry)
      await lapse()
      // Not even in the same process, where two would share one lock.
      expect(await slow.payments.reserve(entry)).toMatchObject({ locked: true })
      expect(await slow.payments.relock(entry)).toBe(false)
      await slow.payments.submit(entry, SUBMISSION)
      await slow.payments.markDelivered(entry)
      expect(await other.payments.relock(entry)).toBe(false)
    })

    it('stops a process from reserving a payment that it still works on, even if another released it', async () => {
      const [slow, other] = [await openSleepy(), open()]
      const entry = newEntry()
      await slow.payments.reserve(entry)
      await lapse()
      await other.payments.reserve(entry)
      await other.payments.release(entry)
      await expect(slow.payments.reserve(entry)).rejects.toMatchObject(UNAVAILABLE)
      await slow.payments.release(entry)
      expect(await slow.payments.reserve(entry)).toBeUndefined()
    })

    it('withdraws a locked payment, after which another process can reserve it', async () => {
      const [first, other] = [open(), open()]
      const entry = newEntry()
      await steps.submitted(first, entry)
      await first.payments.withdraw(entry, SUBMISSION.transaction)
      expect(await other.payments.reserve(entry)).toBeUndefined()
    })

    it('orders records that were created in the same millisecond', async () => {
      const ledger = open()
      const entries = Array.from({ length: 9 }, () => newEntry())
      for (const entry of entries) await ledger.payments.reserve(entry)
      await database.execute('UPDATE x402_authorizations SET created_at = 1000')
      const seen: string[] = []
      for (let after; ;) {
        const page = await ledger.payments.list({
          project: 'shop',
          limit: 2,
          ...(after && { after }),
        })
        after = page.at(-1)
        if (after === undefined) break
        seen.push(...page.map(({ id }) => id))
      }
      expect(seen).toEqual(entries.map(recordId).sort().toReversed())
    })

    it('reverts a delivery whose answer was lost before anybody else may lock the record', async () => {
      const ledger = open({ lockMs: LOCK_MS })
      const entry = newEntry()
      await steps.settled(ledger, entry)
      await database.execute('ALTER TABLE x402_authorizations RENAME TO x402_hidden')
      await expect(ledger.payments.markDelivered(entry)).rejects.toMatchObject(UNAVAILABLE)
      await expect(ledger.payments.unlock(entry)).rejects.toMatchObject(UNAVAILABLE)
      await database.execute('UPDATE x402_hidden SET delivered = 1')
      await database.execute('ALTER TABLE x402_hidden RENAME TO x402_authorizations')
      await until(async () => (await ledger.payments.find(entry))?.locked === false)
      expect(await ledger.payments.relock(entry)).toBe(true)
      await ledger.payments.markDelivered(entry)
    })
  })
}
