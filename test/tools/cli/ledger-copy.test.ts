import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { runCli } from '../../../src/tools/cli/cli.js'
import type { CliContext } from '../../../src/tools/cli/command.js'
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
import { until } from '../../support/until.js'

/** A ledger of a test's own. */
interface Place {
  readonly location: string
  readonly dialect: SqlDialect
  open(): LedgerStore
  execute(statement: string): Promise<unknown>
  count(table: string): Promise<number>
}

const countOf = (table: string): string => `SELECT count(*) AS count FROM ${table}`

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
    async count(table) {
      const database = new Database(location, { readOnly: true })
      const count = database.prepare(countOf(table)).get()?.['count']
      database.close()
      return Number(count)
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
    async count(table) {
      const rows = await schema.execute(countOf(table))
      return Number(rows[0]?.['count'])
    },
  }
}

/** Runs `ledger copy` to its end. */
async function copy(...flags: readonly string[]) {
  return copyWhile(new AbortController(), flags)
}

/** Runs it until it is interrupted. @param showProgress - Is told of the first payments that were copied. */
async function copyWhile(
  { signal }: AbortController,
  flags: readonly string[],
  showProgress?: CliContext['showProgress'],
) {
  let output = ''
  const add = (line: string): void => void (output += `${line}\n`)
  const code = await runCli(['ledger', 'copy', ...flags], {
    cwd: folder,
    env: {},
    signal,
    showProgress,
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

/** Payments to interrupt a copy of: several pages. */
const count = 2_000

const OTHER = `0x${'22'.repeat(20)}` as const
const SETTINGS = { payTo: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913' }
const TOKEN = {
  ...{ id: 'tok_1', project: 'acme', hash: 'ab'.repeat(32), label: 'shop' },
  scopes: ['settle', 'read'],
} as const

describe.each([
  ['SQLite to SQLite', sqlitePlace, sqlitePlace] as const,
  ...(postgres === undefined
    ? []
    : ([
        ['SQLite to PostgreSQL', sqlitePlace, postgresPlace],
        ['PostgreSQL to SQLite', postgresPlace, sqlitePlace],
      ] as const)),
])('ledger copy from %s', (_name, createSource, createTarget) => {
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
    const { code, output } = await copy(...between(source, target))
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(output).toContain('copied: 4 payments and refunds, 1 project, 1 token, 1 webhook')
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
    expect(output).toMatch(/^--to: .+ is a ledger already.*copy into an empty database$/m)
    expect(output).not.toContain('copied')
    await using(target, async (ledger) =>
      expect(await ledger.payments.find(own)).toMatchObject({ state: 'submitted' }),
    )
  })

  it('refuses a source that a gateway uses', async () => {
    const [source, target] = [await createSource(), await createTarget()]
    const own = newEntry()
    await using(source, async (ledger) => {
      await ledger.payments.reserve(own)
      // The search that writes the process down is not awaited by the reservation.
      await until(async () => (await source.count('x402_owners')) > 0)
      const { code, output } = await copy(...between(source, target))
      expect(code).not.toBe(0)
      expect(output).toMatch(/^--from: .+ is used by a gateway: stop all its gateways$/m)
    })
    expect(await copy(...between(source, target))).toMatchObject({ code: 0 })
  })

  it('leaves nothing behind when it is interrupted, and then copies everything', async () => {
    const [source, target] = [await createSource(), await createTarget()]
    await using(source, (ledger) => ledger.payments.listSubmitted())
    await source.execute(fillStatement(source.dialect, { count }))
    const interruption = new AbortController()
    const interrupt = (line: string): void => {
      if (!line.includes(' 0 of ')) interruption.abort()
    }
    const interrupted = await copyWhile(interruption, between(source, target), interrupt)
    expect(interrupted).toMatchObject({ code: 1, output: expect.stringContaining('nothing was') })
    await using(target, (ledger) => ledger.payments.listSubmitted())
    expect(await target.count('x402_authorizations')).toBe(0)
    const { code, output } = await copy(...between(source, target))
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(output).toContain(`copied: ${count} payments`)
    expect(output).toContain(`${count} payments, ${count * 10_000} atomic units`)
    // It is a ledger now, which no copy replaces.
    expect(await copy(...between(source, target))).not.toMatchObject({ code: 0 })
  })

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

describe('ledger copy', () => {
  it.each([
    [[], '--from is missing'],
    [['--from', 'a.db', '--to', './a.db'], 'the same ledger'],
    [['--from', 'nowhere.db', '--to', 'b.db'], '--from: there is no ledger at'],
    [['--from', 'mysql://x', '--to', 'b.db'], '--from: '],
    [['--from', 'postgres://root:hunter2@127.0.0.1:1/x', '--to', 'b.db'], 'nobody listens'],
  ])('explains what is wrong with %j', async (flags, words) => {
    const { code, output } = await copy(...flags)
    expect(code).not.toBe(0)
    expect(output).toContain(words)
    expect(output).not.toContain('hunter2')
  })
})

it('ledger copy makes a file that only its owner can read', async () => {
  const [source, target] = [await sqlitePlace(), await sqlitePlace()]
  await using(source, (ledger) => ledger.payments.reserve(newEntry()))
  expect(await copy(...between(source, target))).toMatchObject({ code: 0 })
  expect(((await stat(target.location)).mode & 0o777).toString(8)).toBe('600')
})
