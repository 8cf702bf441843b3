/** Runs the quick start of the README, word for word, with the packed package in an empty folder. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { page, type Block } from '../docs/documents.js'
import { INSTALL_TIMEOUT_MS, pack, readManifest, ROOT, run } from '../support/packed.js'
import { until } from '../support/until.js'

/** The port of the README, which is a free one here. */
const PORT = '4021'

const steps = stepsOf('README.md', '## Ten lines to the first paid request')
const [makeFolder, ...others] = steps

/** The blocks of a section, its parts included. */
function stepsOf(name: string, heading: string): readonly Block[] {
  const { text, blocks } = page(name)
  const start = text.indexOf(`\n${heading}\n`)
  const end = text.indexOf('\n## ', start + heading.length)
  const lineOf = (position: number) => text.slice(0, position).split('\n').length
  const [first, last] = [lineOf(start), end < 0 ? Infinity : lineOf(end)]
  return blocks.filter(({ at }) => {
    const line = Number(at.split(':').at(-1))
    return line > first && line < last
  })
}

/** The environment without what the npm that runs the tests has set for itself. */
const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^(npm_(config|package|lifecycle)_|X402_)/i.test(name),
    ),
  ),
  npm_config_prefer_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_save_exact: 'true',
}

let folder: string
let tarball: string
let port: string
const running: ChildProcess[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'x402-quick-start-'))
  tarball = await pack(folder)
  const server = createServer().listen(0)
  await once(server, 'listening')
  port = String((server.address() as AddressInfo).port)
  server.close()
}, INSTALL_TIMEOUT_MS)

afterAll(async () => {
  for (const child of running) await endGroup(child)
  await rm(folder, { recursive: true, force: true })
})

/** Ends a command with everything that it has started. */
async function endGroup(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const closed = once(child, 'close')
  process.kill(-child.pid, 'SIGTERM')
  await closed
}

/** The version that is tested here: a newer one shall not come between. */
async function testedVersion(name: string): Promise<string> {
  return (await readManifest(join(ROOT, 'node_modules', name))).version
}

/** A command as it is written, but for the packed package, tested versions and a free port. */
async function adapt(code: string): Promise<string> {
  const lines = code.split('\n').map(async (line) => {
    if (!line.startsWith('npm install ')) return line
    const names = line.split(' ').slice(2)
    const packages = names.map(async (name) =>
      name === 'express-x402-gateway' ? tarball : `${name}@${await testedVersion(name)}`,
    )
    return ['npm install', ...(await Promise.all(packages))].join(' ')
  })
  return (await Promise.all(lines)).join('\n').replaceAll(PORT, port)
}

/** Runs a block to its end. @returns What it has printed. */
async function execute(code: string, cwd: string): Promise<string> {
  const { stdout, stderr } = await run('sh', ['-ec', await adapt(code)], { cwd, env })
  return `${stderr}${stdout}`
}

/** Starts a block that keeps running, in a process group of its own. */
async function start(code: string, cwd: string): Promise<void> {
  const stdio = ['ignore', 'ignore', 'inherit'] as const
  // In the group, `&` is not needed: `sh` stays until its command ends.
  const command = (await adapt(code)).replace(/&\s*$/, '')
  running.push(spawn('sh', ['-ec', command], { cwd, env, detached: true, stdio: [...stdio] }))
}

/** What must be there before the next step: the variables of the chain, and then the server. */
async function settled(project: string, code: string): Promise<void> {
  const variables = () => readFile(join(project, 'devnet.env'), 'utf8').catch(() => '')
  if (code.includes('devnet --env '))
    return until(async () => (await variables()).includes('BUYER_KEY='))
  await until(() =>
    fetch(`http://localhost:${port}/weather`).then(
      ({ status }) => status === 402,
      () => false,
    ),
  )
}

/** Puts our versions over those that npm would take; a project of a user has no need of it. */
async function pinVersions(project: string): Promise<void> {
  const file = join(project, 'package.json')
  const manifest = JSON.parse(await readFile(file, 'utf8')) as object
  const overrides = { viem: await testedVersion('viem'), zod: await testedVersion('zod') }
  await writeFile(file, JSON.stringify({ ...manifest, overrides }))
}

describe('the quick start of the README', () => {
  const printed: string[] = []

  it(
    'leads from an empty folder to a paid request, and to one by the official client',
    async () => {
      const project = join(folder, 'paid-weather')
      const [make = '', ...install] = makeFolder!.code.split('\n')
      await execute(make, folder)
      await pinVersions(project)
      await execute(install.join('\n'), project)
      for (const { lang, meta, code } of others) {
        if (lang === 'js') await writeFile(join(project, meta.slice(5)), await adapt(code))
        else if (meta === 'background') {
          await start(code, project)
          await settled(project, code)
        } else if (lang === 'sh') printed.push(await execute(code, project))
      }
      expect(printed).toHaveLength(2)
      expect(printed[1]).toMatch(
        /^200 \{\s+forecast: 'sunny',\s+paidBy: '0x[0-9A-Fa-f]{40}'\s+\}$/m,
      )
    },
    INSTALL_TIMEOUT_MS,
  )

  it('prints what the README shows', () => {
    const shown = steps.find(({ lang }) => lang === 'text')?.code ?? ''
    const lines = shown
      .replaceAll(PORT, port)
      .split('\n')
      .map((line) => line.split(/0x|…/)[0]!)
      .filter((line) => line !== '')
    expect(lines.length).toBeGreaterThan(6)
    for (const line of lines) expect(printed[0]).toContain(line)
  })
})
