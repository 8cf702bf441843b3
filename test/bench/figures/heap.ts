import { randomBytes } from 'node:crypto'
import type { PaymentPayload, PaymentRequirements } from '../../../src/shared/protocol/payment.js'
import { type Bench, scaled } from '../bench.js'
import { offerOf } from '../../support/core.js'
import { signAll } from '../buyers.js'
import { buy, callsFor, isSold } from '../calls.js'
import { type Answer, type Call, runClients } from '../load.js'
import type { ServerProcess } from '../server-process.js'
import { PAID } from '../servers/setup.js'
import { OURS, settingsOf, withWorld } from '../world.js'

const REFUSED = 100_000
const PAID_REQUESTS = 20_000
const CLIENTS = 32
/** One in so many brings a payment, which is no good: enough to fill every cache in the first half. */
const FORGED_ONE_IN = 4
/** Twenty thousand payments are too many for instant mining. */
const BLOCK_SECONDS = 0.5
const MEGABYTE = 2 ** 20

/** Whether memory grows with what is refused, and how much what is paid takes. */
export async function measureHeap(bench: Bench): Promise<void> {
  await measureRefused(bench)
  await measurePaid(bench)
}

async function measureRefused(bench: Bench): Promise<void> {
  const requirements = offerOf(await settingsOf())
  const count = scaled(bench, REFUSED)
  const growth: Record<string, number> = {}
  const total: Record<string, number> = {}
  // Only ours: the official stack would take minutes to look at the forged ones.
  for (const contestant of [OURS]) {
    const { column } = contestant
    bench.note(`heap: ${count} refused, ${column}`)
    await withWorld(bench, { contestant }, async (server) => {
      await refuse(server, count / 10, requirements)
      await refuse(server, count / 2, requirements)
      const half = await server.heap()
      await refuse(server, count / 2, requirements)
      const whole = await server.heap()
      growth[column] = (100 * (whole - half)) / half
      total[column] = whole / MEGABYTE
    })
  }
  bench.table.add(`heap after ${count.toLocaleString('en')} refused requests`, 'MiB', total)
  bench.table.add(`heap growth in the second half of them`, '%', growth)
}

/** Asks without paying, and now and then with a payment that nobody signed. */
async function refuse(
  { url }: ServerProcess,
  count: number,
  requirements: PaymentRequirements,
): Promise<void> {
  const plain: Call = { method: 'GET', url: url + PAID, headers: {} }
  const chunk = 100
  for (let done = 0; done < count; done += CLIENTS * chunk) {
    const clients = Array.from({ length: CLIENTS }, () =>
      Array.from({ length: Math.min(chunk, Math.ceil((count - done) / CLIENTS)) }, (_, index) =>
        index % FORGED_ONE_IN === 0 ? buy(url, forgedPayment(requirements)) : plain,
      ),
    )
    const { failed, failure } = await runClients(clients, isRefused)
    if (failed > 0) throw new Error(`${failed} were not refused: ${failure}`)
  }
}

function isRefused({ status }: Answer): boolean {
  return status === 402
}

/** A payment from an account that nobody has seen before, signed at random. */
function forgedPayment(requirements: PaymentRequirements): PaymentPayload {
  const hex = (bytes: number) => `0x${randomBytes(bytes).toString('hex')}` as const
  const now = Math.floor(Date.now() / 1000)
  const authorization = {
    from: hex(20),
    to: requirements.payTo,
    value: requirements.amount,
    validAfter: String(now - 60),
    validBefore: String(now + 300),
    nonce: hex(32),
  }
  const signature = `${hex(64)}1b`
  return { x402Version: 2, accepted: { ...requirements }, payload: { signature, authorization } }
}

async function measurePaid(bench: Bench): Promise<void> {
  const count = scaled(bench, PAID_REQUESTS)
  bench.note(`heap: signing ${count} payments`)
  const requirements = offerOf(await settingsOf())
  const each = Math.ceil(count / bench.buyers.length)
  const payments = await signAll(bench.buyers, each, requirements)
  bench.note(`heap: ${count} paid, ours`)
  await withWorld(bench, { contestant: OURS, blockTime: BLOCK_SECONDS }, async (server) => {
    const run = async (from: number, to: number) => {
      const some = payments.map((own) => own.slice(from, to))
      const { failed, failure } = await runClients(callsFor(server.url, some, buy), isSold)
      if (failed > 0) bench.note(`${failed} failed: ${failure}`)
      return failed
    }
    const before = await server.heap()
    const failed = await run(0, each)
    const after = await server.heap()
    const bytes = (after - before) / (each * bench.buyers.length)
    const what = `${count.toLocaleString('en')} paid requests`
    bench.table.add(`heap after ${what}`, 'MiB', { ours: after / MEGABYTE })
    bench.table.add(`heap a payment, after ${what}`, 'bytes', { ours: bytes })
    bench.table.add(`failed of ${what}`, '', { ours: failed })
  })
}
