import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from '@jest/globals'
import { ConfigError } from '../../src/shared/errors.js'
import { until } from '../support/until.js'
import {
  isSoundSqlite,
  loadSqlite,
  SQLITE_PACKAGE,
  versionOf,
} from '../../src/ledger/engine/sqlite.js'

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
  it('loses no commit while another process checkpoints', async () => {
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
  it.each(['3.51.3', '3.52.0', '3.53.0', '3.50.7', '3.50.8', '4.0.0'])(
    'is accepted: %s',
    (version) => expect(isSoundSqlite(version)).toBe(true),
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

  const [OLD, SOUND] = ['3.50.4', '3.51.3']
  /** What a machine has: the names of what is loaded. */
  const machine = ({ node, own, packaged }: Machine) => {
    const engines: Readonly<Record<string, ReturnType<typeof engineOf> | undefined>> = {
      'node:sqlite': own === undefined ? undefined : engineOf(own),
      [SQLITE_PACKAGE]: packaged === undefined ? undefined : engineOf(packaged),
    }
    const load = (name: string): unknown => {
      const engine = engines[name]
      if (engine !== undefined) return engine
      const error = new Error(`Cannot find module '${name}'`)
      throw Object.assign(error, { code: 'MODULE_NOT_FOUND' })
    }
    const loading = () => loadSqlite({ node, sqlite: own }, load)
    return { loading, engines }
  }
  interface Machine {
    readonly node: string
    readonly own?: string
    readonly packaged?: string
  }

  it.each<[string, Machine, 'node:sqlite' | typeof SQLITE_PACKAGE]>([
    ['Node 24 needs no package', { node: '24.21.0', own: SOUND }, 'node:sqlite'],
    ['Node 24 has both', { node: '24.21.0', own: SOUND, packaged: SOUND }, 'node:sqlite'],
    ['an old one of Node 24', { node: '24.0.0', own: OLD, packaged: SOUND }, SQLITE_PACKAGE],
    ['Node 22 warns', { node: '22.23.0', own: SOUND, packaged: SOUND }, SQLITE_PACKAGE],
    ['Node 22 has no package', { node: '22.23.0', own: SOUND }, 'node:sqlite'],
    ['Node 22 has an old package', { node: '22.23.0', own: SOUND, packaged: OLD }, 'node:sqlite'],
    ['Node 20 has none', { node: '20.20.2', packaged: SOUND }, SQLITE_PACKAGE],
  ])('chooses between node:sqlite and the package: %s', (_case, having, name) => {
    const { loading, engines } = machine(having)
    expect(loading()).toBe(engines[name]?.DatabaseSync)
  })

  it.each<[string, Machine, RegExp]>([
    ['missing', { node: '20.20.2' }, /'@photostructure\/sqlite' is not installed: npm install @/],
    [
      'too old',
      { node: '20.20.2', packaged: OLD },
      /3\.50\.4 .* may lose .*: npm install .*Node 24/,
    ],
    ['too old, twice', { node: '22.0.0', own: OLD, packaged: OLD }, /3\.50\.4 .* may lose/],
  ])('says what to do if the package is %s', (_case, having, message) => {
    const { loading } = machine(having)
    expect(loading).toThrow(ConfigError)
    expect(loading).toThrow(message)
  })

  it('says what to do if the package has no binary for the machine', () => {
    const loading = (): unknown =>
      loadSqlite({ node: '20.20.2' }, () => {
        throw new Error('No native build was found for platform=plan9')
      })
    expect(loading).toThrow(/no binary for this machine: npm install/)
  })
})
