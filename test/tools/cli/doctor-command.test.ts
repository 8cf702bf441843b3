import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from '@jest/globals'
import { Database } from '../../support/sqlite.js'
import express from 'express'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { runCli } from '../../../src/tools/cli/cli.js'
import { createGateway } from '../../../src/gateway/gateway.js'
import { OPERATOR, WEBHOOK_EVENTS, type AttemptOutcome } from '../../../src/ledger/webhooks.js'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import { newEntry, steps } from '../../support/ledger-entries.js'
import { openPostgresLedger } from '../../../src/ledger/postgres-ledger.js'
import { SHOP_TOKEN, shopOptions, useDevnet } from '../../support/devnet.js'
import { createSchema, findPostgres } from '../../support/postgres.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { useCleanup, closedBy } from '../../support/cleanup.js'

const devnet = useDevnet()
const postgres = await findPostgres()
const isRedisThere = await hasRedis()

let cwd: string
let proxy: RpcProxy
const cleanups = useCleanup()
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'x402-doctor-'))
  proxy = await startRpcProxy(devnet.rpcUrl)
  cleanups.push(
    () => rm(cwd, { recursive: true }),
    () => proxy.close(),
  )
})

/** Whether a Redis is in the usual place on this machine. */
async function hasRedis(): Promise<boolean> {
  const socket = connect(6379, '127.0.0.1')
  const isThere = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return isThere
}

/** Runs `doctor`. */
async function doctor(args: readonly string[] = [], env: Record<string, string> = {}) {
  const printed: string[] = []
  const complained: string[] = []
  const code = await runCli(['doctor', ...args], {
    ...{ env, cwd, signal: new AbortController().signal },
    print: (line) => void printed.push(line),
    complain: (line) => void complained.push(line),
    write: async () => undefined,
  })
  return { code, printed, complained }
}

/** What it names: `error code` and `warning code`, each once. */
async function named(args: readonly string[] = [], env?: Record<string, string>) {
  const { printed } = await doctor([...args, '--json'], env)
  const { findings } = JSON.parse(printed.join()) as {
    findings: { status: string; code: string; message: string }[]
  }
  for (const secret of [...devnet.relayerKeys.map((key) => key.slice(2)), SHOP_TOKEN, 'pa55word'])
    expect(printed.join()).not.toContain(secret)
  expect(printed.join()).not.toContain('secret-provider-key')
  const problems = findings.filter(({ status }) => status !== 'ok')
  return [...new Set(problems.map(({ status, code }) => `${status} ${code}`))]
}

/** Writes the configuration of a sound gateway, with something changed. */
async function write(overrides: object = {}, network: object = {}, merchant: object = {}) {
  const config = {
    networks: {
      'base-sepolia': { rpcUrl: proxy.url, relayerKeys: ['${RELAYER_KEY}'], ...network },
    },
    projects: [
      {
        id: 'shop',
        tokens: [SHOP_TOKEN],
        merchant: { payTo: devnet.merchant.address, ...merchant },
      },
    ],
    ...overrides,
  }
  await writeFile(join(cwd, 'gateway.config.json'), JSON.stringify(config))
  await writeFile(join(cwd, '.env'), `RELAYER_KEY=${devnet.relayerKeys[0]}\n`, { mode: 0o600 })
}

const token = (overrides: object) => ({
  assets: [
    {
      ...{ address: devnet.asset, symbol: 'USDC', decimals: 6, currency: 'USD' },
      eip712: { name: 'USDC', version: '2' },
      ...overrides,
    },
  ],
})

/** Serves an app until the test has ended. */
async function listen(app: express.Express): Promise<string> {
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Serves HTTPS on localhost with a certificate of its own, until the test has ended. */
async function listenUntrusted(): Promise<number> {
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(cwd, name)) as [string, string]
  execFileSync(
    'openssl',
    `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout ${key} -out ${cert}`.split(
      ' ',
    ),
    { stdio: 'ignore' },
  )
  const server = createHttpsServer({ key: await readFile(key), cert: await readFile(cert) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return port
}

describe('doctor on a sound setup', () => {
  it('prints only that all is well, and changes nothing', async () => {
    await write()
    const { code, printed, complained } = await doctor()
    expect({ code, complained }).toStrictEqual({ code: 0, complained: [] })
    expect(printed.at(-1)).toMatch(
      new RegExp(`^${printed.length - 1} checks passed: configuration, ledger, .*network`),
    )
    expect(await readFile(join(cwd, 'gateway.config.json'), 'utf8')).toContain('base-sepolia')
    await expect(readFile(join(cwd, 'data/ledger.db'))).rejects.toThrow('ENOENT')
  })

  it('says that all is well with a ledger in use and a public URL that leads here', async () => {
    const gateway = createGateway(
      shopOptions(devnet, { ledger: openSqliteLedger(join(cwd, 'data/ledger.db')) }),
    )
    await gateway.check()
    const publicUrl = await listen(express().use(gateway.gatewayRouter()))
    await write({ publicUrl })
    expect((await doctor()).printed.at(-1)).toMatch(/^\d+ checks passed: .*\.$/)
    await gateway.close()
  })

  it('says that all is well on PostgreSQL', async () => {
    // Said aloud where there is none.
    if (postgres === undefined) return
    const schema = await createSchema(postgres)
    cleanups.push(() => schema.drop())
    const ledger = openPostgresLedger(schema.url)
    await ledger.payments.listSubmitted()
    await ledger.close()
    await write()
    const env = { X402_DATABASE_URL: schema.url }
    expect((await doctor([], env)).printed.at(-1)).toMatch(/^\d+ checks passed: .*\.$/)
  })

  it('prints everything it has seen with --json', async () => {
    await write()
    const { code, printed } = await doctor(['--json'])
    const { ok, findings } = JSON.parse(printed.join()) as { ok: boolean; findings: object[] }
    expect([code, ok]).toStrictEqual([0, true])
    expect(findings).toContainEqual(expect.objectContaining({ subject: 'relayer', code: 'ok' }))
    expect(findings).toContainEqual(expect.objectContaining({ subject: 'token', code: 'ok' }))
  })
})

describe('doctor on the configuration', () => {
  it('finds malformed JSON', async () => {
    await writeFile(join(cwd, 'gateway.config.json'), '{ "networks": ')
    const { code, printed } = await doctor()
    expect(code).toBe(1)
    expect(printed[0]).toMatch(/^error {4}invalid_file: config: .*line 1, column 15/)
    expect(printed.at(-1)).toBe('1 error, 0 warnings.')
  })

  it('finds one thing wrong with an empty folder', async () => {
    await rm(join(cwd, 'gateway.config.json'), { force: true })
    await rm(join(cwd, '.env'), { force: true })
    expect(await named()).toStrictEqual(['error invalid_file'])
  })

  it('finds a variable that is not set', async () => {
    await write({}, { rpcUrl: '${RPC_URL}' })
    expect(await named()).toStrictEqual(['error missing_variable'])
  })

  it('finds a member and a variable that nobody reads', async () => {
    await write({ publicURL: 'x' })
    expect(await named([], { X402_PAYTO: 'x' })).toStrictEqual([
      ...['warning unknown_variable', 'error unknown_option'],
    ])
  })

  it('finds keys that others can read', async () => {
    await write()
    await chmod(join(cwd, '.env'), 0o644)
    expect(await named()).toStrictEqual(['warning file_readable'])
    await write({}, { relayerKeys: [devnet.relayerKeys[0]] })
    await chmod(join(cwd, '.env'), 0o600)
    await chmod(join(cwd, 'gateway.config.json'), 0o644)
    expect(await named()).toStrictEqual(['warning file_readable'])
  })

  it('finds that nobody is paid', async () => {
    await write({ projects: [] })
    expect(await named()).toStrictEqual(['warning project_missing'])
    await write({ projects: [{ id: 'shop', tokens: [] }] })
    expect(await named()).toStrictEqual([
      ...['warning project_without_token', 'warning merchant_missing'],
    ])
  })

  it('finds a payTo at which money would be lost, or that is a relayer', async () => {
    await write({}, {}, { payTo: devnet.asset })
    expect(await named()).toStrictEqual(['error invalid_address'])
    await write({}, {}, { payTo: privateKeyToAddress(devnet.relayerKeys[0]!) })
    expect(await named()).toStrictEqual(['warning pay_to_is_relayer'])
  })

  it('finds a currency that no token is pegged to', async () => {
    await write({}, {}, { currency: 'EUR' })
    expect(await named()).toStrictEqual(['error unsupported_currency'])
  })

  it('finds a UCP handler with the name of another domain', async () => {
    await write({ ucp: { docsUrl: 'https://docs.example.com' } })
    expect(await named()).toStrictEqual(['warning ucp_authority'])
  })
})

describe('doctor on a network', () => {
  it('finds a node that does not answer', async () => {
    await write({}, { rpcUrl: 'http://127.0.0.1:9' })
    expect(await named()).toStrictEqual(['error chain_unreachable'])
    const { printed } = await doctor()
    expect(printed[0]).toContain('Base Sepolia (networks.base-sepolia.rpcUrl): The node')
    expect(printed.at(-1)).toMatch(
      /^1 error, 0 warnings\. \d+ checks passed: configuration, ledger/,
    )
    const env = { X402_RPC_URL: 'http://127.0.0.1:9' }
    expect((await doctor([], env)).printed[0]).toContain('Base Sepolia (X402_RPC_URL): The node')
  })

  it('finds a certificate that cannot be trusted', async () => {
    await write({}, { rpcUrl: `https://localhost:${await listenUntrusted()}` })
    expect(await named()).toStrictEqual(['error chain_unreachable'])
    expect((await doctor()).printed[0]).toContain('self-signed certificate')
  })

  it('finds a public URL whose certificate nobody trusts', async () => {
    const { code, printed } = await doctor([
      '--public',
      `https://localhost:${await listenUntrusted()}/report`,
    ])
    expect(code).toBe(1)
    expect(printed[1]).toMatch(
      /^error {4}public_url_unreachable: GET .*\/report: .*\(DEPTH_ZERO_SELF_SIGNED_CERT\)/,
    )
  })

  it('prints no terminal control sequences of a node', async () => {
    await write()
    proxy.fault = () => ({ kind: 'refuse', code: -32000, message: 'no\u001b]0;pwned\u0007\u202e' })
    for (const args of [[], ['--json']]) {
      const { printed } = await doctor(args)
      expect(printed.join(' ')).toContain('pwned')
      expect(printed.join(' ').replaceAll('\n', '')).not.toMatch(/\p{Cc}|\p{Cf}/u)
    }
  })

  it('finds a node whose host the DNS does not know', async () => {
    await write({}, { rpcUrl: 'http://node.invalid' })
    expect(await named()).toStrictEqual(['error chain_unreachable'])
  })

  it('finds a node of another chain', async () => {
    await write()
    proxy.fault = (method) =>
      method === 'eth_chainId' ? { kind: 'answer', result: '0x1' } : undefined
    expect(await named()).toStrictEqual(['error chain_mismatch'])
  })

  it('finds a payment that is paid, not delivered', async () => {
    await write()
    const ledger = openSqliteLedger(join(cwd, 'data/ledger.db'))
    const entry = newEntry()
    await steps.settled(ledger, entry)
    await ledger.payments.unlock(entry)
    await ledger.close()
    expect(await named()).toContain('warning payments_undelivered')
  })

  it('finds a clock that is behind the chain’s', async () => {
    await write()
    proxy.fault = (method) =>
      method === 'eth_getBlockByNumber'
        ? { kind: 'answer', result: { number: '0x1', timestamp: '0xffffffff' } }
        : undefined
    expect(await named()).toContain('warning clock_skewed')
  })

  it('finds a relayer without gas money', async () => {
    await write({}, { relayerKeys: [generatePrivateKey()] })
    expect(await named()).toContain('error relayer_without_funds')
  })

  it('finds a token that does not exist, or has another domain or other decimals', async () => {
    await write({}, token({ address: `0x${'0b'.repeat(20)}` }))
    expect(await named()).toStrictEqual(['error token_missing'])
    await write({}, token({ eip712: { name: 'USD Coin', version: '2' } }))
    expect(await named()).toStrictEqual(['error token_domain_mismatch'])
    await write({}, token({ decimals: 18 }))
    expect(await named()).toStrictEqual(['error token_decimals_mismatch'])
  })

  it('finds a relayer that waits for a nonce of no known transaction', async () => {
    const file = join(cwd, 'data/ledger.db')
    const ledger = openSqliteLedger(file)
    await ledger.payments.listSubmitted()
    await ledger.close()
    await write()
    const database = new Database(file)
    const relayer = privateKeyToAddress(devnet.relayerKeys[0]!).toLowerCase()
    database.exec(`INSERT INTO x402_relayer_transactions
      (chain_id, relayer, account_nonce, transaction_hash, raw, written_at)
      VALUES (84532, x'${relayer.slice(2)}', 4000, x'${'01'.repeat(32)}', x'00', 0)`)
    database.close()
    expect(await named()).toStrictEqual(['warning nonce_gap'])
  })
})

describe('doctor on Redis', () => {
  it('finds that it does not answer, or is no Redis', async () => {
    await write()
    const env = { X402_REDIS_URL: 'redis://:pa55word@127.0.0.1:9' }
    expect(await named([], env)).toStrictEqual(['error redis_unreachable'])
    const { code, printed } = await doctor([], env)
    expect([code, printed[0]]).toEqual([1, expect.stringContaining('X402_REDIS_URL')])
    expect(printed[0]).toContain('ECONNREFUSED')
    const silent = closedBy(cleanups, createServer(() => undefined).listen(0, '127.0.0.1'))
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    await write({ rateLimit: { redisUrl: `redis://127.0.0.1:${port}` } })
    expect(await named()).toStrictEqual(['error redis_unreachable'])
  })

  if (isRedisThere)
    it('says that it counts', async () => {
      await write({ rateLimit: { redisUrl: 'redis://127.0.0.1:6379' } })
      expect(await named()).toStrictEqual([])
      expect((await doctor()).printed.join()).toContain('The Redis of rateLimit.redisUrl counts')
    })
})

describe('doctor on webhooks', () => {
  const file = () => join(cwd, 'data/ledger.db')

  /** Registers webhooks, and returns the first one's id. */
  async function register(...webhooks: readonly { url: string; project?: string }[]) {
    const ledger = openSqliteLedger(file())
    for (const [index, { url, project = 'shop' }] of webhooks.entries()) {
      const id = `we_${String(index).repeat(32)}`
      const secret = 'whsec_pa55word'
      await ledger.webhooks.endpoints.create({ id, project, url, secret, events: WEBHOOK_EVENTS })
    }
    await ledger.close()
  }

  /** Writes down that payments were told to the first webhook. */
  async function deliver(...outcomes: readonly (AttemptOutcome | undefined)[]) {
    const ledger = openSqliteLedger(file())
    const { endpoints, deliveries } = ledger.webhooks
    const [endpoint] = await endpoints.list('shop')
    for (const outcome of outcomes) {
      await deliveries.add({ endpoint: endpoint!, type: 'webhook.test', data: {} })
      if (outcome === undefined) continue
      const [claimed] = await deliveries.claim(endpoint!.id, 1)
      await deliveries.conclude(claimed!, outcome)
    }
    await ledger.close()
  }

  async function age(ms: number) {
    const database = new Database(file())
    database.exec(`UPDATE x402_webhook_deliveries SET created_at = created_at - ${ms}`)
    database.close()
  }

  const open = { webhooks: { allowPrivate: true } }
  const error = 'The receiver responded with HTTP 500.'

  it('finds no fault if they can be delivered, including the operator’s own', async () => {
    await write(open)
    const url = await listen(express())
    await register({ url }, { url, project: OPERATOR })
    await deliver({ kind: 'delivered', status: 200 }, undefined)
    expect((await doctor()).printed.at(-1)).toMatch(/^\d+ checks passed: .*\.$/)
  })

  it('finds a host that the DNS does not know, and an address that is not public', async () => {
    await write()
    await register({ url: 'https://shop.invalid/a-secret-path' }, { url: 'https://127.0.0.1/' })
    const { code, printed } = await doctor()
    expect([code, printed.length]).toStrictEqual([1, 4])
    expect(printed[0]).toMatch(/webhook_url_refused: .* project shop: its URL has the host/)
    expect(printed[1]).toMatch(/webhook_url_refused: .* not on the public Internet/)
    expect(printed.join()).not.toContain('a-secret-path')
  })

  it('finds deliveries that failed, that are retried, or that nobody tries', async () => {
    await write(open)
    await register({ url: await listen(express()) })
    await deliver({ kind: 'failed', error }, { kind: 'failed', error })
    expect((await doctor()).printed[0]).toMatch(
      /webhook_failed: 2 deliveries .* failed for good \(The receiver responded with HTTP 500\): .*resend/,
    )
    await deliver({ kind: 'retry', error, afterMs: 3_600_000 })
    expect(await named()).toStrictEqual(['warning webhook_failed', 'warning webhook_waiting'])
    await rm(file())
    await register({ url: await listen(express()) })
    await deliver(undefined)
    expect(await named()).toStrictEqual([])
    await age(600_000)
    expect((await doctor()).printed[0]).toMatch(/webhook_untried: .* for 10 min: start a gateway/)
  })

  it('finds the webhooks of a project that no longer exists', async () => {
    await write(open)
    await register({ url: await listen(express()), project: 'gone' })
    expect(await named()).toStrictEqual(['warning webhook_without_project'])
  })

  it('finds the same on PostgreSQL', async () => {
    if (postgres === undefined) return
    const schema = await createSchema(postgres)
    cleanups.push(() => schema.drop())
    const ledger = openPostgresLedger(schema.url)
    const { endpoints, deliveries } = ledger.webhooks
    const endpoint = await endpoints.create({
      ...{ id: `we_${'0'.repeat(32)}`, project: 'shop', url: await listen(express()) },
      ...{ events: WEBHOOK_EVENTS, secret: 'whsec_pa55word' },
    })
    await deliveries.add({ endpoint: endpoint!, type: 'webhook.test', data: {} })
    const [claimed] = await deliveries.claim(endpoint!.id, 1)
    await deliveries.conclude(claimed!, { kind: 'failed', error })
    await ledger.close()
    await write(open)
    const env = { X402_DATABASE_URL: schema.url }
    expect(await named([], env)).toStrictEqual(['warning webhook_failed'])
  })
})

describe('doctor on the public URL', () => {
  it('finds that nobody or somebody else answers', async () => {
    await write({ publicUrl: 'http://127.0.0.1:9' })
    expect(await named()).toStrictEqual(['warning public_url_unreachable'])
    await write({ publicUrl: await listen(express()) })
    expect(await named()).toStrictEqual(['error public_url_elsewhere'])
  })
})

describe('doctor on the ledger', () => {
  it('explains that a database does not answer', async () => {
    await write()
    const env = { X402_DATABASE_URL: 'postgres://me:pa55word@127.0.0.1:9/none' }
    expect(await named([], env)).toStrictEqual(['error ledger_unavailable'])
    const { code, printed } = await doctor([], env)
    expect([code, printed[0]]).toStrictEqual([
      1,
      'error    ledger_unavailable: X402_DATABASE_URL: nobody listens at 127.0.0.1:9: start PostgreSQL, or correct host and port (ECONNREFUSED).',
    ])
  })

  it('finds a file that is no database, that others can read, or of a newer version', async () => {
    await write()
    const file = join(cwd, 'a.db')
    await writeFile(file, 'this is no database, however long it is'.repeat(100), { mode: 0o600 })
    expect(await named(['--ledger', 'a.db'])).toStrictEqual(['error ledger_unavailable'])
    await rm(file)
    const ledger = openSqliteLedger(file)
    await ledger.payments.listSubmitted()
    await ledger.close()
    await chmod(file, 0o644)
    expect(await named(['--ledger', 'a.db'])).toStrictEqual(['warning file_readable'])
    await chmod(file, 0o600)
    const database = new Database(file)
    database.exec("INSERT INTO x402_migrations (name) VALUES ('9999_future')")
    expect(await named(['--ledger', 'a.db'])).toStrictEqual(['error migration_unknown'])
    database.exec("DELETE FROM x402_migrations WHERE name <> '9999_future'")
    database.close()
    expect(await named(['--ledger', 'a.db'])).toContain('warning migration_missing')
  })

  it('finds a folder in which no file can be created', async () => {
    await write()
    await writeFile(join(cwd, 'data'), 'a file')
    expect(await named()).toStrictEqual(['error ledger_unavailable'])
  })

  it('finds a user without rights, and a database that does not exist', async () => {
    if (postgres === undefined) return
    const schema = await createSchema(postgres)
    const role = `${schema.name}_poor`
    await schema.execute(`CREATE ROLE ${role} LOGIN PASSWORD 'pa55word'`)
    await schema.execute(`GRANT USAGE ON SCHEMA ${schema.name} TO ${role}`)
    cleanups.push(async () => {
      await schema.execute(`DROP OWNED BY ${role}`)
      await schema.execute(`DROP ROLE ${role}`)
      await schema.drop()
    })
    await write()
    const poor = new URL(schema.url)
    poor.username = role
    poor.password = 'pa55word'
    const env = { X402_DATABASE_URL: poor.href.replaceAll('+', '%20') }
    expect(await named([], env)).toStrictEqual(['error ledger_forbidden'])

    const ledger = openPostgresLedger(schema.url)
    await ledger.payments.listSubmitted()
    await ledger.close()
    await schema.execute(`GRANT SELECT ON ALL TABLES IN SCHEMA ${schema.name} TO ${role}`)
    expect(await named([], env)).toStrictEqual(['error ledger_forbidden'])

    const gone = new URL(schema.url)
    gone.pathname = '/x402_no_such_database'
    const { printed } = await doctor([], { X402_DATABASE_URL: gone.href })
    expect(printed[0]).toContain("'x402_no_such_database' does not exist")
  })
})
