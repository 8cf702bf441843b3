/**
 * Many payments, while everything around them fails: `npm run soak -- --payments 10000 --seed 7`.
 *
 * Two gateways share a ledger (PostgreSQL where one answers, else a file). Their node loses, delays,
 * doubles and garbles what it is asked, or is away; the chain is reorganised; they themselves are
 * killed and ended. In the end the oracle of the fault suite is asked. Ends with 1 when it finds
 * anything. With `--webhooks`, a shop that is slow, fails and is away has to be told of every payment.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { privateKeyToAddress } from 'viem/accounts'
import { createSchema, findPostgres } from '../support/postgres.js'
import type { Fault } from '../support/rpc-proxy.js'
import { newNonce } from '../support/sign-payment.js'
import type { GatewayProcess } from '../faults/gateway-process.js'
import { isOpen } from '../faults/oracle.js'
import { openWorld, type World } from '../faults/world.js'
import { startMining } from './mining.js'
import { createRandom, type Random } from './random.js'
import { ToldShop } from './told-shop.js'

/** Milliseconds between two blocks. */
const BLOCK_MS = 100

/** Clients that pay at the same time. */
const CLIENTS = 24

/** Payments between two ends of a gateway. */
const PAYMENTS_PER_KILL = 40

/** Payments between two reorganisations, and blocks that one drops at most. */
const PAYMENTS_PER_REORG = 75
const LONGEST_REORG = 3

/** Of what the node is asked, so much meets a fault. */
const FAULT_PROBABILITY = 0.04
/** And so much begins a time in which the node is away. */
const ABSENCE_PROBABILITY = 0.0005
const ABSENCE_MS = 800

/** Milliseconds for which one payment may stay open before its client is taken to be stuck. */
const PATIENCE_MS = 240_000

const PATHS = ['/report', '/stream', 'settle', '/slow/50'] as const

const FAULTS: readonly Fault[] = [
  { kind: 'drop_answer' },
  { kind: 'drop_request' },
  { kind: 'delay', ms: 300 },
  { kind: 'garble' },
  { kind: 'duplicate' },
  { kind: 'http', status: 429 },
  { kind: 'http', status: 503 },
  { kind: 'refuse', code: -32603, message: 'internal error' },
]

/** Transactions that each reorganisation dropped. */
const reorganisations: number[] = []

const { values } = parseArgs({
  options: {
    payments: { type: 'string', default: '300' },
    seed: { type: 'string' },
    /** `sqlite` where PostgreSQL is not to be used. */
    ledger: { type: 'string' },
    webhooks: { type: 'boolean', default: false },
  },
})
const payments = Number(values.payments)
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed)
if (!Number.isSafeInteger(payments) || payments < 1 || !Number.isSafeInteger(seed))
  throw new TypeError('--payments and --seed are integers')
process.stdout.write(`soak: ${payments} payments, seed ${seed}\n`)
process.exitCode = (await soak(createRandom(seed))) ? 0 : 1

/** Drops the last blocks and all that is in them; no block is mined meanwhile. */
async function reorganise({ node }: World, random: Random): Promise<void> {
  const depth = random.pick(Array.from({ length: LONGEST_REORG }, (_, index) => index + 1))
  const head = Number(await node('eth_blockNumber'))
  let dropped = 0
  for (let block = head - depth + 1; block <= head; block++)
    dropped += Number(await node('eth_getBlockTransactionCountByNumber', `0x${block.toString(16)}`))
  await node('anvil_reorg', depth, [])
  reorganisations.push(dropped)
}

async function soak(random: Random): Promise<boolean> {
  const startedAt = performance.now()
  // Half of the nodes that there are answer a transaction with its receipt.
  const hasSync = seed % 2 === 0
  const devnet = await startMining(BLOCK_MS)
  const postgres = values.ledger === 'sqlite' ? undefined : await findPostgres()
  const schema = postgres === undefined ? undefined : await createSchema(postgres)
  const world = await openWorld(devnet, {
    relayers: 4,
    hasSync,
    ...(schema && { ledger: schema.url }),
    options: { settleTimeoutMs: 3000, webhooks: { allowPrivate: values.webhooks } },
  })
  const told = values.webhooks ? new ToldShop(world, random) : undefined
  try {
    const faults: string[] = []
    world.proxy.fault = createFaults(random, faults)
    const shop = await openGateways(world, random)
    await told?.open(shop.any())
    const reorganiseNow = () => devnet.betweenBlocks(() => reorganise(world, random))
    const stuck = await payAll({ world, shop, random, reorganiseNow })

    world.proxy.fault = undefined
    await shop.settle()
    const untold = (await told?.violations(shop.any())) ?? []
    const violations = [...(await world.violations()), ...untold]
    const { answers, transfers, records } = await world.evidence()
    const delivered = answers.filter((answer) => answer.delivered).length
    const figures = {
      seed,
      payments,
      ledger: schema ? 'postgres' : 'sqlite',
      hasSync,
      delivered,
      answers: answers.length,
      byAnswer: count(
        answers.map(({ delivered, status, reason }) =>
          delivered ? '200 delivered' : `${status || 'no answer'}${reason ? ` ${reason}` : ''}`,
        ),
      ),
      kills: shop.ends(),
      reorganisations,
      faults: count(faults),
      transfers: transfers.length,
      /** Let out by a process that was killed before its answer arrived. */
      lostOnTheWay: Math.max(0, transfers.length - delivered),
      records: count(records.map(({ state }) => state)),
      stuck: stuck.length,
      ...(told && { webhooks: told.figures }),
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    }
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`)
    for (const violation of [...violations, ...stuck])
      process.stdout.write(`VIOLATION: ${violation}\n`)
    const isWell = violations.length === 0 && stuck.length === 0
    process.stdout.write(
      isWell ? `soak: all is well (seed ${seed})\n` : `soak: FAILED (seed ${seed})\n`,
    )
    return isWell
  } finally {
    await told?.close()
    await world.close()
    await schema?.drop()
    await devnet.close()
  }
}

/** Decides what becomes of each request to the node, and counts it. */
function createFaults(random: Random, seen: string[]) {
  let isAwayUntil = 0
  return (): Fault | undefined => {
    if (performance.now() < isAwayUntil) {
      seen.push('away')
      return { kind: 'drop_request' }
    }
    if (random.chance(ABSENCE_PROBABILITY)) isAwayUntil = performance.now() + ABSENCE_MS
    if (!random.chance(FAULT_PROBABILITY)) return undefined
    const fault = random.pick(FAULTS)
    seen.push(fault.kind === 'http' ? `http ${fault.status}` : fault.kind)
    return fault
  }
}

/** The gateways of a soak, of which one ends now and then and another takes its place. */
interface Gateways {
  any(): GatewayProcess
  /** Ends one, and starts another. */
  replaceOne(): Promise<void>
  /** Waits until nothing is under way any more. */
  settle(): Promise<void>
  ends(): Readonly<Record<string, number>>
}

async function openGateways(world: World, random: Random): Promise<Gateways> {
  const running = await Promise.all([world.start(), world.start()])
  const ends = { SIGKILL: 0, SIGTERM: 0 }
  return {
    any: () => random.pick(running),
    async replaceOne() {
      const index = random.pick([0, 1])
      const signal = random.pick(['SIGKILL', 'SIGKILL', 'SIGTERM'] as const)
      ends[signal] += 1
      const old = running[index]!
      const ended = signal === 'SIGKILL' ? old.kill() : old.terminate()
      running[index] = await world.start()
      await ended
    },
    async settle() {
      const deadline = performance.now() + PATIENCE_MS
      while (performance.now() < deadline) {
        const { records, answers, transfers } = await world.evidence()
        const paid = new Set(transfers.map(({ authorization }) => authorization))
        // What a reorganisation dropped is sent again within a round or two.
        const isOwed = answers.some(
          ({ delivered, authorization }) => delivered && !paid.has(authorization),
        )
        if (!isOwed && !records.some(({ state }) => state === 'submitted')) return
        await sleep(500)
      }
    },
    ends: () => ends,
  }
}

/** What clients pay in, and what happens to it meanwhile. */
interface Crowd {
  readonly world: World
  readonly shop: Gateways
  readonly random: Random
  readonly reorganiseNow: () => Promise<void>
}

/** Has every payment made. @returns What came to no end. */
async function payAll({ world, shop, random, reorganiseNow }: Crowd): Promise<string[]> {
  const stuck: string[] = []
  let begun = 0
  let replacing: Promise<void> | undefined

  const client = async (): Promise<void> => {
    while (begun < payments) {
      begun += 1
      if (begun % PAYMENTS_PER_KILL === 0)
        replacing = (replacing ?? Promise.resolve()).then(() => shop.replaceOne())
      if (begun % PAYMENTS_PER_REORG === 0) await reorganiseNow()
      const isPoor = random.chance(0.03)
      const path = random.pick(PATHS)
      const times = random.chance(0.1) ? 3 : 1
      const again = random.chance(0.1)
      const key = newNonce()
      const poor = { privateKey: key, address: privateKeyToAddress(key) }
      const payment = await world.sign({}, isPoor ? poor : undefined)
      const pay = async (): Promise<void> => {
        const deadline = performance.now() + PATIENCE_MS
        for (;;) {
          const answer = await world.present(shop.any(), payment, path)
          if (!isOpen(answer)) return
          if (performance.now() > deadline)
            return void stuck.push(`open for too long: ${answer.authorization} (${answer.reason})`)
          await sleep(100)
        }
      }
      await Promise.all(Array.from({ length: times }, pay))
      if (again) await pay()
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  await replacing
  return stuck
}

function count(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of [...names].sort()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
