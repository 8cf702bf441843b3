/** What befalls the whole world now and then, until the faults end. */
import type { Fault } from './faults.js'
import type { Gateways } from './gateways.js'
import { NOBODY } from './scheduler.js'
import type { World } from './world.js'

const HOUR_MS = 3_600_000

type Disaster = readonly [fault: Fault, everyMs: number, happens: () => void]

export function startDisasters(world: World, gateways: Gateways): void {
  const { scheduler, faults } = world
  const { chance } = faults
  for (const [fault, everyMs, happens] of disastersOf(world, gateways)) {
    const again = (): void => {
      scheduler.after(everyMs * (0.5 + chance.fraction()), again, NOBODY)
      if (!faults.isOn) return
      faults.note(fault)
      happens()
    }
    scheduler.after(everyMs * chance.fraction(), again, NOBODY)
  }
}

function disastersOf(world: World, gateways: Gateways): readonly Disaster[] {
  const { scheduler, chain, nodes, away, faults, trace } = world
  const { chance } = faults
  const later = (leastMs: number, mostMs: number, work: () => void): void =>
    void scheduler.after(chance.between(leastMs, mostMs), work, NOBODY)
  return [
    ['crash', 10_000, () => gateways.kill()],
    [
      'clock',
      20_000,
      () => {
        const { life } = chance.pick(gateways.all)
        life.clockAheadMs = chance.between(-HOUR_MS, HOUR_MS)
        trace.tell(`${life.name}'s clock jumps by ${life.clockAheadMs} ms`)
        later(1000, 40_000, () => (life.clockAheadMs = 0))
      },
    ],
    [
      'reorganisation',
      30_000,
      () => {
        const depth = chance.between(1, 8)
        trace.tell(`${depth} blocks are undone`)
        chain.reorganise(depth, () => !chance.onceIn(4))
      },
    ],
    [
      'lag',
      30_000,
      () => {
        const node = chance.pick([...nodes.values()])
        node.lag = chance.between(1, 5)
        later(1000, 20_000, () => (node.lag = 0))
      },
    ],
    [
      'away',
      60_000,
      () => {
        const name = chance.pick([...nodes.keys()])
        away.add(name)
        later(500, 10_000, () => away.delete(name))
      },
    ],
    [
      'stall',
      60_000,
      () => (chain.stalledUntil = scheduler.elapsed + chance.between(5000, 50_000)),
    ],
    [
      'surge',
      30_000,
      () => {
        // Twice the base fee is what transactions offer.
        const rise = BigInt(chance.between(2, 6))
        chain.baseFee *= rise
        later(5000, 60_000, () => (chain.baseFee /= rise))
      },
    ],
    [
      'forgot',
      30_000,
      () => {
        for (const hash of [...chain.pool.keys()]) if (chance.onceIn(2)) chain.pool.delete(hash)
      },
    ],
  ]
}
