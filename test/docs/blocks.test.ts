import { describe, expect, it } from '@jest/globals'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAddress } from 'viem/accounts'
import { openConfig } from '../../src/gateway/config/read/config-file.js'
import { VARIABLES } from '../../src/gateway/config/read/variables.js'
import { resolveOptions } from '../../src/gateway/config/resolve/resolve-options.js'
import { MERCHANT, PAYERS, RELAYER_KEYS } from '../../src/tools/devnet/accounts.js'
import { isConfigError } from '../../src/shared/errors.js'
import { blocks, pages, type Block } from './documents.js'
import { isEndpoint, useEndpoints } from './endpoints.js'

const VARIABLE_NAMES = VARIABLES.map(([name]) => name)

/** What the variables of the documentation's configurations hold. */
const SECRETS = {
  BASE_RPC_URL: 'https://node.example',
  RELAYER_KEY: `0x${'01'.repeat(32)}`,
  PAY_TO: `0x${'01'.repeat(20)}`,
}

/**
 * How each kind of block is checked; the result says what is wrong. Blocks marked `ts` are type-checked
 * in examples.test.ts, those marked `sh` read in commands.test.ts, and those with a file run in test/e2e:
 * quick-start.test.ts, production-app.test.ts, moving.test.ts, page-programs.test.ts and runtimes.test.ts.
 */
const CHECKS: Readonly<Record<string, (block: Block) => string | Promise<string>>> = {
  ts: ({ code }) => (code.includes('import') ? '' : 'nothing shows where its names come from'),
  js: ({ meta }) => (/^file=[\w-]+\.mjs$/.test(meta) ? '' : 'it names no file, and is never run'),
  sh: ({ meta }) => (['', 'background'].includes(meta) ? '' : `'${meta}' says nothing`),
  json: ({ code, meta }) => (meta === 'config' ? problemOfConfig(code) : problemOfJson(code)),
  http: ({ code }) => problemOfMessage(code),
  ini: ({ code, meta }) => (meta === 'env' ? problemOfEnv(code) : problemOfUnit(code)),
  nginx: ({ code }) => problemOfNginx(code),
  dockerfile: ({ code }) => problemOfImage(code),
  text: ({ at, meta }) => (at.startsWith('README.md') || meta === RULES ? '' : 'nothing checks it'),
  mermaid: ({ code }) => problemOfDiagram(code),
}

/** Rules of hledger, by which test/tools/cli/ledger-journal.test.ts reads an export. */
const RULES = 'file=journal.csv.rules'

/** A file of a project that test/e2e/recipes.test.ts makes and tests. */
const RECIPE = /^recipe=\w+ file=\S+$/

/** TypeScript that needs no import to be understood. */
const ALONE = /^(?:\/\*\*.*?\*\/\s*)?export async function/s

function problemOfJson(code: string): string {
  try {
    JSON.parse(code)
    return ''
  } catch (error) {
    return String(error)
  }
}

/** Opens a configuration as `serve` does. */
async function problemOfConfig(code: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'x402-docs-'))
  try {
    await writeFile(join(folder, 'gateway.config.json'), code)
    const opened = await openConfig({ config: undefined, cwd: folder, env: SECRETS })
    opened.with(resolveOptions)
    return opened.warnings.join('\n')
  } catch (error) {
    if (!isConfigError(error)) throw error
    return error.message
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Reads a request or a response; requests to the gateway must have an endpoint. */
async function problemOfMessage(code: string): Promise<string> {
  const [head = '', body = ''] = code.split('\n\n')
  const [start = '', ...lines] = head.trimEnd().split('\n')
  const request = /^(GET|POST|PATCH|DELETE) (\/\S*) HTTP\/1\.1$/.exec(start)
  if (request === null && !/^HTTP\/1\.1 [1-5]\d\d [A-Z][A-Za-z ]+$/.test(start)) return start
  const odd = lines.find((line) => !/^[A-Za-z0-9-]+: \S.*$/.test(line))
  if (odd !== undefined) return `'${odd}' is no header`
  const headers = new Headers(lines.map((line) => line.split(/: (.*)/s, 2) as [string, string]))
  const type = headers.get('content-type') ?? ''
  const problem = body !== '' && type.includes('json') ? problemOfJson(body) : ''
  if (problem !== '' || request === null || headers.get('host') !== 'pay.example.com')
    return problem
  const [, method = '', path = ''] = request
  return (await isEndpoint(method, path)) ? '' : `there is no ${method} ${path}`
}

function problemOfEnv(code: string): string {
  const lines = code.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const odd = lines.filter((line) => !VARIABLE_NAMES.includes(/^(\w+)=\S+$/.exec(line)?.[1] ?? ''))
  return odd.join('\n')
}

/** Reads a unit of systemd: sections with settings, and a program of this package. */
function problemOfUnit(code: string): string {
  const lines = code.split('\n').filter((line) => line !== '')
  const odd = lines.filter((line) => !/^(?:\[[A-Z]\w+\]|[A-Z]\w+=\S.*)$/.test(line))
  const runsOurs = lines.some((line) => /^ExecStart=\S+\/express-x402-gateway serve$/.test(line))
  return runsOurs ? odd.join('\n') : 'it does not run serve'
}

function problemOfNginx(code: string): string {
  const lines = code.split('\n').map((line) => line.trim())
  const odd = lines.filter((line) => !/^(?:|\}|location .+ \{|[a-z_]+ .+;)$/.test(line))
  const isBalanced = code.split('{').length === code.split('}').length
  return odd.length === 0 && isBalanced ? '' : `${odd.join('\n')} in nginx`
}

/** Reads a Dockerfile: instructions, a user without rights, and a program that gets the signals. */
function problemOfImage(code: string): string {
  const lines = code
    .replaceAll(/\\\n\s*/g, '')
    .trimEnd()
    .split('\n')
  const odd = lines.filter(
    (line) => !/^(?:FROM|WORKDIR|ENV|COPY|RUN|USER|EXPOSE|HEALTHCHECK|CMD) \S/.test(line),
  )
  if (!lines.some((line) => /^USER (?!root)/.test(line))) return 'it runs as root'
  return lines.at(-1)?.startsWith('CMD ["node", ') ? odd.join('\n') : 'it does not start Node'
}

/** Reads a diagram: its kind, then only nodes with labels, arrows and transitions. */
function problemOfDiagram(code: string): string {
  const [kind = '', ...lines] = code.trimEnd().split('\n')
  if (!/^(?:flowchart LR|stateDiagram-v2)$/.test(kind)) return `'${kind}' is no diagram`
  const node = String.raw`(?:\[\*\]|\w+(?:\(?\[[^\]]+\]\)?|\[?\([^)]+\)\]?|\[\([^)]+\)\])?)`
  const arrow = String.raw`(?:-->|-\.->)(?:\|[^|]+\|)?`
  const line = new RegExp(String.raw`^ {2}${node}(?: ${arrow} ${node}(?:: .+)?|, \w+|)$`)
  return lines.filter((one) => !line.test(one)).join('\n')
}

async function problemOf(block: Block): Promise<string> {
  const check = CHECKS[block.lang]
  if (RECIPE.test(block.meta)) return block.at.includes('/testing.md:') ? '' : 'nothing runs it'
  if (check === undefined) return `nothing checks blocks marked '${block.lang}'`
  if (block.lang === 'ts' && ALONE.test(block.code)) return ''
  return check(block)
}

useEndpoints()

describe('the fenced blocks of the documentation', () => {
  it('are found', () => {
    expect(blocks.length).toBeGreaterThan(60)
    for (const lang of Object.keys(CHECKS))
      expect(blocks.map((block) => block.lang)).toContain(lang)
  })

  it.each(blocks)('are of a known kind and well-formed: $at', async (block) => {
    expect(await problemOf(block)).toBe('')
  })

  it.each([
    { lang: '', meta: '', code: 'x' },
    { lang: 'js', meta: '', code: 'x' },
    { lang: 'json', meta: '', code: '{ "a": 1, }' },
    { lang: 'json', meta: 'config', code: '{ "networks": { "bsae": {} } }' },
    { lang: 'http', meta: '', code: 'GET /x HTTP/1.1\nno header\n' },
    { lang: 'http', meta: '', code: 'GET /api/v2/x HTTP/1.1\nHost: pay.example.com\n' },
    { lang: 'ini', meta: 'env', code: 'X402_PAYTO=0x00\n' },
    { lang: 'ini', meta: '', code: '[Service]\nExecStart=/bin/true\n' },
    { lang: 'nginx', meta: '', code: 'location / {\n' },
    { lang: 'mermaid', meta: '', code: 'flowchart LR\n  a -> b\n' },
    { lang: 'dockerfile', meta: '', code: 'FROM node:24-slim\nUSER node\nCMD npm start\n' },
    { lang: 'dockerfile', meta: '', code: 'FROM node:24-slim\nCMD ["node", "app.mjs"]\n' },
  ])('would be refused if broken: $lang $meta $code', async (block) => {
    expect(await problemOf({ ...block, at: 'x.md:1' })).not.toBe('')
  })
})

describe('the accounts in the documentation', () => {
  it('have no publicly known keys', () => {
    const relayers = RELAYER_KEYS.map((key) => privateKeyToAddress(key))
    const accounts = [...PAYERS, MERCHANT].map(({ address }) => address)
    const known = [...accounts, ...relayers].map((address) => address.toLowerCase())
    const found = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/0x[0-9a-fA-F]{40}(?![0-9a-fA-F])/g)]
        .filter(([address]) => known.includes(address.toLowerCase()))
        .map(([address]) => `${path}: ${address}`),
    )
    expect(found).toEqual([])
  })
})

describe('the names in the documentation', () => {
  it('are variables that something reads', () => {
    const named = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/\bX402_[A-Z][A-Z_]*[A-Z]\b/g)].map(([name]) => ({ path, name })),
    )
    expect(named.length).toBeGreaterThan(40)
    expect(named.filter(({ name }) => !VARIABLE_NAMES.includes(name))).toEqual([])
  })

  it('are endpoints that the gateway has', async () => {
    const named = pages.flatMap(({ path, prose }) =>
      [...prose.matchAll(/`(GET|POST|PATCH|DELETE) (\/[^\s`?…<]+)(?=[\s`?])/g)].map(
        ([, method = '', endpoint = '']) => ({ path, method, endpoint }),
      ),
    )
    expect(named.length).toBeGreaterThan(20)
    const isApi = (path: string) => /^\/(?:api|ucp|livez|readyz|metrics)/.test(path)
    const unknown = []
    for (const one of named)
      if (isApi(one.endpoint) && !(await isEndpoint(one.method, one.endpoint))) unknown.push(one)
    expect(unknown).toEqual([])
  })
})
