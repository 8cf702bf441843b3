import { setTimeout as sleep } from 'node:timers/promises'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import {
  LOOK_AFTER_MS,
  type LedgerEntry,
  type LedgerStore,
  type Submission,
} from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import type { SqlLedgerOptions } from '../../src/ledger/store.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import type { Hex } from '../../src/shared/protocol/payment.js'
import { newNonce } from '../support/sign-payment.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { until } from '../support/until.js'
import { newEntry } from '../support/ledger-entries.js'

const account = () => ({ chainId: 84532, relayer: newNonce().slice(0, 42) as Hex })
type Account = ReturnType<typeof account>

const signed = ({ relayer }: Account, accountNonce: number, raw: Hex = '0x02'): Submission => ({
  ...{ transaction: newNonce(), relayer, accountNonce, raw },
})

const postgres = await findPostgres()
const cleanups: (() => Promise<unknown>)[] = []

/** Opens stores that share what they keep. */
type OpenStore = (options?: SqlLedgerOptions) => LedgerStore

const stores: [string, () => Promise<OpenStore>][] = [
  [
    'the memory ledger',
    async () => {
      const ledger = createMemoryLedger()
      return () => ledger
    },
  ],
  [
    'the SQLite ledger',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'x402-nonces-'))
      cleanups.push(() => rm(folder, { recursive: true, force: true }))
      return (options) => openSqliteLedger(join(folder, 'ledger.db'), options)
    },
  ],
]
if (postgres !== undefined)
  stores.push([
    'the PostgreSQL ledger',
    async () => {
      const schema = await createSchema(postgres)
      cleanups.push(() => schema.drop())
      return (options) => openPostgresLedger(schema.pool(), options)
    },
  ])

describe.each(stores)('%s, which hands out account nonces,', (_name, create) => {
  const opened: LedgerStore[] = []
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((ledger) => ledger.close()))
    for (const clean of cleanups.splice(0)) await clean()
  })
  const openTwo = async (
    options?: SqlLedgerOptions,
  ): Promise<readonly [LedgerStore, LedgerStore]> => {
    const open = await create()
    const two = [open(options), open(options)] as const
    opened.push(...two)
    return two
  }
  /** Writes down a transaction without payments. */
  const send = async (ledger: LedgerStore, by: Account, leastNonce = 0): Promise<Submission> => {
    let submission: Submission | undefined
    await ledger.relayers.submitNext(by, leastNonce, async (accountNonce) => {
      submission = signed(by, accountNonce)
      return { submission, members: [] }
    })
    return submission!
  }
  const nonces = (sent: readonly Submission[]): readonly number[] =>
    sent.map(({ accountNonce }) => accountNonce).toSorted((one, other) => one - other)

  it('gives each nonce once to callers that ask at the same time, without a gap', async () => {
    const [one, other] = await openTwo()
    const by = account()
    const sent = await Promise.all(
      Array.from({ length: 30 }, (_, n) => send(n % 2 ? one : other, by, 5)),
    )
    expect(nonces(sent)).toEqual(Array.from({ length: 30 }, (_, n) => 5 + n))
    const listed = await one.relayers.listTransactions(by, 5)
    expect(new Set(listed.map(({ transaction }) => transaction))).toEqual(
      new Set(sent.map(({ transaction }) => transaction)),
    )
  })

  it('gives each nonce once to two callers that take turns, and to one that goes on alone', async () => {
    const [one, other] = await openTwo()
    const by = account()
    const sent: Submission[] = []
    for (let n = 0; n < 12; n++) sent.push(await send(n % 3 === 2 ? other : one, by, 5))
    for (let n = 0; n < 8; n++) sent.push(await send(one, by, 5))
    expect(sent.map(({ accountNonce }) => accountNonce)).toEqual(
      Array.from({ length: 20 }, (_, n) => 5 + n),
    )
    const listed = await other.relayers.listTransactions(by, 5)
    expect(listed.map(({ transaction }) => transaction)).toEqual(
      sent.map(({ transaction }) => transaction),
    )
  })

  it('takes no nonce for a payment that is not locked, and names that payment', async () => {
    const [one] = await openTwo()
    const by = account()
    const [own, foreign] = [newEntry(), newEntry()]
    await one.payments.reserve(own)
    const next: number[] = []
    const submit = (...keys: readonly LedgerEntry[]) =>
      one.relayers.submitNext(by, 0, async (accountNonce) => {
        next.push(accountNonce)
        const submission = signed(by, accountNonce)
        return { submission, members: keys.map((key) => ({ key, submission })) }
      })
    await send(one, by)
    expect(await submit(own, foreign)).toEqual([foreign])
    expect(await one.payments.find(own)).toMatchObject({ state: 'reserved' })
    expect(await one.payments.find(foreign)).toBeUndefined()
    expect(await submit(own)).toEqual([])
    expect(new Set(next)).toEqual(new Set([1]))
    expect(await one.payments.find(own)).toMatchObject({
      state: 'submitted',
      submission: { accountNonce: 1, raw: '0x02' },
    })
    expect(await one.relayers.listTransactions(by, 0)).toHaveLength(2)
  })

  it('records for each payment which transaction its own replaces', async () => {
    const [one, other] = await openTwo()
    const by = account()
    const earlier = newNonce()
    const entries = [newEntry(), newEntry()] as const
    for (const entry of entries) await one.payments.reserve(entry)
    await send(one, by)
    await one.relayers.submitNext(by, 0, async (accountNonce) => {
      const submission = signed(by, accountNonce)
      const again = { ...submission, replaces: [earlier] }
      return {
        submission: again,
        members: [
          { key: entries[0], submission },
          { key: entries[1], submission: again },
        ],
      }
    })
    const [fresh, resent] = await Promise.all(entries.map((entry) => other.payments.find(entry)))
    expect(fresh).toMatchObject({ submission: { accountNonce: 1, raw: '0x02' } })
    expect(fresh).not.toHaveProperty('submission.replaces')
    expect(resent).toMatchObject({ submission: { accountNonce: 1, replaces: [earlier] } })
    expect((await other.relayers.listTransactions(by, 1))[0]).toMatchObject({ replaces: [earlier] })
  })

  it('needs, after a reorganisation, only the transaction that a settled payment names', async () => {
    const [ledger] = await openTwo()
    const by = account()
    const entry = newEntry()
    await ledger.payments.reserve(entry)
    await ledger.relayers.submitNext(by, 0, async (accountNonce) => {
      const submission = signed(by, accountNonce)
      return { submission, members: [{ key: entry, submission }] }
    })
    await ledger.payments.markSettled(entry, newNonce())
    // It is settled already, so that the transaction that sends it again is written down for no payment.
    const again = await send(ledger, by)
    await send(ledger, by)
    await ledger.payments.markSettledLate(entry, again.transaction)
    const listed = await ledger.relayers.listTransactions(by, 0)
    expect(listed.map(({ isNeeded }) => isNeeded)).toEqual([false, true, false])
  })

  it('needs the transaction that replaces one which has settled a payment', async () => {
    const [ledger] = await openTwo()
    const by = account()
    const entry = newEntry()
    const submission = signed(by, 0)
    const { transaction } = submission
    await ledger.payments.reserve(entry)
    await ledger.relayers.submitNext(by, 0, async () => ({
      submission,
      members: [{ key: entry, submission }],
    }))
    await ledger.payments.markSettled(entry, transaction)
    const next = { ...signed(by, 0, '0x03'), replaces: [transaction] }
    const last = { ...signed(by, 0, '0x04'), replaces: [next.transaction, transaction] }
    await ledger.relayers.replaceTransaction(by.chainId, transaction, next)
    await ledger.relayers.replaceTransaction(by.chainId, next.transaction, last)
    const listed = await ledger.relayers.listTransactions(by, 0)
    expect(listed).toMatchObject([{ ...last, isNeeded: true }])
  })

  it('starts at the nonce of the chain, and follows it when it is higher', async () => {
    const [ledger] = await openTwo()
    const by = account()
    const sent = [
      await send(ledger, by, 3),
      await send(ledger, by, 3),
      await send(ledger, by, 9),
      await send(ledger, by, 0),
    ]
    expect(nonces(sent)).toEqual([3, 4, 9, 10])
    expect(await send(ledger, { ...by, chainId: 1 }, 0)).toMatchObject({ accountNonce: 0 })
  })

  it('keeps no nonce for a transaction that could not be signed', async () => {
    const [ledger] = await openTwo()
    const by = account()
    const failure = new Error('no ink')
    await expect(ledger.relayers.submitNext(by, 0, () => Promise.reject(failure))).rejects.toBe(
      failure,
    )
    expect(await send(ledger, by)).toMatchObject({ accountNonce: 0 })
  })

  it('records a replacement once for all payments of a transaction', async () => {
    const [one, other] = await openTwo()
    const by = account()
    const entries = [newEntry(), newEntry(), newEntry()] as const
    const [first, second, settled] = entries
    for (const entry of entries) await one.payments.reserve(entry)
    const earlier = newNonce()
    const submission = signed(by, 0)
    await one.relayers.submitNext(by, 0, async () => ({
      submission,
      members: [
        { key: first, submission },
        { key: second, submission: { ...submission, replaces: [earlier] } },
        { key: settled, submission },
      ],
    }))
    await one.payments.markSettled(settled, submission.transaction)
    const nexts = [1, 2].map(() => ({
      ...signed(by, 0, '0x03'),
      replaces: [submission.transaction],
    }))
    const done = await Promise.all(
      nexts.map((next, n) =>
        (n === 0 ? one : other).relayers.replaceTransaction(
          by.chainId,
          submission.transaction,
          next,
        ),
      ),
    )
    expect(done.filter(Boolean)).toHaveLength(1)
    const next = nexts[done.indexOf(true)]!
    expect(await other.payments.find(first)).toMatchObject({ submission: next })
    const replaces = [submission.transaction, earlier]
    expect(await other.payments.find(second)).toMatchObject({ submission: { ...next, replaces } })
    expect(await other.payments.find(settled)).toMatchObject({
      transaction: submission.transaction,
    })
    expect(await other.relayers.listTransactions(by, 0)).toMatchObject([
      { ...next, isNeeded: true },
    ])
  })

  it('fills a nonce without a payment, and leaves the records unchanged', async () => {
    const [ledger] = await openTwo()
    const by = account()
    const entry = newEntry()
    await ledger.payments.reserve(entry)
    const submission = signed(by, 2)
    await ledger.relayers.submitNext(by, 2, async () => ({
      submission,
      members: [{ key: entry, submission }],
    }))
    const [gap, empty] = [signed(by, 1), signed(by, 2)]
    expect(await ledger.relayers.fillNonce(by.chainId, gap)).toBe(true)
    expect(await ledger.relayers.fillNonce(by.chainId, signed(by, 1))).toBe(false)
    expect(await ledger.relayers.fillNonce(by.chainId, empty)).toBe(false)
    expect(await ledger.relayers.fillNonce(by.chainId, empty, submission.transaction)).toBe(true)
    expect(await ledger.payments.find(entry)).toMatchObject({ submission })
    expect(await ledger.relayers.listTransactions(by, 0)).toMatchObject([
      { ...gap, isNeeded: false },
      { ...empty, isNeeded: false },
    ])
  })

  it('says which transactions a payment needs', async () => {
    const [ledger] = await openTwo()
    const by = account()
    const [settled, failed] = [newEntry(), newEntry()]
    for (const [nonce, entry] of [settled, failed].entries()) {
      await ledger.payments.reserve(entry)
      await ledger.relayers.submitNext(by, nonce, async (accountNonce) => {
        const submission = signed(by, accountNonce)
        return { submission, members: [{ key: entry, submission }] }
      })
    }
    const needed = async () =>
      (await ledger.relayers.listTransactions(by, 0)).map(({ isNeeded }) => isNeeded)
    expect(await needed()).toEqual([true, true])
    const [first, second] = await ledger.relayers.listTransactions(by, 0)
    await ledger.payments.markSettled(settled, first!.transaction)
    const reason = 'invalid_exact_evm_payload_authorization_valid_before'
    await ledger.payments.markFailed(failed, { transaction: second!.transaction, reason })
    expect(await needed()).toEqual([true, false])
  })

  it('lets one process at a time look after transactions that are not mined for a while', async () => {
    const [one, other] = await openTwo()
    const claimsOf = async (by: Account) => {
      const pending = [
        await one.relayers.claimPending(84532),
        await other.relayers.claimPending(84532),
      ].flat()
      const ours = pending.filter(({ relayer }) => relayer === by.relayer)
      return ours.map(({ isClaimed }) => isClaimed)
    }
    /** @returns Nothing where it took longer than told: too much time has passed to tell. */
    const inTime = async <T>(ms: number, work: () => Promise<T>): Promise<T | undefined> => {
      const startedAt = performance.now()
      const done = await work()
      return performance.now() - startedAt < ms ? done : undefined
    }
    await until(async () => {
      const by = account()
      expect(await claimsOf(by)).toEqual([])
      const young = await inTime(LOOK_AFTER_MS.age, async () => {
        await send(one, by, 4)
        return claimsOf(by)
      })
      if (young === undefined) return false
      expect(young).toEqual([false, false])
      await sleep(LOOK_AFTER_MS.age + 20)
      const due = await inTime(LOOK_AFTER_MS.pause, async () => [
        await claimsOf(by),
        await claimsOf(by),
      ])
      if (due === undefined) return false
      expect(due).toEqual([
        [true, false],
        [false, false],
      ])
      await sleep(LOOK_AFTER_MS.pause + 20)
      const later = await inTime(LOOK_AFTER_MS.pause, () => claimsOf(by))
      if (later === undefined) return false
      expect(later).toEqual([true, false])
      await other.relayers.noteMinedNonce(by, 5)
      expect(await claimsOf(by)).toEqual([])
      return true
    })
    expect(await one.relayers.claimPending(1)).toEqual([])
  })

  it('keeps its next nonce while transactions are young, whatever a node says', async () => {
    const [ledger] = await openTwo()
    const by = account()
    for (let n = 0; n < 3; n++) await send(ledger, by, 10)
    await ledger.relayers.lowerNonce(by, 11)
    expect(await send(ledger, by)).toMatchObject({ accountNonce: 13 })
    await ledger.relayers.lowerNonce(by, 99)
    expect(await send(ledger, by)).toMatchObject({ accountNonce: 14 })
  })

  it('keeps the last 256 mined transactions, which a reorganisation may drop', async () => {
    const [ledger] = await openTwo({ bytes: { keptMs: 0, sweepMs: 20 } })
    const by = account()
    for (let n = 0; n < 4; n++) await send(ledger, by)
    await ledger.relayers.noteMinedNonce(by, 4)
    expect(await ledger.relayers.listTransactions(by, 0)).toHaveLength(4)
    await ledger.relayers.noteMinedNonce(by, 258)
    await until(async () => (await ledger.relayers.listTransactions(by, 0)).length < 4)
    expect(nonces(await ledger.relayers.listTransactions(by, 0))).toEqual([2, 3])
  })
})
