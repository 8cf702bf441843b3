import { type Bench, inTurn, scaled } from '../bench.js'
import { offerOf } from '../../support/core.js'
import { signAll, type SignedPayments } from '../buyers.js'
import { callApi, callsFor, isApproved } from '../calls.js'
import { runClients } from '../load.js'
import { onlyPossible } from '../ledgers.js'
import {
  beforeOf,
  type Contestant,
  OFFICIAL,
  OURS,
  POSTGRES,
  settingsOf,
  SQLITE,
  withWorld,
} from '../world.js'

const CLIENTS = 32

/** Payments of each client: until V8 has compiled what there is to compile, and then on the clock. */
const EACH = {
  verify: { warmUp: { ours: 400, official: 50 }, measured: { ours: 320, official: 40 } },
  settle: { warmUp: { ours: 40, official: 8 }, measured: { ours: 80, official: 15 } },
} as const

type Figures = Partial<Record<Contestant['column'], number>>
type Stack = Contestant['stack']

/** Verify alone, through HTTP. */
export function measureVerify(bench: Bench): Promise<void> {
  return measure(bench, 'verify')
}

/** Settle alone, through HTTP. */
export function measureSettle(bench: Bench): Promise<void> {
  return measure(bench, 'settle')
}

async function measure(bench: Bench, what: 'verify' | 'settle'): Promise<void> {
  bench.note(`${what}: signing`)
  const requirements = offerOf(await settingsOf())
  const clients = bench.buyers.slice(0, CLIENTS)
  const { warmUp, measured } = EACH[what]
  const countFor = (stack: Stack): readonly [number, number] => [
    scaled(bench, warmUp[stack]),
    scaled(bench, measured[stack]),
  ]
  const sum = (stack: Stack): number => countFor(stack).reduce((total, each) => total + each, 0)
  const payments = await signAll(clients, Math.max(sum('ours'), sum('official')), requirements)
  const contestants = await onlyPossible([SQLITE, POSTGRES, OURS, OFFICIAL, ...beforeOf(bench)])
  const failed: Figures = {}
  for (let round = 0; round < bench.rounds; round++) {
    const perSecond: Figures = {}
    const statements: Figures = {}
    for (const contestant of inTurn(contestants, round)) {
      bench.note(`${what}: round ${round + 1}, ${contestant.column}`)
      const { stack } = contestant
      const toCall = callApi(stack, what, requirements)
      const [before, each] = countFor(stack)
      const result = await withWorld(bench, { contestant }, async (server) => {
        const { url } = server
        const run = (some: SignedPayments) => runClients(callsFor(url, some, toCall), isApproved)
        await run(payments.map((own) => own.slice(0, before)))
        await server.reset()
        const done = await run(payments.map((own) => own.slice(before, before + each)))
        return { ...done, ...(await server.usage()) }
      })
      perSecond[contestant.column] = (result.count - result.failed) / result.seconds
      if (contestant.ledger) statements[contestant.column] = result.statements / result.count
      failed[contestant.column] = (failed[contestant.column] ?? 0) + result.failed
      if (result.failure) bench.note(`${what}, ${stack}: ${result.failure}`)
    }
    bench.table.add(`${what} alone, ${CLIENTS} at once`, '1/s', perSecond)
    bench.table.add(`statements a payment, ${what} alone`, '', statements)
  }
  bench.table.add(`${what} alone, failed in all rounds`, '', failed)
}
