/**
 * One gateway whose ledger has seen much: `node --import ./test/support/typescript.mjs test/soak/large.ts --ledger sqlite`.
 *
 * The ledger is filled with payment links, resources, merchants, and webhooks whose receivers refuse. Then it measures how
 * fast the gateway answers while nobody buys, what that costs it, and how long settlements take while six downloads run.
 * Ends with 1 where a bound is exceeded. `--links 0` leaves the links out, and so on; the bounds hold on a quiet machine.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { startDevnet } from '../../src/tools/devnet/index.js'
import { POSTGRES, SQLITE } from '../../src/ledger/engine/dialect.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import type { GatewayProcess } from '../faults/gateway-process.js'
import { openWorld, type World } from '../faults/world.js'
import { fillStatement } from '../support/fill-ledger.js'
import { createSchema, findPostgres } from '../support/postgres.js'
import { Database } from '../support/sqlite.js'

const { values } = parseArgs({
  options: {
    /** `sqlite` or `postgres`. */
    ledger: { type: 'string', default: 'sqlite' },
    links: { type: 'string', default: '300000' },
    resources: { type: 'string', default: '10000' },
    merchants: { type: 'string', default: '2000' },
    webhooks: { type: 'string', default: '5000' },
    payments: { type: 'string', default: '100000' },
    /** How long it is measured. */
    seconds: { type: 'string', default: '60' },
  },
})
const countOf = (name: 'links' | 'resources' | 'merchants' | 'webhooks' | 'payments') =>
  Number(values[name])

/** Between two requests of a stranger who asks whether the gateway lives (ms). */
const ASK_MS = 20
/** Settlements that are measured. */
const SETTLEMENTS = 60
/** What the gateway may take. */
const BOUNDS = { livezP99Ms: 50, idleCpuPercent: 5, settleTimes: 3 }

const ADMIN_TOKEN = 'an-admin-token-of-the-large-ledger'
const OTHER = { token: 'x402_test-token-of-another-shop', payTo: `0x${'0c'.repeat(20)}` } as const
const DAY_MS = 86_400_000

const numbers = (count: number): string =>
  `WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < ${count - 1})`

/** Statements that fill a ledger. Both databases take them. */
function* fillings(now: number): Generator<string> {
  const merchants = Math.max(1, countOf('merchants'))
  const settings = JSON.stringify({
    payTo: OTHER.payTo,
    branding: { logo: 'data:image/png;base64,'.padEnd(12_000, 'A') },
  })
  if (countOf('merchants') > 0) {
    yield `${numbers(merchants)} INSERT INTO x402_projects (id, settings, version, position, created_at, updated_at)
      SELECT 'merchant-' || n, '${settings}', 1, n + 1, ${now}, ${now} FROM s`
    yield `${numbers(merchants)} INSERT INTO x402_project_tokens (id, project, hash, label, scopes, position, created_at)
      SELECT 'tok_' || n, 'merchant-' || n, 'hash-' || n, '', 'read', n + 1, ${now} FROM s`
    yield `UPDATE x402_versions SET version = ${merchants + 1}`
  }
  if (countOf('links') > 0)
    // One in a hundred is open.
    yield `${numbers(countOf('links'))} INSERT INTO x402_checkouts
      (id, project, url, amount, currency, state, expires_at, created_at)
      SELECT 'co_' || n, 'merchant-' || (n % ${merchants}), 'https://shop.example/pay/', '1.00', 'USD',
        CASE WHEN n % 100 = 0 THEN 'open' WHEN n % 3 = 0 THEN 'paid' WHEN n % 3 = 1 THEN 'expired' ELSE 'canceled' END,
        CASE WHEN n % 100 = 0 THEN ${now} + n + ${DAY_MS} ELSE ${now} - n END, ${now - DAY_MS} + n FROM s`
  const listing = JSON.stringify({
    ...{ resource: 'https://shop.example/report', type: 'http', method: 'GET', accepts: [] },
    description: 'A report. '.repeat(80),
  })
  if (countOf('resources') > 0)
    yield `${numbers(countOf('resources'))} INSERT INTO x402_resources (id, project, listing, claimed, count, sold_at)
      SELECT 'resource-' || n, 'merchant-' || (n % ${merchants}), '${listing}', 0, 1, ${now} - n FROM s`
  if (countOf('webhooks') > 0) {
    yield `${numbers(countOf('webhooks'))} INSERT INTO x402_webhook_endpoints
      (id, project, url, events, secret, created_at, updated_at)
      SELECT 'we_' || n, 'merchant-' || (n % ${merchants}), 'http://127.0.0.1:9/', ',payment.settled,', 'whsec_AAAA', n, n FROM s`
    yield `${numbers(countOf('webhooks'))} INSERT INTO x402_webhook_deliveries
      (id, endpoint, project, type, data, state, attempts, next_at, retry_from, created_at)
      SELECT 'msg_' || n, 'we_' || n, 'merchant-' || (n % ${merchants}), 'webhook.test', '{}', 'pending', 0, ${now}, ${now}, ${now} FROM s`
  }
}

process.exitCode = (await measure()) ? 0 : 1

async function measure(): Promise<boolean> {
  const isPostgres = values.ledger === 'postgres'
  const devnet = await startDevnet()
  const root = isPostgres ? await findPostgres() : undefined
  if (isPostgres && root === undefined) throw new Error('No PostgreSQL answers.')
  const schema = root === undefined ? undefined : await createSchema(root)
  const world = await openWorld(devnet, {
    other: OTHER,
    options: { admin: { tokens: [ADMIN_TOKEN] }, webhooks: { allowPrivate: true } },
    ...(schema && { ledger: schema.url }),
  })
  try {
    await fill(world, schema)
    const gateway = await world.start()
    await untilLoaded(gateway)
    const idle = await idleFigures(gateway)
    const alone = await settleMs(world, gateway)
    const downloads = await openDownloads(world, gateway)
    const beside = await settleMs(world, gateway)
    downloads.abort()
    const figures = {
      ...{ ledger: values.ledger, links: countOf('links'), resources: countOf('resources') },
      ...{ merchants: countOf('merchants'), webhooks: countOf('webhooks') },
      ...idle,
      ...{ settleP95Ms: alone, settleP95MsBesideDownloads: beside },
    }
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`)
    return (
      idle.livezP99Ms <= BOUNDS.livezP99Ms &&
      idle.idleCpuPercent <= BOUNDS.idleCpuPercent &&
      beside <= BOUNDS.settleTimes * alone
    )
  } finally {
    await world.close()
    await schema?.drop()
    await devnet.close()
  }
}

async function fill(
  world: World,
  schema: Awaited<ReturnType<typeof createSchema>> | undefined,
): Promise<void> {
  const ledger = schema ? openPostgresLedger(schema.url) : openSqliteLedger(world.ledger)
  await ledger.payments.listSubmitted()
  await ledger.close()
  const payments = [...(['shop', 'other'] as const).entries()].map(([n, project]) =>
    fillStatement(schema ? POSTGRES : SQLITE, {
      ...{ project, count: countOf('payments'), start: 1 + n * countOf('payments') },
    }),
  )
  const statements = [...fillings(Date.now()), ...(countOf('payments') > 0 ? payments : [])]
  if (schema !== undefined) {
    for (const statement of statements) await schema.execute(statement)
    await schema.execute('ANALYZE')
    return
  }
  const database = new Database(world.ledger)
  for (const statement of statements) database.exec(statement)
  database.close()
}

/** Waits until what a gateway loads at its start is loaded: then it answers quickly for a while. */
async function untilLoaded({ url }: GatewayProcess): Promise<void> {
  for (let quick = 0; quick < 50;) {
    const startedAt = performance.now()
    await (await fetch(`${url}/livez`)).text()
    quick = performance.now() - startedAt < BOUNDS.livezP99Ms ? quick + 1 : 0
    await sleep(ASK_MS)
  }
}

/** What a gateway takes while strangers ask only whether it lives. */
async function idleFigures({ url }: GatewayProcess) {
  const ms: number[] = []
  const readCpu = async (): Promise<number> => {
    const { user, system } = (await (await fetch(`${url}/usage`)).json()) as NodeJS.CpuUsage
    return (user + system) / 1000
  }
  const [startedAt, cpu] = [performance.now(), await readCpu()]
  while (performance.now() - startedAt < Number(values.seconds) * 1000) {
    const askedAt = performance.now()
    await (await fetch(`${url}/livez`)).text()
    ms.push(performance.now() - askedAt)
    await sleep(ASK_MS)
  }
  // Half a percent of a core answers them.
  const percent = (100 * ((await readCpu()) - cpu)) / (performance.now() - startedAt)
  return {
    ...{ livezP50Ms: partOf(ms, 0.5), livezP99Ms: partOf(ms, 0.99), livezMostMs: partOf(ms, 1) },
    idleCpuPercent: Math.round(10 * percent) / 10,
  }
}

/** How long settlements take, one after the other: the 95th percentile. */
async function settleMs(world: World, gateway: GatewayProcess): Promise<number> {
  const ms: number[] = []
  for (let count = 0; count < SETTLEMENTS; count++) {
    const payment = await world.sign()
    const startedAt = performance.now()
    const { delivered } = await world.present(gateway, payment, 'settle')
    if (!delivered) throw new Error('A settlement was refused.')
    ms.push(performance.now() - startedAt)
  }
  return partOf(ms, 0.95)
}

/** Opens six downloads, which are read until they are aborted. */
async function openDownloads({ token }: World, { url }: GatewayProcess): Promise<AbortController> {
  const controller = new AbortController()
  const headers = [
    ...[token, OTHER.token].map((own) => ({ 'X-Project-Identify-Token': own })),
    { Authorization: `Bearer ${ADMIN_TOKEN}` },
  ]
  for (const own of [...headers, ...headers]) {
    const path = 'Authorization' in own ? 'admin' : 'merchant'
    const response = await fetch(`${url}/api/v2/${path}/settlements.csv`, {
      headers: own,
      signal: controller.signal,
    })
    if (response.status !== 200) throw new Error(`A download was refused: ${response.status}`)
    void response.text().catch(() => undefined)
  }
  return controller
}

function partOf(ms: readonly number[], part: number): number {
  const sorted = ms.toSorted((one, other) => one - other)
  return Math.round(10 * sorted[Math.ceil(part * sorted.length) - 1]!) / 10
}
