import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { EVERY_PROJECT, recordId } from '../../src/ledger/index.js'
import type {
  FinalQuery,
  LedgerStore,
  LedgerEntry,
  LedgerQuery,
  LedgerRecord,
  Submission,
} from '../../src/ledger/index.js'
import { lowerHex } from '../../src/shared/protocol/hex.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import {
  FAILURE,
  newEntry,
  START_MS,
  steps,
  SUBMISSION,
  UNAVAILABLE,
} from '../support/ledger-entries.js'
import { useCleanup, closedBy } from '../support/cleanup.js'

/** What a store under test is made with. */
export interface LedgerClock {
  /** Milliseconds since the epoch; the suite moves it. */
  readonly now: () => number
}

const ACCOUNT = { chainId: 84532, relayer: SUBMISSION.relayer }
const OTHER: Submission = {
  ...SUBMISSION,
  transaction: `0x${'dd'.repeat(32)}`,
  accountNonce: 8,
}
const PERMIT2 = `0x${'22'.repeat(20)}` as const
const OTHER_TOKEN = `0x${'12'.repeat(20)}` as const
const REPLACEMENT: Submission = {
  ...SUBMISSION,
  transaction: `0x${'ee'.repeat(32)}`,
  raw: '0x02ee',
  replaces: [SUBMISSION.transaction, `0x${'ff'.repeat(32)}`],
}
/**
 * What every store of a ledger has to do.
 *
 * @param create - Creates an empty store that uses the given clock.
 */
export function describeLedger(
  name: string,
  create: (clock: LedgerClock) => LedgerStore | Promise<LedgerStore>,
): void {
  describe(`${name}, as every ledger,`, () => {
    const toEnd = useCleanup()

    async function open() {
      const clock = { ms: START_MS }
      const ledger = closedBy(toEnd, await create({ now: () => clock.ms }))
      return { ledger, clock }
    }

    /** A ledger with one record in a state. */
    async function openAt(state: keyof typeof steps, overrides: Partial<LedgerEntry> = {}) {
      const { ledger, clock } = await open()
      const entry = newEntry(overrides)
      await steps[state](ledger, entry)
      return { ledger, clock, entry, record: () => ledger.payments.find(entry) }
    }

    describe('finding and reserving', () => {
      it('finds no record of a payment that nobody reserved', async () => {
        const { ledger } = await open()
        expect(await ledger.payments.find(newEntry())).toBeUndefined()
      })

      it('keeps every member of a reservation', async () => {
        const { entry, record } = await openAt('reserved')
        expect(await record()).toMatchObject({ ...lower(entry), state: 'reserved', locked: true })
      })

      it('keeps the rate that an amount comes from through every later state', async () => {
        const appliedRate = {
          price: '15.00',
          currency: 'HKD',
          rate: '0.1285',
          asOf: 1_800_000_000,
          source: 'ECB, “fixed”',
        }
        const { ledger, entry, record } = await openAt('reserved', { appliedRate })
        expect(await record()).toMatchObject({ appliedRate })
        await ledger.payments.submit(entry, SUBMISSION)
        await ledger.payments.markSettled(entry, SUBMISSION.transaction)
        await ledger.payments.markDelivered(entry)
        expect(await ledger.payments.list({ project: 'shop', limit: 1 })).toMatchObject([
          { appliedRate },
        ])
        const { record: other } = await openAt('reserved')
        expect((await other())?.appliedRate).toBeUndefined()
      })

      it('keeps every digit of amounts and times', async () => {
        const most = 2n ** 256n - 1n
        const { record } = await openAt('reserved', { value: most, validBefore: most })
        expect(await record()).toMatchObject({ value: most, validBefore: most })
      })

      it('keeps a reservation of no project', async () => {
        const { record } = await openAt('reserved', { project: undefined })
        expect((await record())?.project).toBeUndefined()
      })

      it.each(['reserved', 'submitted', 'settled', 'failed'] as const)(
        'returns the record that prevents a reservation: %s',
        async (state) => {
          const { ledger, entry, record } = await openAt(state)
          expect(await ledger.payments.reserve(entry)).toEqual(await record())
        },
      )

      it('gives one authorization to one of a hundred callers at once', async () => {
        const { ledger } = await open()
        const entry = newEntry()
        const answers = await Promise.all(
          Array.from({ length: 100 }, () => ledger.payments.reserve({ ...entry })),
        )
        expect(answers.filter((answer) => answer === undefined)).toHaveLength(1)
      })

      it('gives a hundred authorizations to a hundred callers at once', async () => {
        const { ledger } = await open()
        const answers = await Promise.all(
          Array.from({ length: 100 }, () => ledger.payments.reserve(newEntry())),
        )
        expect(answers).toEqual(Array(100).fill(undefined))
      })

      it('treats keys that differ only in case as one record', async () => {
        const { ledger, entry } = await openAt('reserved')
        const shouted = { ...entry, from: upper(entry.from), nonce: upper(entry.nonce) }
        const tokens = { asset: upper(entry.asset), contract: upper(entry.contract) }
        expect(await ledger.payments.reserve({ ...shouted, ...tokens })).toMatchObject({
          state: 'reserved',
        })
        await ledger.payments.release(shouted)
        expect(await ledger.payments.find(entry)).toBeUndefined()
      })

      it.each<[string, Partial<LedgerEntry>]>([
        ['chain', { chainId: 8453 }],
        ['contract', { contract: `0x${'12'.repeat(20)}` }],
        ['payer', { from: `0x${'12'.repeat(20)}` }],
        ['nonce', { nonce: `0x${'12'.repeat(32)}` }],
      ])('treats keys that differ in the %s as different records', async (_name, other) => {
        const { ledger, entry } = await openAt('reserved')
        const second = { ...entry, ...other }
        expect(await ledger.payments.reserve(second)).toBeUndefined()
        expect(await ledger.payments.find(second)).toMatchObject(second)
      })

      it('gives the nonce of a contract to one token of many', async () => {
        const { ledger } = await open()
        const first = newEntry({ contract: PERMIT2 })
        const second = { ...first, asset: OTHER_TOKEN }
        expect(await ledger.payments.reserve(first)).toBeUndefined()
        expect(await ledger.payments.reserve(second)).toMatchObject(first)
        await ledger.payments.release(first)
        expect(await ledger.payments.reserve(second)).toBeUndefined()
        expect(await ledger.payments.find(first)).toMatchObject(second)
      })
    })

    describe('moving forward', () => {
      it('releases a reservation, after which the payment can be reserved again', async () => {
        const { ledger, entry, record } = await openAt('reserved')
        await ledger.payments.release(entry)
        expect(await record()).toBeUndefined()
        expect(await ledger.payments.reserve(entry)).toBeUndefined()
      })

      it.each(['submitted', 'settled', 'failed'] as const)(
        'refuses to release a payment that is %s',
        async (state) => {
          const { ledger, entry, record } = await openAt(state)
          await ledger.payments.release(entry)
          expect(await record()).toMatchObject({ state })
        },
      )

      it('records the transaction before it is sent', async () => {
        const { record } = await openAt('submitted')
        expect(await record()).toMatchObject({
          state: 'submitted',
          locked: true,
          submission: SUBMISSION,
        })
      })

      it('replaces a recorded transaction by the next one', async () => {
        const { ledger, entry, record } = await openAt('submitted')
        await ledger.payments.submit(entry, OTHER)
        expect(await record()).toMatchObject({ state: 'submitted', submission: OTHER })
      })

      it('replaces the transaction of an unlocked payment only by one with the same account nonce', async () => {
        const { ledger, entry, record } = await openAt('submitted')
        await ledger.payments.unlock(entry)
        await ledger.payments.submit(entry, REPLACEMENT)
        await expect(ledger.payments.submit(entry, OTHER)).rejects.toMatchObject(UNAVAILABLE)
        expect(await record()).toMatchObject({ submission: REPLACEMENT, locked: false })
      })

      it('refuses to record a transaction for a reservation that is unlocked', async () => {
        const { ledger, entry, record } = await openAt('reserved')
        await ledger.payments.unlock(entry)
        await expect(ledger.payments.submit(entry, SUBMISSION)).rejects.toMatchObject(UNAVAILABLE)
        expect(await record()).toMatchObject({ state: 'reserved', locked: false })
      })

      it('withdraws a transaction, after which the payment can be reserved again', async () => {
        const { ledger, entry, record } = await openAt('submitted')
        await ledger.payments.withdraw(entry, SUBMISSION.transaction)
        expect(await record()).toBeUndefined()
      })

      it('refuses to withdraw another transaction than the recorded one', async () => {
        const { ledger, entry, record } = await openAt('submitted')
        await ledger.payments.withdraw(entry, OTHER.transaction)
        expect(await record()).toMatchObject({ submission: SUBMISSION })
      })

      it.each(['reserved', 'settled', 'failed'] as const)(
        'refuses to withdraw the transaction of a payment that is %s',
        async (state) => {
          const { ledger, entry, record } = await openAt(state)
          await ledger.payments.withdraw(entry, SUBMISSION.transaction)
          expect(await record()).toMatchObject({ state })
        },
      )

      it.each(['reserved', 'submitted'] as const)('settles a payment that is %s', async (state) => {
        const { ledger, entry, record } = await openAt(state)
        await ledger.payments.markSettled(entry, OTHER.transaction)
        const { transaction } = OTHER
        expect(await record()).toMatchObject({ ...lower(entry), state: 'settled', transaction })
      })

      it.each(['reserved', 'submitted'] as const)('fails a payment that is %s', async (state) => {
        const { ledger, entry, record } = await openAt(state)
        await ledger.payments.markFailed(entry, FAILURE)
        expect(await record()).toMatchObject({ state: 'failed', ...FAILURE })
      })

      it.each(['settled', 'failed'] as const)('never moves a payment on from %s', async (state) => {
        const { ledger, entry, record } = await openAt(state)
        const final = await record()
        await expect(ledger.payments.submit(entry, OTHER)).rejects.toMatchObject(UNAVAILABLE)
        await ledger.payments.markSettled(entry, OTHER.transaction)
        await ledger.payments.markFailed(entry, { ...FAILURE, transaction: OTHER.transaction })
        // Who says that it failed works on it no longer.
        const expected = { ...final, lockedElsewhere: undefined }
        expect({ ...(await record()), lockedElsewhere: undefined }).toEqual(expected)
      })

      it('creates no record for a payment that was never reserved', async () => {
        const { ledger } = await open()
        const entry = newEntry()
        await ledger.payments.release(entry)
        await expect(ledger.payments.submit(entry, SUBMISSION)).rejects.toMatchObject(UNAVAILABLE)
        await ledger.payments.withdraw(entry, SUBMISSION.transaction)
        await ledger.payments.markSettled(entry, SUBMISSION.transaction)
        await ledger.payments.markFailed(entry, FAILURE)
        await ledger.payments.unlock(entry)
        await expect(ledger.payments.markDelivered(entry)).rejects.toMatchObject(UNAVAILABLE)
        expect(await ledger.payments.relock(entry)).toBe(false)
        expect(await ledger.payments.find(entry)).toBeUndefined()
      })
    })

    describe('a transaction that several payments share', () => {
      const reserveAll = async (ledger: LedgerStore, count: number): Promise<LedgerEntry[]> => {
        const entries = Array.from({ length: count }, () => newEntry())
        for (const entry of entries) expect(await ledger.payments.reserve(entry)).toBeUndefined()
        return entries
      }
      const stateOf = async (ledger: LedgerStore, entry: LedgerEntry) =>
        (await ledger.payments.find(entry))?.state

      it('is recorded for all of them at once, each with its previous transaction', async () => {
        const { ledger } = await open()
        const entries = await reserveAll(ledger, 5)
        const [first, ...others] = entries
        const before = { ...SUBMISSION, replaces: [OTHER.transaction] }
        const members = [
          { key: first!, submission: before },
          ...others.map((key) => ({ key, submission: SUBMISSION })),
        ]
        const batch = { submission: SUBMISSION, members }
        expect(await ledger.relayers.submitNext(ACCOUNT, 7, async () => batch)).toEqual([])
        for (const { key, submission } of members)
          expect(await ledger.payments.find(key)).toMatchObject({ state: 'submitted', submission })
      })

      it('is recorded for none of them if one is not locked, and that one is named', async () => {
        const { ledger } = await open()
        const entries = await reserveAll(ledger, 4)
        const settled = entries[2]!
        await ledger.payments.markSettled(settled, OTHER.transaction)
        const unknown = newEntry()
        const members = [...entries, unknown].map((key) => ({ key, submission: SUBMISSION }))
        const submit = (some: typeof members) =>
          ledger.relayers.submitNext(ACCOUNT, 7, async (accountNonce) => {
            // Nothing was written down, so that the nonce is free again.
            expect(accountNonce).toBe(7)
            return { submission: SUBMISSION, members: some }
          })
        expect(await submit(members)).toEqual([settled, unknown])
        for (const entry of entries)
          expect(await stateOf(ledger, entry)).toBe(entry === settled ? 'settled' : 'reserved')
        expect(await ledger.payments.find(unknown)).toBeUndefined()
        const left = members.filter(({ key }) => key !== settled && key !== unknown)
        expect(await submit(left)).toEqual([])
      })

      it('is found by its hash, even after a replacement, and never in another ledger', async () => {
        const { ledger } = await open()
        const [sent, failed] = await reserveAll(ledger, 2)
        expect(await ledger.payments.knowsTransaction(SUBMISSION.transaction)).toBe(false)
        await ledger.payments.submit(sent!, REPLACEMENT)
        for (const transaction of [REPLACEMENT.transaction, ...REPLACEMENT.replaces!])
          expect(await ledger.payments.knowsTransaction(transaction)).toBe(true)
        for (const [except, isKnown] of [
          [sent!, false],
          [failed!, true],
        ] as const)
          expect(await ledger.payments.knowsTransaction(REPLACEMENT.transaction, except)).toBe(
            isKnown,
          )
        const reason = 'invalid_exact_evm_nonce_already_used'
        await ledger.payments.markFailed(failed!, { transaction: OTHER.transaction, reason })
        expect(await ledger.payments.knowsTransaction(OTHER.transaction)).toBe(false)
      })
    })

    describe('transfers', () => {
      it('lets one transfer pay for one record, whichever method settles it', async () => {
        const { ledger } = await open()
        const entries = [newEntry(), newEntry(), newEntry(), newEntry()] as const
        const [first, second, third, failed] = entries
        for (const entry of entries) await steps.submitted(ledger, entry)
        await ledger.payments.markFailed(failed, FAILURE)
        const { transaction } = SUBMISSION
        expect(await ledger.payments.markSettled(first, transaction, 'log-1')).toBe(true)
        expect(await ledger.payments.markSettled(first, transaction, 'log-1')).toBe(true)
        expect(await ledger.payments.markSettled(second, transaction, 'log-1')).toBe(false)
        expect(await ledger.payments.find(second)).toMatchObject({ state: 'submitted' })
        expect(await ledger.payments.markSettledLate(failed, transaction, 'log-1')).toBe(false)
        expect(await ledger.payments.find(failed)).toMatchObject({ state: 'failed' })
        expect(await ledger.payments.markSettled(second, transaction, 'log-2')).toBe(true)
        expect(await ledger.payments.markSettled(third, transaction)).toBe(true)
        expect(await ledger.payments.markSettledLate(third, OTHER.transaction, 'log-2')).toBe(false)
        expect(await ledger.payments.find(third)).toMatchObject({ transaction })
      })

      it('gives a transfer to one of many records that claim it at once', async () => {
        const { ledger } = await open()
        const entries = Array.from({ length: 20 }, () => newEntry())
        for (const entry of entries) await steps.submitted(ledger, entry)
        const settled = await Promise.all(
          entries.map((entry) =>
            ledger.payments.markSettled(entry, SUBMISSION.transaction, 'log-1'),
          ),
        )
        expect(settled.filter(Boolean)).toHaveLength(1)
      })

      it('frees a transfer once a reorganisation has had another one pay for its record', async () => {
        const { ledger } = await open()
        const [first, second] = [newEntry(), newEntry()]
        for (const entry of [first, second]) await steps.submitted(ledger, entry)
        await ledger.payments.markSettled(first, SUBMISSION.transaction, 'log-1')
        expect(await ledger.payments.markSettledLate(first, OTHER.transaction, 'log-2')).toBe(true)
        await ledger.payments.markDelivered(first)
        expect(await ledger.payments.markSettled(second, SUBMISSION.transaction, 'log-2')).toBe(
          false,
        )
        expect(await ledger.payments.markSettled(second, SUBMISSION.transaction, 'log-1')).toBe(
          true,
        )
      })
    })

    describe('purchases', () => {
      const purchase = { resource: 'r', offer: 'o', paymentId: 'p', client: 'c' }

      it('keeps what a payment was reserved for through every later state', async () => {
        const { ledger, entry, record } = await openAt('reserved', { purchase })
        expect(await record()).toMatchObject({ purchase, fresh: true, paidLate: false })
        await ledger.payments.submit(entry, SUBMISSION)
        await ledger.payments.markFailed(entry, FAILURE)
        await ledger.payments.markSettledLate(entry, OTHER.transaction)
        expect(await record()).toMatchObject({ purchase, paidLate: true })
        expect(
          await ledger.payments.listFinal({ state: 'settled', withinMs: 60_000, limit: 1 }),
        ).toMatchObject([{ purchase }])
        const { record: other } = await openAt('settled', { purchase: { resource: 'r' } })
        expect((await other())?.purchase).toEqual({ resource: 'r' })
        expect(await other()).toMatchObject({ paidLate: false })
      })
    })

    describe('looking back', () => {
      it('settles a payment that had failed, which can then be locked and delivered once', async () => {
        const { ledger, entry, record } = await openAt('failed')
        await ledger.payments.markSettledLate(entry, OTHER.transaction)
        const { transaction } = OTHER
        expect(await record()).toMatchObject({
          ...lower(entry),
          ...{ state: 'settled', transaction, submission: { raw: SUBMISSION.raw } },
          ...{ locked: false, delivered: false },
        })
        expect(await record()).not.toHaveProperty('reason')
        const locks = await Promise.all(
          Array.from({ length: 10 }, () => ledger.payments.relock({ ...entry })),
        )
        expect(locks.filter(Boolean)).toHaveLength(1)
        await ledger.payments.markDelivered(entry)
        expect(await ledger.payments.relock(entry)).toBe(false)
      })

      it('remembers only the last owner of a lock', async () => {
        const purchase = { resource: 'r', asker: 'the first' }
        const { ledger, entry, record } = await openAt('submitted', { purchase })
        const askerOf = async () => (await record())?.purchase?.asker
        expect(await askerOf()).toBe('the first')
        await ledger.payments.unlock(entry)
        expect(await ledger.payments.relock(entry, 'somebody')).toBe(true)
        expect(await ledger.payments.relock(entry, 'somebody else')).toBe(false)
        expect(await askerOf()).toBe('somebody')
        await ledger.payments.unlock(entry)
        expect(await ledger.payments.relock(entry)).toBe(true)
        expect(await askerOf()).toBeUndefined()
      })

      it('settles a failed payment by the same transaction that was recorded as failed', async () => {
        const { ledger, entry, record } = await openAt('failed')
        await ledger.payments.markSettledLate(entry, FAILURE.transaction)
        expect(await record()).toMatchObject({ state: 'settled', locked: false })
      })

      it('records which transaction paid for a settled payment, and changes nothing else', async () => {
        const { ledger, entry, record } = await openAt('settled')
        await ledger.payments.markSettledLate(entry, OTHER.transaction)
        expect(await record()).toMatchObject({
          ...{ state: 'settled', transaction: OTHER.transaction },
          ...{ locked: true, delivered: false },
        })
        await ledger.payments.markDelivered(entry)
        await ledger.payments.markSettledLate(entry, SUBMISSION.transaction)
        const { transaction } = SUBMISSION
        expect(await record()).toMatchObject({ transaction, locked: true, delivered: true })
        expect(await ledger.payments.relock(entry)).toBe(false)
      })

      it.each(['reserved', 'submitted'] as const)(
        'changes nothing of a payment that is %s',
        async (state) => {
          const { ledger, entry, record } = await openAt(state)
          const before = await record()
          await ledger.payments.markSettledLate(entry, OTHER.transaction)
          expect(await record()).toEqual(before)
          const stranger = newEntry()
          await ledger.payments.markSettledLate(stranger, OTHER.transaction)
          expect(await ledger.payments.find(stranger)).toBeUndefined()
        },
      )

      it('keeps the sent transaction of a payment beside its outcome', async () => {
        for (const state of ['settled', 'failed'] as const) {
          const { record } = await openAt(state)
          const { raw, relayer } = SUBMISSION
          expect(await record()).toMatchObject({ state, submission: { raw, relayer } })
        }
        const { ledger, entry, record } = await openAt('reserved')
        await ledger.payments.markSettled(entry, OTHER.transaction)
        expect((await record()) as object).not.toMatchObject({ submission: expect.anything() })
      })

      it('lists the payments that ended recently, newest first', async () => {
        const { ledger, entry: old, clock } = await openAt('settled')
        const AGO_MS = 2000
        clock.ms += AGO_MS
        await sleep(AGO_MS)
        const entries = [newEntry(), newEntry(), newEntry(), newEntry()] as const
        const ends = ['settled', 'failed', 'submitted', 'settled'] as const
        for (const [index, end] of ends.entries()) {
          await steps[end](ledger, entries[index]!)
          await pass(clock)
        }
        const listed = async (query: Partial<FinalQuery>) => {
          const all = { state: 'settled', withinMs: 86_400_000, limit: 10 } as const
          return (await ledger.payments.listFinal({ ...all, ...query })).map(({ id }) => id)
        }
        const [first, failed, , last] = entries.map(recordId)
        expect(await listed({})).toEqual([last, first, recordId(old)])
        expect(await listed({ limit: 2 })).toEqual([last, first])
        expect(await listed({ limit: 1, withinMs: 60_000.0625 })).toEqual([last])
        expect(await listed({ state: 'failed' })).toEqual([failed])
        expect(await listed({ withinMs: 0 })).toEqual([])
        const [entry] = await ledger.payments.listFinal({
          state: 'failed',
          withinMs: 1e6,
          limit: 1,
        })
        expect(entry).toEqual({ ...lower(entries[1]), id: failed, state: 'failed' })
        // A delivery is a change as well, and moves the record to the front.
        await ledger.payments.markDelivered(old)
        expect((await listed({ limit: 1 }))[0]).toBe(recordId(old))
      })
    })

    describe('list of every project', () => {
      it('has each payment once, newest first, on pages of any length', async () => {
        const { ledger, clock } = await open()
        for (let index = 0; index < 40; index++) {
          const project = index % 8 === 7 ? undefined : `shop-${(index * 5) % 8}`
          const step =
            index % 3 === 0 ? steps.failed : index % 3 === 1 ? steps.settled : steps.reserved
          await step(ledger, newEntry({ project, value: BigInt(index) }))
          // Several have the same time.
          if (index % 6 === 5) clock.ms += 10
        }
        const all = { project: EVERY_PROJECT } as const
        const whole = await ledger.payments.list({ ...all, limit: 100 })
        expect(whole).toHaveLength(40)
        expect(whole).toEqual(
          whole.toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)),
        )
        for (const limit of [1, 3, 7]) {
          const paged: LedgerRecord[] = []
          for (;;) {
            const page = await ledger.payments.list({ ...all, after: paged.at(-1), limit })
            paged.push(...page)
            if (page.length < limit) break
          }
          expect(paged.map(({ value }) => value)).toEqual(whole.map(({ value }) => value))
        }
      })
    })

    describe('locking', () => {
      it.each(['submitted', 'settled'] as const)(
        'locks an unlocked payment that is %s for one of a hundred callers',
        async (state) => {
          const { ledger, entry, record } = await openAt(state)
          expect(await ledger.payments.relock(entry)).toBe(false)
          await ledger.payments.unlock(entry)
          expect(await record()).toMatchObject({ state, locked: false })
          const locks = await Promise.all(
            Array.from({ length: 100 }, () => ledger.payments.relock({ ...entry })),
          )
          expect(locks.filter(Boolean)).toHaveLength(1)
          expect(await record()).toMatchObject({ state, locked: true })
        },
      )

      it.each([true, false])(
        'keeps the lock as it is when the outcome arrives: locked %s',
        async (locked) => {
          const { ledger, entry, record } = await openAt('submitted')
          if (!locked) await ledger.payments.unlock(entry)
          await ledger.payments.markSettled(entry, SUBMISSION.transaction)
          expect(await record()).toMatchObject({ state: 'settled', locked })
        },
      )

      it('can be unlocked twice', async () => {
        const { ledger, entry, record } = await openAt('settled')
        await ledger.payments.unlock(entry)
        await ledger.payments.unlock(entry)
        expect(await record()).toMatchObject({ locked: false })
      })
    })

    describe('delivering', () => {
      it.each(['submitted', 'settled'] as const)(
        'delivers a payment that is %s once and for good',
        async (state) => {
          const { ledger, entry, record } = await openAt(state)
          await ledger.payments.markDelivered(entry)
          await expect(ledger.payments.markDelivered(entry)).rejects.toMatchObject(UNAVAILABLE)
          await ledger.payments.unlock(entry)
          await ledger.payments.release(entry)
          expect(await ledger.payments.relock(entry)).toBe(false)
          expect(await record()).toMatchObject({ state, locked: true })
        },
      )

      it.each(['reserved', 'failed'] as const)(
        'refuses to deliver a payment that is %s',
        async (state) => {
          const { ledger, entry } = await openAt(state)
          await expect(ledger.payments.markDelivered(entry)).rejects.toMatchObject(UNAVAILABLE)
        },
      )

      it('refuses to deliver after an unlock, and for an old lock that another caller has taken', async () => {
        const { ledger, entry } = await openAt('settled')
        await ledger.payments.unlock(entry)
        await expect(ledger.payments.markDelivered(entry)).rejects.toMatchObject(UNAVAILABLE)
        expect(await ledger.payments.relock(entry)).toBe(true)
        await ledger.payments.markDelivered(entry)
      })

      it('reopens a payment that was marked as delivered but never sent out, for one more delivery', async () => {
        const { ledger, entry, record } = await openAt('settled')
        const lock = ledger.payments.lockOf(entry)
        await ledger.payments.markDelivered(entry)
        expect(await ledger.payments.relock(entry)).toBe(false)
        await ledger.payments.undeliver(entry, lock)
        expect(await ledger.payments.find(entry)).toMatchObject({ delivered: false, locked: false })
        expect(await ledger.payments.relock(entry)).toBe(true)
        await ledger.payments.markDelivered(entry)
        expect(await ledger.payments.find(entry)).toMatchObject({
          state: 'settled',
          delivered: true,
        })
        expect(await ledger.payments.relock(entry)).toBe(false)
        await ledger.payments.undeliver(entry, lock)
        expect(await record()).toMatchObject({ delivered: true })
      })

      it('leaves the lock of a newer request to it, whatever an older one does late', async () => {
        const { ledger, entry, record } = await openAt('submitted')
        const old = ledger.payments.lockOf(entry)
        await ledger.payments.unlock(entry, old)
        expect(await ledger.payments.relock(entry)).toBe(true)
        const lock = ledger.payments.lockOf(entry)
        expect(lock).not.toBe(old)
        await ledger.payments.release(entry, old)
        await ledger.payments.unlock(entry, old)
        await ledger.payments.undeliver(entry, old)
        const late = ledger.payments.markDelivered(entry, undefined, old)
        await expect(late).rejects.toMatchObject(UNAVAILABLE)
        expect(await record()).toMatchObject({ locked: true, delivered: false })
        expect(await ledger.payments.reserve(entry)).toMatchObject({ locked: true })
        await ledger.payments.markDelivered(entry, undefined, lock)
        expect(await record()).toMatchObject({ delivered: true })
      })

      it('lets another caller lock a payment whose release came too late', async () => {
        const { ledger, entry } = await openAt('submitted')
        await ledger.payments.release(entry)
        expect(await ledger.payments.relock(entry)).toBe(true)
      })
    })

    describe('listing', () => {
      it('lists submitted payments, oldest first', async () => {
        const { ledger, entry: first, clock } = await openAt('submitted')
        const others = [newEntry(), newEntry(), newEntry()] as const
        for (const [index, step] of (['settled', 'submitted', 'reserved'] as const).entries()) {
          await pass(clock)
          await steps[step](ledger, others[index]!)
        }
        const listed = await ledger.payments.listSubmitted()
        expect(listed.map(({ nonce }) => nonce)).toEqual([first.nonce, others[1].nonce])
        expect(listed[0]).toEqual({
          ...(await ledger.payments.find(first)),
          submission: { ...SUBMISSION, raw: '0x' },
        })
      })

      it('lists submitted payments page by page', async () => {
        const { ledger, clock } = await open()
        const entries = Array.from({ length: 7 }, () => newEntry())
        for (const entry of entries.slice(0, 4)) await steps.submitted(ledger, entry)
        await pass(clock)
        for (const entry of entries.slice(4)) await steps.submitted(ledger, entry)
        const seen: LedgerRecord[] = []
        for (;;) {
          const page = await ledger.payments.listSubmitted({ after: seen.at(-1), limit: 2 })
          if (page.length === 0) break
          seen.push(...page)
          // What comes to an end meanwhile is skipped, and nothing else.
          await ledger.payments.markSettled(page[0]!, SUBMISSION.transaction)
        }
        expect(new Set(seen.map(({ id }) => id))).toEqual(new Set(entries.map(recordId)))
        expect(seen).toHaveLength(entries.length)
        expect(await ledger.payments.listSubmitted()).toEqual(
          seen.filter((_record, index) => index % 2 === 1),
        )
      })

      it('lists the payments of a project, newest first, as it finds each one', async () => {
        const { ledger, entry: first, clock } = await openAt('reserved')
        await pass(clock)
        const second = newEntry()
        await steps.failed(ledger, second)
        await ledger.payments.reserve(newEntry({ project: 'another' }))
        await ledger.payments.reserve(newEntry({ project: undefined }))
        const gone = newEntry()
        await ledger.payments.reserve(gone)
        await ledger.payments.release(gone)
        const { submission: _bytes, ...failed } = {
          submission: 0,
          ...(await ledger.payments.find(second)),
        }
        expect(await ledger.payments.list({ project: 'shop', limit: 10 })).toEqual([
          failed,
          await ledger.payments.find(first),
        ])
      })

      it('tells when a record was created and when it was changed', async () => {
        const { ledger, entry, clock, record } = await openAt('reserved')
        const made = await record()
        expect(made!.updatedAt).toBe(made!.createdAt)
        await pass(clock)
        await ledger.payments.submit(entry, SUBMISSION)
        const changed = await record()
        expect(changed!.createdAt).toBe(made!.createdAt)
        expect(changed!.updatedAt).toBeGreaterThan(made!.createdAt)
      })

      it('lists payments by state, by id, and by time', async () => {
        const { ledger, entry: first, clock, record } = await openAt('settled')
        const { id, createdAt } = (await record())!
        await pass(clock)
        const second = newEntry()
        await ledger.payments.reserve(second)
        const last = (await ledger.payments.find(second))!
        const idsOf = async (query: Partial<LedgerQuery>): Promise<string[]> => {
          const records = await ledger.payments.list({ project: 'shop', limit: 10, ...query })
          return records.map((one) => one.id)
        }
        expect(id).toBe(recordId(first))
        expect(await idsOf({ state: 'settled' })).toEqual([id])
        expect(await idsOf({ state: 'failed' })).toEqual([])
        expect(await idsOf({ id })).toEqual([id])
        expect(await idsOf({ id, project: 'another' })).toEqual([])
        expect(await idsOf({ from: last.createdAt })).toEqual([last.id])
        expect(await idsOf({ until: last.createdAt })).toEqual([id])
        expect(await idsOf({ from: createdAt, until: last.createdAt + 1 })).toEqual([last.id, id])
        expect(await idsOf({ limit: 1 })).toEqual([last.id])
      })

      it('pages through records without losing or repeating one, even those created at once', async () => {
        const { ledger, clock } = await open()
        const entries = Array.from({ length: 23 }, () => newEntry())
        await Promise.all(entries.slice(0, 12).map((entry) => ledger.payments.reserve(entry)))
        await pass(clock)
        await Promise.all(entries.slice(12).map((entry) => ledger.payments.reserve(entry)))
        const seen: LedgerRecord[] = []
        for (;;) {
          const after = seen.at(-1)
          const page = await ledger.payments.list({
            project: 'shop',
            limit: 5,
            ...(after && { after }),
          })
          if (page.length === 0) break
          seen.push(...page)
          // What comes meanwhile is newer.
          await pass(clock)
          await ledger.payments.reserve(newEntry())
        }
        const ids = seen.map(({ id }) => id)
        expect(new Set(ids)).toEqual(new Set(entries.map(recordId)))
        expect(ids).toHaveLength(entries.length)
      })
    })

    describe('forgetting', () => {
      it.each(['reserved', 'submitted', 'settled', 'failed'] as const)(
        'keeps a payment that is %s for as long as its authorization could be used',
        async (state) => {
          const { clock, record } = await openAt(state)
          clock.ms += 300_000
          expect(await record()).toMatchObject({ state })
        },
      )

      it('keeps a settled payment beyond the end of its authorization', async () => {
        const { clock, record } = await openAt('settled')
        clock.ms += 600_000
        expect(await record()).toMatchObject({ state: 'settled' })
      })

      it.each(['reserved', 'submitted'] as const)(
        'keeps a payment that is %s for days if its authorization never ends',
        async (state) => {
          const { clock, record } = await openAt(state, { validBefore: 2n ** 256n - 1n })
          clock.ms += 30 * 86_400_000
          expect(await record()).toMatchObject({ state })
        },
      )
    })
  })
}

/** Lets time pass, by the suite's clock and by every other. */
async function pass(clock: { ms: number }): Promise<void> {
  clock.ms += 1000
  await sleep(3)
}

function lower(entry: LedgerEntry): Partial<LedgerEntry> {
  const { asset, contract, from, nonce, payTo } = entry
  const [a, c, f, n, p] = [asset, contract, from, nonce, payTo].map(lowerHex)
  return { ...entry, asset: a!, contract: c!, from: f!, nonce: n!, payTo: p! }
}

function upper(hex: Hex): Hex {
  return `0x${hex.slice(2).toUpperCase()}`
}
