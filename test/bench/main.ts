/**
 * Our stack against the official one, on the same machine, with the same load: `npm run bench`.
 *
 * `-- --rounds 5` says how often each is measured, `-- --only paid,402` which sections are run, and
 * `-- --quick` takes one round of a quarter of the load. `-- --before DIR` measures the build of
 * another checkout (its `dist`) beside this one's. A whole run is written to RESULTS.md.
 */
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import type { Bench } from './bench.js'
import { createBuyers } from './buyers.js'
import { measureSettle, measureVerify } from './figures/facilitator.js'
import { measureGas } from './figures/gas.js'
import { measureHeap } from './figures/heap.js'
import { measureRpc } from './figures/rpc.js'
import { measurePaid, measurePaidInBlocks } from './figures/paid.js'
import { measureFree, measureUnpaid } from './figures/unpaid.js'
import { describeMachine } from './machine.js'
import { Table } from './table.js'

/** In the order in which they are run. */
const SECTIONS = new Map([
  ['paid', measurePaid],
  ['verify', measureVerify],
  ['settle', measureSettle],
  ['402', measureUnpaid],
  ['free', measureFree],
  ['rpc', measureRpc],
  ['gas', measureGas],
  ['heap', measureHeap],
  ['blocks', measurePaidInBlocks],
])

const BUYERS = 128
const LEAST_ROUNDS = 5

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    only: { type: 'string' },
    before: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds ?? (values.quick ? 1 : LEAST_ROUNDS))
const chosen = values.only?.split(',') ?? [...SECTIONS.keys()]
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
