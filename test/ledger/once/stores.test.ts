import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { Database } from '../../support/sqlite.js'
import { fingerprintOf, idempotencyKey } from '../../../src/ledger/once/fingerprint.js'
import type { IdempotencyStore, RepeatableRequest } from '../../../src/ledger/once/store.js'
import type { LedgerStore } from '../../../src/ledger/index.js'
import { createMemoryLedger, type MemoryLedgerOptions } from '../../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { until } from '../../support/until.js'
import { claim, describeIdempotency, newRequest } from './conformance.js'
import { useCleanup, temporaryFolder, closedBy } from '../../support/cleanup.js'

const HOUR = 3_600_000

let files = 0
const folder = temporaryFolder(useCleanup(afterAll))
const newFile = (): string => join(folder, `${++files}.db`)

const root = await findPostgres()
const describePostgres = root === undefined ? describe.skip : describe

describeIdempotency('the memory ledger', async () => {
  const ledger = createMemoryLedger()
  return { store: ledger.idempotency, close: () => ledger.close() }
})

describeIdempotency('the SQLite ledger', async () => {
  const ledger = openSqliteLedger(newFile())
  return { store: ledger.idempotency, close: () => ledger.close() }
})

describeSharedStore('the SQLite ledger', async () => {
  const file = newFile()
  return {
    open: (lockMs) => openSqliteLedger(file, lockMs === undefined ? {} : { lockMs }),
    async execute(statement) {
      const database = new Database(file)
      database.exec(statement)
      database.close()
    },
    drop: async () => undefined,
  }
})

describePostgres('on PostgreSQL', () => {
  describeIdempotency('the PostgreSQL ledger', async () => {
    const schema = await createSchema(root!)
    const ledger = openPostgresLedger(schema.pool())
    return {
      store: ledger.idempotency,
      async close() {
        await ledger.close()
        await schema.drop()
      },
    }
  })

  describeSharedStore('the PostgreSQL ledger', async () => {
    const schema = await createSchema(root!)
    return {
      open: (lockMs) => openPostgresLedger(schema.pool(), lockMs === undefined ? {} : { lockMs }),
      execute: schema.execute,
      drop: () => schema.drop(),
    }
  })
})

/** A database that several processes share. */
interface SharedStore {
  open(lockMs?: number): LedgerStore
  execute(statement: string): Promise<unknown>
  drop(): Promise<void>
}

function describeSharedStore(name: string, create: () => Promise<SharedStore>): void {
  describe(`${name}, shared by two processes,`, () => {
    const withTwo = async (
      work: (one: IdempotencyStore, other: IdempotencyStore, shared: SharedStore) => Promise<void>,
      lockMs?: number,
    ): Promise<void> => {
      const shared = await create()
      const ledgers = [shared.open(lockMs), shared.open(lockMs)] as const
      try {
        await work(ledgers[0].idempotency, ledgers[1].idempotency, shared)
      } finally {
        await Promise.all(ledgers.map((ledger) => ledger.close()))
        await shared.drop()
      }
    }

    it('gives the answer of one process to the other', () =>
      withTwo(async (one, other) => {
        const request = newRequest()
        const first = await claim(one, request)
        expect(await other.begin(request)).toEqual({ state: 'busy' })
        await first.finish('the answer')
        expect(await other.begin(request)).toEqual({ state: 'done', answer: 'the answer' })
      }))

    it('frees the key of a process that was closed, and shows its kept answer', async () => {
      const shared = await create()
      const [one, other] = [shared.open(), shared.open()]
      const request = newRequest()
      await (await claim(one.idempotency, request)).keep({ answer: 'ready' })
      await one.close()
      expect((await claim(other.idempotency, request)).kept?.answer).toBe('ready')
      await other.close()
      await shared.drop()
    })

    it('does not free the key of a live process that takes its time', () =>
      withTwo(async (one, other) => {
        const request = newRequest()
        const first = await claim(one, request)
        // Longer than a claim lasts that is not renewed.
        await new Promise((resolve) => setTimeout(resolve, 4000))
        expect(await other.begin(request)).toEqual({ state: 'busy' })
        await first.finish('slow')
        expect(await other.begin(request)).toEqual({ state: 'done', answer: 'slow' })
      }, 3000))

    it('stops a process that was taken for dead from changing anything', () =>
      withTwo(async (one, other, shared) => {
        const request = newRequest()
        const first = await claim(one, request)
        await shared.execute('UPDATE x402_idempotency SET claimed_until = 0')
        const second = await claim(other, request)
        await expect(first.keep({ answer: 'mine' })).rejects.toMatchObject({
          code: 'ledger_unavailable',
        })
        await expect(first.finish('mine')).rejects.toMatchObject({ code: 'ledger_unavailable' })
        await first.abandon()
        await second.finish('theirs')
        expect(await one.begin(request)).toEqual({ state: 'done', answer: 'theirs' })
      }))

    it('forgets what an earlier claim kept, where it is told to', () =>
      withTwo(async (one, other) => {
        const request = newRequest()
        const first = await claim(one, request)
        await first.keep({ answer: 'kept' })
        await first.pause()
        const second = await claim(other, request)
        await second.abandon()
        const third = await claim(one, request)
        expect(third.kept).toMatchObject({ answer: 'kept' })
        await third.keep(undefined)
        await third.abandon()
        expect(await other.look(request)).toEqual({ state: 'free' })
      }))

    it('keeps answers for a day, and deletes older ones by itself', async () => {
      const shared = await create()
      const first = shared.open()
      const [old, recent] = [newRequest(), newRequest()]
      await (await claim(first.idempotency, old)).finish('old')
      await (await claim(first.idempotency, recent)).finish('recent')
      const age = (request: { key: string }, ms: number) =>
        shared.execute(
          `UPDATE x402_idempotency SET updated_at = updated_at - ${ms} WHERE key = '${request.key}'`,
        )
      await age(old, 24 * HOUR)
      await age(recent, 24 * HOUR - 60_000)
      await first.close()
      const second = shared.open()
      await second.idempotency.begin(newRequest())
      await until(async () => (await second.idempotency.begin(old)).state !== 'done')
      expect(await second.idempotency.begin(recent)).toEqual({ state: 'done', answer: 'recent' })
      await second.close()
      await shared.drop()
    })
  })
}

describe('answers in memory', () => {
  const toEnd = useCleanup()
  const open = (options: MemoryLedgerOptions): IdempotencyStore => {
    const ledger = closedBy(toEnd, createMemoryLedger(options))
    return ledger.idempotency
  }
  /** Has a request of a project answered, with so many bytes. */
  async function answer(store: IdempotencyStore, project: string, bytes = 4000) {
    const request = { ...newRequest(), project }
    await (await claim(store, request)).finish('x'.repeat(bytes))
    return request
  }
  const stateOf = async (store: IdempotencyStore, request: RepeatableRequest) =>
    (await store.look(request)).state

  it('are forgotten, the oldest first, when they take too much', async () => {
    const store = open({ maxAnswerBytes: 10_000 })
    const [first, second] = [await answer(store, 'shop'), await answer(store, 'shop')]
    const third = await answer(store, 'shop')
    expect(await stateOf(store, first)).toBe('free')
    expect(await stateOf(store, second)).toBe('done')
    expect(await stateOf(store, third)).toBe('done')
  })

  it('are forgotten earlier if they were sent', async () => {
    const store = open({ maxAnswerBytes: 10_000 })
    const [lost, sent] = [await answer(store, 'shop'), await answer(store, 'shop')]
    store.noteSent(sent.key)
    await answer(store, 'shop')
    expect(await stateOf(store, lost)).toBe('done')
    expect(await stateOf(store, sent)).toBe('free')
  })

  it('do not push out those of other projects if a project has many', async () => {
    const store = open({ maxAnswerBytes: 20_000 })
    const small = await answer(store, 'small')
    for (let count = 0; count < 50; count++) await answer(store, 'large')
    expect(await stateOf(store, small)).toBe('done')
  })

  it('never push out a request that is being answered', async () => {
    const store = open({ maxAnswerBytes: 1000 })
    const request = newRequest()
    await claim(store, request)
    for (let count = 0; count < 50; count++) await answer(store, 'shop', 400)
    expect(await store.begin(request)).toEqual({ state: 'busy' })
  })

  it('give way even while their requests are being answered', async () => {
    const store = open({ maxAnswerBytes: 10_000 })
    const request = { ...newRequest(), project: 'shop' }
    const claimed = await claim(store, request)
    await claimed.keep({ answer: 'x'.repeat(4000) })
    for (let count = 0; count < 3; count++) await answer(store, 'shop')
    expect(await store.begin(request)).toEqual({ state: 'busy' })
    await claimed.pause()
    expect(await store.look(request)).toEqual({ state: 'paused', kept: undefined })
  })

  it('stay with a request that has kept them and claimed their key again', async () => {
    const store = open({ maxAnswerBytes: 10_000 })
    const request = { ...newRequest(), project: 'shop' }
    const first = await claim(store, request)
    await first.keep({ answer: 'kept' })
    await first.pause()
    const second = await claim(store, request)
    for (let count = 0; count < 5; count++) await answer(store, 'shop')
    await second.finish('answer')
    expect(await store.begin(request)).toEqual({ state: 'done', answer: 'answer' })
  })
})

describe('a fingerprint', () => {
  const document = { network: 'base', to: '0xABCDEF', list: [1, { b: true, a: 'Text' }] }

  it.each<[string, unknown]>([
    ['order of members', { list: [1, { a: 'Text', b: true }], to: '0xABCDEF', network: 'base' }],
    ['case of hexadecimal digits', { ...document, to: '0xabcdef' }],
    ['the name of a network', { ...document, network: 'eip155:8453' }],
    ['members without a value', { ...document, extra: null, more: undefined }],
  ])('does not change with %s', (_name, same) => {
    expect(fingerprintOf(same)).toBe(fingerprintOf(document))
  })

  it.each<[string, unknown]>([
    ['a value', { ...document, to: '0xABCDEE' }],
    ['the case of text', { ...document, list: [1, { b: true, a: 'text' }] }],
    ['a type', { ...document, list: ['1', { b: true, a: 'Text' }] }],
    ['order in a list', { ...document, list: [{ b: true, a: 'Text' }, 1] }],
    ['a network', { ...document, network: 'base-sepolia' }],
    ['another member', { ...document, extra: 0 }],
    [
      'an object for a list of pairs',
      {
        ...document,
        list: [
          1,
          [
            ['a', 'Text'],
            ['b', true],
          ],
        ],
      },
    ],
  ])('changes with %s', (_name, other) => {
    expect(fingerprintOf(other)).not.toBe(fingerprintOf(document))
  })

  it('can be made of endlessly nested values', () => {
    const deep = JSON.parse(`${'['.repeat(20_000)}${']'.repeat(20_000)}`) as unknown
    expect(fingerprintOf(deep)).toMatch(/^[0-9a-f]{64}$/)
  })
})

it('keys of several parts are unambiguous', () => {
  expect(idempotencyKey('a', 'bc')).not.toBe(idempotencyKey('ab', 'c'))
  expect(idempotencyKey('a', 'bc')).toBe(idempotencyKey('a', 'bc'))
})
