import type { Devnet } from '../../../src/tools/devnet/index.js'
import { offerOf } from '../../support/core.js'
import { type Bench, inTurn, scaled } from '../bench.js'
import { signAll, type SignedPayments } from '../buyers.js'
import { buy, callsFor, isSold } from '../calls.js'
import { hammer, runClients } from '../load.js'
import type { ServerProcess } from '../server-process.js'
import { PAID } from '../servers/setup.js'
import { openDevnet, openServer } from '../world.js'

const CONNECTIONS = 32
/** Both are asked in short turns, so that whatever else slows the machine slows both alike. */
const TURNS = 16
const PAYMENTS_A_TURN = 10
/** Payments of each buyer before the clock runs: until the compiler has little left to do. */
const WARM_UP_PAYMENTS = 60
const WARM_UP_SECONDS = 3
const TURN_SECONDS = 0.5

/** The same server without metrics and with them. */
type Pair = Readonly<Record<'ours' | 'oursWithMetrics', ServerProcess>>
type Member = keyof Pair
type Figure = Record<Member, number>

/** What metrics cost: paid requests and 402s, with them and without. */
export async function measureMetrics(bench: Bench): Promise<void> {
  const turns = scaled(bench, TURNS)
  for (let round = 0; round < bench.rounds; round++) {
    bench.note(`metrics: round ${round + 1}`)
    const devnet = await openDevnet(bench)
    try {
      const pair = await openPair(devnet)
      await measurePaidTurns(bench, { pair, devnet, turns, round })
      await measureUnpaidTurns(bench, { pair, turns, round })
      for (const server of Object.values(pair)) await server.close()
    } finally {
      await devnet.close()
    }
  }
}

/** Each has a relayer of its own: both send on one chain. */
async function openPair(devnet: Devnet): Promise<Pair> {
  return {
    ours: await openServer(devnet, 'ours', { relayerKeys: devnet.relayerKeys.slice(0, 1) }),
    oursWithMetrics: await openServer(devnet, 'ours', {
      relayerKeys: devnet.relayerKeys.slice(1, 2),
      metrics: true,
    }),
  }
}

interface Turns {
  readonly pair: Pair
  readonly turns: number
  readonly round: number
}

async function measurePaidTurns(
  bench: Bench,
  { pair, devnet, turns, round }: Turns & { devnet: Devnet },
): Promise<void> {
  const each = WARM_UP_PAYMENTS + turns * PAYMENTS_A_TURN
  const signed = await signAll(bench.buyers.slice(0, CONNECTIONS), 2 * each, offerOf(devnet))
  const left = { ours: firstHalves(signed, each), oursWithMetrics: secondHalves(signed, each) }
  const sell = async (member: Member, times: number) => {
    const now = left[member].map((own) => own.slice(0, times))
    left[member] = left[member].map((own) => own.slice(times))
    const result = await runClients(callsFor(pair[member].url, now, buy), isSold)
    if (result.failed > 0) throw new Error(`${member}: ${result.failed} failed: ${result.failure}`)
    return result
  }
  for (const [member] of inTurn(membersOf(pair), round)) await sell(member, WARM_UP_PAYMENTS)
  const seconds: Figure = { ours: 0, oursWithMetrics: 0 }
  const cpuMs: Figure = { ours: 0, oursWithMetrics: 0 }
  for (let turn = 0; turn < turns; turn++)
    for (const [member, server] of inTurn(membersOf(pair), round + turn)) {
      await server.reset()
      seconds[member] += (await sell(member, PAYMENTS_A_TURN)).seconds
      cpuMs[member] += (await server.usage()).cpuMs
    }
  const count = CONNECTIONS * turns * PAYMENTS_A_TURN
  add(bench, `paid requests, ${CONNECTIONS} buyers, with metrics or without`, '1/s', {
    ours: count / seconds.ours,
    oursWithMetrics: count / seconds.oursWithMetrics,
  })
  add(bench, 'CPU of the server a payment, with metrics or without', 'ms', {
    ours: cpuMs.ours / count,
    oursWithMetrics: cpuMs.oursWithMetrics / count,
  })
}

async function measureUnpaidTurns(bench: Bench, { pair, turns, round }: Turns): Promise<void> {
  const load = { status: 402, connections: CONNECTIONS }
  for (const [, { url }] of inTurn(membersOf(pair), round))
    await hammer(url + PAID, { ...load, seconds: WARM_UP_SECONDS })
  const rate: Figure = { ours: 0, oursWithMetrics: 0 }
  for (let turn = 0; turn < turns; turn++)
    for (const [member, { url }] of inTurn(membersOf(pair), round + turn))
      rate[member] += (await hammer(url + PAID, { ...load, seconds: TURN_SECONDS })) / turns
  add(bench, `402s, ${CONNECTIONS} at once, with metrics or without`, '1/s', rate)
}

function add({ table }: Bench, figure: string, unit: string, measured: Figure): void {
  table.add(figure, unit, measured)
}

const membersOf = (pair: Pair) => Object.entries(pair) as [Member, ServerProcess][]
const firstHalves = (signed: SignedPayments, each: number): SignedPayments =>
  signed.map((own) => own.slice(0, each))
const secondHalves = (signed: SignedPayments, each: number): SignedPayments =>
  signed.map((own) => own.slice(each))
