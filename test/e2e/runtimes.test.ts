/** The program of runtimes.md, on each runtime that npm has for this machine, as its page says. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { existsSync, readdirSync } from 'node:fs'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { inlineCode, page } from '../docs/documents.js'
import { temporaryFolder, useCleanup } from '../support/cleanup.js'
import { balanceOf, useDevnet } from '../support/devnet.js'
import { freePort } from '../support/free-port.js'
import { install, ROOT } from '../support/packed.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { startProgram } from '../support/program.js'

const devnet = useDevnet()
const toEnd = useCleanup(afterAll)
const folder = temporaryFolder(toEnd)
const document = page('runtimes.md')

/** Where npm puts the binaries: packages of a scope, one for each kind of machine. */
const SCOPES = { deno: '@deno', bun: '@oven' } as const

/** Installs the runtimes; those that npm does not have for this machine are skipped, which is said aloud. */
async function findRuntimes(): Promise<readonly (readonly [name: string, binary: string])[]> {
  try {
    await install(folder, ['deno@2', 'bun@1'])
  } catch (error) {
    process.stderr.write(`Deno and Bun cannot be installed: SKIPPED. ${String(error)}\n`)
  }
  const found = Object.entries(SCOPES).flatMap(([name, scope]) => {
    const within = join(folder, 'node_modules', scope)
    const binaries = (existsSync(within) ? readdirSync(within) : [])
      .flatMap((one) => [join(within, one, name), join(within, one, 'bin', name)])
      .filter((path) => existsSync(path))
    if (binaries.length === 0) process.stderr.write(`npm has no ${name} here: it is SKIPPED.\n`)
    return binaries.slice(0, 1).map((binary) => [name, binary] as const)
  })
  return [['node', process.execPath], ...found]
}

beforeAll(async () => {
  const modules = join(folder, 'node_modules')
  await mkdir(modules, { recursive: true })
  await symlink(ROOT, join(modules, 'express-x402-gateway'))
  for (const name of ['express', 'pg'])
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
})

const runtimes = await findRuntimes()
const postgres = await findPostgres()

async function databaseOf(runtime: string, kind: string): Promise<string> {
  if (kind === 'SQLite') return `sqlite:./${runtime}.db`
  const schema = await createSchema(postgres!)
  toEnd.push(() => schema.drop())
  return schema.url
}

const databases = ['SQLite', ...(postgres === undefined ? [] : ['PostgreSQL'])]

describe.each(runtimes)('%s', (name, binary) => {
  it.each(databases)('sells, with its payments in %s', async (kind) => {
    const command = inlineCode(document).find((code) => code.startsWith(`${name} `))!
    const [, ...args] = command.split(' ')
    const port = String(await freePort())
    const code = document.blocks.find(({ meta }) => meta === 'file=runtimes.mjs')!.code
    await writeFile(join(folder, 'runtimes.mjs'), code.replaceAll('4021', port))
    const program = startProgram(args, {
      cwd: folder,
      node: binary,
      env: {
        X402_NETWORK: 'base-sepolia',
        X402_RPC_URL: devnet.rpcUrl,
        X402_RELAYER_KEY: devnet.relayerKeys[runtimes.findIndex(([one]) => one === name)],
        X402_PAY_TO: devnet.merchant.address,
        X402_DATABASE_URL: await databaseOf(name, kind),
      },
    })
    toEnd.push(() => program.end('SIGKILL'))
    await program.prints(/(Selling)/)

    const account = privateKeyToAccount(devnet.payers[0]!.privateKey)
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
    const before = await balanceOf(devnet, devnet.merchant.address)
    const url = `http://127.0.0.1:${port}/weather`
    const response = await wrapFetchWithPayment(fetch, client)(url)
    expect([response.status, await response.text()]).toEqual([200, '{"forecast":"sunny"}'])
    expect((await balanceOf(devnet, devnet.merchant.address)) - before).toBe(10_000n)
    await program.end('SIGKILL')
  })
})
