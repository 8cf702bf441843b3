import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../src/errors.js'
import { until } from '../support/until.js'
import {
  isSoundSqlite,
  loadSqlite,
  SQLITE_PACKAGE,
  versionOf,
} from '../../src/ledger/sql/sqlite-engine.js'

/** Milliseconds for which the processes race. */
const RACE_MS = 6000

const PROCESS = 'test/ledger/wal-reset-process.mjs'

const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

/** A file in memory, where there is such a file system: the race is likelier there. */
async function newFile(): Promise<string> {
  const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
  const folder = await mkdtemp(join(parent, 'x402-wal-'))
  folders.push(folder)
  return join(folder, 'race.db')
}

function start(role: 'writer' | 'checkpointer', file: string, told: Set<string>): ChildProcess {
  const engine = isSoundSqlite(process.versions['sqlite'] ?? '0') ? 'node:sqlite' : SQLITE_PACKAGE
  const child = spawn(process.execPath, ['--no-warnings', PROCESS, role, engine, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let rest = ''
  child.stdout.on('data', (data: Buffer) => {
    const lines = `${rest}${data.toString()}`.split('\n')
    rest = lines.pop() ?? ''
    for (const id of lines) told.add(id)
  })
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  const closed = new Promise((resolve) => child.on('close', resolve))
  child.kill('SIGKILL')
  await closed
}

describe('the SQLite that keeps the ledger', () => {
  it('loses nothing that it has committed while another process checkpoints', async () => {
    const file = await newFile()
    const told = new Set<string>()
    const children = [start('writer', file, told), start('writer', file, told)]
    await until(() => told.size > 0)
    children.push(start('checkpointer', file, told))
    await sleep(RACE_MS)
    await until(() => told.size > 1000)
    for (const child of children) await kill(child)

    const Engine = loadSqlite()
    const database = new Engine(file)
    const rows = database.prepare('SELECT id FROM rows').all() as { readonly id: string }[]
    const there = new Set(rows.map(({ id }) => id))
    expect([...told].filter((id) => !there.has(id))).toEqual([])
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    database.close()
  })

  it('is one of the versions without the WAL-reset race', () => {
    expect(isSoundSqlite(versionOf(loadSqlite()))).toBe(true)
  })
})

describe('a version of SQLite', () => {
  it.each(['3.51.3', '3.52.0', '3.53.0', '3.50.7', '3.50.8', '4.0.0'])('is taken: %s', (version) =>
    expect(isSoundSqlite(version)).toBe(true),
  )

  it.each(['3.45.1', '3.44.6', '3.49.9', '3.50.6', '3.51.2', '3.51.0', '3.8.0', '2.9.9', '0'])(
    'is refused: %s',
    (version) => expect(isSoundSqlite(version)).toBe(false),
  )
})

describe('loading SQLite', () => {
  /** An engine that says to be of a version. */
  const engineOf = (version: string) => ({
    DatabaseSync: class {
      prepare = () => ({ all: () => [{ version }] })
      close(): void {}
    },
  })

  it('takes the one of Node where it is recent enough, and needs no package', () => {
    const asked: string[] = []
    const engine = engineOf('3.51.3')
    const load = (name: string): unknown => {
      asked.push(name)
      return engine
    }
    expect(loadSqlite('3.51.3', load)).toBe(engine.DatabaseSync)
    expect(asked).toEqual(['node:sqlite'])
  })

  it('takes the package where the one of Node is too old', () => {
    const engine = engineOf('3.53.0')
    expect(loadSqlite('3.50.4', () => engine)).toBe(engine.DatabaseSync)
  })

  it('refuses, in words, a package that is too old as well', () => {
    const loading = (): unknown => loadSqlite(undefined, () => engineOf('3.50.4'))
    expect(loading).toThrow(ConfigError)
    expect(loading).toThrow(/SQLite 3\.50\.4 may lose what it has committed.*npm install/)
  })
})
