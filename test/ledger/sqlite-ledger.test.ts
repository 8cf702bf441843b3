import { chmod, readdir, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { inspect } from 'node:util'
import { afterAll, describe, expect, it } from '@jest/globals'
import { Database } from '../support/sqlite.js'
import { ConfigError } from '../../src/shared/errors.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { until } from '../support/until.js'
import { newEntry, UNAVAILABLE } from '../support/ledger-entries.js'
import { describeLedger } from './ledger-conformance.js'
import { describeSharedLedger } from './shared-ledger.js'
import { useCleanup, temporaryFolder } from '../support/cleanup.js'

const isRoot = process.getuid?.() === 0
if (isRoot) process.stderr.write('Unwritable files are SKIPPED: root writes to every file.\n')

let files = 0
const folder = temporaryFolder(useCleanup(afterAll))
const newFile = (): string => join(folder, `${++files}`, 'ledger.db')

describeLedger('the SQLite ledger', () => openSqliteLedger(newFile()))

describeSharedLedger('the SQLite ledger', async () => {
  const file = newFile()
  return {
    open: (options) => openSqliteLedger(file, options),
    async execute(statement) {
      const database = new Database(file)
      database.exec('PRAGMA busy_timeout = 30000')
      database.exec(statement)
      database.close()
    },
    drop: async () => undefined,
  }
})

describe('the SQLite ledger', () => {
  it('writes through to the disk while others read', async () => {
    const file = newFile()
    const ledger = openSqliteLedger(file)
    await ledger.payments.reserve(newEntry())
    const database = new Database(file)
    expect(database.prepare('PRAGMA journal_mode').get()).toMatchObject({ journal_mode: 'wal' })
    database.close()
    await ledger.close()
  })

  it('keeps other users of the machine from reading or locking its files', async () => {
    const file = newFile()
    const ledger = openSqliteLedger(file)
    await ledger.payments.reserve(newEntry())
    const names = await readdir(dirname(file))
    expect(names.filter((name) => name.includes('-owner-'))).toHaveLength(1)
    for (const path of [dirname(file), ...names.map((name) => join(dirname(file), name))])
      expect([path, (await stat(path)).mode & 0o077]).toEqual([path, 0])
    await ledger.close()
  })

  it('waits while another process has the file locked, and lets other requests go on', async () => {
    const file = newFile()
    const ledger = openSqliteLedger(file)
    await ledger.payments.listSubmitted()
    const other = new Database(file)
    other.exec('BEGIN IMMEDIATE')
    let ticks = 0
    const ticking = setInterval(() => ticks++, 20)
    const reserved = ledger.payments.reserve(newEntry())
    await until(() => ticks > 3)
    other.exec('COMMIT')
    other.close()
    expect(await reserved).toBeUndefined()
    clearInterval(ticking)
    await ledger.close()
  })

  it('fails if the file stays locked', async () => {
    const file = newFile()
    const ledger = openSqliteLedger(file)
    await ledger.payments.listSubmitted()
    const other = new Database(file)
    other.exec('BEGIN IMMEDIATE')
    await expect(ledger.payments.reserve(newEntry())).rejects.toMatchObject({
      ...UNAVAILABLE,
      cause: { message: 'SQLite 5: database is locked' },
    })
    other.exec('ROLLBACK')
    other.close()
    expect(await ledger.payments.reserve(newEntry())).toBeUndefined()
    await ledger.close()
  })

  it('commits what it writes after it has found the file locked', async () => {
    const file = newFile()
    const [ledger, other] = [openSqliteLedger(file), openSqliteLedger(file)]
    await ledger.payments.listSubmitted()
    const locking = new Database(file)
    locking.exec('BEGIN IMMEDIATE')
    const entry = newEntry()
    const waiting = [
      ledger.payments.reserve(entry),
      ledger.payments.relock(newEntry()),
      ledger.payments.listSubmitted(),
    ]
    await new Promise((resolve) => setTimeout(resolve, 100))
    locking.exec('COMMIT')
    locking.close()
    await Promise.all(waiting)
    expect(await other.payments.find(entry)).toMatchObject({ state: 'reserved', locked: true })
    expect(await other.payments.reserve(newEntry())).toBeUndefined()
    await Promise.all([ledger.close(), other.close()])
  })

  it('opens a file with tables of a newer version', async () => {
    const file = newFile()
    await openSqliteLedger(file).payments.listSubmitted()
    const database = new Database(file)
    database.exec("INSERT INTO x402_migrations VALUES ('9999_later')")
    database.close()
    const ledger = openSqliteLedger(file)
    expect(await ledger.payments.reserve(newEntry())).toBeUndefined()
    await ledger.close()
  })

  it('refuses a file that is no database, naming it', async () => {
    const file = join(folder, 'text.db')
    await writeFile(file, 'This is no database. '.repeat(500))
    for (const path of [file, folder, join(file, 'ledger.db')]) {
      const opening = (): unknown => openSqliteLedger(path)
      expect(opening).toThrow(ConfigError)
      expect(opening).toThrow(path)
    }
  })

  it('fails if a foreign table has the name of its own, and leaves that table as it is', async () => {
    const file = newFile()
    await openSqliteLedger(file).close()
    const database = new Database(file)
    database.exec('CREATE TABLE x402_authorizations (mine TEXT)')
    const ledger = openSqliteLedger(file)
    await expect(ledger.payments.reserve(newEntry())).rejects.toMatchObject(UNAVAILABLE)
    await expect(ledger.payments.reserve(newEntry())).rejects.toMatchObject(UNAVAILABLE)
    await ledger.close()
    const names = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
    expect(names).toEqual([{ name: 'x402_authorizations' }])
    database.close()
  })

  it('fails if its file cannot be written', async () => {
    if (isRoot) return
    const file = newFile()
    const first = openSqliteLedger(file)
    await first.payments.listSubmitted()
    await first.close()
    await chmod(file, 0o400)
    const error = await useOf(file)
    expect(error).toMatchObject({ name: expect.stringMatching(/^(Ledger|Config)Error$/) })
    expect(inspect(error)).toMatch(/READONLY|CANTOPEN|cannot be opened/)
  })
})

async function useOf(file: string): Promise<unknown> {
  try {
    const ledger = openSqliteLedger(file)
    await ledger.payments.listSubmitted()
    return undefined
  } catch (error) {
    return error
  }
}
