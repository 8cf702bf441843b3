import type { Bench } from '../bench.js'
import { onlyPossible } from '../ledgers.js'
import { beforeOf, OFFICIAL, OURS, OURS_WITH_THREE, POSTGRES, SQLITE } from '../world.js'
import { type Outcome, race, type Race, type Result } from '../race.js'
import { percentile } from '../statistics.js'
import type { Column } from '../table.js'

/** Who is slower buys less often, so that all take a while. */
const INSTANT: Race = {
  name: 'instant mining',
  contestants: [SQLITE, POSTGRES, OURS, OFFICIAL, OURS_WITH_THREE],
  // Five to eight seconds each. The official package takes no less CPU a payment after three times as many.
  warmUpElsewhere: { buyers: 32, each: { ours: 150, official: 20 } },
  warmUp: { buyers: 32, each: { ours: 5, official: 2 } },
  crowds: [
    { buyers: 1, each: { ours: 160, official: 60 } },
    { buyers: 8, each: { ours: 100, official: 30 } },
    { buyers: 32, each: { ours: 60, official: 15 } },
    { buyers: 128, each: { ours: 20, official: 5 } },
  ],
}

const BLOCKS: Race = {
  name: '2 s blocks',
  blockTime: 2,
  contestants: [OURS, OFFICIAL],
  warmUp: { buyers: 32, each: { ours: 3, official: 3 } },
  crowds: [1, 8, 32, 128].map((buyers) => ({ buyers, each: { ours: 2, official: 2 } })),
}

/** Paid requests a second, where every transaction is mined at once. */
export function measurePaid(bench: Bench): Promise<void> {
  return measure(bench, INSTANT)
}

/** Paid requests a second, and how long they take, with a block every two seconds. */
export function measurePaidInBlocks(bench: Bench): Promise<void> {
  return measure(bench, BLOCKS)
}

/** Measures a race. */
export async function measure({ rounds, table, ...bench }: Bench, one: Race): Promise<void> {
  const isDurable = one.contestants.includes(SQLITE)
  const before = beforeOf(
    { rounds, table, ...bench },
    isDurable ? ['before', 'beforeSqlite', 'beforePostgres'] : ['before'],
  )
  const contestants = await onlyPossible([...one.contestants, ...before])
  const results = await race({ rounds, table, ...bench }, { ...one, contestants })
  for (const crowd of one.crowds) {
    const own = results.filter((result) => result.crowd === crowd)
    const where = `${crowd.buyers} ${crowd.buyers === 1 ? 'buyer' : 'buyers'}, ${one.name}`
    for (let round = 0; round < rounds; round++) {
      const of = (figure: (outcome: Outcome) => number) =>
        byColumn(
          own.filter((result) => result.round === round),
          ([result]) => (result ? figure(result) : NaN),
        )
      table.add(`paid requests, ${where}`, '1/s', of(soldPerSecond))
      table.add(`CPU of the server a payment, ${where}`, 'ms', of(cpuPerPayment))
      table.add(`event-loop delay p99, ${where}`, 'ms', of(loopDelay))
      if (!isDurable) continue
      table.add(`statements a payment, ${where}`, '', durable(of(statements)))
      table.add(`round trips to the database a payment, ${where}`, '', durable(of(roundTrips)))
    }
    table.add(`latency p99 of all rounds, ${where}`, 'ms', byColumn(own, latencyP99))
  }
  table.add(`failed payments in all rounds, ${one.name}`, '', byColumn(results, failures))
  table.add(`payments in all rounds, ${one.name}`, '', byColumn(results, payments))
}

/** A figure of each contestant's results. */
function byColumn(
  results: readonly Result[],
  figure: (own: readonly Result[]) => number,
): Partial<Record<Column, number>> {
  const columns = [...new Set(results.map(({ column }) => column))]
  return Object.fromEntries(
    columns.map((column) => [column, figure(results.filter((one) => one.column === column))]),
  )
}

/** Without those who keep nothing in a database. */
const durable = ({ sqlite, postgres }: Partial<Record<Column, number>>) => ({
  ...(sqlite !== undefined && { sqlite }),
  ...(postgres !== undefined && { postgres }),
})

const soldPerSecond = ({ count, failed, seconds }: Outcome): number => (count - failed) / seconds
const cpuPerPayment = ({ cpuMs, count }: Outcome): number => cpuMs / count
const statements = (outcome: Outcome): number => outcome.statements / outcome.count
const roundTrips = (outcome: Outcome): number => outcome.roundTrips / outcome.count
const loopDelay = ({ loopDelayP99Ms }: Outcome): number => loopDelayP99Ms
const latencyP99 = (own: readonly Result[]): number =>
  percentile(
    own.flatMap(({ latenciesMs }) => latenciesMs),
    99,
  )
const failures = (own: readonly Result[]): number => sum(own.map(({ failed }) => failed))
const payments = (own: readonly Result[]): number => sum(own.map(({ count }) => count))
const sum = (figures: readonly number[]): number => figures.reduce((total, one) => total + one, 0)
