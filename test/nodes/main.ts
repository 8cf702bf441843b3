/**
 * The package on every line of Node that it supports: `npm run test:nodes`.
 *
 * On each, the packed package is installed as npm does it there, and a shop sells once with each ledger: in
 * memory, in an SQLite file, and in PostgreSQL where one answers. On the oldest it also sells as pnpm and Yarn
 * install it, then on Bun, and on Node 24 from bundles, without `node_modules`. Older Nodes are told which they need. Then
 * the suites that depend most on Node, those of the ledger, of webhooks and of faults, run on Node 24; with
 * `-- --purchases` they do not. Ends with 1 when anything fails.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { startDevnet, type Devnet } from '../../src/tools/devnet/index.js'
import type { PaymentRequired } from '../../src/shared/protocol/payment.js'
import { balanceOf } from '../support/balance-of.js'
import { paymentHeader } from '../support/http.js'
import { npm, pack, readManifest, ROOT, run, withoutNpm } from '../support/packed.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { startProgram } from '../support/program.js'
import { signPayment } from '../support/sign-payment.js'

const OLDEST = '20.19.0'
const LINES = [OLDEST, '22', '24', '26'] as const
const TOO_OLD = ['18', '20.12'] as const
/** Its own SQLite is sound: a bundle needs no package beside it. */
const OF_BUNDLES = '24'
const SUITES = {
  line: '24',
  paths: ['test/ledger', 'test/operate/webhooks', 'test/faults'],
} as const
const PRICE = 10_000n

const { values } = parseArgs({ options: { purchases: { type: 'boolean', default: false } } })

const IS_WINDOWS = process.platform === 'win32'
const BUN = `@oven/bun-${IS_WINDOWS ? 'windows' : process.platform}-${process.arch.replace('arm64', 'aarch64')}`

/** Tools that are tried, installed next to the Nodes. */
const TOOLS = ['pnpm@10', '@yarnpkg/cli-dist@4', 'esbuild@0.28', 'webpack@5', 'webpack-cli@7']

/** Installs the Nodes and the tools. @returns The path of a Node by its line. */
async function installNodes(folder: string): Promise<(line: string) => string> {
  const name = `node-${IS_WINDOWS ? 'win' : process.platform}-${process.arch}`
  await mkdir(folder)
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  const nodes = [...LINES, ...TOO_OLD].map((line) => `n${line}@npm:${name}@${line}`)
  await npm(['install', '--ignore-scripts', ...nodes, ...TOOLS, `${BUN}@1`], folder)
  const binary = IS_WINDOWS ? 'bin/node.exe' : 'bin/node'
  return (line) => join(folder, 'node_modules', `n${line}`, binary)
}

/** A package manager: its script among the tools, how it adds packages, and how Node finds them then. */
interface Manager {
  readonly script: string
  readonly add: readonly string[]
  readonly files?: Readonly<Record<string, string>>
  readonly nodeFlags?: readonly string[]
}

const PNPM: Manager = { script: 'pnpm/bin/pnpm.cjs', add: ['add', '--ignore-scripts'] }

const YARN_PNP: Manager = {
  script: '@yarnpkg/cli-dist/bin/yarn.js',
  add: ['add'],
  files: {
    'yarn.lock': '',
    '.yarnrc.yml': 'enableScripts: false\nenableTelemetry: false\nenableImmutableInstalls: false\n',
    'register.mjs':
      "import { register } from 'node:module'\nregister('./.pnp.loader.mjs', import.meta.url)\n",
  },
  nodeFlags: ['--require', './.pnp.cjs', '--import', './register.mjs'],
}

/** Makes a project with the shop. */
async function makeProject(folder: string, files: Manager['files'] = {}): Promise<void> {
  await mkdir(folder)
  await cp(join(ROOT, 'test/nodes/shop.mjs'), join(folder, 'shop.mjs'))
  const { version } = await readManifest(join(ROOT, 'node_modules/viem'))
  const held = { viem: version }
  const manifest = { private: true, overrides: held, resolutions: held, pnpm: { overrides: held } }
  for (const [name, text] of Object.entries({ 'package.json': JSON.stringify(manifest), ...files }))
    await writeFile(join(folder, name), text)
}

const packagesOf = (tarball: string) => [`express-x402-gateway@file:${tarball}`, 'express@5', 'pg']

/** Installs the package as npm does it on one Node. */
async function installShop(folder: string, node: string, tarball: string): Promise<void> {
  await makeProject(folder)
  const flags = ['--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts']
  const npmCli = process.env['npm_execpath']
  if (npmCli === undefined) throw new Error('Run it by npm: npm run test:nodes')
  await run(node, [npmCli, 'install', ...flags, ...packagesOf(tarball)], { cwd: folder })
}

/** A shop, and what it is tried with. */
interface Purchase {
  readonly folder: string
  readonly node: string
  /** Flags of Node, and the script. @defaultValue `['shop.mjs']` */
  readonly args?: readonly string[]
  readonly ledger: string
  readonly devnet: Devnet
}

/** Sells once. @returns What went wrong, if anything did. */
async function buyOnce({
  folder,
  node,
  args = ['shop.mjs'],
  ledger,
  devnet,
}: Purchase): Promise<string | undefined> {
  const shop = startProgram(args, {
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

/** Bundles the shop of a project, each bundle in a folder with nothing else. @returns Their folders. */
async function bundleShop(tools: string, node: string, project: string): Promise<string[]> {
  const [byEsbuild, byWebpack] = ['esbuild', 'webpack'].map((name) => `${project}-${name}`)
  const flags = ['--bundle', '--platform=node', `--outfile=${byEsbuild}/shop.cjs`]
  await run(join(tools, 'esbuild/bin/esbuild'), ['shop.mjs', ...flags], { cwd: project })
  const output = ['-o', byWebpack!, '--output-filename', 'shop.cjs']
  const mode = ['--target', 'node', '--mode', 'none', '--entry', './shop.mjs']
  await run(node, [join(tools, 'webpack/bin/webpack.js'), ...mode, ...output], { cwd: project })
  return [byEsbuild!, byWebpack!]
}

/** Ways to start what is installed. */
const STARTS = [
  ['node_modules/express-x402-gateway/dist/esm/tools/cli/bin.js', 'token'],
  ['--input-type=module', '--eval', "import 'express-x402-gateway'"],
  ['--eval', "require('express-x402-gateway')"],
]

/** Starts programs on a Node that is too old. @returns What went wrong, if anything did. */
async function refusal(
  node: string,
  folder: string,
  starts: readonly (readonly string[])[],
): Promise<string | undefined> {
  for (const args of starts) {
    const program = startProgram(args, { cwd: folder, node })
    const code = await program.exitCode()
    if (code !== 1 || !/needs Node 20\.19 or newer/.test(program.output()))
      return `${args.join(' ')} ended with ${code}, and printed:\n${program.output()}`
  }
  return undefined
}

async function main(folder: string): Promise<boolean> {
  const [nodeOf, tarball, postgres] = await Promise.all([
    installNodes(join(folder, 'nodes')),
    pack(folder),
    findPostgres(),
  ])
  let isFine = true
  const report = (what: string, problem: string | undefined, success = 'bought once'): void => {
    isFine &&= problem === undefined
    process.stdout.write(`${what}: ${problem ?? success}\n`)
  }
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
        const name = ledger.startsWith('postgres:') ? 'PostgreSQL' : ledger
        report(`Node ${line}, ${name}`, await buyOnce({ folder: shop, node, ledger, devnet }))
      }
    }
    const tools = join(folder, 'nodes/node_modules')
    for (const { script, add, files, nodeFlags = [] } of [PNPM, YARN_PNP]) {
      const [name = ''] = script.split('/bin/')
      const [project, node] = [join(folder, name.replace('/', '-')), nodeOf(OLDEST)]
      await makeProject(project, files)
      const env = withoutNpm()
      await run(node, [join(tools, script), ...add, ...packagesOf(tarball)], { cwd: project, env })
      const args = [...nodeFlags, 'shop.mjs']
      const purchase = { folder: project, node, args, ledger: 'memory', devnet }
      report(`Node ${OLDEST}, ${name}`, await buyOnce(purchase))
    }
    const installed = join(folder, `shop-${OF_BUNDLES}`)
    const bun = join(tools, BUN, IS_WINDOWS ? 'bin/bun.exe' : 'bin/bun')
    report('Bun', await buyOnce({ folder: installed, node: bun, ledger: 'memory', devnet }))
    const node = nodeOf(OF_BUNDLES)
    for (const bundle of await bundleShop(tools, node, installed)) {
      const purchase = { folder: bundle, node, args: ['shop.cjs'], ledger: './ledger.db', devnet }
      report(`Node ${OF_BUNDLES}, ${basename(bundle)}`, await buyOnce(purchase))
      for (const line of TOO_OLD)
        report(
          `Node ${line}, ${basename(bundle)}`,
          await refusal(nodeOf(line), bundle, [['shop.cjs']]),
          'told which it needs',
        )
    }
    for (const line of TOO_OLD)
      report(
        `Node ${line}`,
        await refusal(nodeOf(line), join(folder, `shop-${OLDEST}`), STARTS),
        'told which it needs',
      )
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
