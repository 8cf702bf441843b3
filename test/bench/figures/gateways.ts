import { setTimeout as sleep } from 'node:timers/promises'
import { offerOf } from '../../support/core.js'
import { type Bench, scaled } from '../bench.js'
import { type SignedPayments, signAll } from '../buyers.js'
import { buy, isSold } from '../calls.js'
import { onlyPossible } from '../ledgers.js'
import { runClients } from '../load.js'
import { POSTGRES, settingsOf, withWorld } from '../world.js'

const BUYERS = 32
const EACH = 40

/** Payments of each buyer before the clock runs: until every gateway sells, and then some more. */
const WARM_UP_EACH = 15

/** One to four gateways on one PostgreSQL. Two cores cannot show the rate: the statements count. */
export async function measureGateways(bench: Bench): Promise<void> {
  const [contestant] = await onlyPossible([{ ...POSTGRES, relayers: 3 }])
  if (contestant === undefined) return bench.note('gateways: there is no PostgreSQL')
  const each = scaled(bench, EACH)
  const buyers = bench.buyers.slice(0, BUYERS)
  const payments = await signAll(buyers, WARM_UP_EACH + each, offerOf(await settingsOf()))
  for (let round = 0; round < bench.rounds; round++)
    for (const count of [1, 2, 3, 4]) {
      bench.note(`gateways: round ${round + 1}, ${count}`)
      await withWorld(bench, { contestant, count }, async (_first, { servers }) => {
        // Each buyer goes to the gateways in turn.
        const run = (some: SignedPayments) =>
          runClients(
            some.map((own, first) =>
              own.map((payment, nth) =>
                buy(servers[(first + nth) % servers.length]?.url ?? '', payment),
              ),
            ),
            isSold,
          )
        for (let times = 0; times < WARM_UP_EACH; times++) {
          const { failed } = await run(payments.map((own) => own.slice(times, times + 1)))
          if (failed > 0) await sleep(1000)
        }
        await Promise.all(servers.map((server) => server.reset()))
        const result = await run(payments.map((own) => own.slice(WARM_UP_EACH)))
        const usages = await Promise.all(servers.map((server) => server.usage()))
        const aPayment = (figure: 'statements' | 'roundTrips' | 'cpuMs') => ({
          postgres: usages.reduce((sum, usage) => sum + usage[figure], 0) / result.count,
        })
        const where = `${BUYERS} buyers, ${count} ${count === 1 ? 'gateway' : 'gateways'}`
        const sold = (result.count - result.failed) / result.seconds
        bench.table.add(`paid requests, ${where}`, '1/s', { postgres: sold })
        bench.table.add(`CPU of all servers a payment, ${where}`, 'ms', aPayment('cpuMs'))
        bench.table.add(`statements a payment, ${where}`, '', aPayment('statements'))
        bench.table.add(`round trips a payment, ${where}`, '', aPayment('roundTrips'))
        bench.table.add(`failed payments, ${where}`, '', { postgres: result.failed })
        if (result.failure) bench.note(`${count} gateways: ${result.failure}`)
      })
    }
}
