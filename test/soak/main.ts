/**
 * Many payments, while everything around them fails: `npm run soak -- --payments 10000 --seed 7`.
 *
 * Two gateways share a ledger (PostgreSQL where one answers, else a file). Their node loses, delays,
 * doubles and garbles what it is asked, is away, or takes no transactions for up to 20 s; the chain is
 * reorganised. Gateways are killed, or stopped by SIGTERM and SIGINT as deployments do, and others take
 * their place. Clients give up at any moment and present the same payment again later, some by a
 * `payment-identifier`. They pay by ERC-3009, by Permit2, some with a sponsored approval, and up to a maximum, by
 * relayers and by their executor. Handlers charge some of it or nothing, answer twice, fail after their answer, refuse, and waive.
 *
 * When the last fault is over, nobody presents anything until the gateways have found out by themselves
 * what became of every payment that is still pending. Then the buyers who left come back. In the end the
 * oracle of the fault suite is asked. Ends with 1 when it finds anything. With `--webhooks`, a shop that
 * is slow, fails and is away has to be told of every payment.
 */
import { randomInt } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createSchema, findPostgres } from '../support/postgres.js'
import { amountOf } from '../../src/ledger/record.js'
import { authorizationOf, isUncharged } from '../faults/authorization.js'
import { type Answer } from '../faults/oracle.js'
import { openWorld, type World } from '../faults/world.js'
import { Crowd } from './buyers.js'
import { Deployments } from './deployments.js'
import { startMining } from './mining.js'
import { NodeFaults } from './node-faults.js'
import { createRandom, type Random } from './random.js'
import { ToldShop } from './told-shop.js'

/** Milliseconds between two blocks. */
const BLOCK_MS = 100

/** Payments between two ends of a gateway. */
const PAYMENTS_PER_END = 40

/** Payments between two reorganisations. */
const PAYMENTS_PER_REORG = 75

/** Payments between two times in which the node takes no transactions. */
const PAYMENTS_PER_REFUSAL = 100

/** Milliseconds that gateways have to find out what became of payments that nobody asks for. */
const PATIENCE_MS = 240_000

const { values } = parseArgs({
  options: {
    payments: { type: 'string', default: '300' },
    seed: { type: 'string' },
    /** `sqlite` where PostgreSQL is not to be used. */
    ledger: { type: 'string' },
    webhooks: { type: 'boolean', default: false },
    /** Where the gateways' logs are written if anything is found. */
    logs: { type: 'string' },
  },
})
const payments = Number(values.payments)
const seed = values.seed === undefined ? randomInt(2 ** 31) : Number(values.seed)
if (!Number.isSafeInteger(payments) || payments < 1 || !Number.isSafeInteger(seed))
  throw new TypeError('--payments and --seed are integers')
process.stdout.write(`soak: ${payments} payments, seed ${seed}\n`)
process.exitCode = (await soak(createRandom(seed))) ? 0 : 1

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
    network: { assets: [{ asset: 'USDC', permit2: true }], executor: true },
    options: { settleTimeoutMs: 3000, webhooks: { allowPrivate: values.webhooks } },
  })
  const told = values.webhooks ? new ToldShop(world, random) : undefined
  try {
    const faults = new NodeFaults(random)
    const shop = await Deployments.open(world, random)
    const crowd = new Crowd(world, shop, random)
    await crowd.open()
    world.proxy.fault = faults.decide
    await told?.open(shop.any())
    await crowd.payAll({
      payments,
      async onPayment(begun) {
        if (begun % PAYMENTS_PER_END === 0) void shop.replaceOne()
        if (begun % PAYMENTS_PER_REFUSAL === PAYMENTS_PER_REFUSAL / 2) faults.refuseSends()
        if (begun % PAYMENTS_PER_REORG === 0)
          await devnet.betweenBlocks(() => faults.reorganise(world))
      },
    })
    await shop.ready()

    world.proxy.fault = undefined
    const startedToWait = performance.now()
    const pending = await untilDecided(world)
    const waitedMs = performance.now() - startedToWait
    const charged = await chargedAfter503(world)
    await crowd.redeemAll()
    await untilDecided(world)
    const untold = (await told?.violations(shop.any())) ?? []
    const violations = [
      ...(await world.violations()),
      ...(await differentSums(world)),
      ...pending,
      ...charged,
      ...shop.violations,
      ...untold,
      ...crowd.stuck,
    ]
    const { answers, transfers, records } = await world.evidence()
    const delivered = new Set(
      answers.filter((answer) => answer.delivered).map(({ authorization }) => authorization),
    ).size
    const figures = {
      seed,
      payments,
      ledger: schema ? 'postgres' : 'sqlite',
      hasSync,
      delivered,
      answers: answers.length,
      byAnswer: count(
        answers.map(({ delivered, status, reason, gaveUp }) =>
          delivered
            ? '200 delivered'
            : `${status || (gaveUp ? 'gave up' : 'no answer')}${reason ? ` ${reason}` : ''}`,
        ),
      ),
      givenUp: crowd.visitsGivenUp,
      ends: shop.ends,
      reorganisations: faults.reorganisations,
      refusals: faults.refusals,
      faults: count(faults.seen),
      transfers: transfers.length,
      /** Let out by a process that was killed before its answer arrived. */
      lostOnTheWay: Math.max(0, transfers.length - delivered),
      records: count(records.map(({ state }) => state)),
      /** Records of metered payments for which nothing was taken. */
      uncharged: records.filter(isUncharged).length,
      stuck: crowd.stuck.length,
      /** Until nothing was pending any more, and nobody presented anything. */
      waitedSeconds: Math.round(waitedMs / 100) / 10,
      ...(told && { webhooks: told.figures }),
      seconds: Math.round((performance.now() - startedAt) / 100) / 10,
    }
    process.stdout.write(`${JSON.stringify(figures, undefined, 2)}\n`)
    for (const violation of violations) process.stdout.write(`VIOLATION: ${violation}\n`)
    const isWell = violations.length === 0
    if (!isWell && values.logs !== undefined)
      await writeFile(values.logs, world.gateways.map((gateway) => gateway.log()).join('\n'))
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

/**
 * Waits until nothing is under way any more, while nobody presents a payment.
 *
 * @returns What is still pending, although its authorization was good when it began to wait.
 */
async function untilDecided(world: World): Promise<readonly string[]> {
  const began = BigInt(Math.floor(Date.now() / 1000))
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const { records, answers, transfers } = await world.evidence()
    const paid = new Set([
      ...transfers.map(({ authorization }) => authorization),
      ...records.filter(isUncharged).map(authorizationOf),
    ])
    // What a reorganisation dropped is sent again within a round or two.
    const isOwed = answers.some(
      ({ delivered, authorization }) => delivered && !paid.has(authorization),
    )
    const pending = records.filter(
      ({ state, validBefore }) => state === 'submitted' && validBefore > began,
    )
    if (!isOwed && pending.length === 0) return []
    if (performance.now() > deadline)
      return pending.map((record) => `still pending: ${authorizationOf(record)}`)
    await sleep(500)
  }
}

/** What the merchant has on the chain, against what his records add up to, and what the ledger sums. */
async function differentSums(world: World): Promise<readonly string[]> {
  const [records, revenue] = await Promise.all([world.records(), world.revenue()])
  const recorded = records.reduce(
    (sum, record) => sum + (record.state === 'settled' ? amountOf(record) : 0n),
    0n,
  )
  const balance = await world.balance()
  if (recorded === balance && revenue === balance) return []
  return [`the merchant has ${balance}, his records say ${recorded}, and their sum ${revenue}`]
}

/** Payments that paid, although their buyers were told by nobody but gateways that were closing. */
async function chargedAfter503(world: World): Promise<readonly string[]> {
  const { answers, transfers } = await world.evidence()
  const isRefused = ({ status, reason, transaction }: Answer): boolean =>
    status === 503 && reason === 'shutting_down' && transaction === undefined
  const told = new Set(answers.map(({ authorization }) => authorization))
  for (const answer of answers) if (!isRefused(answer)) told.delete(answer.authorization)
  return transfers
    .filter(({ authorization }) => told.has(authorization))
    .map(({ authorization }) => `charged, and told only of the end: ${authorization}`)
}

function count(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of [...names].sort()) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
