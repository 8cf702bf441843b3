import { offerOf } from '../../support/core.js'
import { fillStatement } from '../../support/fill-ledger.js'
import { type Bench, inTurn, scaled } from '../bench.js'
import { signAll, type SignedPayments } from '../buyers.js'
import { buy, callsFor, isSold } from '../calls.js'
import { type LedgerPlace, onlyPossible } from '../ledgers.js'
import { type Call, runClients } from '../load.js'
import { TOKEN } from '../servers/setup.js'
import { percentile } from '../statistics.js'
import type { Column } from '../table.js'
import { type Contestant, POSTGRES, settingsOf, SQLITE, withWorld } from '../world.js'

const BUYERS = 32
const WARM_UP_EACH = 60
const EACH = 80

/** Rows that one statement fills in. */
const FILLED_AT_ONCE = 250_000

/** Rows that an empty ledger gets too: more than a page, so that its lists find as much as those of a full one. */
const LEAST_ROWS = 50

/** Requests of each list. */
const LIST_REQUESTS = 100

/** The newest filled row is older, in milliseconds since the epoch. */
const FILLED_UNTIL = Date.now() - 2 * 86_400_000

/** What the API lists, by the words of its query. */
const LISTS = [
  '',
  'status=reserved',
  'status=pending',
  'status=settled',
  'status=failed',
  `from=${new Date(Date.now() - 86_400_000).toISOString()}`,
  `to=${new Date(FILLED_UNTIL).toISOString()}`,
  'status=failed&to=2020-01-01',
] as const

const PAID = `paid requests, ${BUYERS} buyers`

/** A figure of each contestant. */
type Values = Partial<Record<Column, number>>

/** Paid rate and lists of the API, with so many settled rows in the ledger. */
export async function measureRows(bench: Bench): Promise<void> {
  const buyers = bench.buyers.slice(0, BUYERS)
  const each = WARM_UP_EACH + scaled(bench, EACH)
  const payments = await signAll(buyers, each, offerOf(await settingsOf()))
  const contestants = await onlyPossible([SQLITE, POSTGRES])
  for (let round = 0; round < bench.rounds; round++) {
    const measured = new Map<number, Map<string, Values>>()
    for (const rows of inTurn(bench.rows, round)) {
      const figures = new Map<string, Values>()
      measured.set(rows, figures)
      for (const contestant of inTurn(contestants, round)) {
        const { column } = contestant
        bench.note(`rows: round ${round + 1}, ${rows}, ${column}`)
        for (const [figure, value] of await measureOne(bench, { contestant, rows, payments }))
          figures.set(figure, { ...figures.get(figure), [column]: value })
      }
    }
    tabulate(bench, measured)
  }
}

/** @returns A contestant's figures, by their names. */
function measureOne(
  bench: Bench,
  {
    contestant,
    rows,
    payments,
  }: { contestant: Contestant; rows: number; payments: SignedPayments },
): Promise<ReadonlyMap<string, number>> {
  return withWorld(bench, { contestant }, async ({ url }, { ledger }) => {
    const run = (from: number, to?: number) => {
      const some = payments.map((own) => own.slice(from, to))
      return runClients(callsFor(url, some, buy), isSold)
    }
    // The first payment creates the tables.
    await run(0, 1)
    if (ledger) await fill(ledger, Math.max(rows, LEAST_ROWS))
    await run(1, WARM_UP_EACH)
    const { count, failed, failure, seconds } = await run(WARM_UP_EACH)
    if (failure) bench.note(`rows: ${failure}`)
    const figures = new Map([[PAID, (count - failed) / seconds]])
    for (const query of LISTS)
      figures.set(
        `list latency p50, ${query.replace(/=\d.*/, '=…') || 'all'}`,
        await list(url, query),
      )
    return figures
  })
}

/** Adds the figures of a round, and what most rows make of those with the fewest. */
function tabulate(
  { table, rows }: Bench,
  measured: ReadonlyMap<number, ReadonlyMap<string, Values>>,
): void {
  for (const count of rows)
    for (const [figure, values] of measured.get(count) ?? [])
      table.add(`${figure}, ${count.toLocaleString('en')} rows`, unitOf(figure), values)
  const [fewest, most] = [Math.min(...rows), Math.max(...rows)]
  const [few, many] = [measured.get(fewest), measured.get(most)]
  if (few === undefined || many === undefined || few === many) return
  const slowest: Record<string, number> = {}
  for (const [figure, values] of few) {
    const ratios = ratiosOf(many.get(figure) ?? {}, values)
    if (figure === PAID)
      table.add(`${PAID}, ${most.toLocaleString('en')} ÷ ${fewest} rows`, '', ratios)
    else
      for (const [column, ratio] of Object.entries(ratios))
        slowest[column] = Math.max(ratio, slowest[column] ?? 0)
  }
  table.add(`slowest list, ${most.toLocaleString('en')} ÷ ${fewest} rows`, '', slowest)
}

async function fill(ledger: LedgerPlace, rows: number): Promise<void> {
  for (let start = 1; start <= rows; start += FILLED_AT_ONCE) {
    const count = Math.min(FILLED_AT_ONCE, rows - start + 1)
    const filling = { count, start, project: 'shop', until: FILLED_UNTIL }
    await ledger.execute(fillStatement(ledger.dialect, filling))
  }
  await ledger.tidy()
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

const unitOf = (figure: string): string => (figure === PAID ? '1/s' : 'ms')

/** Each contestant's figure, divided by its other one. */
function ratiosOf(ones: Values, others: Values): Values {
  const columns = Object.keys(ones) as Column[]
  return Object.fromEntries(
    columns.map((column) => [column, (ones[column] ?? NaN) / (others[column] ?? NaN)]),
  )
}
