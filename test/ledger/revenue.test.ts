import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Counters } from '../../src/ledger/counters.js'
import type { Count } from '../../src/ledger/counts.js'
import { EVERY_PROJECT, type LedgerStore } from '../../src/ledger/index.js'
import { createMemoryLedger } from '../../src/ledger/memory-ledger.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import type { Address, Hex } from '../../src/shared/protocol/payment.js'
import { recordLog } from '../api/api.js'
import { fewAtOnce } from '../support/few-at-once.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { newEntry, SUBMISSION } from '../support/ledger-entries.js'

const DAY_MS = 86_400_000
const OTHER_TOKEN: Address = `0x${'0e'.repeat(20)}`
const HUGE = 2n ** 200n + 1n

interface Opened {
  readonly ledger: LedgerStore
  readonly end: () => Promise<unknown>
}

describeRevenue('memory', async () => ({ ledger: createMemoryLedger(), end: async () => {} }))
const root = await findPostgres()
if (root !== undefined)
  describeRevenue('PostgreSQL', async () => {
    const schema = await createSchema(root)
    return { ledger: openPostgresLedger(schema.url), end: schema.drop }
  })

function describeRevenue(name: string, open: () => Promise<Opened>): void {
  describe(`the revenue of a ledger in ${name}`, () => {
    let opened: Opened
    beforeAll(async () => {
      opened = await open()
      const sell = (sale: Partial<Parameters<typeof newEntry>[0]> & object, url = '/a') =>
        settle(opened.ledger, newEntry({ ...sale, details: { resource: url } }))
      await Promise.all([
        sell({ value: HUGE }, 'https://shop.example/a?one'),
        sell({ value: HUGE }, 'https://shop.example/a?two'),
        sell({ value: 3n }, 'https://shop.example/b'),
        sell({ value: 5n, asset: OTHER_TOKEN }, 'https://shop.example/a'),
        sell({ value: 7n, project: 'other' }, 'https://shop.example/a'),
        settle(opened.ledger, newEntry({ value: 11n, project: undefined })),
        opened.ledger.payments.reserve(newEntry({ value: 1000n })),
        fail(opened.ledger, newEntry({ value: 1000n })),
      ])
    })
    afterAll(async () => {
      await opened.ledger.close()
      await opened.end()
    })

    const query = { from: Date.now() - DAY_MS, until: Date.now() + DAY_MS } as const
    const sums = async (
      by: 'day' | 'project' | 'asset' | 'resource',
      project: string | typeof EVERY_PROJECT = 'shop',
      span = query,
    ) => {
      const groups = await opened.ledger.payments.sumRevenue({ ...span, project, by })
      return groups
        .map(
          ({ key, asset, amount, count }) => [key, asset === OTHER_TOKEN, amount, count] as const,
        )
        .toSorted((one, other) => (String(one) < String(other) ? -1 : 1))
    }

    it('counts settled payments only, exactly even beyond the range of numbers', async () => {
      expect(await sums('asset')).toStrictEqual([
        ['', false, 2n * HUGE + 3n, 3],
        ['', true, 5n, 1],
      ])
    })

    it('is grouped by day, resource and project', async () => {
      const today = String(Math.floor(Date.now() / DAY_MS))
      expect((await sums('day')).map(([key]) => key)).toEqual([today, today])
      expect(await sums('resource')).toStrictEqual([
        ['https://shop.example/a', false, 2n * HUGE, 2],
        ['https://shop.example/a', true, 5n, 1],
        ['https://shop.example/b', false, 3n, 1],
      ])
      expect(await sums('project', EVERY_PROJECT)).toStrictEqual([
        ['', false, 11n, 1],
        ['other', false, 7n, 1],
        ['shop', false, 2n * HUGE + 3n, 3],
        ['shop', true, 5n, 1],
      ])
    })

    it('covers one project unless all are asked for', async () => {
      expect(await sums('asset', 'other')).toStrictEqual([['', false, 7n, 1]])
      expect(await sums('asset', "x' OR '1'='1")).toStrictEqual([])
      expect(await sums('asset', EVERY_PROJECT)).toContainEqual(['', false, 2n * HUGE + 21n, 5])
    })

    it('covers the period that is asked for', async () => {
      const before = { from: query.from - 400 * DAY_MS, until: query.from }
      expect(await sums('day', 'shop', before as typeof query)).toStrictEqual([])
    })

    it('lists a thousand resources, and the rest as one', async () => {
      const project = 'many'
      const sell = (index: number) => {
        const details = { resource: `https://shop.example/${index}` }
        return settle(
          opened.ledger,
          newEntry({ project, value: index === 1009 ? 2n : 1n, details }),
        )
      }
      await fewAtOnce([...Array(1010).keys()], sell)
      const groups = await opened.ledger.payments.sumRevenue({ ...query, project, by: 'resource' })
      expect(groups).toHaveLength(1001)
      expect(groups[0]).toMatchObject({ key: 'https://shop.example/1009', amount: 2n })
      expect(groups.at(-1)).toMatchObject({ key: undefined, amount: 10n, count: 10 })
      // More than one page of SQLite.
      expect(await sums('asset', project)).toStrictEqual([['', false, 1011n, 1010]])
    })

    it('adds up counts by day, project, kind and label, and forgets them in the end', async () => {
      const { ledger } = opened
      const clock = { ms: 100 * DAY_MS }
      const counters = () =>
        new Counters({
          store: ledger.counts,
          logger: recordLog(),
          now: () => clock.ms,
          flushMs: 60_000,
        })
      const [one, other] = [counters(), counters()]
      for (let times = 0; times < 3; times++) one.count('a shop', 'asked')
      one.count('a shop', 'refused', 'insufficient_funds')
      other.count('a shop', 'asked')
      other.count(undefined, 'asked')
      await Promise.all([one.flush(), other.flush()])
      clock.ms += DAY_MS
      one.count('a shop', 'asked')
      await Promise.all([one.close(), other.close()])

      const list = async (project: string): Promise<readonly string[]> => {
        const kinds = ['asked', 'refused']
        const counts = await ledger.counts.listCounts({ project, fromDay: 100, toDay: 101, kinds })
        return counts
          .map(({ day, kind, label, count }: Count) => `${day} ${kind} ${label} ${count}`)
          .toSorted()
      }
      expect(await list('a shop')).toEqual([
        '100 asked  4',
        '100 refused insufficient_funds 1',
        '101 asked  1',
      ])
      expect(await list('')).toContain('100 asked  5')
      expect(await list('a')).toEqual([])
      await ledger.counts.dropCounts(101)
      expect(await list('a shop')).toEqual(['101 asked  1'])
    })
  })
}

describe('counters', () => {
  it('keep what cannot be written, and write it once later', async () => {
    const ledger = createMemoryLedger()
    let isAway = true
    const log = recordLog()
    const store = {
      ...{ listCounts: ledger.counts.listCounts, sumCounts: ledger.counts.sumCounts },
      dropCounts: ledger.counts.dropCounts,
      addCounts: async (counts: readonly Count[]) => {
        if (isAway) throw new Error('It is away.')
        await ledger.counts.addCounts(counts)
      },
    }
    const counters = new Counters({ store, logger: log, now: () => 0, flushMs: 60_000 })
    for (let times = 0; times < 3; times++) {
      counters.count('shop', 'asked')
      await counters.flush()
    }
    isAway = false
    await counters.close()
    const query = { project: 'shop', fromDay: 0, toDay: 0, kinds: ['asked'] }
    expect(await ledger.counts.listCounts(query)).toMatchObject([{ count: 3 }])
    expect(log.lines).toHaveLength(1)
  })
})

async function settle(ledger: LedgerStore, entry: ReturnType<typeof newEntry>): Promise<void> {
  await ledger.payments.reserve(entry)
  await ledger.payments.submit(entry, SUBMISSION)
  await ledger.payments.markSettled(
    entry,
    SUBMISSION.transaction,
    `${SUBMISSION.transaction}:${entry.nonce}`,
  )
}

async function fail(ledger: LedgerStore, entry: ReturnType<typeof newEntry>): Promise<void> {
  await ledger.payments.reserve(entry)
  const transaction: Hex = SUBMISSION.transaction
  await ledger.payments.markFailed(entry, { transaction, reason: 'invalid_transaction_state' })
}
