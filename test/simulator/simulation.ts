/** One world from its beginning to its judgement: faults, then a quiet time, then the oracle. */
import { Buyers, type Purchase } from './buyers.js'
import { Chance } from './chance.js'
import { startDisasters } from './disasters.js'
import type { Faults } from './faults.js'
import { Gateways } from './gateways.js'
import { isWrongAlready, judge, type Violation } from './oracle.js'
import { Refunds } from './refunds.js'
import { NOBODY, type Scheduler } from './scheduler.js'
import type { LedgerStore } from '../../src/ledger/index.js'
import { createWorld } from './world.js'

export interface SimulationOptions {
  readonly seed: string
  readonly payments: number
  /** Whether the first violation is enough. */
  readonly isOneEnough?: boolean | undefined
  /** Called with each line of the trace. */
  readonly onLine?: ((line: string) => void) | undefined
}

export interface Outcome {
  readonly violations: readonly Violation[]
  readonly purchases: readonly Purchase[]
  readonly faults: Faults
  /** Simulated time (s). */
  readonly seconds: number
  /** Of the trace: SHA-256. */
  readonly trace: string
  readonly transfers: number
  readonly events: number
}

/**
 * The first purchase (ms), and the time between two, on average (ms): a dozen to a block, and time for a few disasters in
 * some hundred payments.
 */
const FIRST_MS = 5000
const PAUSE_MS = 150

/** Buyers who come once the faults have ended, and the others have gone. */
const LATE = 10

/**
 * How long the world goes on once the faults have ended, and the last buyer has gone (ms): until all that was signed has
 * lapsed, and then until the ledger has nothing open any more, but not for ever.
 */
const AFTERWARDS_MS = { least: 540_000, most: 1_500_000, step: 60_000 }

export async function simulate({
  seed,
  payments,
  isOneEnough = false,
  onLine,
}: SimulationOptions): Promise<Outcome> {
  const world = createWorld(seed, onLine)
  const { scheduler, faults, chain, database, merchant, trace } = world
  const gateways = new Gateways(world)
  startDisasters(world, gateways)
  const chance = new Chance(`${seed}/buyers`)
  const buyers = new Buyers({ ...world, chance, gateways: gateways.all })
  const shop = { ...world, chance: new Chance(`${seed}/merchant`), gateways: gateways.all }
  const refunds = new Refunds(shop)

  const purchases: Purchase[] = []
  let begun = 0
  let ended = 0
  let isEnough = false
  const begin = (): void => {
    const number = begun++
    if (begun < payments) scheduler.after(2 * PAUSE_MS * chance.fraction(), begin, NOBODY)
    void buy(number)
  }
  const buy = async (number: number, kind?: 'late'): Promise<void> => {
    const purchase = await buyers.buy(number, kind)
    if (purchase !== undefined) {
      purchases.push(purchase)
      isEnough ||= isOneEnough && isWrongAlready({ chain, madeTwice: gateways.madeTwice }, purchase)
      await refunds.refund(purchase)
    }
    ended++
  }
  scheduler.after(FIRST_MS, begin, NOBODY)
  const until = (isOver: () => boolean) => scheduler.runUntil(() => isEnough || isOver())
  await until(() => begun >= payments / 2)
  gateways.deploy()
  await until(() => begun === payments)
  faults.isOn = false
  await until(() => ended === payments)
  for (let count = 0; count < LATE; count++) void buy(payments + count, 'late')
  await until(() => ended === payments + LATE)
  const ledger = database.open()
  if (!isEnough) await quieten(scheduler, ledger)

  const payTo = merchant.address.toLowerCase()
  const judging = judge({
    chain,
    ledger,
    purchases,
    payTo,
    madeTwice: gateways.madeTwice,
    sentElsewhere: gateways.facilitator.sent,
    processes: gateways.ever,
  })
  return {
    violations: await endOf(judging, scheduler),
    purchases,
    faults,
    seconds: scheduler.elapsed / 1000,
    trace: trace.digest(),
    transfers: chain.transfers,
    events: scheduler.happened,
  }
}

async function quieten(scheduler: Scheduler, ledger: LedgerStore): Promise<void> {
  const { least, most, step } = AFTERWARDS_MS
  for (let ms = least; ; ms += step) {
    const end = scheduler.elapsed + (ms === least ? least : step)
    await scheduler.runUntil(() => scheduler.elapsed >= end)
    const open = await endOf(ledger.payments.listSubmitted(), scheduler)
    if (open.length === 0 || ms >= most) return
  }
}

/** Lets things happen until something has ended that waits for them. */
async function endOf<T>(work: Promise<T>, scheduler: Scheduler): Promise<T> {
  let isOver = false
  void work.catch(() => undefined).finally(() => (isOver = true))
  await scheduler.runUntil(() => isOver)
  return work
}
