/**
 * Our stack against the official one, on the same machine, with the same load: `npm run bench`.
 *
 * `-- --rounds 5` says how often each is measured, `-- --only paid,402` which sections are run, and
 * `-- --quick` takes one round of a quarter of the load. `-- --before DIR` measures the build of
 * another checkout (its `dist`) beside this one's. `-- --sustained MINUTES` adds a load of minutes, and
 * `-- --rows 0,1000000,5000000` the paid rate and the lists with so many settled rows. A whole run of
 * three rounds or more is written to RESULTS.md.
 */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { Bench } from './bench.js'
import { createBuyers } from './buyers.js'
import { measureSettle, measureVerify } from './figures/facilitator.js'
import { measureGas } from './figures/gas.js'
import { measureGateways } from './figures/gateways.js'
import { measureKills } from './figures/kills.js'
import { measureHeap } from './figures/heap.js'
import { measureMetrics } from './figures/metrics.js'
import { measureRpc } from './figures/rpc.js'
import { measurePaid, measurePaidInBlocks } from './figures/paid.js'
import { measurePermit2 } from './figures/permit2.js'
import { measureRows } from './figures/rows.js'
import { measureStart } from './figures/start.js'
import { measureSustained } from './figures/sustained.js'
import { measureFree, measureUnpaid } from './figures/unpaid.js'
import { describeMachine } from './machine.js'
import { Table } from './table.js'

/** In the order in which they are run. */
const SECTIONS = new Map([
  ['paid', measurePaid],
  ['permit2', measurePermit2],
  ['verify', measureVerify],
  ['settle', measureSettle],
  ['gateways', measureGateways],
  ['kills', measureKills],
  ['402', measureUnpaid],
  ['free', measureFree],
  ['metrics', measureMetrics],
  ['rpc', measureRpc],
  ['gas', measureGas],
  ['heap', measureHeap],
  ['start', measureStart],
  ['blocks', measurePaidInBlocks],
  ['rows', measureRows],
  ['sustained', measureSustained],
])

const BUYERS = 128
const LEAST_ROUNDS = 3

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    only: { type: 'string' },
    before: { type: 'string' },
    sustained: { type: 'string' },
    rows: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds ?? (values.quick ? 1 : LEAST_ROUNDS))
/** Sections that take long, and are run where their option is given. */
const isAsked = (name: string): boolean =>
  (name !== 'rows' && name !== 'sustained') || values[name] !== undefined
const chosen = values.only?.split(',') ?? [...SECTIONS.keys()].filter(isAsked)
const sustainedMinutes = Number(values.sustained ?? 10)
const rows = (values.rows ?? '0,1000000,5000000').split(',').map(Number)
if (!(sustainedMinutes > 0)) throw new TypeError('--sustained takes minutes')
if (!rows.every((count) => Number.isSafeInteger(count) && count >= 0))
  throw new TypeError('--rows takes integers, separated by commas')
if (!Number.isSafeInteger(rounds) || rounds < 1) throw new TypeError('--rounds is an integer')
for (const name of chosen)
  if (!SECTIONS.has(name))
    throw new TypeError(`--only ${name}: there are ${[...SECTIONS.keys()].join(', ')}`)

const table = new Table()
const bench: Bench = {
  rounds,
  isQuick: values.quick,
  ...(values.before !== undefined && {
    before: pathToFileURL(resolve(values.before, 'dist/esm/index.js')).href,
  }),
  sustainedMinutes,
  rows,
  buyers: createBuyers(BUYERS),
  table,
  note: (words) => void process.stderr.write(`bench: ${words}\n`),
}
const isWhole = values.only === undefined && !values.quick && rounds >= LEAST_ROUNDS
for (const name of chosen) {
  await SECTIONS.get(name)?.(bench)
  // After each: whoever ends it early has what was measured by then.
  if (isWhole)
    await writeFile(
      new URL('RESULTS.md', import.meta.url),
      `${await describeMachine(rounds)}\n${table.toMarkdown()}\n`,
    )
}
process.stdout.write(`\n${table.toMarkdown()}\n`)
