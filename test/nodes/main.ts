/**
 * The package on every line of Node that it supports: `npm run test:nodes`.
 *
 * On each, the packed package is installed as npm does it there, and a shop sells once with each ledger: in
 * memory, in an SQLite file, and in PostgreSQL where one answers. Then the suites that depend most on Node,
 * those of the ledger, of webhooks and of faults, run on Node 24; with `-- --purchases` they do not. Ends with 1
 * when anything fails.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startDevnet, type Devnet } from '../../src/devnet/index.js'
import type { PaymentRequired } from '../../src/protocol/payment.js'
import { balanceOf } from '../support/balance-of.js'
import { paymentHeader } from '../support/http.js'
import { npm, pack, readManifest, ROOT, run } from '../support/packed.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { startProgram } from '../support/program.js'
import { signPayment } from '../support/sign-payment.js'

const LINES = [20, 22, 24, 26] as const
const SUITES = { line: 24, paths: ['test/ledger', 'test/webhooks', 'test/faults'] } as const
const PRICE = 10_000n

const { values } = parseArgs({ options: { purchases: { type: 'boolean', default: false } } })

/** Installs the Nodes. @returns The path of one by its line. */
async function installNodes(folder: string): Promise<(line: number) => string> {
  const isWindows = process.platform === 'win32'
  const name = `node-${isWindows ? 'win' : process.platform}-${process.arch}`
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  await npm(['install', ...LINES.map((line) => `n${line}@npm:${name}@${line}`)], folder)
  const binary = isWindows ? 'bin/node.exe' : 'bin/node'
  return (line) => join(folder, 'node_modules', `n${line}`, binary)
}

/** Installs the package as npm does it on one Node, which chooses versions that fit. */
async function installShop(folder: string, node: string, tarball: string): Promise<void> {
  await mkdir(folder)
  await cp(join(ROOT, 'test/nodes/shop.mjs'), join(folder, 'shop.mjs'))
  const { version } = await readManifest(join(ROOT, 'node_modules/viem'))
  const manifest = { private: true, overrides: { viem: version } }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  const npmCli = process.env['npm_execpath']
  if (npmCli === undefined) throw new Error('Run it by npm: npm run test:nodes')
  await run(node, [npmCli, 'install', ...flags, tarball, 'express@5', 'pg'], { cwd: folder })
}

/** A shop, and what it is tried with. */
interface Purchase {
  readonly folder: string
  readonly node: string
  readonly ledger: string
  readonly devnet: Devnet
}

/** Sells once. @returns What went wrong, if anything did. */
async function buyOnce({ folder, node, ledger, devnet }: Purchase): Promise<string | undefined> {
  const shop = startProgram(['shop.mjs'], {
    cwd: folder,
    node,
    env: {
      LEDGER: ledger,
      RPC_URL: devnet.rpcUrl,
      RELAYER_KEY: devnet.relayerKeys[0],
      PAY_TO: devnet.merchant.address,
      NODE_OPTIONS: undefined,
    },
  })
  try {
    const url = await shop.prints(/^(http\S+)\n/m)
    const before = await balanceOf(devnet, devnet.merchant.address)
    const { accepts } = (await (await fetch(`${url}/paid`)).json()) as PaymentRequired
    const payment = await signPayment(devnet.payers[0]!, accepts[0]!)
    const { status } = await fetch(`${url}/paid`, { headers: paymentHeader(payment) })
    const again = await fetch(`${url}/paid`, { headers: paymentHeader(payment) })
    const paid = (await balanceOf(devnet, devnet.merchant.address)) - before
    if (status === 200 && again.status === 402 && paid === PRICE && !/warning/i.test(shop.output()))
      return undefined
    return `answered ${status} and ${again.status}, was paid ${paid}, and printed:\n${shop.output()}`
  } catch (error) {
    return String(error)
  } finally {
    await shop.end('SIGKILL')
  }
}

async function main(folder: string): Promise<boolean> {
  const [nodeOf, tarball, postgres] = await Promise.all([
    installNodes(join(folder, 'nodes')),
    pack(folder),
    findPostgres(),
  ])
  let isFine = true
  const devnet = await startDevnet()
  const schema = postgres === undefined ? undefined : await createSchema(postgres)
  try {
    for (const line of LINES) {
      const [shop, node] = [join(folder, `shop-${line}`), nodeOf(line)]
      await installShop(shop, node, tarball)
      const versions = await Promise.all(
        ['kysely', '@photostructure/sqlite'].map(async (name) => {
          const { version } = await readManifest(join(shop, 'node_modules', name))
          return `${name} ${version}`
        }),
      )
      process.stdout.write(`Node ${line}: ${versions.join(', ')}\n`)
      for (const ledger of ['memory', './data/ledger.db', ...(schema ? [schema.url] : [])]) {
        const problem = await buyOnce({ folder: shop, node, ledger, devnet })
        isFine &&= problem === undefined
        const name = ledger.startsWith('postgres:') ? 'PostgreSQL' : ledger
        process.stdout.write(`Node ${line}, ${name}: ${problem ?? 'bought once'}\n`)
      }
    }
  } finally {
    await schema?.drop()
    await devnet.close()
  }
  if (values.purchases) return isFine
  const jest = ['--experimental-vm-modules', join(ROOT, 'node_modules/jest/bin/jest.js')]
  const { TEST_SUMMARY_FILE: _summary, ...env } = process.env
  const suites = spawn(nodeOf(SUITES.line), [...jest, ...SUITES.paths], {
    cwd: ROOT,
    env,
    stdio: 'inherit',
  })
  const [code] = await once(suites, 'close')
  return isFine && code === 0
}

const folder = await mkdtemp(join(tmpdir(), 'x402-nodes-'))
try {
  process.exitCode = (await main(folder)) ? 0 : 1
} finally {
  await rm(folder, { recursive: true, force: true })
}
