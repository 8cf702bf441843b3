import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { LedgerQuery, LedgerStore } from '../../src/ledger/index.js'
import { resourceHash } from '../../src/ledger/payment-details.js'
import { EVERY_PROJECT, type LedgerEntry, type RecordSearch } from '../../src/ledger/record.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { createNextSubmission } from '../../src/ledger/relayers/statements.js'
import { POSTGRES, SQLITE, type SqlDialect } from '../../src/ledger/engine/dialect.js'
import { loadSqlite } from '../../src/ledger/engine/sqlite.js'
import { digitsReader } from '../support/fill-ledger.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { newEntry, SUBMISSION } from '../support/ledger-entries.js'
import { until } from '../support/until.js'
import { explainPostgres, recordPostgres, recordSqlite, type Statement } from './plans.js'

const ROWS = 50_000
const LIMIT = 21
/** The time at which half of the rows were created. */
const MIDDLE_MS = 1_000_000 + ROWS / 2

/** What all payments are for. */
const RESOURCE = 'https://shop.example/report'

/** Nearly all are settled; what lists of the other states look for is old. */
const fill = (dialect: SqlDialect, fromDigits = digitsReader(dialect)): string => `
  WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < ${ROWS - 1})
  INSERT INTO x402_authorizations
    (chain_id, asset, payer, nonce, id, pay_to, value, valid_before, project, state, locked_until,
     delivered, transaction_hash, resource_url, resource_hash, reference, created_at, updated_at)
  SELECT 84532, ${fromDigits("'aa'")}, ${fromDigits("'bb'")}, ${fromDigits("'0' || (1000000 + n)")},
    ${fromDigits("'0000000000000000000000000' || (1000000 + n)")}, ${fromDigits("'cc'")}, '1', '2', CASE WHEN n % 2 = 0 THEN 'shop' ELSE 'other' END,
    CASE n WHEN 100 THEN 'reserved' WHEN 102 THEN 'submitted' WHEN 104 THEN 'failed' ELSE 'settled' END,
    0, 1, ${fromDigits("'0' || (1000000 + n / 20)")}, '${RESOURCE}', '${resourceHash(RESOURCE)}',
    CASE WHEN n % 10 < 5 THEN 'all' END, 1000000 + n, 1000000 + n
  FROM s`

const SWEEPING = { bytes: { sweepMs: 10 } }
const FINAL = { withinMs: 1000, limit: LIMIT } as const

type Read = [string, (ledger: LedgerStore) => Promise<unknown>]

/** Searches that find every record of every project, and those that find none. */
const SEARCHES: Readonly<Record<string, RecordSearch>> = {
  payer: { payer: '0xbb' },
  'payer of nothing': { payer: '0xbc' },
  resource: { resource: RESOURCE },
  reference: { reference: 'all' },
  'the beginning of payers': { payerStart: '0xb' },
  'the beginning of no payer': { payerStart: '0xc' },
  'the beginning of references': { referenceStart: 'a' },
  'the beginning of no reference': { referenceStart: 'b' },
  transaction: { transaction: '0x01000007' },
}

/** Every read of a ledger whose cost could grow with the table. */
const READS: readonly Read[] = [
  ['a look-up', (ledger) => ledger.payments.find(newEntry())],
  [
    'a look-up of a transaction',
    (ledger) => ledger.payments.knowsTransaction(`0x${'77'.repeat(32)}`),
  ],
  [
    'the refunds of a payment',
    (ledger) => ledger.refunds.refundsOf(['f'.repeat(32), 'e'.repeat(32)]),
  ],
  ['what was refunded', (ledger) => ledger.refunds.refundedOf(['f'.repeat(32), 'e'.repeat(32)])],
  ['who asked for refunds', (ledger) => ledger.refunds.requestsOf(['f'.repeat(32)])],
  ['what is paid, not delivered', (ledger) => ledger.payments.findUndelivered()],
  ['what is submitted', (ledger) => ledger.payments.listSubmitted()],
  [
    'a page of what is submitted',
    (ledger) => ledger.payments.listSubmitted({ after: cursorAt(5) }),
  ],
  [
    'what was settled lately',
    (ledger) => ledger.payments.listFinal({ ...FINAL, state: 'settled' }),
  ],
  ['what failed lately', (ledger) => ledger.payments.listFinal({ ...FINAL, state: 'failed' })],
  ['whether a payer has access', ({ signIns }) => signIns.hasAccess({ payer: '0xbb', key: 'all' })],
  [
    'whether a payer has many payments that nothing was charged for',
    async ({ payments }) => {
      const entry = newEntry()
      await payments.reserve(entry)
      await payments.settleUncharged(entry, payments.lockOf(entry))
    },
  ],
  ...(['shop', EVERY_PROJECT] as const).flatMap((project) =>
    [undefined, { updatedAt: MIDDLE_MS, id: cursorAt(ROWS / 2).id }].map(
      (after) =>
        [
          `what has changed of ${String(project)} ${after ? 'from a cursor' : ''}`,
          (ledger) =>
            ledger.payments.listChanged({
              ...{ project, kind: 'payment', since: MIDDLE_MS, after, limit: LIMIT },
            }),
        ] satisfies Read,
    ),
  ),
  ...filters().flatMap(([name, query]) =>
    (['shop', EVERY_PROJECT] as const)
      // PostgreSQL reads a narrow table rather than an index in which nothing is of that chain.
      .filter((project) => project === 'shop' || !name.includes('another chain'))
      .map(
        (project) =>
          [
            `the list ${name} of ${String(project)}`,
            (ledger) => ledger.payments.list({ project, limit: LIMIT, ...query }),
          ] satisfies Read,
      ),
  ),
]

/** An instruction of a program of SQLite. @see https://sqlite.org/opcode.html */
interface Instruction {
  readonly opcode: string
  /** The cursor. */
  readonly p1: number
  /** The first page of what it opens. */
  readonly p2: number
  /** The database, 0 for the file. */
  readonly p3: number
}

interface FilledDatabase {
  readonly ledger: LedgerStore
  /** Opens it once more, and sweeps it all the time. */
  sweeping(): LedgerStore
  /** What the ledger has run; cleared by tests. */
  readonly statements: Statement[]
  /** Tells how a statement reads more than it needs, if it does. */
  explain(statement: Statement): Promise<readonly string[]>
  end(): Promise<void>
}

describePlans('SQLite', () => openSqlite())
describePlans('SQLite, analyzed while it was small', () => openSqlite(20))

describe('a payment’s write to a large SQLite table that was analyzed while it was small', () => {
  const pay = async ({ ledger, statements }: FilledDatabase): Promise<void> => {
    const account = { chainId: 84532, relayer: SUBMISSION.relayer }
    const entries = Array.from({ length: 20 }, () => newEntry())
    const [first, second, third, ...rest] = entries as [LedgerEntry, LedgerEntry, LedgerEntry]
    await Promise.all(entries.map((entry) => ledger.payments.reserve(entry)))
    // The first transaction of an account has its nonce read; only the next ones are one statement.
    await ledger.relayers.submitNext(account, 0, async () => ({
      submission: SUBMISSION,
      members: [],
    }))
    await ledger.relayers.submitNext(account, 0, async (accountNonce) => {
      const submission = { ...SUBMISSION, accountNonce }
      return { submission, members: [first, second].map((key) => ({ key, submission })) }
    })
    await ledger.payments.submit(third, SUBMISSION)
    const { transaction } = SUBMISSION
    await ledger.payments.markDelivered(first, { transaction, transfer: `${transaction}:0` })
    await ledger.payments.markSettled(second, transaction, `${transaction}:1`)
    await ledger.payments.markFailed(third, { transaction, reason: 'invalid_transaction_state' })
    await Promise.all(rest.map((entry) => ledger.payments.release(entry)))
    expect(await ledger.payments.find(first)).toMatchObject({ state: 'settled', delivered: true })
    expect(await ledger.payments.find(second)).toMatchObject({ state: 'settled' })
    expect(await ledger.payments.find(third)).toMatchObject({ state: 'failed' })
    expect(statements.some(({ text }) => text.includes('INTO x402_next_submission'))).toBe(true)
  }

  let database: Awaited<ReturnType<typeof openSqlite>>
  beforeAll(async () => {
    database = await openSqlite(20)
  })
  afterAll(() => database.end())

  it('finds rows by their ids, in triggers too', async () => {
    await pay(database)
    const changes = database.statements.filter(({ text }) => text.includes('w.record_id'))
    expect(changes.length).toBeGreaterThan(6)
    for (const statement of changes) expect(database.wholeReads(statement)).toEqual([])
  })

  it('is distinguished from a statement that reads the whole table', () => {
    const text = `UPDATE x402_authorizations SET reason = NULL WHERE value = '1'`
    expect(database.wholeReads({ text, values: [] })).toEqual(['x402_authorizations'])
  })
})

const root = await findPostgres()
if (root !== undefined) describePlans('PostgreSQL', () => openPostgres(root))

function describePlans(name: string, open: () => Promise<FilledDatabase>): void {
  describe(`in a large table of ${name}`, () => {
    let database: FilledDatabase
    beforeAll(async () => {
      database = await open()
    })
    afterAll(() => database.end())

    it.each(READS)('a query reads no more than it returns: %s', async (_name, read) => {
      const { ledger, statements, explain } = database
      statements.length = 0
      await read(ledger)
      // Once a second processes look which of them live, in the middle of anything.
      const reads = statements.filter(
        ({ text }) => /^\s*(select|with recursive)/i.test(text) && !text.includes('x402_owners'),
      )
      expect(reads.length).toBeGreaterThan(0)
      for (const statement of reads)
        expect([statement.text, await explain(statement)]).toEqual([statement.text, []])
    })

    it('a sweep reads no more than it deletes', async () => {
      const { statements, explain } = database
      statements.length = 0
      const ledger = database.sweeping()
      await ledger.payments.listSubmitted()
      const isSweep = ({ text }: Statement): boolean => text.includes('CAST(valid_before')
      await until(() => statements.some(isSweep))
      await ledger.close()
      expect(await explain(statements.find(isSweep)!)).toEqual([])
    })
  })
}

/** @param analyzedAt - The number of rows at which an operator has run `ANALYZE`, if one has. */
async function openSqlite(analyzedAt?: number) {
  const folder = await mkdtemp(join(tmpdir(), 'x402-plans-'))
  const file = join(folder, 'ledger.db')
  const statements = recordSqlite()
  const ledger = openSqliteLedger(file)
  await ledger.payments.listSubmitted()
  const own = new (loadSqlite())(file)
  if (analyzedAt !== undefined) own.exec(`${fill(SQLITE)} LIMIT ${analyzedAt}; ANALYZE`)
  own.exec(`${fill(SQLITE)} LIMIT -1 OFFSET ${analyzedAt ?? 0}`)
  own.exec(createNextSubmission(SQLITE))
  return {
    ledger,
    sweeping: () => openSqliteLedger(file, SWEEPING),
    statements,
    async explain({ text, values }: Statement) {
      const plan = own.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values)
      return plan
        .map((row) => (row as { readonly detail: string }).detail)
        .filter((step) => !isBounded(step, text))
    },
    /** The indexes and tables of payments of which a statement, or a trigger of it, reads all rows. */
    wholeReads({ text, values }: Statement): readonly string[] {
      const schema = own
        .prepare(`SELECT name, rootpage FROM sqlite_schema WHERE tbl_name = 'x402_authorizations'`)
        .all() as { readonly name: string; readonly rootpage: number }[]
      const names = new Map(schema.map(({ name, rootpage }) => [rootpage, name]))
      // The plan leaves triggers out; the program does not.
      const program = own.prepare(`EXPLAIN ${text}`).all(...values) as Instruction[]
      const cursors = new Map<number, string | undefined>()
      return program.flatMap(({ opcode, p1, p2, p3 }) => {
        if (/^Open(Read|Write|Ephemeral|Autoindex|Pseudo)$/.test(opcode))
          cursors.set(p1, /Read|Write/.test(opcode) && p3 === 0 ? names.get(p2) : undefined)
        return /^(Rewind|Last)$/.test(opcode) ? (cursors.get(p1) ?? []) : []
      })
    },
    async end() {
      own.close()
      await ledger.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Whether a step of a plan of SQLite finds its rows by an index, or goes through rows found before. */
function isBounded(step: string, text: string): boolean {
  // The few rows of this index are under way.
  if (/^SCAN x402_authorizations USING INDEX x402_authorizations_undelivered$/.test(step))
    return true
  if (step.startsWith('SCAN x402_')) return false
  const index = /INDEX x402_authorizations_(\w+)/.exec(step)?.[1] ?? ''
  // Pages of their own are sorted; what an index has in order is not.
  if (!/^(all_)?(listed|refunded|reference)$|^(payer|resource)$/.test(index)) return true
  // Refunds are few among many payments.
  if (
    /kind"? = 'refund'/.test(text) &&
    !index.endsWith('refunded') &&
    !/payer|resource|reference/.test(text)
  )
    return false
  // All that begin so, in the order of the index.
  if (/\((project=\? AND )?(payer|reference|\(.*\))>[?,()]+ AND (payer|reference)<\?\)$/.test(step))
    return true
  // By state alone, a page in the middle would be found after all that is newer.
  const byTime = /created_at"?\)? [<>]|created_at, id\) [<>]/.test(text) ? ' AND .*created_at' : ''
  return new RegExp(`\\(.*state=\\?${byTime}`).test(step)
}

async function openPostgres(url: string): Promise<FilledDatabase> {
  const schema = await createSchema(url)
  const statements = recordPostgres()
  const ledger = openPostgresLedger(schema.url)
  await ledger.payments.listSubmitted()
  await schema.execute(fill(POSTGRES))
  await schema.execute('ANALYZE x402_authorizations')
  const { explain, end } = await explainPostgres(schema.url)
  return {
    ledger,
    sweeping: () => openPostgresLedger(schema.url, SWEEPING),
    statements,
    explain,
    async end() {
      await ledger.close()
      await end()
      await schema.drop()
    },
  }
}

/** Every combination of the filters that the API offers, by its name. */
function filters(): readonly (readonly [string, Partial<LedgerQuery>])[] {
  const states = [undefined, 'reserved', 'submitted', 'settled', 'failed'] as const
  const times: readonly (readonly [string, Partial<LedgerQuery>])[] = [
    ['', {}],
    ['from', { from: MIDDLE_MS }],
    ['to', { until: MIDDLE_MS }],
    ['from to', { from: MIDDLE_MS, until: MIDDLE_MS + 1000 }],
  ]
  const all = states.flatMap((state) =>
    times.flatMap(([time, span]) =>
      [undefined, cursorAt(ROWS / 2)].map((after) => {
        const named = [state ?? 'all', time, after && 'cursor'].filter(Boolean)
        return [`of ${named.join(' ')}`, { ...span, state, after }] as const
      }),
    ),
  )
  const searched = Object.entries(SEARCHES).flatMap(([by, search]) =>
    all
      .filter((_, index) => index % 3 === 0)
      .map(([name, query]) => [`${name} by ${by}`, { ...query, search }] as const),
  )
  const others = all
    .filter((_, index) => index % 3 === 0)
    .flatMap(([name, query]) => [
      [`${name} with refunds`, { ...query, kind: 'any' }] as const,
      [`${name}, refunds alone`, { ...query, kind: 'refund' }] as const,
      [`${name} of one chain`, { ...query, chainId: 84532 }] as const,
      [`${name} of another chain`, { ...query, chainId: 8453 }] as const,
    ])
  return [...all, ...searched, ...others, ['of one id', { id: '0'.repeat(32), limit: 1 }]]
}

/** The position of a row. */
function cursorAt(n: number) {
  const [createdAt, id] = [1_000_000 + n, `0000000000000000000000000${1_000_000 + n}`]
  return { createdAt, id, state: 'settled', from: '0xbb', details: { reference: 'all' } } as const
}
