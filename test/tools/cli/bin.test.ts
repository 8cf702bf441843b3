import { once } from 'node:events'
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { openSqliteLedger } from '../../../src/ledger/sqlite-ledger.js'
import type { PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { isSoundSqlite } from '../../../src/ledger/engine/sqlite.js'
import { SHOP_TOKEN, useDevnet } from '../../support/devnet.js'
import { startProgram, type Program } from '../../support/program.js'
import { startRpcProxy, type RpcProxy } from '../../support/rpc-proxy.js'
import { signPayment } from '../../support/sign-payment.js'
import { until } from '../../support/until.js'

const BIN = resolve('dist/esm/tools/cli/bin.js')

const devnet = useDevnet()
const programs: Program[] = []
let cwd: string
beforeAll(async () => {
  cwd = await realpath(await mkdtemp(join(tmpdir(), 'x402-bin-')))
})
afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.end('SIGKILL')))
  await rm(join(cwd, 'data'), { recursive: true, force: true })
})
afterAll(() => rm(cwd, { recursive: true }))

function serve(
  rpcUrl: string,
  args: readonly string[] = [],
  bin = BIN,
  env: Readonly<Record<string, string>> = {},
): Program {
  const program = startProgram([bin, 'serve', '--port', '0', ...args], {
    cwd,
    env: {
      NODE_OPTIONS: undefined,
      DATABASE_URL: undefined,
      X402_PAY_TO: devnet.merchant.address,
      X402_NETWORK: 'base-sepolia',
      X402_RPC_URL: rpcUrl,
      X402_RELAYER_KEY: devnet.relayerKeys[0],
      X402_PROJECT_TOKEN: SHOP_TOKEN,
      ...env,
    },
  })
  programs.push(program)
  return program
}
/** Waits for a line of its log. */
const logs = (program: Program, line: RegExp): Promise<void> =>
  until(() => line.test(program.output()))
/** The whole lines of its log so far. */
const logged = (program: Program) =>
  program
    .output()
    .split('\n')
    .slice(0, -1)
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as { level: string; message: string })
/** Waits for a line of its log with these words in its message. */
async function logLine(program: Program, words: string) {
  const find = () => logged(program).find(({ message }) => message.includes(words))
  await until(() => find() !== undefined)
  return find()!
}
const urlOf = (program: Program): Promise<string> => program.prints(/(http:\/\/\S+)\n/)

async function post(url: string, path: string, body: object): Promise<Response> {
  return fetch(`${url}/api/v2/payment/${path}`, {
    method: 'POST',
    headers: { 'X-Project-Identify-Token': SHOP_TOKEN, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
}

async function newSubmission(url: string): Promise<object> {
  const request = { resourceUrl: 'https://shop.example/', requestedAmount: 0.01 }
  const offer = (await (await post(url, 'requirements', request)).json()) as {
    accepts: PaymentRequirements[]
  }
  const [paymentRequirements] = offer.accepts
  const paymentPayload = await signPayment(devnet.payers[0]!, paymentRequirements!)
  return { paymentPayload, paymentRequirements }
}

const SEND = /^eth_sendRawTransaction/

/** Keeps a node's answers back from the first transaction on, until told otherwise. */
function holdSends(proxy: RpcProxy): () => void {
  let release = (): void => undefined
  const released = new Promise<undefined>((resolve) => (release = () => resolve(undefined)))
  proxy.fault = (method) => (SEND.test(method) ? released : undefined)
  return release
}
const sent = (proxy: RpcProxy) => (): boolean => proxy.methods.some((method) => SEND.test(method))
const refused = (url: string) => async (): Promise<boolean> =>
  fetch(url).then(
    () => false,
    () => true,
  )

describe('the program', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)('answers, and ends cleanly by %s', async (signal) => {
    const program = serve(devnet.rpcUrl)
    const url = await urlOf(program)
    expect((await fetch(`${url}/ucp/schema.json`)).status).toBe(200)
    expect(await program.end(signal)).toBe(0)
  })

  it('prints at start what it uses and finds, and logs settlements', async () => {
    const program = serve(devnet.rpcUrl)
    const url = await urlOf(program)
    const relayer = privateKeyToAddress(devnet.relayerKeys[0]!)
    await logs(program, /"message":"(Project default takes prices in USD)/)
    const lines = logged(program)
    expect(lines).toContainEqual(
      expect.objectContaining({ message: 'Starting.', ledger: join(cwd, 'data/ledger.db') }),
    )
    for (const words of [
      'Base Sepolia: chain id 84532, block',
      `Relayer ${relayer} on Base Sepolia has`,
      "EIP-712 domain 'USDC', version '2'",
    ])
      expect(await logLine(program, words)).toMatchObject({ level: 'info' })
    await post(url, 'settle', await newSubmission(url))
    const settled = await logLine(program, 'A payment is settled.')
    expect(settled).toMatchObject({ level: 'info', project: 'default', network: 'eip155:84532' })
    expect(settled).toHaveProperty('transaction', expect.stringMatching(/^0x[0-9a-f]{64}$/))
    for (const secret of [devnet.relayerKeys[0]!.slice(2), SHOP_TOKEN])
      expect(program.output()).not.toContain(secret)
  })

  it('starts while the node does not answer, reports that, and logs a relayer that runs out of gas money', async () => {
    const away = serve('http://127.0.0.1:9')
    await urlOf(away)
    await logs(away, /"level":"(error)".*The node did not answer/)
    expect(await away.end('SIGTERM')).toBe(0)

    const poor = generatePrivateKey()
    const program = serve(devnet.rpcUrl, [], BIN, { X402_RELAYER_KEY: poor })
    await urlOf(program)
    const address = privateKeyToAddress(poor)
    await logs(program, new RegExp(`"level":"error".*${address}.*Payments fail until`))
    const low = await logLine(program, 'running out of gas money')
    expect(low).toMatchObject({ level: 'warn', relayer: address, balance: '0' })
  })

  it('finishes requests in progress before it ends, and accepts no new ones', async () => {
    const proxy = await startRpcProxy(devnet.rpcUrl)
    const program = serve(proxy.url)
    const url = await urlOf(program)
    const submission = await newSubmission(url)
    const release = holdSends(proxy)
    const settled = post(url, 'settle', submission)
    await until(sent(proxy))
    const ended = program.end('SIGTERM')
    await until(refused(url))
    release()
    expect(await (await settled).json()).toMatchObject({ success: true })
    expect(await ended).toBe(0)
    await proxy.close()
  })

  it('ends in time and records what it cannot finish, which the next process completes', async () => {
    const proxy = await startRpcProxy(devnet.rpcUrl)
    const program = serve(proxy.url)
    const url = await urlOf(program)
    const submission = await newSubmission(url)
    proxy.fault = (method) => {
      if (SEND.test(method)) return { kind: 'drop_answer' }
      return sent(proxy)() ? { kind: 'http', status: 503 } : undefined
    }
    const answered = post(url, 'settle', submission)
    await until(sent(proxy))
    const start = performance.now()
    const ended = program.end('SIGTERM')
    expect(await (await answered).json()).toMatchObject({ errorReason: 'settlement_pending' })
    expect(await ended).toBe(0)
    // Ten seconds, and what a busy machine adds; the settlement itself would wait for 25 s.
    expect(performance.now() - start).toBeLessThan(20_000)
    await proxy.close()

    const ledger = openSqliteLedger(join(cwd, 'data/ledger.db'))
    expect(await ledger.payments.listSubmitted()).toMatchObject([
      { locked: false, project: 'default' },
    ])
    await ledger.close()
    const next = await urlOf(serve(devnet.rpcUrl))
    expect(await (await post(next, 'settle', submission)).json()).toMatchObject({ success: true })
  })

  it('ends at once at the second signal', async () => {
    const proxy = await startRpcProxy(devnet.rpcUrl)
    const program = serve(proxy.url)
    const url = await urlOf(program)
    const submission = await newSubmission(url)
    holdSends(proxy)
    const answered = post(url, 'settle', submission).catch(() => 'cut off')
    await until(sent(proxy))
    void program.end('SIGTERM')
    await until(refused(url))
    // The first signal alone would end it with 0, ten seconds later.
    expect(await program.end('SIGTERM')).toBe(143)
    expect(await answered).toBe('cut off')
    await proxy.close()
  })

  it('needs no package if Node has SQLite, and otherwise names the missing one', async () => {
    // A copy that finds what we depend on, and not what is optional.
    const home = join(cwd, 'without-peers')
    const packages = [
      ...['express', 'viem', 'zod', 'lru-cache', 'express-rate-limit', 'currency-codes'],
      ...['jsonc-parser', 'kysely', 'standardwebhooks', '@noble/hashes'],
    ]
    await mkdir(join(home, 'node_modules/@noble'), { recursive: true })
    await cp(resolve('dist'), join(home, 'dist'), { recursive: true })
    await writeFile(join(home, 'package.json'), '{}')
    for (const name of packages)
      await symlink(resolve('node_modules', name), join(home, 'node_modules', name))

    const bin = join(home, 'dist/esm/tools/cli/bin.js')
    for (const options of [[], ['--memory']]) {
      if (isSoundSqlite(process.versions['sqlite'] ?? '0')) {
        await urlOf(serve(devnet.rpcUrl, options, bin))
        continue
      }
      const failed = serve(devnet.rpcUrl, options, bin)
      expect(await failed.exitCode()).toBe(1)
      expect(failed.output()).toMatch(/ledger: .*npm install @photostructure\/sqlite.*Node 24/)
    }

    // What its message says is what one does, in the working directory.
    await mkdir(join(cwd, 'node_modules/@photostructure'), { recursive: true })
    const name = '@photostructure/sqlite'
    await symlink(resolve('node_modules', name), join(cwd, 'node_modules', name))
    await urlOf(serve(devnet.rpcUrl, [], bin))
  })
})

/** A node that takes forever to say anything is no reason not to end. */
it('the program ends even if the node does not answer', async () => {
  const node = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(node, 'listening')
  const program = serve(`http://127.0.0.1:${(node.address() as AddressInfo).port}`)
  await urlOf(program)
  expect(await program.end('SIGTERM')).toBe(0)
  node.closeAllConnections()
  node.close()
})
