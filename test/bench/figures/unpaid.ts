import { type Bench, inTurn, scaled } from '../bench.js'
import { hammer } from '../load.js'
import { openDevnet, openServer } from '../world.js'
import type { ServerProcess } from '../server-process.js'
import { type BareAnswer, FREE, PAID, type Stack } from '../servers/setup.js'

const CONNECTIONS = 32
const SECONDS = 4
const WARM_UP_SECONDS = 2

/** Headers that Node and Express write by themselves. */
const AUTOMATIC = new Set(['date', 'connection', 'keep-alive', 'content-length', 'x-powered-by'])

/** Requests without a payment, against Express answering the very same bytes. */
export function measureUnpaid(bench: Bench): Promise<void> {
  return measure(bench, { figure: 'unpaid requests (402)', path: PAID, status: 402 })
}

/** A route that costs nothing, in an app that has others that do. */
export function measureFree(bench: Bench): Promise<void> {
  return measure(bench, { figure: 'unprotected route', path: FREE, status: 200 })
}

async function measure(
  bench: Bench,
  { figure, path, status }: { figure: string; path: string; status: number },
): Promise<void> {
  const devnet = await openDevnet(bench)
  const servers = new Map<Stack, ServerProcess>()
  try {
    const ours = await openServer(devnet, 'ours')
    servers.set('ours', ours)
    servers.set('official', await openServer(devnet, 'official'))
    const answer = await answerOf(ours.url + PAID)
    servers.set('bare', await openServer(devnet, 'bare', { answer }))
    await compare(answer, servers.get('bare')?.url + PAID)

    const load = { status, connections: CONNECTIONS }
    for (const { url } of servers.values())
      await hammer(url + path, { ...load, seconds: WARM_UP_SECONDS })
    for (let round = 0; round < bench.rounds; round++) {
      const perSecond: Partial<Record<Stack, number>> = {}
      for (const [stack, { url }] of inTurn([...servers], round)) {
        bench.note(`${figure}: round ${round + 1}, ${stack}`)
        perSecond[stack] = await hammer(url + path, { ...load, seconds: scaled(bench, SECONDS) })
      }
      bench.table.add(`${figure}, ${CONNECTIONS} at once`, '1/s', perSecond)
    }
  } finally {
    for (const server of servers.values()) await server.close()
    await devnet.close()
  }
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
