import { type Bench, scaled } from '../bench.js'
import { signAll } from '../buyers.js'
import { buy, callsFor, isSold } from '../calls.js'
import { runClients } from '../load.js'
import { SUFFIX } from '../servers/setup.js'
import { startRpcCounter } from '../rpc-counter.js'
import type { Pays } from '../servers/setup.js'
import { beforeOf, OFFICIAL, offerFor, openDevnet, openServer, OURS, settingsOf } from '../world.js'

const CROWDS = [
  { buyers: 1, each: 40 },
  { buyers: 32, each: 10 },
] as const
const WARM_UP_EACH = 4

/** What the node is asked for one payment, counted where it is asked. */
export function measureRpc(bench: Bench): Promise<void> {
  return measureRpcOf(bench, 'erc3009')
}

/** The same for payments of a kind. */
export async function measureRpcOf(bench: Bench, pays: Pays): Promise<void> {
  const settings = await settingsOf()
  const before = pays === 'erc3009' ? beforeOf(bench) : []
  for (const { buyers, each } of CROWDS) {
    const crowd = bench.buyers.slice(0, buyers)
    const calls: Record<string, number> = {}
    for (const { column, stack, entry } of [OURS, OFFICIAL, ...before]) {
      const times = WARM_UP_EACH + scaled(bench, each)
      const payments = await signAll(crowd, times, offerFor(settings, { stack, pays }))
      bench.note(`RPC calls${SUFFIX[pays]}: ${buyers} at once, ${column}`)
      const devnet = await openDevnet(bench, { pays })
      const counter = await startRpcCounter(devnet.rpcUrl)
      const server = await openServer(devnet, stack, {
        rpcUrl: counter.url,
        pays,
        ...(entry !== undefined && { entry }),
      })
      try {
        const run = (from: number, to?: number) =>
          runClients(
            callsFor(
              server.url,
              payments.map((own) => own.slice(from, to)),
              buy,
            ),
            isSold,
          )
        await run(0, WARM_UP_EACH)
        counter.reset()
        const { count, failed } = await run(WARM_UP_EACH)
        const methods = [...counter.counts()].sort(([, one], [, other]) => other - one)
        calls[column] = methods.reduce((sum, [, times]) => sum + times, 0) / (count - failed)
        bench.note(methods.map(([name, times]) => `${name} ${times}`).join(', '))
        if (failed > 0) bench.note(`${failed} failed`)
      } finally {
        await server.close()
        await counter.close()
        await devnet.close()
      }
    }
    const who = `${buyers} ${buyers === 1 ? 'buyer' : 'buyers'}`
    bench.table.add(`RPC calls a paid request${SUFFIX[pays]}, ${who}`, '', calls)
  }
}
