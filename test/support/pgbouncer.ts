import { randomBytes } from 'node:crypto'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.js'

const PROGRAM = '/usr/sbin/pgbouncer'

/** It does not run as root. */
const NOBODY = 65534

/** A PgBouncer that gives each transaction any of a few connections to a database of its own. */
export interface TestPooler {
  /** For `postgresLedger`. */
  readonly url: string
  close(): Promise<void>
}

/** Tells whether there is a PgBouncer on this machine; where there is none, that is said aloud. */
export function hasPgbouncer(): boolean {
  const isThere = existsSync(PROGRAM)
  if (!isThere) process.stderr.write('No PgBouncer on this machine: its tests are SKIPPED.\n')
  return isThere
}

/** Starts a PgBouncer before a database that is made for it. */
export async function startPgbouncer(root: string): Promise<TestPooler> {
  const name = `x402_test_${randomBytes(8).toString('hex')}`
  const execute = async (statement: string): Promise<void> => {
    const client = new pg.Client({ connectionString: root })
    await client.connect()
    await client.query(statement)
    await client.end()
  }
  const folder = await mkdtemp(join(tmpdir(), 'x402-pgbouncer-'))
  const port = await freePort()
  const pooler = await start(folder, root, port)
  await execute(`CREATE DATABASE ${name}`).catch((error: unknown) => {
    pooler.kill('SIGKILL')
    throw error
  })
  return {
    url: `postgres://postgres@127.0.0.1:${port}/${name}`,
    async close() {
      const ended = once(pooler, 'exit')
      pooler.kill('SIGKILL')
      await ended
      await execute(`DROP DATABASE ${name} WITH (FORCE)`)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function start(folder: string, root: string, port: number): Promise<ChildProcess> {
  const { hostname, port: at, username, password } = new URL(root)
  const secret = password && ` password=${decodeURIComponent(password)}`
  const file = join(folder, 'pgbouncer.ini')
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${at || 5432} user=${decodeURIComponent(username)}${secret}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 3',
    'ignore_startup_parameters = extra_float_digits,options,statement_timeout',
  ]
  await writeFile(file, `${settings.join('\n')}\n`)
  await chmod(folder, 0o755)
  const isRoot = process.getuid?.() === 0
  const pooler = spawn(PROGRAM, [file], { stdio: 'ignore', ...(isRoot && { uid: NOBODY }) })
  const isUp = async (): Promise<boolean> => {
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: 'postgres',
      database: 'postgres',
    })
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    )
  }
  for (let tries = 0; tries < 50 && pooler.exitCode === null; tries++) {
    if (await isUp()) return pooler
    await sleep(100)
  }
  pooler.kill('SIGKILL')
  throw new Error('PgBouncer does not answer.')
}
