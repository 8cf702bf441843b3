import type { Bench } from '../bench.js'
import type { Race } from '../race.js'
import { type Pays, SUFFIX } from '../servers/setup.js'
import { OFFICIAL, OURS } from '../world.js'
import { measureGasOf } from './gas.js'
import { measure } from './paid.js'
import { measureRpcOf } from './rpc.js'

const raceFor = (pays: Pays): Race => ({
  name: `instant mining${SUFFIX[pays]}`,
  pays,
  contestants: [OURS, OFFICIAL],
  warmUpElsewhere: { buyers: 32, each: { ours: 100, official: 15 } },
  warmUp: { buyers: 32, each: { ours: 5, official: 2 } },
  crowds: [
    { buyers: 1, each: { ours: 120, official: 40 } },
    { buyers: 32, each: { ours: 60, official: 12 } },
  ],
})

/** Payments by Permit2, `exact` and `upto`: paid requests a second, calls of the node, and gas. */
export async function measurePermit2(bench: Bench): Promise<void> {
  for (const pays of ['permit2', 'upto'] as const) {
    await measure(bench, raceFor(pays))
    await measureRpcOf(bench, pays)
    await measureGasOf(bench, pays)
  }
}
