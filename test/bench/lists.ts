/**
 * Lists, searches and sums of a ledger with many payments: `npm run bench:lists -- --ledger postgres`.
 *
 * `--payments 1000000` and `--merchants 1000` say how many; `--at LOCATION` keeps the filled ledger there, and measures it
 * again the next time.
 */
import { parseArgs } from 'node:util'
import express from 'express'
import { hashToken } from '../../src/shared/crypto/identify-token.js'
import { openPostgresLedger } from '../../src/ledger/postgres-ledger.js'
import { openSqliteLedger } from '../../src/ledger/sqlite-ledger.js'
import { POSTGRES, SQLITE } from '../../src/ledger/engine/dialect.js'
import { createGateway } from '../../src/gateway/gateway.js'
import { listen } from '../support/http.js'
import {
  FILLED_CHAINS,
  FILLED_MS,
  FILLED_RESOURCE,
  FREQUENT_PAYER,
  merchantsFilling,
} from '../support/fill-merchants.js'
import { createLedger, ledgerAt, type LedgerPlace } from './ledgers.js'
import { percentile } from './statistics.js'

const { values } = parseArgs({
  options: {
    ledger: { type: 'string', default: 'sqlite' },
    payments: { type: 'string', default: '1000000' },
    merchants: { type: 'string', default: '1000' },
    requests: { type: 'string', default: '40' },
    at: { type: 'string' },
    only: { type: 'string', default: '' },
  },
})
const [payments, merchants] = [Number(values.payments), Number(values.merchants)]
const until = Date.now()
const ADMIN_TOKEN = 'an-admin-token-of-the-lists'
const SHOP_TOKEN = 'x402_test-token-of-the-lists'
/** A merchant with thousandths of all payments. */
const MERCHANT = `merchant-${Math.ceil(merchants / 2)}`

/** A time in the middle of all, some way on from there. */
const timeAt = (part: number): string => new Date(until - FILLED_MS * (1 - part)).toISOString()

/** A page in the middle: what was created at a time, whatever its id. */
const cursorAt = (part: number): string =>
  Buffer.from(`${Date.parse(timeAt(part))}.${'f'.repeat(32)}`).toString('base64url')

/** A number that differs from request to request, and is the same in every run. */
const scatter = (n: number, below: number): number => (n * 7_919 * 104_729) % below

/** What is asked, by request. */
const QUERIES: Readonly<Record<string, (n: number) => string>> = {
  list: () => 'settlements',
  ...Object.fromEntries(
    ['reserved', 'pending', 'settled', 'failed'].map((status) => [
      `list, ${status}`,
      () => `settlements?status=${status}`,
    ]),
  ),
  'list, page of 100': () => 'settlements?limit=100',
  'list, deep page': (n) => `settlements?cursor=${cursorAt(scatter(n, 997) / 997)}`,
  'list, failed, deep page': (n) =>
    `settlements?status=failed&cursor=${cursorAt(scatter(n, 997) / 997)}`,
  'list, from and to': (n) => `settlements?from=${timeAt(scatter(n, 90) / 100)}&to=${timeAt(0.95)}`,
  'list, network': () => `settlements?network=eip155:${FILLED_CHAINS[1]}`,
  'list, rare network': () => `settlements?network=eip155:${FILLED_CHAINS[2]}`,
  'list, merchant': (n) => `settlements?project=merchant-${1 + scatter(n, merchants)}`,
  'list, merchant, failed': (n) =>
    `settlements?status=failed&project=merchant-${1 + scatter(n, merchants)}`,
  'list, merchant, rare network': (n) =>
    `settlements?network=eip155:${FILLED_CHAINS[2]}&project=merchant-${1 + scatter(n, merchants)}`,
  'list, amount': () => 'settlements?minAmount=1',
  'list, rare amount': (n) =>
    `settlements?minAmount=0.${100_000 + scatter(n, 9000)}&maxAmount=0.${100_010 + scatter(n, 9000)}`,
  refunds: () => 'refunds',
  'refunds, merchant': (n) => `refunds?project=merchant-${1 + scatter(n, merchants)}`,
  changes: (n) => `settlements?updatedSince=${timeAt(scatter(n, 99) / 100)}`,
  'search, whole reference': (n) => `settlements?search=Order-${scatter(n, payments)}`,
  'search, reference': (n) => `settlements?search=Order-${1000 + scatter(n, 9000)}`,
  'search, any reference': () => 'settlements?search=Order-',
  'search, reference, failed': () => 'settlements?search=Order-&status=failed',
  'search, reference, merchant': (n) =>
    `settlements?search=Order-1&project=merchant-${1 + scatter(n, merchants)}`,
  'search, no reference': (n) => `settlements?search=nothing-${n}`,
  'search, payer': (n) => `settlements?search=0x${1000 + scatter(n, 9000)}`,
  'search, payer, two digits': (n) => `settlements?search=0x${10 + scatter(n, 90)}`,
  'search, payer, two digits, merchant': (n) =>
    `settlements?search=0x${10 + scatter(n, 90)}&project=merchant-${1 + scatter(n, merchants)}`,
  'search, frequent payer': () => `settlements?search=${FREQUENT_PAYER}`,
  'search, frequent payer, merchant': (n) =>
    `settlements?search=${FREQUENT_PAYER}&project=merchant-${1 + scatter(n, merchants)}`,
  'search, transaction': (n) =>
    `settlements?transaction=0x${String(100_000_000 + ((scatter(n, payments) * 618_033_989) % 899_999_963)).padEnd(64, '0')}`,
  'search, URL': () => `settlements?resource=${encodeURIComponent(FILLED_RESOURCE)}`,
  'search, URL, merchant': (n) =>
    `settlements?resource=${encodeURIComponent(FILLED_RESOURCE)}&project=merchant-${1 + scatter(n, merchants)}`,
  'summary, merchant': (n) => `settlements-summary?project=merchant-${1 + scatter(n, merchants)}`,
  summary: () => 'settlements-summary?status=settled',
  'summary, reference': (n) => `settlements-summary?search=Order-${100 + scatter(n, 900)}`,
  funnel: () => 'funnel',
  'funnel, merchant': (n) => `funnel?project=merchant-${1 + scatter(n, merchants)}`,
  'overview, merchant': (n) => `overview?project=merchant-${1 + scatter(n, merchants)}`,
  'CSV, first byte': () => 'settlements.csv',
}

/** Sums that read what they sum: they are asked for a few times, each time with another span. */
const SUMS: typeof QUERIES = {
  'revenue by day, 30 days': (n) =>
    `revenue?by=day&from=${timeAt(0.6 + n / 1000)}&to=${timeAt(0.93 + n / 1000)}`,
  'revenue by merchant, 30 days': (n) =>
    `revenue?by=project&from=${timeAt(0.6 + n / 1000)}&to=${timeAt(0.93 + n / 1000)}`,
  'revenue by day, merchant, 30 days': (n) =>
    `revenue?by=day&project=${MERCHANT}&from=${timeAt(0.6 + n / 1000)}&to=${timeAt(0.93 + n / 1000)}`,
}

await measure()

async function measure(): Promise<void> {
  const kind = values.ledger === 'postgres' ? 'postgres' : 'sqlite'
  const place = values.at === undefined ? await createLedger(kind) : ledgerAt(values.at)
  try {
    await fill(place)
    const ledger = open(place)
    const gateway = createGateway({
      networks: {
        'base-sepolia': { rpcUrl: 'http://127.0.0.1:9', relayerKeys: [`0x${'5e'.repeat(32)}`] },
      },
      projects: [{ id: 'shop', tokens: [SHOP_TOKEN], merchant: { payTo: `0x${'0c'.repeat(20)}` } }],
      admin: { tokens: [hashToken(ADMIN_TOKEN)] },
      rateLimit: false,
      ledger,
    })
    const app = await listen(express().use(gateway.gatewayRouter()))
    try {
      for (const [name, query] of Object.entries(QUERIES))
        await tell(app.url, name, query, Number(values.requests))
      for (const [name, query] of Object.entries(SUMS)) await tell(app.url, name, query, 3)
    } finally {
      await app.close()
      await gateway.close()
    }
  } finally {
    if (values.at === undefined) await place.drop()
  }
}

function open({ location, dialect }: LedgerPlace) {
  return dialect.isPostgres ? openPostgresLedger(location) : openSqliteLedger(location)
}

async function fill(place: LedgerPlace): Promise<void> {
  const ledger = open(place)
  // A pool alone does not keep the process up.
  const timer = setInterval(() => undefined, 60_000)
  const isFilled = (await ledger.projects.findProject('merchant-1')) !== undefined
  await ledger.close()
  clearInterval(timer)
  if (isFilled) return
  const startedAt = performance.now()
  for (const statement of merchantsFilling(place.dialect === POSTGRES ? POSTGRES : SQLITE, {
    payments,
    merchants,
    until,
  }))
    await place.execute(statement)
  await place.tidy()
  process.stderr.write(`filled in ${Math.round((performance.now() - startedAt) / 1000)} s\n`)
}

/** Prints how long it takes until the first byte of an answer is there. */
async function tell(
  url: string,
  name: string,
  query: (n: number) => string,
  requests: number,
): Promise<void> {
  if (!name.includes(values.only)) return
  const ms: number[] = []
  let note = ''
  const cpu = process.cpuUsage()
  for (let n = 0; n <= requests; n++) {
    const startedAt = performance.now()
    const response = await fetch(`${url}/api/v2/admin/${query(n)}`, {
      headers: { Authorization: `Bearer ${ADMIN_TOKEN}` },
    })
    const reader = response.body!.getReader()
    const { value } = await reader.read()
    // The first one opens what the others use.
    if (n > 0 || requests < 4) ms.push(performance.now() - startedAt)
    const all = name.includes('CSV') ? (await reader.cancel(), '') : await rest(reader, value)
    if (response.status !== 200) note = `${response.status} ${all.slice(0, 100)}`
    else if (all.startsWith('{"settlements"')) note = `${JSON.parse(all).settlements.length} rows`
  }
  const [p50, p95] = [50, 95].map((part) => percentile(ms, part).toFixed(1).padStart(8))
  const { user, system } = process.cpuUsage(cpu)
  const own = ((user + system) / 1000 / ms.length).toFixed(1).padStart(8)
  process.stdout.write(`${name.padEnd(38)}${p50}${p95}${own}  ${note}\n`)
}

async function rest(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  first: Uint8Array | undefined,
): Promise<string> {
  const parts = first === undefined ? [] : [first]
  for (let next = await reader.read(); !next.done; next = await reader.read())
    parts.push(next.value)
  return Buffer.concat(parts).toString()
}
