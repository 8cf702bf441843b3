import { describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCli } from '../../src/tools/cli/cli.js'
import { blocks, inlineCode, page, pages, ROOT } from './documents.js'
import { isEndpoint, useEndpoints } from './endpoints.js'
import { commandsIn, type ShellCommand } from './shell.js'

const CLI = 'express-x402-gateway'

interface Found {
  readonly at: string
  readonly command: ShellCommand
}

const inBlocks: readonly Found[] = blocks
  .filter(({ lang }) => lang === 'sh')
  .flatMap(({ at, code }) => commandsIn(code).map((command) => ({ at, command })))

/** Commands within sentences. */
const inProse: readonly Found[] = pages.flatMap((one) =>
  inlineCode(one)
    .filter((code) => /^(?:npx|npm|node) /.test(code) && !code.includes('…') && !code.includes('<'))
    .flatMap(commandsIn)
    .map((command) => ({ at: one.path, command })),
)

/** Programs that are not ours, and take what they take. */
const FOREIGN = new Set([
  'mkdir',
  'cd',
  'sqlite3',
  'pg_dump',
  'chmod',
  'pm2',
  'docker',
  'cp',
  'echo',
])

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<
  'scripts' | 'dependencies' | 'peerDependencies' | 'devDependencies',
  Record<string, string>
>
const packages = Object.keys({
  ...manifest.dependencies,
  ...manifest.peerDependencies,
  ...manifest.devDependencies,
  [CLI]: '',
  // test/e2e/page-programs.test.ts installs it.
  'serverless-http': '',
})

/** What `--help` of a command prints. */
async function helpOf(words: readonly string[]): Promise<string | undefined> {
  let text = ''
  const code = await runCli([...words, '--help'], {
    env: {},
    cwd: ROOT,
    signal: new AbortController().signal,
    print: (line) => (text += line),
    complain: () => undefined,
    write: () => Promise.resolve(),
  })
  return code === 0 ? text : undefined
}

/** What is wrong with the name or the flags of a command of ours; empty where nothing is. */
async function problemOfOurs([name = '', ...rest]: readonly string[]): Promise<string> {
  if (name.startsWith('<')) return ''
  const sub = name === 'ledger' && rest[0] !== undefined ? [rest[0]] : []
  const help = await helpOf([name, ...sub])
  if (help === undefined) return `there is no command ${name}`
  const flags = rest.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0]!)
  const unknown = flags.filter((flag) => !new RegExp(`${flag}\\b`).test(help) && flag !== '--help')
  return unknown.length === 0 ? '' : `${name} has no ${unknown.join(', ')}`
}

function problemOfNpm([action = '', ...names]: readonly string[]): string {
  if (action === 'init' || action === 'test') return ''
  const [name = ''] = names
  if (action === 'audit') return ''
  if (action === 'run') return name in manifest.scripts ? '' : `there is no script ${name}`
  if (action !== 'install') return `npm ${action} is not expected here`
  const unknown = names
    .filter((word) => !word.startsWith('-'))
    .map((one) => one.replace(/(.)@.*$/, '$1'))
    .filter((one) => !packages.includes(one))
  return unknown.length === 0 ? '' : `${unknown.join(', ')} is no package of ours or of our tests`
}

async function problemOfCurl(words: readonly string[]): Promise<string> {
  const url = words.find((word) => word.startsWith('http'))
  if (url === undefined) return 'there is no URL'
  const json = words[words.indexOf('--json') + 1]
  const hasBody = words.includes('--json')
  if (hasBody && !json!.startsWith('@')) JSON.parse(json!)
  const { hostname, pathname } = new URL(url)
  if (hostname === 'localhost') return ''
  const method = hasBody ? 'POST' : 'GET'
  return (await isEndpoint(method, pathname)) ? '' : `there is no ${method} ${pathname}`
}

/** A variable before a command: `NAME=value npx …`. */
const VARIABLE = /^[A-Z0-9_]+=/

async function problemOf({ at, command }: Found): Promise<string> {
  const [program = '', ...rest] = command.slice(command.findIndex((word) => !VARIABLE.test(word)))
  if (FOREIGN.has(program)) return ''
  switch (program) {
    case 'npx':
      return rest[0] === CLI ? problemOfOurs(rest.slice(1)) : `npx ${rest[0]} is not ours`
    case 'npm':
      return problemOfNpm(rest)
    case 'curl':
      return problemOfCurl(rest)
    case 'node': {
      const file = rest.find((word) => !word.startsWith('-'))
      const isThere = blocks.some(
        (block) => block.at.split(':')[0] === at.split(':')[0] && block.meta === `file=${file}`,
      )
      return isThere ? '' : `no block of the page is ${file}`
    }
    default:
      return `'${program}' is not known`
  }
}

useEndpoints()

describe('the commands of the documentation', () => {
  it('are found', () => {
    expect(inBlocks.length).toBeGreaterThan(30)
    expect(inProse.length).toBeGreaterThan(10)
  })

  it('have names, flags and scripts that exist', async () => {
    const problems: string[] = []
    for (const found of [...inBlocks, ...inProse]) {
      const problem = await problemOf(found)
      if (problem !== '') problems.push(`${found.at}: ${found.command.join(' ')}: ${problem}`)
    }
    expect(problems).toEqual([])
  })

  it.each([
    ['npx express-x402-gateway serv', 'there is no command serv'],
    ['npx express-x402-gateway serve --prot 1', 'serve has no --prot'],
    ['npx express-x402-gateway ledger export --form csv', 'ledger has no --form'],
    ['npm run exemple', 'there is no script exemple'],
    ['npm install left-pad', 'left-pad is no package of ours or of our tests'],
    ['curl https://pay.example.com/api/v2/payment/sttle', 'there is no GET /api/v2/payment/sttle'],
    ['node other.mjs', 'no block of the page is other.mjs'],
  ])('would be refused if wrong: %s', async (line, problem) => {
    const [command = []] = commandsIn(line)
    expect(await problemOf({ at: 'README.md:1', command })).toBe(problem)
  })

  it('name every flag of the command line on the page of the configuration', async () => {
    const rows = inlineCode(page('configuration.md'))
    const missing: string[] = []
    const help = (await helpOf(['help'])) ?? ''
    const names = [...help.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name = '']) => name)
    expect(names.length).toBeGreaterThan(8)
    for (const name of names) {
      const text = (await helpOf([name])) ?? ''
      const own = rows.filter((row) => row.split(' ')[0] === name).join(' ')
      const flags = new Set([...text.matchAll(/--[a-z-]+/g)].map(([flag]) => flag))
      for (const flag of flags)
        if (!own.includes(flag) && !['--config', '--ledger'].includes(flag))
          missing.push(`${name} ${flag}`)
    }
    expect(missing).toEqual([])
  })
})
