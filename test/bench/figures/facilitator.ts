import { type Bench, inTurn, scaled } from '../bench.js'
import { offerOf } from '../../support/core.js'
import { signAll, type SignedPayments } from '../buyers.js'
import { callApi, callsFor, isApproved } from '../calls.js'
import { runClients } from '../load.js'
import { type Contestant, OFFICIAL, OURS, settingsOf, withWorld } from '../world.js'

const CLIENTS = 32
const WARM_UP_EACH = 16

/** Payments of each client. */
const EACH = {
  verify: { ours: 120, official: 15 },
  settle: { ours: 80, official: 15 },
} as const

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
  const most = WARM_UP_EACH + scaled(bench, Math.max(EACH[what].ours, EACH[what].official))
  const payments = await signAll(clients, most, requirements)
  const failed = { ours: 0, official: 0 }
  for (let round = 0; round < bench.rounds; round++) {
    const perSecond: Partial<Record<Contestant['column'], number>> = {}
    for (const contestant of inTurn([OURS, OFFICIAL], round)) {
      bench.note(`${what}: round ${round + 1}, ${contestant.column}`)
      const { stack } = contestant
      const toCall = callApi(stack, what, requirements)
      const each = scaled(bench, EACH[what][stack])
      const result = await withWorld(bench, { contestant }, async ({ url }) => {
        const run = (some: SignedPayments) => runClients(callsFor(url, some, toCall), isApproved)
        await run(payments.map((own) => own.slice(0, WARM_UP_EACH)))
        return run(payments.map((own) => own.slice(WARM_UP_EACH, WARM_UP_EACH + each)))
      })
      perSecond[contestant.column] = (result.count - result.failed) / result.seconds
      failed[stack] += result.failed
      if (result.failure) bench.note(`${what}, ${stack}: ${result.failure}`)
    }
    bench.table.add(`${what} alone, ${CLIENTS} at once`, '1/s', perSecond)
  }
  bench.table.add(`${what} alone, failed in all rounds`, '', failed)
}
