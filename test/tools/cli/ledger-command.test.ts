import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Database } from '../../support/sqlite.js'
import type { CliContext } from '../../../src/tools/cli/command.js'
import { runCli } from '../../../src/tools/cli/cli.js'
import { recordId, type LedgerEntry, type LedgerStore } from '../../../src/ledger/index.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { migrations } from '../../../src/ledger/schema/migrate.js'
import { TABLES } from '../../../src/ledger/schema/tables.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { newEntry, SUBMISSION } from '../../support/ledger-entries.js'
import { POSTGRES, SQLITE, type SqlDialect } from '../../../src/ledger/engine/dialect.js'
import { digitsReader, fillStatement } from '../../support/fill-ledger.js'
import { createSchema, findPostgres } from '../../support/postgres.js'

const DAY_MS = 86_400_000
const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const NAMES = Object.keys(migrations)

/** A ledger of a test's own, and the process that works on it. */
interface Place {
  readonly context: Pick<CliContext, 'cwd' | 'env'>
  open(): LedgerStore
  readonly dialect: SqlDialect
  execute(statement: string): Promise<unknown>
  drop(): Promise<void>
}

const postgres = await findPostgres()
const folders: string[] = []
const newFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'x402-tools-'))
  folders.push(folder)
  return folder
}
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))))

async function sqlitePlace(): Promise<Place> {
  const cwd = await newFolder()
  const file = join(cwd, 'data', 'ledger.db')
  return {
    context: { cwd, env: {} },
    open: () => openSqliteLedger(file),
    dialect: SQLITE,
    async execute(statement) {
      const database = new Database(file)
      database.exec(statement)
      database.close()
    },
    drop: async () => undefined,
  }
}

async function postgresPlace(root: string): Promise<Place> {
  const schema = await createSchema(root)
  return {
    context: { cwd: await newFolder(), env: { X402_DATABASE_URL: schema.url } },
    open: () => openPostgresLedger(schema.url),
    dialect: POSTGRES,
    execute: schema.execute,
    drop: schema.drop,
  }
}

/** Runs a command to its end. */
async function run(
  argv: readonly string[],
  context: Partial<CliContext> & Pick<CliContext, 'cwd' | 'env'>,
) {
  let output = ''
  let complained = ''
  const code = await runCli(['ledger', ...argv], {
    signal: new AbortController().signal,
    print: (line) => void (output += `${line}\n`),
    complain: (line) => void (complained += `${line}\n`),
    write: async (text) => void (output += text),
    ...context,
  })
  return { code, output, complained }
}

/** Takes a payment through its states; the last one is where it stays. */
async function record(
  ledger: LedgerStore,
  entry: LedgerEntry,
  last: 'reserved' | 'submitted' | 'failed' | 'settled' | 'delivered' | 'uncharged',
): Promise<void> {
  await ledger.payments.reserve(entry)
  if (last === 'reserved') return
  if (last === 'uncharged') {
    await ledger.payments.settleUncharged(entry, ledger.payments.lockOf(entry))
    return ledger.payments.unlock(entry)
  }
  const { transaction } = SUBMISSION
  await ledger.payments.submit(entry, SUBMISSION)
  if (last === 'submitted') return
  if (last === 'failed') {
    await ledger.payments.markFailed(entry, { transaction, reason: 'invalid_transaction_state' })
    return ledger.payments.unlock(entry)
  }
  await ledger.payments.markSettled(entry, transaction)
  if (last === 'delivered') await ledger.payments.markDelivered(entry)
  else await ledger.payments.unlock(entry)
}

describe.each([
  ['SQLite', sqlitePlace] as const,
  ...(postgres === undefined ? [] : [['PostgreSQL', () => postgresPlace(postgres)] as const]),
])('the command ledger on %s', (_name, createPlace) => {
  let place: Place
  beforeEach(async () => {
    place = await createPlace()
  })
  afterEach(() => place.drop())

  /** Writes payments with a gateway's ledger, and closes it. */
  async function write(
    ...payments: readonly (readonly [Partial<LedgerEntry>, Parameters<typeof record>[2]])[]
  ): Promise<readonly LedgerEntry[]> {
    const ledger = place.open()
    const entries = payments.map(([overrides]) => newEntry(overrides))
    for (const [index, [, last]] of payments.entries()) await record(ledger, entries[index]!, last)
    await ledger.close()
    return entries
  }

  describe('export', () => {
    it('writes payments with amounts in units and in tokens, and times in ISO 8601', async () => {
      const usdc = { chainId: 84532, asset: USDC, value: 1_230_000n } as const
      const [settled] = await write(
        [{ ...usdc, project: 'shop' }, 'delivered'],
        [{ ...usdc, project: 'shop', value: 5n }, 'submitted'],
        [{ asset: `0x${'99'.repeat(20)}`, project: undefined }, 'failed'],
        [{ ...usdc, project: 'other' }, 'reserved'],
      )
      const { code, output } = await run(['export', '--format', 'jsonl'], place.context)
      expect(code).toBe(0)
      const lines = output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      expect(lines).toHaveLength(3)
      // Two may be of one millisecond.
      const [failed, pending, paid] = lines.toSorted((one, other) =>
        one.status < other.status ? -1 : 1,
      )
      expect(failed).toMatchObject({ status: 'failed', errorReason: 'invalid_transaction_state' })
      expect(failed).not.toHaveProperty('amount')
      expect(failed).not.toHaveProperty('project')
      expect(paid).toMatchObject({
        ...{ status: 'settled', project: 'shop', network: 'eip155:84532', delivered: true },
        ...{ symbol: 'USDC', decimals: 6, units: '1230000', amount: '1.230000' },
        ...{ createdAt: time, updatedAt: time, validBefore: time },
        ...{ nonce: settled?.nonce, transaction: SUBMISSION.transaction },
      })
      expect(pending).toMatchObject({ status: 'pending', amount: '0.000005', delivered: false })
    })

    it('leaves refunds out unless they are asked for, and marks them', async () => {
      await write([{ project: 'shop' }, 'delivered'], [{ refundOf: 'f'.repeat(32) }, 'delivered'])
      const typesOf = async (...flags: readonly string[]): Promise<unknown> => {
        const { output } = await run(['export', '--format', 'jsonl', ...flags], place.context)
        const lines = output.trim().split('\n')
        return lines.map((line) => {
          const { type, refundOf } = JSON.parse(line) as { type: string; refundOf?: string }
          return [type, refundOf]
        })
      }
      const payment = ['payment', undefined]
      expect(await typesOf()).toStrictEqual([payment])
      const refund = ['refund', 'f'.repeat(32)]
      expect(await typesOf('--refunds')).toStrictEqual([payment, refund])
    })

    it('quotes CSV by RFC 4180, with no cell that a spreadsheet computes', async () => {
      const project = '=HYPERLINK("http://x", 1)'
      await write([{ project, validBefore: 2n ** 200n }, 'settled'])
      const { output } = await run(['export'], place.context)
      const [head, line, rest] = output.split('\r\n')
      expect(head).toMatch(/^id,status,createdAt,.*,units,amount,/)
      expect(line).toContain(`,"'=HYPERLINK(""http://x"", 1)",`)
      expect(rest).toBe('')
    })

    it('includes the start of a period and excludes its end', async () => {
      await write([{}, 'settled'])
      await place.execute(`UPDATE x402_authorizations SET created_at = ${Date.UTC(2026, 0, 31)}`)
      const count = async (...flags: readonly string[]): Promise<number> => {
        const { code, output } = await run(['export', ...flags], place.context)
        expect(code).toBe(0)
        return output.split('\r\n').length - 2
      }
      expect(await count('--from', '2026-01-31')).toBe(1)
      expect(await count('--from', '2026-01-31T01:00:00+01:00')).toBe(1)
      expect(await count('--from', '2026-01-31T00:00:01')).toBe(0)
      expect(await count('--to', '2026-01-31')).toBe(0)
      expect(await count('--to', '2026-01-31T00:00:00.001Z')).toBe(1)
    })

    it('writes every payment of several pages once, oldest first, and shows its progress', async () => {
      await write([{ project: 'a' }, 'settled'])
      await place.execute(fillStatement(place.dialect, { count: 1234 }))
      await place.execute(fillStatement(place.dialect, { count: 500, start: 5000, project: 'z' }))
      const shown: string[] = []
      const showProgress = (line: string): void => void shown.push(line)
      const { output } = await run(['export', '--format', 'jsonl'], {
        ...place.context,
        showProgress,
      })
      const lines = output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { id: string; createdAt: string; project: string })
      expect(lines).toHaveLength(1735)
      const filled = lines.filter(({ project }) => project === 'filled')
      expect(new Set(filled.map(({ id }) => id)).size).toBe(1234)
      expect(filled.map(({ createdAt }) => createdAt)).toStrictEqual(
        filled.map(({ createdAt }) => createdAt).toSorted(),
      )
      expect(shown.slice(-2)).toStrictEqual(['1735', ''])
    })

    it('loses no payment among those of the same millisecond', async () => {
      await write([{ project: 'a' }, 'settled'])
      await place.execute(fillStatement(place.dialect, { count: 1100 }))
      await place.execute('UPDATE x402_authorizations SET created_at = 1800000000000')
      const { output } = await run(['export'], place.context)
      expect(output.split('\r\n')).toHaveLength(1 + 1101 + 1)
    })

    it('reads only as far as its own reader', async () => {
      await write([{}, 'settled'])
      await place.execute(fillStatement(place.dialect, { count: 1500 }))
      const chunks: string[] = []
      let takeOne: () => void = () => undefined
      const writeSlowly = (text: string): Promise<void> => {
        chunks.push(text)
        return new Promise((resolve) => (takeOne = resolve))
      }
      const exported = run(['export'], { ...place.context, write: writeSlowly })
      const until = async (count: number): Promise<void> => {
        while (chunks.length < count) await new Promise((resolve) => setTimeout(resolve, 5))
      }
      await until(1)
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(chunks).toHaveLength(1)
      expect(chunks[0]!.length).toBeLessThan(100_000)
      const draining = setInterval(() => takeOne(), 1)
      expect((await exported).code).toBe(0)
      clearInterval(draining)
      expect(chunks.join('').split('\r\n')).toHaveLength(1 + 1501 + 1)
    })
  })

  describe('prune', () => {
    /** An authorization that lapsed two days ago. */
    const lapsed = { validBefore: BigInt(Math.floor((Date.now() - 2 * DAY_MS) / 1000)) }

    /** Payments that are left, by nonce. */
    const nonces = async (): Promise<readonly string[]> => {
      const { output } = await run(['export', '--format', 'jsonl'], place.context)
      const lines = output.split('\n').filter((line) => line !== '')
      return lines.map((line) => (JSON.parse(line) as { nonce: string }).nonce).toSorted()
    }
    const age = (ms: number): Promise<unknown> =>
      place.execute(
        `UPDATE x402_authorizations SET updated_at = ${Date.now() - ms}, locked_until = ${Date.now() - ms}`,
      )
    const prune = (before: number) =>
      run(['prune', '--before', new Date(before).toISOString()], place.context)

    it('keeps the refunds of a payment for as long as the payment', async () => {
      const [payment] = await write([lapsed, 'settled'])
      const refundOf = recordId(payment!)
      const gone = { ...lapsed, refundOf: 'f'.repeat(32) }
      const [kept] = await write([{ ...lapsed, refundOf }, 'delivered'], [gone, 'delivered'])
      await age(2 * DAY_MS)
      expect((await prune(Date.now())).output).toBe('payments deleted: 1\n')
      const { output } = await run(['export', '--refunds', '--format', 'jsonl'], place.context)
      expect(output).toContain(kept!.nonce)
      expect(await nonces()).toStrictEqual([payment!.nonce])
    })

    it('deletes only payments that are final, delivered and lapsed', async () => {
      const open = await write(
        [lapsed, 'submitted'],
        // Its buyer may still come for what he has paid.
        [lapsed, 'settled'],
        [{ validBefore: BigInt(Math.floor(Date.now() / 1000) + 600) }, 'failed'],
        [{ validBefore: 2n ** 255n }, 'delivered'],
        [{ validBefore: BigInt(Math.floor(Date.now() / 1000) + 600) }, 'uncharged'],
        // Its payer has access for an hour.
        [
          { ...lapsed, purchase: { resource: 'r', access: { key: 'k', ms: 3_600_000 } } },
          'delivered',
        ],
        // The clock of the chain may be slow.
        [{ validBefore: BigInt(Math.floor(Date.now() / 1000) - 60) }, 'failed'],
      )
      await write(
        ...([
          [lapsed, 'reserved'],
          [lapsed, 'delivered'],
          [lapsed, 'failed'],
          // Its buyer has paid nothing.
          [lapsed, 'uncharged'],
        ] as const),
      )
      await age(DAY_MS)
      expect(await prune(Date.now())).toMatchObject({ code: 0, output: 'payments deleted: 3\n' })
      expect(await nonces()).toStrictEqual(open.map(({ nonce }) => nonce).toSorted())
      expect(await prune(Date.now())).toMatchObject({ output: 'payments deleted: 0\n' })
    })

    it('keeps payments that were changed after the date, or within the last hour', async () => {
      await write([lapsed, 'delivered'])
      await age(30 * 60_000)
      expect((await prune(Date.now())).output).toBe('payments deleted: 0\n')
      await age(DAY_MS)
      expect((await prune(Date.now() - DAY_MS - 60_000)).output).toBe('payments deleted: 0\n')
      expect((await prune(Date.now() - DAY_MS + 60_000)).output).toBe('payments deleted: 1\n')
    })

    it('keeps a payment that a gateway works on', async () => {
      await write([lapsed, 'failed'])
      await age(DAY_MS)
      await place.execute(
        `UPDATE x402_authorizations SET lock_owner = 'x', locked_until = ${Date.now() + 30_000}`,
      )
      expect((await prune(Date.now())).output).toBe('payments deleted: 0\n')
    })

    it('deletes payment links that are over, and those that are paid after their payments', async () => {
      const entries = await write([lapsed, 'delivered'], [lapsed, 'delivered'], [lapsed, 'failed'])
      const ledger = place.open()
      const link = async (name: string, expiresInMs = 60_000): Promise<void> => {
        const id = `co_${name.padStart(32, '0')}`
        const url = `https://shop.example/pay/${id}`
        await ledger.checkouts.create({
          ...{ id, url, project: 'shop', amount: '1.00', currency: 'USD', expiresInMs },
        })
      }
      for (const name of ['ended', 'canceled', 'open', 'paid', 'kept', 'failed']) await link(name)
      await link('late', 30 * DAY_MS)
      await ledger.close()
      const set = (name: string, change: string) =>
        place.execute(`UPDATE x402_checkouts SET ${change} WHERE id LIKE '%0${name}'`)
      const paidBy = ([entry]: readonly LedgerEntry[]) =>
        `payment = ${digitsReader(place.dialect)(`'${recordId(entry!)}'`)}`
      await set('ended', `state = 'expired'`)
      await set('canceled', `state = 'canceled'`)
      await set('late', `state = 'canceled'`)
      await set('paid', `state = 'paid', ${paidBy(entries)}`)
      await set('kept', `state = 'paid', ${paidBy(entries.slice(1))}`)
      await set('failed', `state = 'expired', ${paidBy(entries.slice(2))}`)
      await place.execute(`UPDATE x402_checkouts SET expires_at = expires_at - ${DAY_MS}`)
      await age(DAY_MS)
      await place.execute(
        `UPDATE x402_authorizations SET updated_at = ${Date.now()} WHERE nonce IN (
          SELECT a.nonce FROM x402_authorizations AS a JOIN x402_checkouts AS c ON c.payment = a.id WHERE c.id LIKE '%0kept' OR c.id LIKE '%0failed')`,
      )
      const left = async (): Promise<readonly string[]> => {
        const after = place.open()
        const found = await after.checkouts.list({ project: 'shop', limit: 100 })
        await after.close()
        return found.map(({ id }) => String(/[a-z]+$/.exec(id))).toSorted()
      }
      await prune(Date.now() - 2 * DAY_MS)
      expect(await left()).toHaveLength(7)
      await prune(Date.now())
      expect(await left()).toEqual(['failed', 'kept', 'late', 'open'])
      await age(DAY_MS)
      await prune(Date.now())
      expect(await left()).toEqual(['late', 'open'])
    })

    it('deletes several pages', async () => {
      await write([{}, 'submitted'])
      await place.execute(fillStatement(place.dialect, { count: 1300 }))
      expect((await prune(Date.now())).output).toBe('payments deleted: 1300\n')
      expect(await nonces()).toHaveLength(1)
    })

    it.each([
      [[]],
      [['--before', 'yesterday']],
      [['--before', '2026-02-30']],
      [['--after', '2026']],
    ])('fails with exit code 2 and says where help is for %j', async (flags) => {
      const { code, complained } = await run(['prune', ...flags], place.context)
      expect([code, complained]).toStrictEqual([
        2,
        expect.stringContaining('Help: express-x402-gateway ledger prune --help'),
      ])
    })
  })

  describe('migrate', () => {
    it('fails with --check and the names of missing migrations until it was run', async () => {
      await write([{}, 'settled'])
      const last = NAMES.at(-1)
      for (const table of ['x402_migrations', ...Object.keys(TABLES)])
        await place.execute(`DROP TABLE ${table}`)
      const unready = await run(['migrate', '--check'], place.context)
      expect([unready.code, unready.output]).toStrictEqual([1, ''])
      for (const name of NAMES) expect(unready.complained).toContain(name)
      const exported = await run(['export'], place.context)
      expect([exported.code, exported.complained]).toStrictEqual([
        1,
        expect.stringMatching(/lacks migrations: .*ledger migrate/),
      ])

      const migrated = await run(['migrate'], place.context)
      expect([migrated.code, migrated.complained]).toStrictEqual([0, ''])
      expect(migrated.output).toContain(`applied ${last}\nThe ledger is up to date.\n`)
      const ready = await run(['migrate', '--check'], place.context)
      expect(ready).toStrictEqual({
        code: 0,
        output: 'The ledger is up to date.\n',
        complained: '',
      })
      expect((await run(['export'], place.context)).code).toBe(0)
    })
  })
})

describe('ledger', () => {
  it('formats amounts of tokens of the configuration', async () => {
    const place = await sqlitePlace()
    const asset = `0x${'99'.repeat(20)}` as const
    const ledger = place.open()
    await record(ledger, newEntry({ chainId: 8453, asset, value: 5n }), 'settled')
    await ledger.close()
    const eip712 = { name: 'Token', version: '1' }
    const token = { address: asset, symbol: 'TOK', decimals: 18, currency: 'USD', eip712 }
    const base = {
      ...{ rpcUrl: 'http://127.0.0.1:9', relayerKeys: [`0x${'5e'.repeat(32)}`] },
      assets: [token],
    }
    const { cwd } = place.context
    await writeFile(join(cwd, 'gateway.config.json'), JSON.stringify({ networks: { base } }))
    const { output, complained } = await run(['export', '--format', 'jsonl'], place.context)
    expect(complained).toBe('')
    expect(JSON.parse(output)).toMatchObject({ symbol: 'TOK', amount: '0.000000000000000005' })
  })

  it.each([['export'], ['prune', '--before', '2026-01-01'], ['migrate', '--check']])(
    '%s creates no ledger if there is none',
    async (...argv) => {
      const cwd = await newFolder()
      const { code, complained } = await run(argv, { cwd, env: {} })
      expect([code, complained]).toStrictEqual([
        1,
        expect.stringContaining('there is no ledger at'),
      ])
      expect(existsSync(join(cwd, 'data'))).toBe(false)
    },
  )

  it('migrate creates the ledger that serve uses', async () => {
    const cwd = await newFolder()
    expect((await run(['migrate'], { cwd, env: {} })).code).toBe(0)
    expect((await run(['migrate', '--check'], { cwd, env: {} })).code).toBe(0)
  })

  it('names the variable, but not the password, if the database does not answer', async () => {
    const env = { DATABASE_URL: 'postgres://user:s3cret@127.0.0.1:9/payments' }
    const { code, complained } = await run(['migrate', '--check'], { cwd: tmpdir(), env })
    expect([code, complained]).toStrictEqual([
      1,
      'DATABASE_URL: nobody listens at 127.0.0.1:9: start PostgreSQL, or correct host and port (ECONNREFUSED)\n',
    ])
  })

  it.each([['export'], ['prune'], ['migrate']])('%s --help explains it', async (name) => {
    const { code, output } = await run([name, '--help'], { cwd: tmpdir(), env: {} })
    expect([code, output]).toStrictEqual([
      0,
      expect.stringMatching(`^Usage: express-x402-gateway ledger ${name}`),
    ])
  })

  it.each([[[]], [['drop']], [['export', '--format', 'xml']], [['migrate', 'now']]])(
    'fails with exit code 2 for %j',
    async (argv) => {
      const { code, complained } = await run(argv, { cwd: tmpdir(), env: {} })
      expect([code, complained]).toStrictEqual([
        2,
        expect.stringContaining('Help: express-x402-gateway ledger'),
      ])
    },
  )
})
