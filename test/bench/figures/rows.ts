import { offerOf } from '../../support/core.js'
import { fillStatement } from '../../support/fill-ledger.js'
import { type Bench, inTurn, scaled } from '../bench.js'
import { signAll } from '../buyers.js'
import { buy, callsFor, isSold } from '../calls.js'
import { type LedgerPlace, onlyPossible } from '../ledgers.js'
import { type Call, runClients } from '../load.js'
import { TOKEN } from '../servers/setup.js'
import { percentile } from '../statistics.js'
import type { Column } from '../table.js'
import { POSTGRES, settingsOf, SQLITE, withWorld } from '../world.js'

const BUYERS = 32
const WARM_UP_EACH = 20
const EACH = 60

/** Rows that one statement fills in. */
const FILLED_AT_ONCE = 250_000

/** Requests of each list. */
const LIST_REQUESTS = 40

/** What the API lists, by the words of its query. The newest filled rows are two days old. */
const LISTS = [
  '',
  'status=reserved',
  'status=pending',
  'status=settled',
  'status=failed',
  `from=${new Date(Date.now() - 86_400_000).toISOString()}`,
  `to=${new Date(Date.now() - 2 * 86_400_000).toISOString()}`,
  'status=failed&to=2020-01-01',
] as const

/** Paid rate and lists of the API, with so many settled rows in the ledger. */
export async function measureRows(bench: Bench): Promise<void> {
  const each = scaled(bench, EACH)
  const buyers = bench.buyers.slice(0, BUYERS)
  const payments = await signAll(buyers, WARM_UP_EACH + each, offerOf(await settingsOf()))
  const contestants = await onlyPossible([SQLITE, POSTGRES])
  for (const rows of bench.rows)
    for (let round = 0; round < bench.rounds; round++) {
      const figures = new Map<string, Partial<Record<Column, number>>>()
      for (const contestant of inTurn(contestants, round)) {
        const { column } = contestant
        bench.note(`rows: ${rows}, round ${round + 1}, ${column}`)
        await withWorld(bench, { contestant }, async ({ url }, { ledger }) => {
          const run = (from: number, to?: number) => {
            const some = payments.map((own) => own.slice(from, to))
            return runClients(callsFor(url, some, buy), isSold)
          }
          // The first payment creates the tables.
          await run(0, 1)
          if (ledger) await fill(ledger, rows)
          await run(1, WARM_UP_EACH)
          const { count, failed, failure, seconds } = await run(WARM_UP_EACH)
          if (failure) bench.note(`rows: ${failure}`)
          const add = (name: string, value: number): void =>
            void figures.set(name, { ...figures.get(name), [column]: value })
          add(`paid requests, ${BUYERS} buyers|1/s`, (count - failed) / seconds)
          for (const query of LISTS)
            add(
              `list latency p50, ${query.replace(/=\d.*/, '=…') || 'all'}|ms`,
              await list(url, query),
            )
        })
      }
      for (const [name, values] of figures) {
        const [figure = '', unit = ''] = name.split('|')
        bench.table.add(`${figure}, ${rows.toLocaleString('en')} rows`, unit, values)
      }
    }
}

async function fill(ledger: LedgerPlace, rows: number): Promise<void> {
  for (let start = 1; start <= rows; start += FILLED_AT_ONCE) {
    const count = Math.min(FILLED_AT_ONCE, rows - start + 1)
    await ledger.execute(fillStatement({ count, start, project: 'shop' }))
  }
  // Statistics of a table that is about to grow would say nothing.
  if (rows > 0) await ledger.execute('ANALYZE')
}

/** Milliseconds that a page of the API takes. */
async function list(url: string, query: string): Promise<number> {
  const call: Call = {
    method: 'GET',
    url: `${url}/api/v2/merchant/settlements?${query}`,
    headers: { 'X-Project-Identify-Token': TOKEN },
  }
  const calls = Array.from({ length: LIST_REQUESTS }, () => call)
  const { latenciesMs, failure } = await runClients([calls], ({ status }) => status === 200)
  if (failure) throw new Error(`${call.url}: ${failure}`)
  return percentile(latenciesMs, 50)
}
