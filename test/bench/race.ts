/** A race: crowds of buyers at each contestant's server, round by round. */
import { type Bench, inTurn, scaled } from './bench.js'
import { signAll, type SignedPayments } from './buyers.js'
import { buy, callsFor, isSold } from './calls.js'
import { type LoadResult, runClients } from './load.js'
import type { Usage } from './servers/host.js'
import { type Pays, WARM_UP } from './servers/setup.js'
import { type Contestant, offerFor, settingsOf, withWorld } from './world.js'

/** Buyers at the same time, and how often each buys, by stack. */
export interface Crowd {
  readonly buyers: number
  readonly each: Readonly<Record<Contestant['stack'], number>>
}

/** Who races, before which crowds, on which kind of chain. */
export interface Race {
  readonly name: string
  readonly contestants: readonly Contestant[]
  /** How all contestants are paid. @defaultValue 'erc3009' */
  readonly pays?: Pays
  /**
   * Comes first of all, on another chain, and is not on the clock. It takes thousands of payments until V8 has
   * compiled a server. On the measured chain, anvil would then take several times as long for a block, because
   * it hashes all that is stored.
   *
   * @defaultValue nobody
   */
  readonly warmUpElsewhere?: Crowd
  /** Comes before the crowd, on the same chain, and is not on the clock. */
  readonly warmUp: Crowd
  readonly crowds: readonly Crowd[]
  /** Seconds; every transaction is mined at once without it. */
  readonly blockTime?: number
}

/** What a crowd's buying came to. */
export interface Outcome extends LoadResult, Usage {}

/** The outcome of one crowd, at one server, in one round. */
export interface Result extends Outcome {
  readonly round: number
  readonly column: Contestant['column']
  readonly crowd: Crowd
}

/**
 * Runs all rounds. For each crowd, the contestants run right after one another: the machine's speed may change
 * within a minute. Each run has a new chain and a new server, because anvil takes longer for a block the more
 * was paid before.
 */
export async function race(bench: Bench, one: Race): Promise<readonly Result[]> {
  bench.note(`${one.name}: signing`)
  const signed = {
    ours: await signForAll(bench, one, 'ours'),
    official: await signForAll(bench, one, 'official'),
  }
  const results: Result[] = []
  for (let round = 0; round < bench.rounds; round++)
    for (const crowd of one.crowds)
      for (const contestant of inTurn(one.contestants, round)) {
        const { column } = contestant
        bench.note(`${one.name}: round ${round + 1}, ${crowd.buyers} buyers, ${column}`)
        const paid = { ...contestant, ...(one.pays && { pays: one.pays }) }
        const payments = signed[contestant.stack]
        const outcome = await run(bench, { ...one, contestant: paid, crowd, payments })
        results.push({ ...outcome, round, column, crowd })
        if (outcome.failure === undefined) continue
        bench.note(`${column}, ${crowd.buyers}: ${outcome.failed} failed: ${outcome.failure}`)
      }
  return results
}

/** Signs once for all rounds and all contestants of a stack: each has a chain of its own, on which nothing is spent yet. */
async function signForAll(
  bench: Bench,
  { warmUpElsewhere, warmUp, crowds, pays }: Race,
  stack: Contestant['stack'],
): Promise<ReadonlyMap<Crowd, SignedPayments>> {
  const settings = await settingsOf()
  const signed = new Map<Crowd, SignedPayments>()
  for (const crowd of [...(warmUpElsewhere ? [warmUpElsewhere] : []), warmUp, ...crowds]) {
    const isElsewhere = crowd === warmUpElsewhere
    const requirements = offerFor(
      settings,
      { stack, ...(pays && { pays }) },
      isElsewhere ? { network: WARM_UP.caip2 } : {},
    )
    const most = scaled(bench, crowd.each[stack])
    signed.set(crowd, await signAll(bench.buyers.slice(0, crowd.buyers), most, requirements))
  }
  return signed
}

/** One run: a contestant and a crowd. */
interface Heat extends Race {
  readonly contestant: Contestant
  readonly crowd: Crowd
  readonly payments: ReadonlyMap<Crowd, SignedPayments>
}

/** Warms up a new server, and measures the crowd at it. */
async function run(
  bench: Bench,
  { contestant, crowd, payments, warmUpElsewhere, warmUp, blockTime }: Heat,
): Promise<Outcome> {
  const warmsUpElsewhere = warmUpElsewhere !== undefined
  const world = { contestant, warmsUpElsewhere, ...(blockTime !== undefined && { blockTime }) }
  return withWorld(bench, world, async (server, { warmUpChain }) => {
    const buyAll = (some: Crowd) => {
      const times = scaled(bench, some.each[contestant.stack])
      const own = (payments.get(some) ?? []).map((all) => all.slice(0, times))
      return runClients(callsFor(server.url, own, buy), isSold)
    }
    if (warmUpElsewhere !== undefined) await buyAll(warmUpElsewhere)
    warmUpChain?.rest()
    await buyAll(warmUp)
    await server.reset()
    const result = await buyAll(crowd)
    return { ...result, ...(await server.usage()) }
  })
}
