/** Gateways that are killed, added and stopped while buyers pay. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { offerOf } from '../../support/core.js'
import { type Bench, scaled } from '../bench.js'
import { signAll, type SignedPayments } from '../buyers.js'
import { buy, isSold } from '../calls.js'
import { onlyPossible } from '../ledgers.js'
import { describe, send } from '../load.js'
import type { ServerProcess } from '../server-process.js'
import {
  type Contestant,
  openServer,
  POSTGRES,
  settingsOf,
  SQLITE,
  type World,
  withWorld,
} from '../world.js'

/** Buyers of the only process, which is killed, and of three. */
const BUYERS = { alone: 32, crowd: 64 }

/** Milliseconds of paying before a process is killed, and between two changes of the crowd's gateways. */
const BEFORE_MS = 2000

/** Milliseconds before a payment is presented again, and after which it counts as failed. */
const PAUSE_MS = 50
const PATIENCE_MS = 60_000

const EACH = 300

/** What becomes of payments when processes end. */
export async function measureKills(bench: Bench): Promise<void> {
  const offer = offerOf(await settingsOf())
  const signed = await signAll(bench.buyers.slice(0, BUYERS.crowd), scaled(bench, EACH), offer)
  const payments = signed.map((own) => own.map(withId))
  for (let round = 0; round < bench.rounds; round++) {
    for (const contestant of await onlyPossible([SQLITE, POSTGRES].map(ofOneShop))) {
      bench.note(`kills: round ${round + 1}, ${contestant.column}`)
      await withWorld(bench, { contestant }, (server, world) =>
        measureRestart(bench, { server, world, contestant, payments }),
      )
    }
    const [contestant] = await onlyPossible([ofOneShop({ ...POSTGRES, relayers: 3 })])
    if (contestant === undefined) continue
    bench.note(`kills: round ${round + 1}, three gateways`)
    await withWorld(bench, { contestant, count: 3 }, (_first, world) =>
      measureCrowd(bench, { world, contestant, payments }),
    )
  }
}

/** All processes are one shop: a payment is for the same thing, whichever of them it is presented to. */
const ofOneShop = (one: Contestant): Contestant => ({ ...one, publicUrl: 'https://shop.example' })

/** What is measured. */
interface Subject {
  readonly world: World
  readonly contestant: Contestant
  readonly payments: SignedPayments
}

/** The only process is killed while it has payments in hand, and started again at once. */
async function measureRestart(
  { table }: Bench,
  { server, world, contestant, payments }: Subject & { readonly server: ServerProcess },
): Promise<void> {
  const inHand: SignedPayments[number][number][] = []
  let isOver = false
  const buyer = async (own: SignedPayments[number]): Promise<void> => {
    for (const payment of own) {
      if (isOver) return
      const answer = await send(buy(server.url, payment)).catch(() => undefined)
      if (answer === undefined) return void inHand.push(payment)
    }
  }
  const [fresh, ...others] = payments
  const buying = Promise.all(others.slice(0, BUYERS.alone).map(buyer))
  await sleep(BEFORE_MS)
  isOver = true
  await server.close()
  await buying
  const next = await openLike(world, contestant)
  const listeningAt = performance.now()
  const sinceListening = async (some: SignedPayments[number]): Promise<number> => {
    const urls = { next: () => next.url }
    const results = await Promise.all(some.map((payment) => buyUntilSold(urls, payment)))
    const lost = results.find((result) => !result.isSold)
    if (lost) throw new Error(`A payment was lost: ${lost.last}`)
    return performance.now() - listeningAt
  }
  try {
    const [first, all] = await Promise.all([
      sinceListening(fresh?.slice(0, 1) ?? []),
      sinceListening(inHand),
    ])
    const add = (figure: string, unit: string, value: number): void =>
      table.add(figure, unit, { [contestant.column]: value })
    add('payments in hand when the only process is killed', '', inHand.length)
    add('first payment after it is started again, from listening', 'ms', first)
    add('all that were in hand granted, from listening', 'ms', all)
  } finally {
    await next.close()
  }
}

/** Of three gateways, one is killed, one is added and one is stopped, while all buyers pay. */
async function measureCrowd(bench: Bench, { world, contestant, payments }: Subject): Promise<void> {
  const running = [...world.servers]
  let turn = 0
  const next = (): string => running[turn++ % running.length]?.url ?? ''
  let isOver = false
  const failures: string[] = []
  let sold = 0
  let again = 0
  const buyer = async (own: SignedPayments[number]): Promise<void> => {
    for (const payment of own) {
      if (isOver) return
      const result = await buyUntilSold({ next }, payment)
      if (result.isSold) sold += 1
      else failures.push(result.last)
      if (result.times > 1) again += 1
    }
  }
  const buying = Promise.all(payments.map(buyer))
  await sleep(BEFORE_MS)
  await running.shift()?.close()
  await sleep(BEFORE_MS)
  const added = await openLike(world, contestant)
  try {
    const listeningAt = performance.now()
    const [spare] = await signAll(bench.buyers.slice(-1), 1, offerOf(world.devnet))
    const bought = await buyUntilSold({ next: () => added.url }, withId(spare![0]!))
    const firstMs = performance.now() - listeningAt
    if (!bought.isSold) failures.push(bought.last)
    running.push(added)
    await sleep(BEFORE_MS)
    await running.shift()?.stop()
    await sleep(BEFORE_MS)
    isOver = true
    await buying
    const where = 'three gateways, one killed, one added, one stopped, 64 buyers'
    const add = (figure: string, unit: string, value: number): void =>
      bench.table.add(`${figure}, ${where}`, unit, { postgres: value })
    add('payments', '', sold)
    add('presented again', '', again)
    add('failed payments', '', failures.length)
    add('first payment of the added one, from listening', 'ms', firstMs)
    if (failures[0] !== undefined) bench.note(`three gateways: ${failures[0]}`)
  } finally {
    await added.close()
  }
}

/** Another process on the same chain and ledger. */
function openLike({ devnet, ledger }: World, { stack, ...options }: Contestant) {
  return openServer(devnet, stack, { ...options, ...(ledger && { ledger: ledger.location }) })
}

/** Presents a payment until it has bought, wherever the next server is. A 503 or no answer is no refusal. */
async function buyUntilSold(
  { next }: { readonly next: () => string },
  payment: SignedPayments[number][number],
) {
  const deadline = performance.now() + PATIENCE_MS
  for (let times = 1; ; times++) {
    const answer = await send(buy(next(), payment)).catch((error: unknown) => String(error))
    if (typeof answer !== 'string' && isSold(answer)) return { isSold: true, times, last: '' }
    const isFinal = typeof answer !== 'string' && answer.status !== 503
    const last = typeof answer === 'string' ? answer : `${answer.status} ${describe(answer)}`
    if (isFinal || performance.now() > deadline) return { isSold: false, times, last }
    await sleep(PAUSE_MS)
  }
}

/** A payment with an id of its own, so that a response which was lost is given again. */
function withId(payment: SignedPayments[number][number]) {
  const info = { required: false, id: randomUUID() }
  return { ...payment, extensions: { 'payment-identifier': { info } } }
}
