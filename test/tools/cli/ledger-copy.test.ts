import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from '@jest/globals'
import { runCli } from '../../../src/tools/cli/cli.js'
import { POSTGRES, SQLITE, type SqlDialect } from '../../../src/ledger/engine/dialect.js'
import type { LedgerEntry, LedgerStore } from '../../../src/ledger/index.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { author } from '../../ledger/projects-conformance.js'
import { newEntry, SUBMISSION } from '../../support/ledger-entries.js'
import { fillStatement } from '../../support/fill-ledger.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { Database } from '../../support/sqlite.js'
import { useCleanup } from '../../support/cleanup.js'

/** A ledger of a test's own. */
interface Place {
  readonly location: string
  readonly dialect: SqlDialect
  open(): LedgerStore
  execute(statement: string): Promise<unknown>
  /** None before there is a table. */
  countPayments(): Promise<number>
}

const COUNT = 'SELECT count(*) AS count FROM x402_authorizations'

const postgres = await findPostgres()
const folder = await mkdtemp(join(tmpdir(), 'x402-copy-'))
const drops = useCleanup()
let files = 0
afterAll(() => rm(folder, { recursive: true }))

async function sqlitePlace(): Promise<Place> {
  const location = join(folder, `${++files}.db`)
  return {
    location,
    dialect: SQLITE,
    open: () => openSqliteLedger(location),
    async execute(statement) {
      const database = new Database(location)
      database.exec(statement)
      database.close()
    },
    async countPayments() {
      if (!existsSync(location)) return 0
      const database = new Database(location, { readOnly: true })
      try {
        return Number(database.prepare(COUNT).get()?.['count'])
      } catch {
        return 0
      } finally {
        database.close()
      }
    },
  }
}

async function postgresPlace(): Promise<Place> {
  const schema = await createSchema(postgres!)
  drops.push(schema.drop)
  return {
    location: schema.url,
    dialect: POSTGRES,
    open: () => openPostgresLedger(schema.url),
    execute: schema.execute,
    async countPayments() {
      const rows = await schema.execute(COUNT).catch(() => [])
      return Number(rows[0]?.['count'] ?? 0)
    },
  }
}

/** Runs `ledger copy` to its end. */
async function copy(...flags: readonly string[]) {
  let output = ''
  const add = (line: string): void => void (output += `${line}\n`)
  const code = await runCli(['ledger', 'copy', ...flags], {
    cwd: folder,
    env: {},
    signal: new AbortController().signal,
    print: add,
    complain: add,
    write: async (text) => add(text),
  })
  return { code, output }
}

const between = (source: Place, target: Place): readonly string[] => [
  ...['--from', source.location],
  ...['--to', target.location],
]

async function using<T>(place: Place, work: (ledger: LedgerStore) => Promise<T>): Promise<T> {
  const ledger = place.open()
  try {
    return await work(ledger)
  } finally {
    await ledger.close()
  }
}

async function submit({ payments }: LedgerStore, entry: LedgerEntry): Promise<void> {
  await payments.reserve(entry)
  await payments.submit(entry, SUBMISSION)
}

const OTHER = `0x${'22'.repeat(20)}` as const
const SETTINGS = { payTo: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' }
const TOKEN = {
  ...{ id: 'tok_1', project: 'acme', hash: 'ab'.repeat(32), label: 'shop' },
  scopes: ['settle', 'read'],
} as const

describe.each([
  ['SQLite to SQLite', sqlitePlace, sqlitePlace, 10_000] as const,
  ...(postgres === undefined
    ? []
    : ([
        ['SQLite to PostgreSQL', sqlitePlace, postgresPlace, 100_000],
        ['PostgreSQL to SQLite', postgresPlace, sqlitePlace, 10_000],
      ] as const)),
])('ledger copy from %s', (_name, createSource, createTarget, count) => {
  it('takes payments, projects, tokens, webhooks and secrets along', async () => {
    const [source, target] = [await createSource(), await createTarget()]
    const [paid, open] = [newEntry(), newEntry()]
    const [metered, unused] = [newEntry({ contract: OTHER }), newEntry({ contract: OTHER })]
    const before = await using(source, async (ledger) => {
      await ledger.projects.createProject({ id: 'acme', settings: SETTINGS }, author())
      await ledger.projects.createToken({ ...TOKEN, isConfigured: false }, author())
      await ledger.webhooks.endpoints.create({
        ...{ id: 'we_1', project: 'shop', url: 'https://shop.example/hook', secret: 'whsec_1' },
        events: ['payment.settled'],
      })
      for (const entry of [paid, open]) await submit(ledger, entry)
      for (const entry of [metered, unused]) await ledger.payments.reserve(entry)
      await ledger.payments.submit(metered, { ...SUBMISSION, accountNonce: 90 }, 7n)
      await ledger.payments.markSettled(metered, SUBMISSION.transaction)
      await ledger.payments.settleUncharged(unused, ledger.payments.lockOf(unused))
      await ledger.payments.markDelivered(paid, {
        transaction: SUBMISSION.transaction,
        transfer: 'log 1',
      })
      return {
        secret: await ledger.secrets.sharedSecret('a secret'),
        projects: await ledger.projects.load(),
      }
    })
    const recordsOf = ({ payments }: LedgerStore) =>
      Promise.all([paid, open, metered, unused].map((entry) => payments.find(entry)))
    const { code, output } = await copy(...between(source, target), '--last')
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(output).toContain('copied: 4 payments and refunds, 1 projects, 1 tokens, 1 webhooks')
    expect(output).toContain('3 payments, 10007 atomic units')
    await using(target, async (ledger) => {
      expect(await ledger.secrets.sharedSecret('a secret')).toBe(before.secret)
      expect(await ledger.projects.load()).toEqual(before.projects)
      expect(await recordsOf(ledger)).toEqual(await using(source, recordsOf))
      expect(await ledger.payments.reserve(paid)).toMatchObject({ state: 'settled' })
      // As many deliveries as in the source: the copy itself tells nobody.
      expect(await ledger.webhooks.deliveries.claim('we_1', 10)).toHaveLength(3)
    })
  })

  it('refuses a target that has been used, and leaves it as it was', async () => {
    const [source, target] = [await createSource(), await createTarget()]
    const own = newEntry()
    await using(source, (ledger) => submit(ledger, newEntry()))
    await using(target, (ledger) => submit(ledger, own))
    const { code, output } = await copy(...between(source, target))
    expect(code).not.toBe(0)
    expect(output).toContain('copy into an empty database')
    await using(target, async (ledger) =>
      expect(await ledger.payments.find(own)).toMatchObject({ state: 'submitted' }),
    )
  })

  it('finishes what was killed, and lets no gateway start before', async () => {
    const [source, target] = [await createSource(), await createTarget()]
    await using(source, (ledger) => ledger.payments.listSubmitted())
    await source.execute(fillStatement(source.dialect, { count }))
    const flags = between(source, target)
    await killed(flags, target)
    await using(target, (ledger) =>
      expect(ledger.payments.listSubmitted()).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining('ledger copy'),
      }),
    )
    const elsewhere = await createTarget()
    expect(await copy(...between(target, elsewhere))).not.toMatchObject({ code: 0 })
    // The source goes on serving meanwhile.
    const dropped = newEntry()
    await using(source, async (ledger) => {
      await submit(ledger, newEntry())
      await ledger.payments.reserve(dropped)
      expect(await copy(...flags)).toMatchObject({ code: 0 })
      await ledger.payments.release(dropped)
    })
    await using(target, (ledger) =>
      expect(ledger.payments.listSubmitted()).rejects.toMatchObject({ code: 'config_invalid' }),
    )
    const { code, output } = await copy(...flags, '--last')
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(output).toContain(`copied: ${count + 1} payments`)
    expect(output).toContain(`${count} payments, ${count * 10_000} atomic units`)
    await using(target, (ledger) => ledger.payments.listSubmitted())
    // It is a ledger now, which no copy replaces.
    expect(await copy(...flags)).not.toMatchObject({ code: 0 })
  }, 900_000)

  it('refuses a target with nothing but a project, and leaves it there', async () => {
    const [source, target] = [await createSource(), await createTarget()]
    await using(source, (ledger) => submit(ledger, newEntry()))
    await using(target, (ledger) =>
      ledger.projects.createProject({ id: 'acme', settings: SETTINGS }, author()),
    )
    expect(await copy(...between(source, target))).not.toMatchObject({ code: 0 })
    await using(target, async (ledger) =>
      expect(await ledger.projects.findProject('acme')).toMatchObject({ id: 'acme' }),
    )
  })
})

/** Runs a copy in a process of its own, and kills it once it has copied some payments. */
async function killed(flags: readonly string[], target: Place): Promise<void> {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  const child = spawn(
    process.execPath,
    [
      ...[
        '--import',
        join(root, 'test/support/typescript.mjs'),
        join(root, 'src/tools/cli/bin.ts'),
      ],
      ...['ledger', 'copy', ...flags],
    ],
    { cwd: folder, stdio: 'ignore' },
  )
  const ended = once(child, 'exit')
  while (child.exitCode === null && (await target.countPayments()) === 0) await sleep(10)
  child.kill('SIGKILL')
  await ended
  expect(child.signalCode).toBe('SIGKILL')
}

describe('ledger copy', () => {
  it.each([
    [[], '--from is missing'],
    [['--from', 'a.db', '--to', './a.db'], 'the same ledger'],
    [['--from', 'nowhere.db', '--to', 'b.db'], 'there is no ledger at'],
    [['--from', 'postgres://root:hunter2@127.0.0.1:1/x', '--to', 'b.db'], 'nobody listens'],
  ])('explains what is wrong with %j', async (flags, words) => {
    const { code, output } = await copy(...flags)
    expect(code).not.toBe(0)
    expect(output).toContain(words)
    expect(output).not.toContain('hunter2')
  })
})
