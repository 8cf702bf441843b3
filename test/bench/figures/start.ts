import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type Bench, inTurn, scaled } from '../bench.js'
import { median } from '../statistics.js'
import type { Column } from '../table.js'

const STARTS = 12
const SCRIPT = fileURLToPath(new URL('../servers/start.mjs', import.meta.url))
const ENTRY = new URL('../../../dist/esm/index.js', import.meta.url).href

/** What is started, in which row and column it is, and with which build of this package. */
interface Started {
  readonly what: string
  readonly row: string
  readonly column: Column
  readonly entry: string
}

/** What a start has taken. */
interface Start {
  readonly wallMs: number
  readonly cpuMs: number
  readonly megabytes: number
  /** Two seconds later, with what is loaded in the background. */
  readonly later: number
}

const ROWS = {
  protect: 'one x402Protect',
  facilitator: 'with httpFacilitator',
  router: 'with gatewayRouter',
}

/** How long an app takes until it listens, and how much memory it takes then. */
export async function measureStart(bench: Bench): Promise<void> {
  const { before } = bench
  const all = Object.entries(ROWS).flatMap(([what, row]): Started[] => [
    { what, row, column: 'ours', entry: ENTRY },
    ...(before === undefined ? [] : [{ what, row, column: 'before' as const, entry: before }]),
  ])
  const others: readonly Started[] = (['official', 'bare'] as const).map((what) => {
    return { what, row: ROWS.protect, column: what, entry: ENTRY }
  })
  const contestants = [...all, ...others]
  for (let round = 0; round < bench.rounds; round++) {
    bench.note(`start: round ${round + 1}`)
    const starts = new Map<Started, Start[]>(contestants.map((one) => [one, []]))
    // In turn: what slows the machine for a while slows all.
    for (let time = 0; time < scaled(bench, STARTS); time++)
      for (const one of inTurn(contestants, time)) starts.get(one)?.push(await start(one))
    for (const [{ row, column }, some] of starts) {
      const add = (figure: string, unit: string, read: (start: Start) => number): void =>
        bench.table.add(`${figure}, ${row}`, unit, { [column]: median(some.map(read)) })
      add('until it listens', 'ms', ({ wallMs }) => wallMs)
      add('CPU until it listens', 'ms', ({ cpuMs }) => cpuMs)
      add('memory when it listens', 'MB', ({ megabytes }) => megabytes)
      add('memory 2 s later', 'MB', ({ later }) => later)
    }
  }
}

async function start({ what, entry }: Started): Promise<Start> {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT, what, entry])
  return JSON.parse(stdout) as Start
}
