/** The process of one server: serves an app, and tells its parent how it is doing. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { heapAfterCollection } from './heap.js'
import type { ServerApp, ServerSetup, Stack } from './setup.js'
import { asked } from './statements.js'

/** What a parent may ask. */
export type Question = { readonly start: ServerSetup } | 'reset' | 'usage' | 'heap'

/** What a server has used since it was last reset. */
export interface Usage {
  /** Milliseconds of CPU, of all threads. */
  readonly cpuMs: number
  readonly loopDelayP99Ms: number
  /** Asked of the ledger's database. */
  readonly statements: number
  readonly roundTrips: number
  /** Bytes of memory, by now. */
  readonly rss: number
}

/** Milliseconds between two looks at the event loop. */
const RESOLUTION_MS = 5

const apps: Readonly<Record<Stack, () => Promise<ServerApp>>> = {
  ours: async () => (await import('./ours.js')).ours,
  official: async () => (await import('./official.js')).official,
  bare: async () => (await import('./bare.js')).bare,
}

const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
let cpuBefore = process.cpuUsage()

process.on('message', (question: Question) => {
  void answer(question).then((reply) => process.send?.(reply))
})
process.on('disconnect', () => process.exit())

async function answer(question: Question): Promise<number | Usage> {
  switch (question) {
    case 'reset':
      cpuBefore = process.cpuUsage()
      delay.reset()
      Object.assign(asked, { statements: 0, roundTrips: 0 })
      return 0
    case 'usage':
      return usage()
    case 'heap':
      return heapAfterCollection()
    default:
      return serve(question.start)
  }
}

async function serve(setup: ServerSetup): Promise<number> {
  const makeApp = await apps[setup.stack]()
  const server = createServer(await makeApp(setup))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  delay.enable()
  process.once('SIGTERM', () => server.close(() => process.exit()))
  return (server.address() as AddressInfo).port
}

function usage(): Usage {
  const { user, system } = process.cpuUsage(cpuBefore)
  // The histogram counts the whole interval, of which only what is beyond it is a delay.
  const p99 = delay.percentile(99) / 1e6 - RESOLUTION_MS
  const cpuMs = (user + system) / 1000
  return { cpuMs, loopDelayP99Ms: Math.max(0, p99), ...asked, rss: process.memoryUsage.rss() }
}
