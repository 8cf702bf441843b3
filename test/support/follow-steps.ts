/** Follows documentation as a reader does: writes its files and runs its commands, in a folder with the packed package. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Block } from '../docs/documents.js'
import { readManifest, ROOT, run, withoutNpm } from './packed.js'
import { until } from './until.js'

/** How a page is followed. */
interface Follower {
  /** Where commands run and files are written. */
  readonly project: string
  readonly tarball: string
  /** Makes a text fit this machine, such as its ports. */
  readonly adapt: (text: string) => string
  /** A paid URL of the server that the page starts. */
  readonly paidUrl: string
  /** Further variables of the commands. */
  readonly env?: Readonly<Record<string, string>>
}

const running: ChildProcess[] = []

/** Ends the commands that a page has started in the background. */
export async function endSteps(): Promise<void> {
  for (const child of running.splice(0).toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue
    const closed = once(child, 'close')
    // With everything that it has started.
    process.kill(-child.pid, 'SIGTERM')
    await closed
  }
}

/** Takes one step. @returns What its commands have printed. */
export async function followStep(block: Block, follower: Follower): Promise<string> {
  const { lang, meta, code } = block
  const { project, adapt } = follower
  const [, file] = /(?:^| )file=(\S+)/.exec(meta) ?? []
  if (file !== undefined) {
    await mkdir(dirname(join(project, file)), { recursive: true })
    await writeFile(join(project, file), adapt(code))
  } else if (lang === 'sh' && meta === 'background') await start(code, follower)
  else if (lang === 'sh') return execute(code, follower)
  return ''
}

/** The environment without what the npm that runs the tests has set for itself, and without our variables. */
function environment({ env = {} }: Follower): NodeJS.ProcessEnv {
  const inherited = Object.entries(withoutNpm()).filter(
    ([name]) => !/^(X402_|NODE_OPTIONS)/.test(name),
  )
  return {
    ...Object.fromEntries(inherited),
    npm_config_prefer_offline: 'true',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_save_exact: 'true',
    ...env,
  }
}

/** The version that is tested here: a newer one shall not come between. */
async function testedVersion(name: string): Promise<string> {
  return (await readManifest(join(ROOT, 'node_modules', name))).version
}

/** A command as it is written, but for the packed package, tested versions and what this machine needs. */
async function adaptCommand(code: string, { tarball, adapt }: Follower): Promise<string> {
  const lines = code.split('\n').map(async (line) => {
    if (!line.startsWith('npm install ')) return adapt(line)
    const words = line.split(' ').map(async (word, index) => {
      if (index < 2 || word.startsWith('-')) return word
      return word === 'express-x402-gateway' ? tarball : `${word}@${await testedVersion(word)}`
    })
    return (await Promise.all(words)).join(' ')
  })
  return (await Promise.all(lines)).join('\n')
}

async function execute(code: string, follower: Follower): Promise<string> {
  const { project: cwd } = follower
  const command = await adaptCommand(code, follower)
  const { stdout, stderr } = await run('sh', ['-ec', command], { cwd, env: environment(follower) })
  return `${stderr}${stdout}`
}

/** Starts a command that keeps running, in a process group of its own, and waits for what the next step needs. */
async function start(code: string, follower: Follower): Promise<void> {
  const { project: cwd, paidUrl } = follower
  // In the group, `&` is not needed: `sh` stays until its command ends.
  const command = (await adaptCommand(code, follower)).replace(/&\s*$/, '')
  const stdio = ['ignore', 'ignore', 'inherit'] as const
  const env = environment(follower)
  running.push(spawn('sh', ['-ec', command], { cwd, env, detached: true, stdio: [...stdio] }))
  const variables = () => readFile(join(cwd, 'devnet.env'), 'utf8').catch(() => '')
  if (code.includes('devnet --env '))
    return until(async () => (await variables()).includes('BUYER_KEY='))
  await until(() =>
    fetch(paidUrl).then(
      ({ status }) => status === 402,
      () => false,
    ),
  )
}

/** Puts our versions over those that npm would take; a project of a user has no need of it. */
export async function pinVersions(project: string): Promise<void> {
  const file = join(project, 'package.json')
  const manifest = JSON.parse(await readFile(file, 'utf8')) as object
  const overrides = { viem: await testedVersion('viem'), zod: await testedVersion('zod') }
  await writeFile(file, JSON.stringify({ ...manifest, overrides }))
}
