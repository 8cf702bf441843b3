import { offerOf } from '../../support/core.js'
import { signPayment, type TestPayer } from '../../support/sign-payment.js'
import type { Bench } from '../bench.js'
import { buy, isSold } from '../calls.js'
import { type Call, runClients } from '../load.js'
import { median } from '../statistics.js'
import { OURS, settingsOf, withWorld } from '../world.js'

const BUYERS = 32
const MEBIBYTE = 2 ** 20

/** Milliseconds between two looks at the memory. */
const SAMPLE_MS = 1000

/** So many payments are too many for instant mining. */
const BLOCK_SECONDS = 0.5

/** As many payments as the machine can sign and settle, for minutes, on the defaults. */
export async function measureSustained(bench: Bench): Promise<void> {
  const { sustainedMinutes: minutes } = bench
  const requirements = offerOf(await settingsOf())
  const world = { contestant: OURS, blockTime: BLOCK_SECONDS }
  bench.note(`sustained: ${minutes} minutes`)
  await withWorld(bench, world, async (server) => {
    const startedAt = performance.now()
    const elapsed = (): number => (performance.now() - startedAt) / 60_000 / minutes
    async function* keepBuying(buyer: TestPayer): AsyncGenerator<Call> {
      while (elapsed() < 1) yield buy(server.url, await signPayment(buyer, requirements))
    }
    const samples: { readonly at: number; readonly rss: number }[] = []
    const sampling = setInterval(() => {
      void server.usage().then(({ rss }) => samples.push({ at: elapsed(), rss: rss / MEBIBYTE }))
    }, SAMPLE_MS)
    const clients = bench.buyers.slice(0, BUYERS).map(keepBuying)
    const { count, failed, failure, seconds } = await runClients(clients, isSold)
    clearInterval(sampling)
    if (failure) bench.note(`sustained: ${failure}`)
    const rssOf = (from: number, to: number): readonly number[] =>
      samples.flatMap(({ at, rss }) => (at >= from && at < to ? rss : []))
    const where = `${minutes} minutes on the defaults`
    const { table } = bench
    table.add(`paid requests, ${where}`, '1/s', { ours: (count - failed) / seconds })
    table.add(`payments, ${where}`, '', { ours: count })
    table.add(`refused or failed, ${where}`, '', { ours: failed })
    table.add(`most memory (RSS), ${where}`, 'MiB', { ours: Math.max(...rssOf(0, Infinity)) })
    // Medians: between two garbage collections, memory rises and falls by a third.
    const growth = 100 * (median(rssOf(0.75, Infinity)) / median(rssOf(0.5, 0.75)) - 1)
    table.add(`growth within the second half, ${where}`, '%', { ours: growth })
    // The RSS also has what V8 has not collected yet.
    const heap = (await server.heap()) / MEBIBYTE
    table.add(`heap at the end, collected, ${where}`, 'MiB', { ours: heap })
  })
}
