/** A stranger who reads and searches a large public catalogue: what they get, and what it costs the others. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from '@jest/globals'
import { RESOURCES_OF_PROJECT } from '../../src/ledger/resources.js'
import { CLOSED } from '../api/admin/admin.js'
import { serveGateway } from '../api/api.js'
import { useCleanup } from '../support/cleanup.js'
import { storeMakers } from './stores.js'

const RESOURCES = 10_000
const PROJECTS = RESOURCES / RESOURCES_OF_PROJECT
/** As large as a listing gets: schema and examples have 4 KiB. */
const SCHEMA = { info: { input: { type: 'http', method: 'GET' } }, schema: { x: 'x'.repeat(4000) } }
/** What an address may read in a minute. */
const LIMIT = 120

const projects = Array.from({ length: PROJECTS }, (_, n) => ({
  id: `seller-${n}`,
  merchant: { payTo: `0x${'0c'.repeat(20)}` as const },
}))

const listingOf = (n: number): string =>
  JSON.stringify({
    resource: `https://shop.example/${n}/${'a'.repeat(500)}`,
    type: 'http',
    accepts: [{ scheme: 'exact', network: 'eip155:84532', amount: '1', payTo: '0x', extra: {} }],
    description: 'b'.repeat(500),
    extensions: { bazaar: SCHEMA },
  })

/** Counts the turns of the event loop during some work, and the most that one of them takes. */
async function watchTurns(work: () => Promise<unknown>) {
  let [turns, mostCpuMs, used] = [0, 0, cpuMs()]
  const watched = { isOver: false }
  const watching = (async () => {
    while (!watched.isOver) {
      await nextTurn()
      const now = cpuMs()
      mostCpuMs = Math.max(mostCpuMs, now - used)
      used = now
      turns += 1
    }
  })()
  const started = cpuMs()
  await work()
  watched.isOver = true
  await watching
  return { turns, mostCpuMs, cpuMs: cpuMs() - started }
}

/** Of all threads: other processes may hold up a turn, but do not count. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return Math.round((user + system) / 1000)
}

describe.each(storeMakers)('a stranger at a catalogue of 10,000 resources in %s', (name, make) => {
  const toEnd = useCleanup()

  it('reads 120 pages a minute, of which none takes the event loop', async () => {
    const store = await make()
    if (store === undefined) return
    toEnd.push(() => store.drop())
    const ledger = store.open()
    for (const [n, { id: project }] of projects.entries())
      await ledger.resources.addSales(
        Array.from({ length: RESOURCES_OF_PROJECT }, (_, one) => {
          const number = n * RESOURCES_OF_PROJECT + one
          return { id: `r${number}`, project, listing: listingOf(number), claimed: 0, count: 1 }
        }),
      )
    const api = await serveGateway({ ...CLOSED, projects, ledger })
    toEnd.push(() => api.close())
    const path = '/api/v2/payment/discovery'
    const ask = (query: string) => api.send('GET', path + query)

    const first = await watchTurns(async () => {
      const { body } = await ask('/resources?limit=1')
      expect(body.pagination.total).toBe(RESOURCES)
    })
    // Each page of the ledger, and each slice of the list, has a turn of its own.
    expect(first.turns).toBeGreaterThan(RESOURCES / 100 + RESOURCES / 250)

    const statuses: number[] = []
    const rest = await watchTurns(async () => {
      for (let round = 0; round < 16; round++) {
        const search = (n: number) => ask(`/search?query=shop+${'a'.repeat(50)}+none${round}-${n}`)
        const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => search(n)))
        statuses.push(...answers.map(({ status }) => status))
      }
    })
    const taken = statuses.filter((status) => status === 200).length
    expect(taken).toBe(LIMIT - 1)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))
    // However many search at once, one slice is looked at in a turn.
    expect(rest.turns).toBeGreaterThan(taken * (RESOURCES / 250))
    process.stdout.write(
      `${name}: first page ${JSON.stringify(first)}; ${statuses.length} searches, ${taken} answered ${JSON.stringify(rest)}\n`,
    )
  })
})
