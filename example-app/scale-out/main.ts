/**
 * `npm run example:scale-out`: three gateways on one PostgreSQL, and eight buyers who go to each in
 * turn. One gateway is killed, one is added, one is stopped. Ends with 0 if no payment failed.
 */
import { fork, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startDevnet } from 'express-x402-gateway/devnet'
import pg from 'pg'
import { formatUsdc, readBalance } from '../narrate.js'
import { purchase, type Purchase } from './buyer.js'

const DATABASE_URL =
  process.env['X402_DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/postgres'
const BUYERS = 8
const PRICE = 10_000n

/** Milliseconds between two events. */
const PHASE_MS = 2500

/** A gateway in a process of its own. */
interface GatewayProcess {
  readonly name: string
  readonly url: string
  readonly process: ChildProcess
}

const startedAt = Date.now()
const tell = (line: string): void =>
  console.log(`${((Date.now() - startedAt) / 1000).toFixed(1).padStart(5)} s  ${line}`)

const database = new pg.Client({ connectionString: DATABASE_URL, connectionTimeoutMillis: 10_000 })
await database.connect().catch((error: { code?: string }) => {
  console.error(
    `This example needs PostgreSQL, and found none (${error.code ?? 'no answer'}). Start one, e.g.\n` +
      '  docker run -e POSTGRES_HOST_AUTH_METHOD=trust -p 5432:5432 postgres\n' +
      'or set X402_DATABASE_URL.',
  )
  process.exit(2)
})
// Tables of its own, which are gone at the end.
const schema = `x402_example_${randomBytes(6).toString('hex')}`
await database.query(`CREATE SCHEMA ${schema}`)
const devnet = await startDevnet()

const url = new URL(DATABASE_URL)
url.searchParams.set('options', `-csearch_path=${schema}`)
const environment = {
  ...process.env,
  X402_DATABASE_URL: url.href,
  X402_NETWORK: 'base-sepolia',
  X402_RPC_URL: devnet.rpcUrl,
  X402_RELAYER_KEY: devnet.relayerKeys.join(','),
  X402_PAY_TO: devnet.merchant.address,
  // Buyers see one shop, whichever gateway answers.
  X402_PUBLIC_URL: 'https://shop.example',
  PORT: '0',
}
const running: GatewayProcess[] = []
let started = 0
let turn = 0

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => void cleanUp().finally(() => process.exit(130)))
try {
  process.exitCode = (await sell()) ? 0 : 1
} finally {
  await cleanUp()
}

async function cleanUp(): Promise<void> {
  for (const gateway of running) gateway.process.kill('SIGKILL')
  await devnet.close()
  await database.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  await database.end()
}

/** Runs the show. @returns Whether every payment was answered, and paid once. */
async function sell(): Promise<boolean> {
  await Promise.all([addGateway(), addGateway(), addGateway()])
  tell(`${running.length} gateways on one database; ${BUYERS} buyers go to each in turn`)
  const closing = new AbortController()
  const buyers = devnet.payers.slice(0, BUYERS).map((payer) => buyAll(payer, closing.signal))
  await sleep(PHASE_MS)
  await endGateway('SIGKILL', 'killed, with what it had in hand')
  await sleep(PHASE_MS)
  await addGateway()
  tell(`gateway ${started} added`)
  await sleep(PHASE_MS)
  await endGateway('SIGTERM', 'stopped, after it has finished what it had in hand')
  await sleep(PHASE_MS)
  closing.abort()
  tell('nobody buys any more; the last payments are answered')
  return report((await Promise.all(buyers)).flat())
}

async function buyAll(
  { privateKey }: { readonly privateKey: `0x${string}` },
  signal: AbortSignal,
): Promise<readonly Purchase[]> {
  const purchases: Purchase[] = []
  while (!signal.aborted) purchases.push(await purchase(nextGateway, privateKey))
  return purchases
}

function nextGateway(): GatewayProcess {
  const gateway = running[turn++ % running.length]
  if (gateway === undefined) throw new Error('No gateway is running.')
  return gateway
}

async function addGateway(): Promise<void> {
  const name = String(++started)
  const shop = fileURLToPath(new URL('shop.js', import.meta.url))
  const child = fork(shop, { env: environment })
  const [port] = (await once(child, 'message')) as [number]
  running.push({ name, url: `http://127.0.0.1:${port}`, process: child })
}

/** Ends the gateway that has run longest. A load balancer notices only when it does not answer. */
async function endGateway(signal: NodeJS.Signals, what: string): Promise<void> {
  const [gateway] = running
  if (gateway === undefined) return
  const ended = once(gateway.process, 'exit')
  gateway.process.kill(signal)
  await sleep(200)
  running.shift()
  await ended
  tell(`gateway ${gateway.name} ${what}`)
}

async function report(purchases: readonly Purchase[]): Promise<boolean> {
  const sold = purchases.filter(({ soldBy }) => soldBy !== undefined)
  const failures = purchases.flatMap(({ failure }) => failure ?? [])
  const again = purchases.filter(({ retries }) => retries > 0)
  const earned = await readBalance(devnet, devnet.merchant.address)
  for (let name = 1; name <= started; name++) {
    const count = sold.filter(({ soldBy }) => soldBy === String(name)).length
    tell(`gateway ${name} sold ${count}`)
  }
  tell(`${again.length} payments were presented again, ${failures.length} failed`)
  for (const failure of new Set(failures)) tell(`failed: ${failure}`)
  tell(`the merchant has ${formatUsdc(earned)} for ${sold.length} sales at ${formatUsdc(PRICE)}`)
  return failures.length === 0 && sold.length > 0 && earned === PRICE * BigInt(sold.length)
}
