import type { Devnet } from '../../../src/tools/devnet/index.js'
import { type Bench, inTurn, scaled } from '../bench.js'
import { hammer } from '../load.js'
import type { Table } from '../table.js'
import { beforeOf, openDevnet, openServer } from '../world.js'
import type { ServerProcess } from '../server-process.js'
import { type BareAnswer, FREE, PAID, type Stack } from '../servers/setup.js'

const CONNECTIONS = 32
const WARM_UP_SECONDS = 3
/** Times that a round opens new servers: the same program is not compiled alike each time. */
const OPENINGS = 3
/** They are asked in short turns, so that whatever else slows the machine slows all alike. */
const TURNS = 4
const TURN_SECONDS = 1

/** Headers that Node and Express write by themselves. */
const AUTOMATIC = new Set(['date', 'connection', 'keep-alive', 'content-length', 'x-powered-by'])

type PerServer<T> = Record<Stack, T> & { bareAlike?: T; before?: T }
type Servers = Readonly<PerServer<ServerProcess>>

/** Requests without a payment, against Express answering the very same bytes. */
export async function measureUnpaid(bench: Bench): Promise<void> {
  const devnet = await openDevnet(bench)
  try {
    const open = async (): Promise<Servers> => {
      const ours = await openServer(devnet, 'ours')
      const answer = await answerOf(ours.url + PAID)
      const bare = await openServer(devnet, 'bare', { answer })
      await compare(answer, bare.url + PAID)
      const official = await openServer(devnet, 'official')
      return { ours, official, bare, ...(await openBefore(bench, devnet)) }
    }
    await measure(bench, open, { figure: 'unpaid requests (402)', path: PAID, status: 402 })
  } finally {
    await devnet.close()
  }
}

/**
 * A route that costs nothing, in an app that has others that do. Against Express alone; and against
 * Express alone with a heap as large as ours, for V8 collects a larger one less often.
 */
export async function measureFree(bench: Bench): Promise<void> {
  const devnet = await openDevnet(bench)
  try {
    const open = async (): Promise<Servers> => {
      const ours = await openServer(devnet, 'ours')
      return {
        ours,
        official: await openServer(devnet, 'official'),
        bare: await openServer(devnet, 'bare'),
        bareAlike: await openServer(devnet, 'bare', { heap: await ours.heap() }),
        ...(await openBefore(bench, devnet)),
      }
    }
    await measure(bench, open, { figure: 'unprotected route', path: FREE, status: 200 })
  } finally {
    await devnet.close()
  }
}

/** Our server as another checkout has built it, where one is named. */
async function openBefore(
  bench: Bench,
  devnet: Devnet,
): Promise<{ readonly before?: ServerProcess }> {
  const [before] = beforeOf(bench)
  return before ? { before: await openServer(devnet, before.stack, before) } : {}
}

async function measure(
  bench: Bench,
  open: () => Promise<Servers>,
  { figure, path, status }: { figure: string; path: string; status: number },
): Promise<void> {
  const load = { status, connections: CONNECTIONS }
  const openings = bench.rounds * scaled(bench, OPENINGS)
  for (let opening = 0; opening < openings; opening++) {
    bench.note(`${figure}: opening ${opening + 1} of ${openings}`)
    const members = Object.entries(await open()) as [keyof Servers, ServerProcess][]
    try {
      // Whoever is warmed up first is a little slower ever after.
      for (const [, { url }] of inTurn(members, opening))
        await hammer(url + path, { ...load, seconds: WARM_UP_SECONDS })
      const rates: PerServer<number> = { ours: 0, official: 0, bare: 0 }
      const cpu: PerServer<number> = { ours: 0, official: 0, bare: 0 }
      const turns = scaled(bench, TURNS)
      for (let turn = 0; turn < turns; turn++)
        for (const [member, server] of inTurn(members, opening + turn)) {
          await server.reset()
          const rate = await hammer(server.url + path, { ...load, seconds: TURN_SECONDS })
          const { cpuMs } = await server.usage()
          rates[member] = (rates[member] ?? 0) + rate / turns
          cpu[member] = (cpu[member] ?? 0) + (1000 * cpuMs) / (rate * TURN_SECONDS) / turns
        }
      const { table } = bench
      addRows(table, `${figure}, ${CONNECTIONS} at once`, '1/s', rates)
      addRows(table, `CPU of the server a request, ${figure}`, 'µs', cpu)
    } finally {
      for (const [, server] of members) await server.close()
    }
  }
}

/** The second bare server has a row of its own, beside ours. */
function addRows(
  table: Table,
  figure: string,
  unit: string,
  { bareAlike, ...measured }: PerServer<number>,
): void {
  table.add(figure, unit, measured)
  if (bareAlike === undefined) return
  const { ours } = measured
  table.add(`${figure}; bare with a heap as large`, unit, { ours, bare: bareAlike })
}

/** What a server answers, for another to do the same. */
async function answerOf(url: string): Promise<BareAnswer> {
  const response = await fetch(url)
  const headers = Object.fromEntries([...response.headers].filter(([name]) => !AUTOMATIC.has(name)))
  return { status: response.status, headers, body: await response.json() }
}

/** The comparison is fair only when the bytes are the same. */
async function compare(expected: BareAnswer, url: string): Promise<void> {
  const answered = await answerOf(url)
  const isSame = (['status', 'headers', 'body'] as const).every(
    (member) => JSON.stringify(answered[member]) === JSON.stringify(expected[member]),
  )
  if (!isSame) throw new Error('The bare server does not answer what ours does.')
}
