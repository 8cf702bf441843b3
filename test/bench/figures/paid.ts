import { type Bench, inTurn, scaled } from '../bench.js'
import { requirementsOf, signAll, type SignedPayments } from '../buyers.js'
import { buy, callsFor, isSold } from '../calls.js'
import { type LoadResult, runClients } from '../load.js'
import type { Usage } from '../servers/host.js'
import { percentile } from '../statistics.js'
import {
  type Contestant,
  OFFICIAL,
  OURS,
  OURS_WITH_THREE,
  settingsOf,
  withWorld,
} from '../world.js'

/** A crowd, and how often each of it buys: of a slow stack less, so that all take a while. */
interface Crowd {
  readonly buyers: number
  readonly each: Readonly<Record<'ours' | 'official', number>>
}

const INSTANT: readonly Crowd[] = [
  { buyers: 1, each: { ours: 160, official: 60 } },
  { buyers: 8, each: { ours: 100, official: 30 } },
  { buyers: 32, each: { ours: 60, official: 15 } },
  { buyers: 128, each: { ours: 20, official: 5 } },
]

const BLOCKS: readonly Crowd[] = [
  { buyers: 1, each: { ours: 4, official: 4 } },
  { buyers: 8, each: { ours: 4, official: 4 } },
  { buyers: 32, each: { ours: 4, official: 4 } },
  { buyers: 128, each: { ours: 4, official: 4 } },
]

const WARM_UP = { buyers: 8, each: 8 } as const
const BLOCK_SECONDS = 2

/** Paid requests a second, where every transaction is mined at once. */
export async function measurePaid(bench: Bench): Promise<void> {
  const contestants = [OURS, OFFICIAL, OURS_WITH_THREE]
  await measure(bench, { name: 'instant mining', contestants, crowds: INSTANT })
}

/** Paid requests a second, and how long they take, with a block every two seconds. */
export async function measurePaidInBlocks(bench: Bench): Promise<void> {
  const contestants = [OURS, OFFICIAL]
  const name = `${BLOCK_SECONDS} s blocks`
  await measure(bench, { name, contestants, crowds: BLOCKS, blockTime: BLOCK_SECONDS })
}

interface Race {
  readonly name: string
  readonly contestants: readonly Contestant[]
  readonly crowds: readonly Crowd[]
  readonly blockTime?: number
}

/** What a crowd's buying came to. */
interface Outcome extends LoadResult, Usage {}

async function measure(bench: Bench, race: Race): Promise<void> {
  const { table } = bench
  bench.note(`${race.name}: signing`)
  const payments = await signForAll(bench, race.crowds)
  const failed: Partial<Record<Contestant['column'], number>> = {}
  const latencies = new Map<Crowd, Partial<Record<Contestant['column'], number[]>>>()

  for (let round = 0; round < bench.rounds; round++) {
    const outcomes = new Map<Contestant, readonly Outcome[]>()
    for (const contestant of inTurn(race.contestants, round)) {
      bench.note(`${race.name}: round ${round + 1}, ${contestant.column}`)
      outcomes.set(contestant, await race1(bench, { ...race, contestant, payments }))
    }
    for (const [index, crowd] of race.crowds.entries()) {
      const of = (figure: (outcome: Outcome) => number) =>
        Object.fromEntries(
          race.contestants.flatMap((contestant) => {
            const outcome = outcomes.get(contestant)?.[index]
            return outcome ? [[contestant.column, figure(outcome)]] : []
          }),
        )
      const where = `${buyersOf(crowd)}, ${race.name}`
      table.add(`paid requests, ${where}`, '1/s', of(soldPerSecond))
      table.add(
        `CPU of the server a payment, ${where}`,
        'ms',
        of(({ cpuMs, count }) => cpuMs / count),
      )
      table.add(
        `event-loop delay p99, ${where}`,
        'ms',
        of(({ loopDelayP99Ms }) => loopDelayP99Ms),
      )
      for (const { column } of race.contestants) {
        const outcome = outcomes.get(race.contestants.find((one) => one.column === column)!)?.[
          index
        ]
        if (outcome === undefined) continue
        failed[column] = (failed[column] ?? 0) + outcome.failed
        if (outcome.failure)
          bench.note(`${column}, ${where}: ${outcome.failed} failed: ${outcome.failure}`)
        const own = latencies.get(crowd) ?? {}
        latencies.set(crowd, own)
        ;(own[column] ??= []).push(...outcome.latenciesMs)
      }
    }
  }
  for (const [crowd, own] of latencies) {
    const p99 = Object.entries(own).map(([column, all]) => [column, percentile(all, 99)])
    table.add(
      `latency p99 of all rounds, ${buyersOf(crowd)}, ${race.name}`,
      'ms',
      Object.fromEntries(p99),
    )
  }
  table.add(`failed payments in all rounds, ${race.name}`, '', failed)
}

/** Signs once for all rounds: each has a chain of its own, on which nothing is spent yet. */
async function signForAll(
  bench: Bench,
  crowds: readonly Crowd[],
): Promise<readonly SignedPayments[]> {
  const requirements = requirementsOf(await settingsOf())
  const signed: SignedPayments[] = []
  for (const { buyers, each } of [
    { buyers: WARM_UP.buyers, each: { ours: WARM_UP.each, official: WARM_UP.each } },
    ...crowds,
  ]) {
    const most = scaled(bench, Math.max(each.ours, each.official))
    signed.push(await signAll(bench.buyers.slice(0, buyers), most, requirements))
  }
  return signed
}

async function race1(
  bench: Bench,
  race: Race & { contestant: Contestant; payments: readonly SignedPayments[] },
): Promise<readonly Outcome[]> {
  const {
    contestant,
    crowds,
    payments: [warmUp = [], ...payments],
  } = race
  return withWorld(bench, race, async (server) => {
    await runClients(callsFor(server.url, warmUp, buy), isSold)
    const outcomes: Outcome[] = []
    for (const [index, { each }] of crowds.entries()) {
      const own = (payments[index] ?? []).map((all) =>
        all.slice(0, scaled(bench, each[contestant.stack])),
      )
      await server.reset()
      const result = await runClients(callsFor(server.url, own, buy), isSold)
      outcomes.push({ ...result, ...(await server.usage()) })
    }
    return outcomes
  })
}

function soldPerSecond({ count, failed, seconds }: LoadResult): number {
  return (count - failed) / seconds
}

function buyersOf({ buyers }: Crowd): string {
  return `${buyers} ${buyers === 1 ? 'buyer' : 'buyers'}`
}
