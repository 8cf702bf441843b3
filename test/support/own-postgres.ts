import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { freePort } from './free-port.js'

/** Where Debian keeps the programs of each version. */
const VERSIONS = '/usr/lib/postgresql'

/** PostgreSQL does not run as root. */
const NOBODY = 65534

/** A PostgreSQL of a test's own, which it may crash. */
export interface OwnPostgres {
  /** For `postgresLedger`. */
  readonly url: string
  /** Ends it as a failure of its machine does: what was not on disk is lost. Then starts it again. */
  crash(): Promise<void>
  close(): Promise<void>
}

/** Looks for the programs; where there are none, that is said aloud. @returns Their folder. */
export async function findPostgresPrograms(): Promise<string | undefined> {
  const versions = await readdir(VERSIONS).catch(() => [])
  const folders = versions.map((version) => join(VERSIONS, version, 'bin'))
  // Where only the client is installed, there is a folder without the server.
  const found = folders.find((folder) => existsSync(join(folder, 'initdb')))
  if (found !== undefined) return found
  process.stderr.write(`No PostgreSQL in ${VERSIONS}: tests of its crashes are SKIPPED.\n`)
  return undefined
}

/**
 * Makes an empty PostgreSQL and starts it.
 *
 * @param programs - Their folder.
 * @param settings - As its configuration file has them.
 */
export async function startOwnPostgres(
  programs: string,
  settings: Readonly<Record<string, string>>,
): Promise<OwnPostgres> {
  const user = process.getuid?.() === 0 ? { uid: NOBODY } : {}
  const folder = await mkdtemp(join(tmpdir(), 'x402-postgres-'))
  if (user.uid !== undefined) await chown(folder, user.uid, user.uid)
  const data = join(folder, 'data')
  const options = [
    '--auth=trust',
    '--username=postgres',
    '--no-locale',
    '--encoding=UTF8',
    '--no-sync',
  ]
  await promisify(execFile)(join(programs, 'initdb'), ['-D', data, ...options], {
    ...user,
    cwd: folder,
  })
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const given = { listen_addresses: '127.0.0.1', unix_socket_directories: '', ...settings }
  const flags = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`])

  const start = async (): Promise<ChildProcess> => {
    const server = spawn(join(programs, 'postgres'), ['-D', data, '-p', `${port}`, ...flags], {
      ...user,
      stdio: 'ignore',
    })
    for (let tries = 0; tries < 100 && server.exitCode === null; tries++) {
      if (await answers(url)) return server
      await sleep(100)
    }
    server.kill('SIGQUIT')
    throw new Error('PostgreSQL does not answer.')
  }
  let server = await start()
  const end = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.kill('SIGQUIT')
    await ended
  }
  return {
    url,
    async crash() {
      await end()
      server = await start()
    },
    async close() {
      await end()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function answers(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString })
  return client.connect().then(
    () => client.end().then(() => true),
    () => false,
  )
}
