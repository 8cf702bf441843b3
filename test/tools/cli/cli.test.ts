import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals'
import { Database } from '../../support/sqlite.js'
import { runCli } from '../../../src/tools/cli/cli.js'
import { until } from '../../support/until.js'
import type { CliContext } from '../../../src/tools/cli/command.js'
import type { Environment } from '../../../src/gateway/config/read/variables.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { useCleanup, temporaryFolder } from '../../support/cleanup.js'
import { createSchema, findPostgres } from '../../support/postgres.js'

const KEY = `0x${'5e'.repeat(32)}`
const TOKEN = 'x402_token-of-the-shop'
const PAY_TO = '0x000000000000000000000000000000000000bEEF'
const ENVIRONMENT = {
  X402_PAY_TO: PAY_TO,
  X402_NETWORK: 'base',
  X402_RPC_URL: 'http://127.0.0.1:9/v2/secret-provider-key',
  X402_RELAYER_KEY: KEY,
  X402_PROJECT_TOKEN: TOKEN,
}
const CONFIG = {
  networks: { base: { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [KEY] } },
  projects: [{ id: 'acme', tokens: [TOKEN], merchant: { payTo: PAY_TO } }],
}

const postgres = await findPostgres()
const cwd = temporaryFolder(useCleanup(afterAll))
beforeEach(async () => {
  await rm(join(cwd, 'gateway.config.json'), { force: true })
})

const writeConfig = (content: unknown, name = 'gateway.config.json'): Promise<void> =>
  writeFile(join(cwd, name), typeof content === 'string' ? content : JSON.stringify(content))

/** A command that runs, with what it wrote so far. */
function start(
  argv: readonly string[],
  env: Environment = {},
  context: Pick<CliContext, 'isRedirected'> = {},
) {
  const printed: string[] = []
  const complained: string[] = []
  const ending = new AbortController()
  let onLine: (line: string) => void = () => undefined
  const firstLine = new Promise<string>((resolve) => (onLine = resolve))
  const exit = runCli(argv, {
    env,
    cwd,
    signal: ending.signal,
    print: (line) => {
      printed.push(line)
      onLine(line)
    },
    complain: (line) => void complained.push(line),
    write: async (text) => void printed.push(text),
    ...context,
  })
  const lineOrEnd = Promise.race([
    firstLine,
    exit.then(() => Promise.reject(new Error(complained.join()))),
  ])
  // A command that prints nothing is awaited by its exit alone.
  lineOrEnd.catch(() => undefined)
  return {
    printed,
    complained,
    exit,
    firstLine: lineOrEnd,
    end: async () => {
      ending.abort()
      return exit
    },
  }
}

/** Runs a command to its end. */
async function run(argv: readonly string[], env?: Environment) {
  const { exit, printed, complained } = start(argv, env)
  return { code: await exit, printed, complained: complained.join('\n') }
}

/** Serves, looks at one answer of the gateway, and ends it. */
async function serve(argv: readonly string[], env?: Environment) {
  const command = start(['serve', '--port', '0', ...argv], env)
  const url = /http:\/\/\S+$/.exec(await command.firstLine)?.[0]
  const profile = await fetch(`${url}/api/v2/merchant/payment-profile`, {
    headers: { 'X-Project-Identify-Token': TOKEN, Origin: 'https://shop.example' },
  })
  const checkout = await fetch(`${url}/api/v2/merchant/checkout-prepare`, {
    method: 'POST',
    headers: { 'X-Project-Identify-Token': TOKEN, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      amount: '1',
      currency: 'USD',
      resource: { url: 'https://shop.example/' },
    }),
  })
  const prepared = (await checkout.json()) as Record<string, { config: { accepts: object[] } }[]>
  return {
    url,
    ...command,
    status: profile.status,
    // oxlint-disable-next-line typescript/no-explicit-any -- a document of any handler
    profile: (await profile.json()) as any,
    accepts: Object.values(prepared)[0]?.[0]?.config?.accepts,
    poweredBy: profile.headers.get('x-powered-by'),
    code: await command.end(),
  }
}

describe('serve', () => {
  it('answers from when it has printed its URL, in one line, until it is ended', async () => {
    const { url, printed, status, code, poweredBy } = await serve([], ENVIRONMENT)
    expect(printed).toStrictEqual([expect.stringMatching(/http:\/\/127\.0\.0\.1:[1-9]\d*$/)])
    expect([status, code, poweredBy]).toStrictEqual([200, 0, null])
    await expect(fetch(url!)).rejects.toThrow('fetch failed')
  })

  it.each([
    ['GET', '/'],
    ['GET', '/favicon.ico'],
    ['POST', '/api/v1/payment/settle'],
    ['DELETE', '/%zz'],
  ])('answers the unknown %s %s with problem details', async (method, path) => {
    const command = start(['serve', '--port', '0'], ENVIRONMENT)
    const url = /http:\/\/\S+$/.exec(await command.firstLine)?.[0]
    const answer = await fetch(`${url}${path}`, { method })
    expect(answer.status).toBe(404)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.json()).toMatchObject({
      ...{ type: 'urn:x402-gateway:problem:not_found', title: 'Not Found', status: 404 },
      ...{ code: 'not_found', detail: expect.stringContaining(path) },
    })
    await command.end()
  })

  it('reads gateway.config.json', async () => {
    await writeConfig({ ...CONFIG, handlerId: 'com.example.file' })
    const { profile, status } = await serve([])
    expect(status).toBe(200)
    expect(Object.keys(profile)).toStrictEqual(['com.example.file'])
  })

  it('reads the file of --config', async () => {
    await writeConfig({ ...CONFIG, handlerId: 'com.example.other' }, 'other.json')
    const { profile } = await serve(['--config', 'other.json', '--host', '127.0.0.1'])
    expect(Object.keys(profile)).toStrictEqual(['com.example.other'])
  })

  it('lets the environment override the file', async () => {
    await writeConfig({
      publicUrl: 'https://file.example',
      networks: { 'eip155:8453': { ...CONFIG.networks.base, assets: ['EURC'] } },
      projects: [
        {
          id: 'acme',
          tokens: ['x402_token-of-the-file'],
          merchant: { payTo: `0x${'01'.repeat(20)}` },
        },
      ],
    })
    const { profile, accepts } = await serve([], {
      X402_PUBLIC_URL: 'https://pay.example.com',
      X402_NETWORK: 'base',
      X402_ASSET: 'USDC',
      X402_PAY_TO: PAY_TO,
      X402_PROJECT_TOKEN: TOKEN,
    })
    expect(profile['xyz.vendor.gateway_payment'][0].spec).toBe(
      'https://pay.example.com/ucp/gateway.md',
    )
    expect(accepts).toMatchObject([
      { network: 'eip155:8453', payTo: PAY_TO, extra: { name: 'USD Coin' } },
    ])
    expect(accepts).toHaveLength(1)
  })

  it('applies variables to the only network of the file', async () => {
    const { networks: _, ...rest } = CONFIG
    await writeConfig({ ...rest, networks: { base: { rpcUrl: 'http://127.0.0.1:9' } } })
    const { status } = await serve([], { X402_RELAYER_KEY: KEY })
    expect(status).toBe(200)
  })

  it('needs neither node nor key with a remote facilitator', async () => {
    await writeConfig({ ...CONFIG, networks: { base: {} } })
    const { status } = await serve([], {
      X402_FACILITATOR_URL: 'http://127.0.0.1:9/api/v2/payment',
      X402_FACILITATOR_TOKEN: 'x402_token-of-the-remote',
    })
    expect(status).toBe(200)
  })

  it('creates a project from variables if the file has none', async () => {
    await writeConfig({ networks: CONFIG.networks })
    const { status } = await serve([], { X402_PAY_TO: PAY_TO, X402_PROJECT_TOKEN: TOKEN })
    expect(status).toBe(200)
  })

  it('takes secrets that the file refers to from the environment and from .env', async () => {
    await writeConfig(`{
      // The node, with its key.
      "networks": { "base": { "rpcUrl": "http://127.0.0.1:9/\${RPC_KEY}", "relayerKeys": [{ "env": "KEY" }] } },
      "projects": [{ "id": "acme", "tokens": ["\${TOKEN}"], "merchant": { "payTo": "${PAY_TO}" } }]
    }`)
    await writeFile(join(cwd, '.env'), `KEY=${KEY}\nTOKEN=overridden\nPORT=1\n`)
    const env = { RPC_KEY: 'secret', TOKEN }
    const { status } = await serve([], env)
    const without = await run(['serve'], { RPC_KEY: 'secret', TOKEN: ' ' })
    await rm(join(cwd, '.env'))
    const missing = await run(['serve'], { TOKEN })
    expect(status).toBe(200)
    expect(without.complained).toContain('projects.0.tokens.0')
    expect(missing.complained.split('\n')).toStrictEqual([
      'networks.base.rpcUrl: is the environment variable RPC_KEY, which is not set',
      'networks.base.relayerKeys.0: is the environment variable KEY, which is not set',
    ])
  })

  it('warns of variables that nobody reads', async () => {
    const names = ['PUBLICURL', 'METRICS_HOST', 'NETWORK_NAMES', 'ACCESS_LOG', 'FOO']
    const unknown = Object.fromEntries(names.map((name) => [`X402_${name}`, 'x']))
    const { complained } = await serve([], { ...ENVIRONMENT, ...unknown })
    const messages = complained.map((line) => (JSON.parse(line) as { message: string }).message)
    for (const expected of [
      'X402_PUBLICURL: nothing reads this variable; did you mean X402_PUBLIC_URL?',
      'X402_METRICS_HOST: nothing reads this variable; set the option metrics.host',
      'X402_NETWORK_NAMES: nothing reads this variable; set the option networkNames',
      'X402_FOO: nothing reads this variable',
    ])
      expect(messages).toContain(expected)
    expect(messages.find((one) => one.startsWith('X402_ACCESS_LOG'))).toContain(
      'serve --access-log',
    )
  })

  it('listens at PORT and HOST unless flags override them', async () => {
    const command = start(['serve', '--memory'], { ...ENVIRONMENT, PORT: '0', HOST: '127.0.0.1' })
    expect(await command.firstLine).toMatch(/127\.0\.0\.1:[1-9]/)
    expect(await command.end()).toBe(0)
    const wrong = await run(['serve'], { ...ENVIRONMENT, PORT: 'http' })
    expect([wrong.code, wrong.complained]).toStrictEqual([
      1,
      'PORT: must be a port between 0 and 65535',
    ])
    const flagged = await serve([], { ...ENVIRONMENT, PORT: '70000' })
    expect(flagged.status).toBe(200)
  })

  it('logs a line of JSON for each event that an operator should know', async () => {
    const { complained } = await serve([], ENVIRONMENT)
    const lines = complained.map((line) => JSON.parse(line) as { message: string })
    expect(lines.filter(({ message }) => message.includes('browser'))).toStrictEqual([
      {
        level: 'warn',
        time: expect.any(String),
        message: expect.stringContaining('browser'),
        project: 'default',
      },
    ])
  })

  it('logs failures without the secrets of its configuration', async () => {
    const command = start(['serve', '--port', '0'], ENVIRONMENT)
    const url = /http:\/\/\S+$/.exec(await command.firstLine)?.[0]
    const post = async (path: string, body: object): Promise<Response> =>
      fetch(`${url}/api/v2/payment/${path}`, {
        method: 'POST',
        headers: { 'X-Project-Identify-Token': TOKEN, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
    const requirements = await post('requirements', {
      resourceUrl: 'https://shop.example/',
      requestedAmount: 1,
    })
    const { accepts } = (await requirements.json()) as { accepts: object[] }
    const now = Math.floor(Date.now() / 1000)
    const authorization = {
      from: `0x${'0a'.repeat(20)}`,
      to: PAY_TO,
      value: '1000000',
      validAfter: '0',
      validBefore: String(now + 300),
      nonce: `0x${'00'.repeat(32)}`,
    }
    const answer = await post('verify', {
      paymentPayload: {
        x402Version: 2,
        accepted: accepts[0],
        payload: { signature: `0x${'11'.repeat(70)}`, authorization },
      },
      paymentRequirements: accepts[0],
    })
    expect(answer.status).toBe(502)
    expect(await command.end()).toBe(0)
    const log = command.complained.join()
    const lines = command.complained.map((line) => JSON.parse(line) as { level: string })
    expect(lines.find((line) => 'error' in line)).toMatchObject({
      level: 'error',
      code: 'chain_unreachable',
      error: { message: expect.any(String), cause: { message: expect.any(String) } },
    })
    for (const secret of [KEY.slice(2), TOKEN, 'secret-provider-key', '127.0.0.1:9'])
      expect(log).not.toContain(secret)
  })
})

describe('the ledger of serve', () => {
  const ledgerFile = () => join(cwd, 'data/ledger.db')
  beforeEach(() => rm(join(cwd, 'data'), { recursive: true, force: true }))

  it('keeps payments in ./data/ledger.db', async () => {
    expect((await serve([], ENVIRONMENT)).code).toBe(0)
    const ledger = openSqliteLedger(ledgerFile())
    expect(await ledger.payments.listSubmitted()).toStrictEqual([])
    await ledger.close()
  })

  it('keeps payments in memory with --memory, whatever DATABASE_URL says', async () => {
    const url = 'postgres://127.0.0.1:9/none'
    const env = { ...ENVIRONMENT, DATABASE_URL: url, X402_DATABASE_URL: url }
    expect((await serve(['--memory'], env)).status).toBe(200)
    expect(existsSync(ledgerFile())).toBe(false)
  })

  it('creates no ledger if its options are wrong', async () => {
    await run(['serve'], { ...ENVIRONMENT, X402_PAY_TO: 'x' })
    expect(existsSync(ledgerFile())).toBe(false)
  })

  it('refuses a file that is no ledger, and names the remedy', async () => {
    await mkdir(ledgerFile(), { recursive: true })
    const { code, printed, complained } = await run(['serve', '--port', '0'], ENVIRONMENT)
    expect([code, printed]).toStrictEqual([1, []])
    expect(complained).toMatch(/^ledger: .*data\/ledger\.db cannot be opened/)
  })

  it('refuses a file that another process holds locked', async () => {
    await mkdir(join(cwd, 'data'))
    const locking = new Database(ledgerFile())
    locking.exec('PRAGMA journal_mode = WAL; BEGIN IMMEDIATE')
    const { code, printed, complained } = await run(['serve', '--port', '0'], ENVIRONMENT)
    locking.exec('ROLLBACK')
    locking.close()
    expect([code, printed]).toStrictEqual([1, []])
    expect(complained).toMatch(/^ledger: .*database is locked/)
  })

  it.each([
    ['', 'DATABASE_URL'],
    ['file', 'DATABASE_URL'],
    ['', 'X402_DATABASE_URL'],
    ['file', 'X402_DATABASE_URL'],
  ])('refuses a database that does not answer (%s %s)', async (file, variable) => {
    if (file) await writeConfig(CONFIG)
    const { code, printed, complained } = await run(['serve', '--port', '0'], {
      ...(file ? {} : ENVIRONMENT),
      [variable]: 'postgres://me:pa55word@127.0.0.1:9/none',
    })
    expect([code, printed]).toStrictEqual([1, []])
    expect(complained).toMatch(
      new RegExp(`^${variable}: nobody listens at 127.0.0.1:9.*ECONNREFUSED`),
    )
    expect(complained).not.toContain('pa55word')
  })

  it.each([
    ['postgres://me:pa55word@127.0.0.1:9/none', /^ledger: nobody listens at 127\.0\.0\.1:9/],
    ['postgres:/me:pa55word@127.0.0.1:9/none', /^ledger: must be a URL like postgres:/],
    ['mysql://me:pa55word@127.0.0.1:9/none', /^ledger: must be a URL like postgres:/],
  ])('takes a URL of --ledger for no file: %s', async (url, said) => {
    const files = await readdir(cwd)
    const { code, complained } = await run(['serve', '--port', '0', '--ledger', url], ENVIRONMENT)
    expect(code).toBe(1)
    expect(complained).toMatch(said)
    expect(complained).not.toContain('pa55word')
    expect(await readdir(cwd)).toStrictEqual(files)
  })

  const describePostgres = postgres === undefined ? describe.skip : describe
  describePostgres('on PostgreSQL', () => {
    it('keeps payments in the PostgreSQL of --ledger', async () => {
      const schema = await createSchema(postgres!)
      try {
        const { complained, code } = await serve(['--ledger', schema.url], ENVIRONMENT)
        expect(code).toBe(0)
        expect(complained.join('\n')).toContain('"ledger":"PostgreSQL ')
        expect(await schema.execute('SELECT 1 FROM x402_authorizations')).toStrictEqual([])
      } finally {
        await schema.drop()
      }
    })
  })

  it.each([[['fo\x1b[2Jo']], [['serve', '--x\x1b[2J']], [['pay', 'ftp://a/\x1b[2J']]])(
    'prints no control character of an argument: %j',
    async (argv) => {
      const { code, complained } = await run(argv)
      expect([code, complained.includes('\x1b')]).toStrictEqual([2, false])
    },
  )

  it('keeps payments in the file of --ledger, relative to the configuration and readable by its owner only', async () => {
    await mkdir(join(cwd, 'etc'), { recursive: true })
    await writeConfig(CONFIG, 'etc/shop.json')
    const { complained } = await serve(['--config', 'etc/shop.json', '--ledger', 'kept/a.db'])
    const file = join(cwd, 'etc/kept/a.db')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(complained.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({
        ...{ level: 'info', message: 'Starting.', ledger: file },
        configuration: join(cwd, 'etc/shop.json'),
      }),
    )
  })

  it('keeps payments beside its configuration, and refuses to start an empty ledger if an earlier version has left one elsewhere', async () => {
    await mkdir(join(cwd, 'srv'), { recursive: true })
    await writeConfig(CONFIG, 'srv/shop.json')
    await serve(['--config', 'srv/shop.json'])
    expect(existsSync(join(cwd, 'srv/data/ledger.db'))).toBe(true)
    await rm(join(cwd, 'srv/data'), { recursive: true })

    await writeConfig(CONFIG)
    await serve([])
    const { code, complained } = await run(['serve', '--config', 'srv/shop.json'])
    expect(code).toBe(1)
    expect(complained).toMatch(/^ledger: .*srv\/data\/ledger\.db does not exist.*--ledger/m)
    const named = await serve(['--config', 'srv/shop.json', '--ledger', ledgerFile()])
    expect(named.status).toBe(200)
  })

  it('refuses a database of another kind', async () => {
    const env = { ...ENVIRONMENT, DATABASE_URL: 'mysql://me:pa55word@127.0.0.1/none' }
    const { code, complained } = await run(['serve'], env)
    expect(code).toBe(1)
    expect(complained).toMatch(/^DATABASE_URL: .*postgres:/)
    expect(complained).not.toContain('pa55word')
  })
})

describe('serve with a wrong configuration', () => {
  it.each([
    ['bad JSON, naming its line', '{\n  "networks": {},\n  "projects": [,]\n}', /line 3/],
    ['a comma too much', '{\n  "networks": {},\n}', /line 3/],
    ['what ends too early', '{\n  "networks": {', /line 2/],
    ['what goes on too long', '{}\n}', /line 2/],
    ['a word that is none', '{\n"publicUrl": nil\n}', /line 2/],
    ['a text over two lines', '{\n"publicUrl": "a\nb"\n}', /line 2/],
    ['an empty file', '', /line 1/],
  ])('refuses %s', async (_name, text, where) => {
    await writeConfig(text)
    const { code, printed, complained } = await run(['serve'])
    expect([code, printed]).toStrictEqual([1, []])
    expect(complained).toMatch(/^config: /)
    expect(complained).toMatch(where)
  })

  it('refuses malformed JSON without quoting it', async () => {
    await writeConfig(`{ "relayerKeys": ["${KEY}" }`)
    expect((await run(['serve'])).complained).not.toContain('5e5e')
  })

  it.each([['null'], ['[]'], ['"text"']])('refuses a file that holds %s', async (text) => {
    await writeConfig(text)
    const { code, complained } = await run(['serve'])
    expect(code).toBe(1)
    expect(complained).toMatch(/^config: .*object/)
  })

  it('refuses a file of --config that does not exist', async () => {
    const { code, complained } = await run(['serve', '--config', 'missing.json'], ENVIRONMENT)
    expect(code).toBe(1)
    expect(complained).toMatch(/^config: .*missing\.json.*ENOENT/)
  })

  it('refuses wrong options, one a line, by variable or by path', async () => {
    await writeConfig({ ...CONFIG, handlerID: 'x', projects: [{ id: 'a', tokens: ['short'] }] })
    const { code, complained } = await run(['serve'], {
      X402_PUBLIC_URL: 'pay.example.com',
      X402_PAY_TO: '0x1',
      X402_QUOTE_SECRET: 'short',
      X402_RELAYER_KEY: KEY.slice(3),
    })
    expect(code).toBe(1)
    expect(new Set(complained.split('\n').map((line) => line.split(':')[0]))).toStrictEqual(
      new Set([
        'X402_PAY_TO',
        'X402_PUBLIC_URL',
        'X402_QUOTE_SECRET',
        'X402_RELAYER_KEY',
        'handlerID',
        'projects.0.tokens.0',
      ]),
    )
    expect(complained).not.toContain('5e5e')
  })

  it('names the path, not the variable, for a mistake in another network of the file', async () => {
    await writeConfig({ ...CONFIG, networks: { ...CONFIG.networks, polygon: { rpcUrl: 'x' } } })
    const { complained } = await run(['serve'], {
      X402_NETWORK: 'base',
      X402_RPC_URL: 'http://127.0.0.1:9',
    })
    expect(complained.split('\n').map((line) => line.split(':')[0])).toStrictEqual([
      'networks.polygon.rpcUrl',
      'networks.polygon.relayerKeys',
    ])
  })

  it('refuses variables that could mean several networks or projects', async () => {
    await writeConfig({
      ...CONFIG,
      networks: { ...CONFIG.networks, polygon: CONFIG.networks.base },
    })
    expect((await run(['serve'], { X402_RPC_URL: 'http://127.0.0.1:9' })).complained).toMatch(
      /^X402_NETWORK: /,
    )
    await writeConfig({ ...CONFIG, projects: [...CONFIG.projects, { id: 'b' }] })
    expect((await run(['serve'], { X402_PAY_TO: PAY_TO })).complained).toMatch(/^X402_PAY_TO: /)
    expect((await run(['serve'], { X402_PROJECT_TOKEN: TOKEN })).complained).toMatch(
      /^X402_PROJECT_TOKEN: /,
    )
  })

  it.each([
    ['ledger', '--ledger'],
    ['facilitator', 'X402_FACILITATOR_URL'],
    ['logger', 'standard error'],
  ])('refuses %s in a file, and names the replacement', async (option, instead) => {
    await writeConfig({ ...CONFIG, [option]: 'x' })
    const { code, complained } = await run(['serve'])
    expect(code).toBe(1)
    expect(complained).toMatch(new RegExp(`^${option}: cannot be set in a file.*${instead}`))
  })

  it('refuses misspelt members and networks, and suggests the right ones', async () => {
    await writeConfig({
      networks: { Base: { rpcURL: 'http://127.0.0.1:9', relayerKeys: [KEY] }, 8453: {} },
      projects: [{ id: 'acme', merchant: { payto: PAY_TO } }],
    })
    const { complained } = await run(['serve'])
    expect(complained).toContain(
      "networks.Base: 'Base' is not a known network; did you mean 'base'?",
    )
    expect(complained).toContain("did you mean 'eip155:8453'?")
    expect(complained).toContain(
      "networks.Base.rpcURL: there is no such option; did you mean 'rpcUrl'?",
    )
    expect(complained).toContain("merchant.payto: there is no such option; did you mean 'payTo'?")
  })

  it('reports what an empty folder lacks in one line', async () => {
    const { code, complained } = await run(['serve'])
    expect(code).toBe(1)
    expect(complained).toBe(
      `config: there is no ${join(cwd, 'gateway.config.json')}; \`npx express-x402-gateway init\` writes one. Or set X402_RPC_URL, X402_RELAYER_KEY, X402_NETWORK and X402_PAY_TO`,
    )
  })

  it('names each variable that is missing beside those that are set, and the file', async () => {
    const { complained } = await run(['serve'], { X402_NETWORK: 'basee' })
    expect(complained).toContain(
      "X402_NETWORK: 'basee' is not a known network; did you mean 'base'?",
    )
    expect(complained).toContain('X402_PAY_TO: is missing')
    expect(complained).toContain(`config: there is no ${join(cwd, 'gateway.config.json')};`)
  })

  it('refuses a misspelt variable, and suggests the missing one', async () => {
    const { complained } = await run(['serve'], { X402_PAYTO: PAY_TO, X402_NETWORK: 'base' })
    expect(complained).toContain(
      'X402_PAY_TO: is missing: the address that is paid; X402_PAYTO is set: did you mean X402_PAY_TO?',
    )
  })

  it.each(['foo', '', 'true'])(
    'refuses --trust-proxy %j and names flag and value',
    async (given) => {
      const { code, complained } = await run(['serve', '--trust-proxy', given], ENVIRONMENT)
      expect(code).toBe(2)
      expect(complained).toContain(`--trust-proxy '${given}' `)
    },
  )

  it('refuses a malformed facilitator URL by its variable', async () => {
    await writeConfig(CONFIG)
    const { complained } = await run(['serve'], { X402_FACILITATOR_URL: 'nowhere' })
    expect(complained).toMatch(/^X402_FACILITATOR_URL: /)
  })

  it('refuses a port in use and a host of another machine', async () => {
    const other: Server = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as AddressInfo
    const taken = await run(['serve', '--port', String(port)], ENVIRONMENT)
    other.close()
    expect(taken.code).toBe(1)
    expect(taken.complained).toMatch(new RegExp(`^port: ${port} .*--port`, 'm'))

    const away = await run(['serve', '--port', '0', '--host', '203.0.113.1'], ENVIRONMENT)
    expect(away.code).toBe(1)
    expect(away.complained).toMatch(/^host: .*203\.0\.113\.1/m)
  })
})

describe('the command line', () => {
  it.each([
    [[], 'A command is missing.'],
    [['sell'], "There is no command 'sell'."],
    [['sevre'], "There is no command 'sevre'; did you mean 'serve'?"],
    [['serve', '--prot', '1'], 'There is no --prot here; did you mean --port?'],
    [
      ['serve', '--x'],
      'There is no --x here; there is --config, --ledger, --port, --host, --trust-proxy, --memory, --access-log.',
    ],
    [['serve', 'now'], "Unexpected argument 'now'."],
    [['serve', '--port'], undefined],
    [['serve', '--memory=1'], undefined],
    [['serve', '--memory', '--ledger', 'x'], '--memory and --ledger exclude each other.'],
    [['serve', '--port', 'http'], undefined],
    [['serve', '--port', ''], undefined],
    [['serve', '--port', '1.5'], undefined],
    [['serve', '--port', '65536'], undefined],
    [['devnet', '--port', '-1'], undefined],
    [['devnet', '--block-time', 'soon'], undefined],
    [['token', '--length', '5'], 'There is no --length here.'],
  ])('fails with exit code 2 and says where help is for %j', async (argv, message) => {
    const { code, printed, complained } = await run(argv)
    expect([code, printed]).toStrictEqual([2, []])
    const [name = ''] = argv
    const isKnown = ['serve', 'devnet', 'token'].includes(name)
    const help = `Help: express-x402-gateway ${isKnown ? `${name} ` : ''}--help`
    expect(complained).toContain(argv.length === 0 ? 'Usage: express-x402-gateway <command>' : help)
    if (message !== undefined) expect(complained.split('\n')[0]).toBe(message)
  })

  it.each([[['help']], [['--help']], [['-h']]])('gives an overview on %j', async (argv) => {
    const { code, printed, complained } = await run(argv)
    expect([code, complained]).toStrictEqual([0, ''])
    for (const command of ['serve', 'devnet', 'ledger', 'token'])
      expect(printed.join()).toContain(`\n  ${command} `)
  })

  it.each([
    [['serve', '--help'], 'serve '],
    [['token', '-h'], 'token'],
    [['help', 'devnet'], 'devnet '],
    [['ledger', '--help'], 'ledger export'],
    [['ledger', 'prune', '--help'], 'ledger prune'],
  ])('explains a single command on %j', async (argv, usage) => {
    const { code, printed, complained } = await run(argv)
    expect([code, complained]).toStrictEqual([0, ''])
    expect(printed.join()).toMatch(new RegExp(`^Usage: express-x402-gateway ${usage}`))
  })

  it.each(['--version', '-v'])('prints the version on %s', async (flag) => {
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
    expect((await run([flag])).printed).toStrictEqual([version])
  })
})

describe('token', () => {
  it('prints a token and its hash', async () => {
    const { code, printed } = await run(['token'])
    expect(code).toBe(0)
    const [token = '', hash] = printed
    expect(token).toMatch(/^x402_[\w-]{43}$/)
    expect(hash).toBe(`sha256:${createHash('sha256').update(token).digest('hex')}`)
    expect(printed).toHaveLength(2)
  })
})

describe('devnet', () => {
  it('prints the accounts and URL as one line of JSON, and ends by a signal', async () => {
    const command = start(['devnet', '--port', '0', '--block-time', '1'])
    const info = JSON.parse(await command.firstLine) as { rpcUrl: string; chainId: number }
    expect(info.chainId).toBe(84532)
    const answer = await fetch(info.rpcUrl, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
    })
    expect(await answer.json()).toMatchObject({ result: '0x14a34' })
    expect(await command.end()).toBe(0)
    expect(command.printed).toHaveLength(1)
    expect(command.complained).toStrictEqual([])
    await expect(fetch(info.rpcUrl)).rejects.toThrow('fetch failed')
  })

  it('says that it is ready if its output goes to a file', async () => {
    const command = start(['devnet', '--port', '0'], {}, { isRedirected: true })
    const { rpcUrl } = JSON.parse(await command.firstLine) as { rpcUrl: string }
    expect(command.complained).toStrictEqual([
      `The local chain is ready on ${rpcUrl}. Stop it with Ctrl+C.`,
    ])
    expect(rpcUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(await command.end()).toBe(0)
  })

  it.each([
    ['devnet', '--env'],
    ['devnet', '--env', '--port', '0'],
    ['devnet', '--env='],
  ])(
    'refuses --env without a file, whose text would be led into an .env that has secrets: %s %s',
    async (...args) => {
      const { code, printed, complained } = await run(args)
      expect(code).toBe(2)
      expect(complained).toContain('devnet --env devnet.env')
      expect(printed).toStrictEqual([])
    },
  )

  it('writes the variables to a file, and prints only its name', async () => {
    const command = start(['devnet', '--env', 'chain.env', '--port', '0'])
    await until(() => command.complained.length >= 2)
    expect(command.complained[1]).toContain('node --env-file=chain.env')
    expect(await readFile(join(cwd, 'chain.env'), 'utf8')).toMatch(/^BUYER_KEY=0x/m)
    expect(await command.end()).toBe(0)
    expect(command.printed).toStrictEqual([])
  })

  it('fails if the time between blocks is malformed', async () => {
    const { code, complained } = await run(['devnet', '--block-time', '0'])
    expect(code).toBe(1)
    expect(complained).toMatch(/^blockTime: /)
  })
})
